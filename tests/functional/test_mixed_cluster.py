# SPDX-License-Identifier: Apache-2.0
"""Clusters in which only some nodes, or only some parts, are LightSync's."""

import os
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.functional.clusters import R3, R5, SyncCase, object_servers
from tests.functional.objects import ClusterObjects

T = int(time.time()) - 10000
#: node -> (has the LIGHTSYNC verb, runs the LightSync replicator)
CAST = {1: (True, True), 2: (False, True), 3: (True, False),
        4: (False, False), 5: (True, True)}


def serve(cluster, node, with_verb):
    """Start a node's object-servers: ours, or stock Swift's."""
    cluster.kill(node)
    for server in ('object-server', 'replication-server'):
        path = cluster.conf_path(server, node)
        with open(path) as conf:
            text = conf.read()
        ours, stock = 'egg:swift-lightsync#object', 'egg:swift#object'
        with open(path, 'w') as conf:
            conf.write(text.replace(stock, ours) if with_verb
                       else text.replace(ours, stock))
    cluster.start(node)


def replicate(cluster, node, with_lightsync):
    """Run a pass of a node's replicator: ours, or stock Swift's."""
    conf = cluster.conf_path('object-server', node)
    if not with_lightsync:
        # A patched Swift would load our class for it.
        with open(conf) as original:
            text = original.read()
        conf += '.stock'
        with open(conf, 'w') as copy:
            copy.write('\n'.join(
                line for line in text.split('\n')
                if not line.startswith('replicator_class')))
    cluster.run_on(node, [cluster.layout.launcher(
        'swift-object-lightsync' if with_lightsync
        else 'swift-object-replicator'), conf, '--once'])


def play_round(cluster, cast):
    """Run a pass of each node at the same time.

    :param cast: node -> whether its replicator is ours
    """
    with ThreadPoolExecutor(len(cast)) as pool:
        list(pool.map(lambda node: replicate(cluster, node, cast[node]),
                      cast))


class MixedCluster:
    """A node of each kind; ``sync_method`` is how they push."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(
            object_servers(sync_method=cls.sync_method))
        for node, (has_verb, _) in CAST.items():
            if not has_verb:
                serve(cls.cluster, node, False)

    def play_round(self):
        play_round(self.cluster, {node: ours
                                  for node, (_, ours) in CAST.items()})

    def test_single_copies_on_each_kind_of_node_reach_all_the_others(self):
        objects = ClusterObjects(self.cluster, R5.index)
        for number in range(20):
            name = 'mixed-%d' % number
            _, nodes = objects.nodes(name)
            objects.write(name, b'v1', T, nodes)
            objects.write(name, b'v2', T + 1, [nodes[number % 5]])
        for _ in range(4):
            self.play_round()
        newest = '%016.5f.data' % (T + 1)
        for devices in objects.replicas().values():
            for device, held in devices.items():
                self.assertEqual(
                    {os.path.dirname(path) for path in held},
                    {os.path.dirname(path) for path in held
                     if path.endswith(newest)}, device)
        # What rsync brought last is cleaned up when it is hashed.
        self.play_round()
        self.assertEqual([], objects.unequal())
        for devices in objects.replicas().values():
            for held in devices.values():
                self.assertEqual({b'v2'}, {body for body, _ in held.values()})


class TestRsync(MixedCluster, unittest.TestCase):
    sync_method = 'rsync'


class TestSsync(MixedCluster, unittest.TestCase):
    sync_method = 'ssync'


class TestRollingUpgrade(SyncCase):
    """Nodes are upgraded one by one, and go back one by one."""

    policy = R3
    fields = {'nodes': 3, 'policies': (R3,)}

    def test_all_that_is_written_reaches_all_after_each_step(self):
        cast = dict.fromkeys(self.cluster.spec.node_numbers(), False)
        for node in cast:
            serve(self.cluster, node, False)
        names = ['o-%d' % number for number in range(30)]
        self.acknowledged.put_everywhere(names)
        for ours in (True, False):
            for node in cast:
                self.acknowledged.put_quorums(names[::2])
                for name in names[::7]:
                    self.acknowledged.delete(
                        name, self.acknowledged.quorum(name))
                cast[node] = ours
                serve(self.cluster, node, ours)
                for _ in range(2):
                    play_round(self.cluster, cast)
                self.assertEqual([], self.acknowledged.wrong(),
                                 (node, ours))
