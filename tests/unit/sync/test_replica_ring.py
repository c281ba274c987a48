# SPDX-License-Identifier: Apache-2.0
"""replica_ring: who is whose clockwise neighbour."""

import unittest
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.replica_ring import clockwise, replica_ring
from tests.unit.sync import documented


def nodes(*regions):
    return [{'id': 100 - row, 'region': region}
            for row, region in enumerate(regions)]


REGIONS = st.lists(st.integers(0, 5), min_size=1, max_size=12)
PARTITIONS = st.integers(0, 2 ** 32 - 1)


def documented_number(partition, device_id):
    """The formula of PROTOCOL.md, with the constants that stand there."""
    one, other = documented.found(
        r'x = \(partition × ([0-9a-f]{16}) \+ device id × ([0-9a-f]{16})\)')
    last = documented.found(r'y = \(x xor x >> 30\) × ([0-9a-f]{16}) ')
    x = (partition * int(one, 16) + device_id * int(other, 16)) % 2 ** 64
    y = (x ^ (x >> 30)) * int(last, 16) % 2 ** 64
    return y ^ (y >> 31)


class TestReplicaRing(unittest.TestCase):

    @given(REGIONS, PARTITIONS)
    def test_it_is_the_documented_order(self, regions, partition):
        part_nodes = nodes(*regions)
        self.assertEqual(
            sorted(part_nodes, key=lambda node: (
                node['region'], documented_number(partition, node['id']))),
            replica_ring(part_nodes, partition))

    @given(REGIONS, PARTITIONS, st.randoms())
    def test_the_order_of_the_rows_does_not_matter(self, regions, partition,
                                                   random):
        part_nodes = nodes(*regions)
        ring = replica_ring(part_nodes, partition)
        self.assertCountEqual(part_nodes, ring)
        random.shuffle(part_nodes)
        self.assertEqual(ring, replica_ring(part_nodes, partition))

    def test_a_round_crosses_each_region_boundary_once(self):
        for partition in range(50):
            regions = [node['region'] for node in replica_ring(
                nodes(3, 1, 2, 1, 3, 2, 1), partition)]
            self.assertEqual(sorted(regions), regions)

    def test_a_device_is_the_neighbour_of_all_others_alike(self):
        for r in (3, 4, 5):
            part_nodes, found = nodes(*[1] * r), Counter()
            for partition in range(1000):
                ring = replica_ring(part_nodes, partition)
                found.update((here['id'], after['id']) for here, after
                             in zip(ring, ring[1:] + ring[:1]))
            self.assertEqual(r * (r - 1), len(found))
            mean = 1000 / (r - 1)
            for count in found.values():
                self.assertTrue(0.8 * mean < count < 1.2 * mean, found)

    def test_the_argument_is_left_as_it_was(self):
        part_nodes = nodes(2, 1)
        replica_ring(part_nodes, 7)
        self.assertEqual(nodes(2, 1), part_nodes)

    def test_no_device_makes_an_empty_ring(self):
        self.assertEqual([], replica_ring([], 7))


class TestClockwise(unittest.TestCase):

    def test_the_last_one_s_neighbour_is_the_first(self):
        part_nodes = nodes(1, 1, 1)
        ring = replica_ring(part_nodes, 7)
        self.assertEqual(ring[:2], clockwise(part_nodes, 7, ring[2]['id']))

    def test_a_device_alone_has_no_neighbour(self):
        self.assertEqual([], clockwise(nodes(1), 7, 100))

    def test_a_device_that_does_not_hold_the_partition_is_refused(self):
        with self.assertRaises(ValueError):
            clockwise(nodes(1, 1), 7, 7)

    @given(REGIONS, PARTITIONS, st.data())
    def test_all_others_follow_each_once_in_ring_order(self, regions,
                                                       partition, data):
        part_nodes = nodes(*regions)
        ring = replica_ring(part_nodes, partition)
        here = data.draw(st.integers(0, len(ring) - 1))
        others = clockwise(part_nodes, partition, ring[here]['id'])
        self.assertEqual(
            [ring[(here + step) % len(ring)]
             for step in range(1, len(ring))], others)
