# SPDX-License-Identifier: Apache-2.0
"""The playbook, on confs of this machine: all systems, there and back."""

import json
import os
import subprocess
import sys
import unittest
from functools import cache
from tempfile import TemporaryDirectory

from tools import REPO

PLAYBOOK = os.path.join(REPO, 'tools', 'packages', 'ansible', 'systems.yml')
POLICIES = '''\
[swift-hash]
swift_hash_path_suffix = x

[storage-policy:0]
name = gold

[storage-policy:1]
name = small
'''
CODED = '''
[storage-policy:2]
policy_type = erasure_coding
'''
OBJECT = '''\
[pipeline:main]
pipeline = healthcheck%s recon object-server

[app:object-server]
use = egg:swift%s#object

[filter:recon]
use = egg:swift%s

[object-replicator]
concurrency = 2
%s
[object-reconstructor]
concurrency = 2
'''
CONTAINER = '''\
[pipeline:main]
pipeline = healthcheck%s recon container-server

[app:container-server]
use = egg:swift%s#container
'''
PROXY = '''\
[pipeline:main]
pipeline = cache tempauth slo dlo versioned_writes symlink%s proxy-server

[app:proxy-server]
use = egg:swift%s#proxy
account_autocreate = true

[filter:versioned_writes]
use = egg:swift#versioned_writes
%s'''
INTERNAL = '''\
[pipeline:main]
pipeline = cache proxy-server

[app:proxy-server]
use = egg:swift%s#proxy
'''
RECON = '[filter:lightsync-recon]\nuse = egg:swift-lightsync#recon\n'
STOCK = {
    'swift.conf': POLICIES,
    'object-server.conf': OBJECT % ('', '', '#recon', ''),
    'container-server.conf': CONTAINER % ('', ''),
    'proxy-server.conf': PROXY % ('', '', ''),
    'internal-client.conf': INTERNAL % ''}
SSYNC = 'sync_method = ssync\n'
PRIMARY = '[proxy-server:policy:0]\nprimary_role_writes = true\n'
OURS = {
    'swift.conf': POLICIES +
    'diskfile_module = egg:swift-lightsync#replication.kv\n',
    'object-server.conf': OBJECT % (
        ' lightsync-recon', '-lightsync', '-lightsync#losf-recon', SSYNC +
        'replicator_class = egg:swift-lightsync#lightsync\n') + RECON +
    '[object-losf]\nlog_level = INFO\n'
    '[object-converger]\nlog_level = INFO\n',
    'container-server.conf': CONTAINER % (' lightsync-recon', '-lightsync') +
    RECON +
    '[container-propagator]\nsite = rome\nsite_preference = rome, paris\n',
    'proxy-server.conf': PROXY % (
        ' versioning', '-lightsync', 'allow_object_versioning = false\n') +
    '[filter:versioning]\nuse = egg:swift-lightsync#versioning\n'
    'site = rome\nsite_preference = rome, paris\n' + PRIMARY,
    'internal-client.conf': INTERNAL % '-lightsync' + PRIMARY}
#: ssync is right for all policies, and whether it was there is not known.
LEFT = {**STOCK, 'object-server.conf': OBJECT % ('', '', '#recon', SSYNC)}
ALL = {
    'systems': ['lightsync', 'losf', 'proar', 'versioning'],
    'losf_policies': [1], 'proar_policies': [0],
    'sites': {'site': 'rome', 'site_preference': 'rome, paris'}}
#: Stands in for systemd: what is active since when, what is enabled; and
#: notes what it is told.
SYSTEMCTL = '''\
#!/bin/bash
cd "$(dirname "$0")/units"
for name; do [ $name = -l ] || last=$name; done
name=$last
if [ $1 = stop ]; then
    echo "$@" >> ../told
    shift
    for name; do rm -f ${name%\\*}*.active; done
    exit
fi
case $1 in
    list-units) for each in *.active; do
        echo "${each%.active}.service loaded active running"; done ;;
    is-active) [ -e $name.active ] ;;
    is-enabled)
        [ -e $name.enabled ] && state=enabled || state=disabled
        [ $2 = -q ] || echo $state
        [ $state = enabled ] ;;
    show) if [ $2 = -P ]; then cat $name.active 2> /dev/null
        else echo LoadState=loaded
            [ -e $name.active ] && echo ActiveState=active \\
                || echo ActiveState=inactive
        fi ;;
    *) echo $1 "$name" >> ../told
        case $1 in
            enable) touch $name.enabled ;;
            disable) rm -f $name.enabled ;;
            start | restart | reload) date -u '+%F %T.%N UTC' > $name.active ;;
        esac
esac
'''
#: Says that all is well, and notes how it was called.
WELL = '''\
#!/bin/sh
echo $(basename $0) "$*" | sed "s:$(dirname $0)::g" >> $(dirname $0)/told
echo '{"devices": [], "complaints": []}'
'''
HEALTH = 'swift-lightsync-health --swift-dir /swift'
COMMANDS = ('swift-lightsync-health', 'swift-losf-convert',
            'swift-losf-status', 'swift-proar-lag')
