# SPDX-License-Identifier: Apache-2.0
"""Tombstones: what is deleted stays so, and is forgotten in time."""

import time

import pytest
from swift.common.utils import Timestamp

from tests.functional.clusters import R3, SyncCase, play_round

DAY = 86400


class TestDeletes(SyncCase):
    fields = {'nodes': 4, 'policies': (R3,)}

    def make_tombstones_old(self):
        """Restart all servers with a reclaim age of a day, not a week."""
        for node in self.cluster.spec.node_numbers():
            self.cluster.kill(node)
            for server in ('object-server', 'replication-server'):
                path = self.cluster.conf_path(server, node)
                with open(path) as conf:
                    text = conf.read()
                with open(path, 'w') as conf:
                    conf.write(text.replace(
                        '[DEFAULT]', '[DEFAULT]\nreclaim_age = %d' % DAY, 1))
            self.cluster.start(node)

    def audit(self, *nodes):
        """Auditors are who finds tombstones that are old enough."""
        for node in nodes:
            self.cluster.run_on(node, [
                self.cluster.layout.launcher('swift-object-auditor'),
                self.cluster.conf_path('object-server', node), 'once'])

    def files_of(self, names):
        """:returns: how many files there are of objects on all devices"""
        directories = {self.objects.hash_name(name) for name in names}
        return sum(path.split('/')[2] in directories
                   for device in self.objects.devices()
                   for path in self.objects.on_device(device))

    @pytest.mark.long
    def test_old_tombstones_are_reclaimed_from_all_replicas(self):
        long_ago = time.time() - 2 * DAY
        for number in range(30):
            name = 'old-%d' % number
            _, nodes = self.objects.nodes(name)
            self.acknowledged.put(name, nodes, Timestamp(long_ago))
            self.acknowledged.delete(name, nodes, Timestamp(long_ago + 1))
        names = list(self.acknowledged.newest)
        play_round(self.cluster)
        self.assertEqual(3 * len(names), self.files_of(names))
        self.make_tombstones_old()
        # Where one replica has reclaimed them, the others follow.
        self.audit(1)
        play_round(self.cluster)
        on_node_1 = [name for name in names if 'n1d1' in {
            node['device'] for node in self.objects.nodes(name)[1]}]
        self.assertTrue(on_node_1)
        play_round(self.cluster)
        self.assertEqual(0, self.files_of(on_node_1))
        self.audit(2, 3, 4)
        play_round(self.cluster)
        self.assertEqual(0, self.files_of(names))

    def test_tombstones_within_the_reclaim_age_are_kept(self):
        names = ['recent-%d' % number for number in range(20)]
        self.acknowledged.put_everywhere(names)
        for name in names:
            self.acknowledged.delete(name, self.objects.nodes(name)[1])
        play_round(self.cluster)
        self.audit(1, 2, 3, 4)
        play_round(self.cluster)
        self.assertEqual([], self.acknowledged.wrong())
        self.assertEqual(3 * len(names), self.files_of(names))

    def test_a_node_that_comes_back_resurrects_nothing(self):
        names = ['back-%d' % number for number in range(30)]
        self.acknowledged.put_everywhere(names)
        self.converge(1)
        self.cluster.kill(3)
        for name in names:
            self.acknowledged.delete(name, [
                node for node in self.objects.nodes(name)[1]
                if node['device'] != 'n3d1'])
        play_round(self.cluster, [1, 2, 4])
        self.assertEqual([], self.acknowledged.wrong(without=['n3d1']))
        self.cluster.start(3)
        # It plays first, with all that it believes to be there.
        play_round(self.cluster, [3])
        self.assertEqual([], self.acknowledged.wrong(without=['n3d1']))
        self.converge(1)
