# SPDX-License-Identifier: Apache-2.0
"""Clusters in which only some nodes, or only some parts, are LightSync's."""

import os
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from tests.functional.clusters import R5, object_servers
from tests.functional.objects import ClusterObjects

T = int(time.time()) - 10000
#: node -> (has the LIGHTSYNC verb, runs the LightSync replicator)
CAST = {1: (True, True), 2: (False, True), 3: (True, False),
        4: (False, False), 5: (True, True)}


class MixedCluster:
    """A node of each kind; ``sync_method`` is how they push."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cluster = cls.enterClassContext(
            object_servers(sync_method=cls.sync_method))
        for node, (has_verb, _) in CAST.items():
            if not has_verb:
                cls.make_server_stock(node)

    @classmethod
    def make_server_stock(cls, node):
        cls.cluster.kill(node)
        for server in ('object-server', 'replication-server'):
            path = cls.cluster.conf_path(server, node)
            with open(path) as conf:
                text = conf.read()
            with open(path, 'w') as conf:
                conf.write(text.replace('egg:swift-lightsync#object',
                                        'egg:swift#object'))
        cls.cluster.start(node)

    def play_round(self):
        def one_pass(node):
            name = ('swift-object-lightsync' if CAST[node][1]
                    else 'swift-object-replicator')
            conf = self.cluster.conf_path('object-server', node)
            if not CAST[node][1]:
                # A patched Swift would load our class for it.
                with open(conf) as original:
                    text = original.read()
                conf += '.stock'
                with open(conf, 'w') as copy:
                    copy.write('\n'.join(
                        line for line in text.split('\n')
                        if not line.startswith('replicator_class')))
            self.cluster.run_on(node, [
                self.cluster.layout.launcher(name), conf, '--once'])

        with ThreadPoolExecutor(len(CAST)) as pool:
            list(pool.map(one_pass, CAST))

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
