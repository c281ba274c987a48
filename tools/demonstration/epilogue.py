# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""The end: what both repairs took, and how to go on with the cluster."""

import os
import shlex

import tools
from tools.demonstration.passes import VERBS
from tools.demonstration.show import byte_count

REPO = os.path.dirname(os.path.dirname(os.path.abspath(tools.__file__)))


def _ratio(lightsync, stock):
    return '%.2g' % (lightsync / stock) if stock else '-'


def _row(name, lightsync, stock, form):
    return [name, form(lightsync), form(stock), _ratio(lightsync, stock)]


def _rows(lightsync, stock):
    rows = [_row('passes', lightsync.passes, stock.passes, str),
            _row('messages', lightsync.all_messages, stock.all_messages, str)]
    for verb, mine, others in zip(VERBS, lightsync.messages, stock.messages):
        if mine or others:
            rows.append(_row('  ' + verb, mine, others, str))
    return rows + [
        _row('bytes on loopback', lightsync.loopback_bytes,
             stock.loopback_bytes, byte_count),
        _row('seconds, slowest node', lightsync.seconds, stock.seconds,
             '{:.1f}'.format),
        _row('CPU seconds', lightsync.cpu_seconds, stock.cpu_seconds,
             '{:.1f}'.format)]


def print_comparison(show, repairs):
    """
    :param show: a Show
    :param repairs: a dict of replicator's name -> Repair
    """
    show.scene('LightSync and stock Swift')
    for title, part in (
            ('repair: all passes until every replica was identical',
             'until_equal'),
            ('stable state: one pass with nothing to repair', 'stable')):
        show.lines('', title, '')
        show.table(['', 'LightSync', 'stock', 'ratio'], _rows(
            getattr(repairs['lightsync'], part),
            getattr(repairs['stock'], part)))


def saio(cluster):
    """:returns: the command line that a command to a Cluster begins with"""
    return '%s --dir %s' % (os.path.join(REPO, 'tools', 'saio'),
                            shlex.quote(cluster.spec.root))


def how_to_go_on(show, stage, client, lightsync_up, stock_up):
    """
    :param show: a Show
    :param stage: the Stage
    :param client: a Client with a token
    :param lightsync_up: whether the lightsync cluster stays up
    :param stock_up: whether the stock cluster does
    """
    cluster = stage.lightsync
    command = saio(cluster)
    if not lightsync_up:
        show.scene('The cluster is down')
        show.say('Its data stays in %s. To start it again:'
                 % cluster.spec.root)
        show.lines('', command + ' up', command + ' destroy')
        return
    show.scene('The cluster stays up')
    _how_to_talk(show, cluster, client, command)
    _what_to_look_at(show, cluster)
    if stock_up:
        show.lines('', '# the copy with stock Swift',
                   saio(stage.stock) + ' status',
                   saio(stage.stock) + ' destroy')


def _how_to_talk(show, cluster, client, command):
    environment = cluster.environment()
    container = cluster.spec.policies[0].name
    show.lines(
        '', '# a token for a day; the one in use now; some objects with it',
        "curl -si -H 'X-Auth-User: %s' -H 'X-Auth-Key: %s' %s" % (
            environment['ST_USER'], environment['ST_KEY'],
            environment['ST_AUTH']),
        'TOKEN=' + client.token,
        "curl -s -H \"X-Auth-Token: $TOKEN\" '%s/%s?limit=10'" % (
            client.storage_url, container),
        '', '# the same with the swift client',
        command + ' run swift stat',
        command + ' run swift list %s' % container,
        '', '# break it again, repair it again, end it, delete it',
        command + ' status',
        command + ' kill 2',
        command + ' start 2',
        command + ' run swift-init %s start' % cluster.replicator_daemon,
        command + ' down',
        command + ' destroy')


def _what_to_look_at(show, cluster):
    device = cluster.device_path(1, cluster.devices(1)[0])
    show.lines(
        '', "# LightSync's roots, beside Swift's suffix hashes",
        'ls -l %s/objects*/*/*.pkl' % device,
        '', "# node 1's account of its last pass, from its disk and over HTTP",
        'cat %s/object.recon' % cluster.layout.cache_dir(1),
        'curl -s http://%s:%d/recon/replication/object' % (
            cluster.node_ip(1), cluster.spec.port('object-server', 1)),
        '', '# the logs of all daemons', 'ls %s' % cluster.layout.logs)
