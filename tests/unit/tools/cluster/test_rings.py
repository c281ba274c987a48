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
        for values, ks, regions in (
                ({'nodes': 4, 'devices': 2, 'regions': 2}, (1, 2), 2),
                # a policy may use fewer devices of each node
                ({'nodes': 4, 'devices': 2, 'policies': (
                    Policy('gold', 0, 3, part_power=4, devices=1),)},
                 (1,), 1)):
            ring, _ = self.build(**values)
            self.assertEqual((3, 16), (len(self.rows(ring)),
                                       len(self.rows(ring)[0])))
            self.assertEqual(
                [('n%dd%d' % (node, k), '127.0.0.%d' % node,
                  1 + (node - 1) % regions, 7000 + 10 * node,
                  7003 + 10 * node) for node in (1, 2, 3, 4) for k in ks],
                [tuple(device[name] for name in (
                    'device', 'ip', 'region', 'port', 'replication_port'))
                 for device in ring.devs])

    def test_databases_have_three_replicas_if_there_are_three_nodes(self):
        for nodes, replicas in ((2, 2), (4, 3)):
            _, layout = self.build(nodes=nodes, devices=2, policies=(
                Policy('gold', 0, 2, part_power=4),))
            ring = RingData.load(layout.ring('account'))
            self.assertEqual(replicas, len(self.rows(ring)))
            self.assertEqual(nodes, len(ring.devs))