#: What runs on the node, and has run since long ago.
RUNNING = ('object-server', 'object-replicator', 'container-server',
           'proxy-server')
#: What the systems keep, and what is not their own.
KEPT = ('disks/d1/objects/7/changed.pkl', 'disks/d1/objects-1/8/changed.pkl',
        'disks/d1/lightsync.journal', 'cache/lightsync.recon',
        'disks/d1/proar/1/log', 'disks/d1/proar-1/1/log',
        'disks/d1/proar_roles/x', 'cache/proar.recon',
        'cache/versioning.recon', 'disks/d1/losf-1/volumes/v')
OTHERS = 'disks/d1/objects/7/hashes.pkl', 'cache/object.recon'


@cache
def have_ansible():
    try:
        done = subprocess.run([
            'ansible-doc', '-t', 'module', '-s', 'community.general.ini_file'
            ], capture_output=True)
    except FileNotFoundError:
        return False
    return done.returncode == 0


@unittest.skipUnless(have_ansible(), 'needs Ansible with community.general')
class TestPlaybook(unittest.TestCase):

    def setUp(self):
        place = TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name
        for name, text in (('systemctl', SYSTEMCTL),
                           *((name, WELL) for name in COMMANDS)):
            self.write(name, text)
            os.chmod(os.path.join(self.place, name), 0o755)
        for name, text in STOCK.items():
            self.write('swift/' + name, text)
        for name in RUNNING:
            for kind in 'active', 'enabled':
                self.write('units/swift-%s.%s' % (name, kind),
                           '2001-01-01 UTC\n')
        for folder in 'disks/d1', 'cache':
            os.makedirs(os.path.join(self.place, folder))
        self.write('hosts', ''.join(
            '[%s]\nlocalhost ansible_connection=local '
            'ansible_python_interpreter=%s\n' % (group, sys.executable)
            for group in ('swift_storage', 'swift_proxy')))

    def test_all_systems_come_and_go(self):
        self.write('swift/versioning-sites.conf', '')
        self.play(**ALL)
        self.assert_confs(OURS)
        copy, finish = (
            'swift-losf-convert %s /disks/d1 --policy 1 --swift-dir /swift' %
            command for command in ('copy', 'finish'))
        begin = [
            'enable swift-object-losf', 'enable swift-object-converger',
            'enable swift-container-propagator',
            'stop swift-object-losf swift-object-server '
            'swift-object-replicator swift-object-converger',
            'start swift-object-losf',
            'swift-losf-status /swift/object-server.conf',
            'start swift-object-server', 'start swift-object-replicator',
            'start swift-object-converger', 'reload swift-container-server',
            'start swift-container-propagator']
        self.assertEqual([
            'reload swift-proxy-server', 'restart swift-object-replicator',
            copy, 'stop swift-object-*', copy, *begin, HEALTH,
            'reload swift-proxy-server'], self.told())
        # All is so already; what an earlier play had left to move is moved.
        os.makedirs(os.path.join(self.place, 'disks/d1/objects-1'))
        self.assertIn('changed=0', self.play(**ALL))
        self.assertEqual([finish, HEALTH], self.told())
        for name in KEPT + OTHERS:
            self.write(name, '')
        self.play(systems=[], no_versions=True)
        self.assert_confs(LEFT)
        self.assertEqual([
            'reload swift-proxy-server',
            'swift-proar-lag --swift-dir /swift --json --remember 1 '
            '--max-seconds 86400',
            copy, 'stop swift-object-*', copy,
            'disable swift-object-losf', 'disable swift-object-converger',
            'disable swift-container-propagator',
            'stop swift-container-propagator',
            'start swift-object-server', 'start swift-object-replicator',
            'reload swift-container-server', finish,
            'reload swift-proxy-server'], self.told())
        self.assertEqual(list(OTHERS), [
            name for name in KEPT + OTHERS
            if os.path.exists(os.path.join(self.place, name))])
        self.assertIn('changed=0', self.play(systems=[]))
        self.assert_confs(LEFT)
        self.assertEqual([], self.told())

    def test_what_a_system_needs_stays_when_another_goes(self):
        for name, text in OURS.items():
            self.write('swift/' + name, text)
        self.play(systems=['proar'], proar_policies=[0], no_versions=True)
        self.assert_confs({
            **LEFT,
            'object-server.conf': OBJECT % (
                ' lightsync-recon', '-lightsync', '#recon', SSYNC) + RECON +
            '[object-converger]\nlog_level = INFO\n',
            'proxy-server.conf': PROXY % ('', '-lightsync', '') + PRIMARY,
            'internal-client.conf': INTERNAL % '-lightsync' + PRIMARY})

    def test_reconstructors_are_changed_where_there_are_fragments(self):
        self.write('swift/swift.conf', POLICIES + CODED)
        self.play(systems=['lightsync'])
        self.assertIn(
            '[object-reconstructor]\nconcurrency = 2\n'
            'reconstructor_class = egg:swift-lightsync#lightsync-ec\n',
            self.read('swift/object-server.conf'))

    def test_a_check_shows_the_lines_and_changes_nothing(self):
        shown = self.play('--check', '--diff', **ALL)
        for line in PRIMARY.splitlines() + RECON.splitlines():
            self.assertIn('+' + line, shown)
        self.assert_confs(STOCK)
        self.assertEqual([], self.told())

    def test_a_daemon_that_is_stopped_and_disabled_stays_so(self):
        for kind in 'active', 'enabled':
            os.remove(os.path.join(
                self.place, 'units/swift-object-replicator.' + kind))
        self.play(systems=['lightsync'])
        self.assertEqual(
            ['reload swift-proxy-server', 'reload swift-object-server',
             'reload swift-container-server', HEALTH], self.told())

    def test_daemons_that_an_ended_play_left_stopped_begin_first(self):
        self.write('units/swift-object-updater.enabled', '')
        self.play(systems=[])
        told = self.told()
        self.assertLess(told.index('start swift-object-updater'),
                        told.index('reload swift-object-server'))

    def test_the_daemons_go_on_if_not_all_can_be_copied(self):
        # while they are stopped
        self.write('swift-losf-convert', WELL +
                   '! grep -q "^stop swift-object-.$" %s/told\n'
                   % self.place)
        self.assertIn('swift-losf-convert says', self.play(
            status=2, systems=['losf'], losf_policies=[1]))
        told = self.told()
        self.assertEqual(
            ['start swift-object-server', 'start swift-object-replicator'],
            told[told.index('stop swift-object-*') + 2:][:2])
        self.assertEqual(POLICIES, self.read('swift/swift.conf'))

    def test_what_cannot_be_is_refused_before_anything_is_done(self):
        self.write('swift/swift.conf', POLICIES + CODED)
        for said, values in (
                ("systems is ['sync']", {'systems': ['sync']}),
                ('losf needs losf_policies', {'systems': ['losf']}),
                ('proar proar_policies', {'systems': ['proar']}),
                ('versioning sites', {'systems': ['versioning']}),
                ('losf_policies is [7] of [0, 1, 2]',
                 {'systems': ['losf'], 'losf_policies': [7]}),
                ('proar_policies [2] of [0, 1]',
                 {'systems': ['proar'], 'proar_policies': [2]})):
            self.assertIn(said, ' '.join(
                self.play(status=2, **values).split()))
        # Whether or not its propagator runs.
        self.write('swift/container-server.conf',
                   OURS['container-server.conf'])
        self.assertIn('no_versions=true', self.play(status=2, systems=[]))
        self.assertEqual([], self.told())

    def test_nothing_is_done_when_a_node_cannot_be_reached(self):
        self.write('hosts', self.read('hosts') +
                   'away ansible_ssh_executable=/bin/false\n')
        self.play(status=4, **ALL)
        self.assert_confs(STOCK)
        self.assertEqual([], self.told())

    def assert_confs(self, wanted):
        for name, text in wanted.items():
            self.assertEqual(text, self.read('swift/' + name), name)

    def read(self, name):
        with open(os.path.join(self.place, name)) as text:
            return text.read()

    def write(self, name, text):
        path = os.path.join(self.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w') as file:
            file.write(text)

    def told(self):
        """Return what was done since this was last asked, as lines."""
        if not os.path.exists(os.path.join(self.place, 'told')):
            return []
        done = self.read('told').splitlines()
        self.write('told', '')
        return done

    def play(self, *more, status=0, **values):
        """Play the book.

        :returns: what it said
        """
        environment = dict(os.environ, PATH='%s:%s' % (
            self.place, os.environ['PATH']))
        environment.pop('PYTHONPATH', None)
        done = subprocess.run([
            'ansible-playbook', '-i', os.path.join(self.place, 'hosts'),
            PLAYBOOK, *more, '-e', json.dumps({
                **{name: os.path.join(self.place, folder)
                   for name, folder in (('swift_dir', 'swift'),
                                        ('devices', 'disks'),
                                        ('cache', 'cache'))},
                'error_suppression_interval': 0, **values})],
            capture_output=True, text=True, env=environment)
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout
