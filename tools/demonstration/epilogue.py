# SPDX-License-Identifier: Apache-2.0
"""The end: how to go on with the clusters."""

import os
import shlex

from tools import REPO


def saio(cluster):
    """:returns: the command line that a command to a Cluster begins with"""
    return '%s --dir %s' % (os.path.join(REPO, 'tools', 'saio'),
                            shlex.quote(cluster.spec.root))


def how_to_go_on(show, acts, stay):
    """
    :param show: a Show
    :param acts: the Acts that were played
    :param stay: whether their clusters stay up
    """
    if acts and not stay:
        show.scene('The clusters are down')
        show.say('Their data stays. To start them again, or delete it:')
        for act in acts:
            command = saio(act.cluster)
            show.lines('', command + ' up', command + ' destroy')
        return
    for act in acts:
        show.scene('The cluster in %s stays up' % act.cluster.spec.root)
        show.lines('', *act.to_look_at(), *_how_to_talk(act))


def _how_to_talk(act):
    cluster, command = act.cluster, saio(act.cluster)
    environment = cluster.environment()
    container = cluster.spec.policies[-1].name
    return (
        '', '# a token for a day; the one in use now; some objects with it',
        "curl -si -H 'X-Auth-User: %s' -H 'X-Auth-Key: %s' %s" % (
            environment['ST_USER'], environment['ST_KEY'],
            environment['ST_AUTH']),
        'TOKEN=' + act.client.token,
        "curl -s -H \"X-Auth-Token: $TOKEN\" '%s/%s?limit=10'" % (
            act.client.storage_url, container),
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
