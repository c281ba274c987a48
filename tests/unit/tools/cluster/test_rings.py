# SPDX-License-Identifier: Apache-2.0
"""Rings follow from the spec."""

import tempfile
import unittest

from swift.common.ring import RingData

from tools.cluster import ClusterSpec, Policy, files
from tools.cluster.layout import Layout
from tools.cluster.network import LoopbackNetwork


class TestRings(unittest.TestCase):

    def build(self, **values):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        values = dict({'policies': (Policy('gold', 0, 3, part_power=4),)},
                      **values)
        spec = ClusterSpec(root=root.name, base_port=7000, **values)
        layout = Layout(spec.root)
        files.build_rings(spec, layout, LoopbackNetwork(spec))
        return RingData.load(layout.ring('object')), layout

    def rows(self, ring):
        return [list(row) for row in ring._replica2part2dev_id]

    def test_the_same_spec_gives_the_same_rings(self):
        self.assertEqual(self.rows(self.build()[0]),
                         self.rows(self.build()[0]))

    def test_a_ring_has_the_power_replicas_and_devices_of_its_policy(self):
        ring, _ = self.build(nodes=4, devices=2, regions=2)
        self.assertEqual((3, 16), (len(self.rows(ring)),
                                   len(self.rows(ring)[0])))
        self.assertEqual(
            [('n%dd%d' % (node, k), '127.0.0.%d' % node, 1 + (node - 1) % 2)
             for node in (1, 2, 3, 4) for k in (1, 2)],
            [(device['device'], device['ip'], device['region'])
             for device in ring.devs])

    def test_replication_has_a_port_of_its_own(self):
        ring, _ = self.build()
        self.assertEqual(
            [(7010, 7013), (7020, 7023), (7030, 7033), (7040, 7043),
             (7050, 7053)],
            [(device['port'], device['replication_port'])
             for device in ring.devs])

    def test_a_policy_may_use_fewer_devices_of_each_node(self):
        ring, _ = self.build(nodes=3, devices=2, policies=(
            Policy('gold', 0, 3, part_power=4, devices=1),))
        self.assertEqual(['n1d1', 'n2d1', 'n3d1'],
                         [device['device'] for device in ring.devs])

    def test_databases_have_three_replicas_if_there_are_three_nodes(self):
        for nodes, replicas in ((2, 2), (4, 3)):
            _, layout = self.build(nodes=nodes, devices=2, policies=(
                Policy('gold', 0, 2, part_power=4),))
            ring = RingData.load(layout.ring('account'))
            self.assertEqual(replicas, len(self.rows(ring)))
            self.assertEqual(nodes, len(ring.devs))
