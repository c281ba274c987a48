# SPDX-License-Identifier: Apache-2.0
"""Copies are counted on the disks, as the rings have them."""

import os
import tempfile
import unittest

from swift.common.ring import RingBuilder
from swift.common.utils import hash_path, storage_directory

from tools.cluster import Cluster, ClusterSpec, Policy
from tools.demonstration.client import ObjectName
from tools.demonstration.copies import Copies

STOCK, PROAR = (Policy('stock', 0, 3, part_power=2),
                Policy('proar', 1, 3, part_power=2, proar=True))
WHERE = ObjectName('proar', 'o')
DEVICES = {'n1d1', 'n2d1', 'n3d1'}


class TestCopies(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.cluster = Cluster(ClusterSpec(
            root=directory.name, nodes=3, policies=(STOCK, PROAR),
            disks='directory'))
        self.make_rings()
        self.copies = Copies(self.cluster, 'a')

    def make_rings(self):
        layout = self.cluster.layout
        os.makedirs(layout.etc)
        with open(layout.swift_conf, 'w') as conf:
            conf.write('[swift-hash]\nswift_hash_path_suffix = x\n')
        for policy in self.cluster.spec.policies:
            builder = RingBuilder(policy.part_power, policy.replicas, 0)
            for node in self.cluster.spec.node_numbers():
                builder.add_dev(dict(
                    id=node, region=1, zone=node, weight=1, port=6200,
                    ip='127.0.0.%d' % node, device='n%dd1' % node))
            builder.rebalance(seed=1)
            builder.get_ring().save(layout.ring(policy.ring_name))

    def hold(self, node, name, where=WHERE):
        path = os.path.join(
            self.cluster.device_path(node, 'n%dd1' % node),
            storage_directory(
                'objects-1' if where.container == 'proar' else 'objects',
                self.copies.rings[where.container].get_part(
                    'a', where.container, where.name),
                hash_path('a', where.container, where.name)))
        os.makedirs(path, exist_ok=True)
        if name:
            open(os.path.join(path, name), 'w').close()

    def test_nobody_holds_what_was_not_written(self):
        self.hold(1, None)
        self.assertEqual(set(), self.copies.holders(WHERE))

    def test_who_has_the_newest_file_holds_it(self):
        self.hold(1, '2.00000.data')
        self.hold(2, '1.00000.data')
        self.assertEqual({'n1d1'}, self.copies.holders(WHERE))
        self.hold(2, '2.00000.data')
        self.hold(3, '2.00000.data')
        self.assertEqual(DEVICES, self.copies.holders(WHERE))

    def test_a_tombstone_counts_as_any_file(self):
        self.hold(1, '1.00000.data')
        self.hold(3, '2.00000.ts')
        self.assertEqual({'n3d1'}, self.copies.holders(WHERE))

    def test_each_policy_has_its_directory(self):
        stock = ObjectName('stock', 'o')
        self.hold(1, '1.00000.data', stock)
        self.assertEqual({'n1d1'}, self.copies.holders(stock))
        self.assertEqual(set(), self.copies.holders(WHERE))

    def test_primary_roles_are_spread_over_all_devices(self):
        self.assertEqual(DEVICES, {
            self.copies.primary_role(ObjectName('proar', str(number)))
            for number in range(50)})
