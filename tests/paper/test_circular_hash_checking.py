# SPDX-License-Identifier: Apache-2.0
"""LightSync §5.3, Algorithm 1, §6.1: Circular Hash Checking."""

import unittest
from collections import Counter
from itertools import combinations, permutations

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core import replica_ring
from tests.paper.model import PARTITION, Replicas, devices


class TestCircularHashChecking(unittest.TestCase):

    def test_fig_21_a_device_sends_to_its_clockwise_neighbour_only(self):
        replicas = Replicas([1] * 5)
        replicas.play(3)
        self.assertEqual([(3, 4)], replicas.messages)
        replicas.play(4)
        self.assertEqual((4, 0), replicas.messages[-1])

    def test_algorithm_1_a_round_is_r_messages_in_any_order(self):
        for r in (2, 3, 4, 5, 9):
            replicas = Replicas([1] * r)
            replicas.round(reversed(range(r)))
            self.assertEqual(r, len(replicas.messages))
            self.assertEqual(r, len(set(replicas.messages)))

    def test_algorithm_1_a_device_that_differs_pushes_its_version(self):
        replicas = Replicas([1] * 5)
        replicas.write('abc', 1, [2])
        replicas.play(2)
        self.assertEqual([(2, 3, 'abc')], replicas.pushes)

    def test_6_1_a_quorum_write_at_r_5_needs_two_rounds_at_most(self):
        needed = set()
        for holders in combinations(range(5), 3):
            for order in permutations(range(5)):
                replicas = Replicas([1] * 5)
                replicas.write('abc', 1, range(5))
                replicas.write('abc', 2, holders)
                needed.add(replicas.rounds_until_equal(order, 2))
        self.assertEqual({1, 2}, needed)

    def test_6_1_a_quorum_write_at_r_3_needs_one_round(self):
        for holders in combinations(range(3), 2):
            for order in permutations(range(3)):
                replicas = Replicas([1] * 3)
                replicas.write('abc', 1, holders)
                self.assertEqual(1, replicas.rounds_until_equal(order, 1))

    def test_6_1_a_single_copy_needs_r_minus_1_rounds_at_most(self):
        for r in (3, 5):
            needed = set()
            for holder in range(r):
                for order in permutations(range(r)):
                    replicas = Replicas([1] * r)
                    replicas.write('abc', 1, [holder])
                    needed.add(replicas.rounds_until_equal(order, r - 1))
            self.assertEqual(r - 1, max(needed))

    def test_6_1_stable_replicas_push_nothing(self):
        replicas = Replicas([1] * 5)
        replicas.write('abc', 1, range(5))
        replicas.round(range(5))
        self.assertEqual([], replicas.pushes)

    @given(st.lists(st.integers(1, 4), min_size=2, max_size=9))
    def test_the_ring_crosses_each_region_boundary_once(self, regions):
        ring = replica_ring.replica_ring(devices(regions), PARTITION)
        around = [device['region'] for device in ring + ring[:1]]
        crossings = sum(a != b for a, b in zip(around, around[1:]))
        distinct = len(set(regions))
        self.assertEqual(distinct if distinct > 1 else 0, crossings)

    def test_every_device_is_the_neighbour_of_a_device_somewhere(self):
        # The work of bringing one device up to date falls to all others.
        part_nodes = devices([1] * 5)
        for node in part_nodes:
            before = Counter(
                other['id'] for partition in range(1000)
                for other in part_nodes if other is not node
                and replica_ring.clockwise(
                    part_nodes, partition, other['id'])[0] is node)
            self.assertEqual(4, len(before))
            self.assertLess(max(before.values()), 1.3 * 1000 / 4)

    @given(st.lists(st.integers(1, 3), min_size=1, max_size=9))
    def test_each_device_is_the_clockwise_neighbour_of_one(self, regions):
        part_nodes = devices(regions)
        neighbours = [replica_ring.clockwise(part_nodes, PARTITION,
                                             node['id'])[:1]
                      for node in part_nodes]
        if len(regions) == 1:
            self.assertEqual([[]], neighbours)
        else:
            self.assertEqual(set(range(len(regions))),
                             {node['id'] for node, in neighbours})

    @given(st.lists(st.integers(1, 3), min_size=2, max_size=6), st.data())
    def test_any_writes_anywhere_become_equal_in_r_minus_1_rounds(
            self, regions, data):
        r = len(regions)
        replicas = Replicas(regions)
        for version in range(1, data.draw(st.integers(1, 8)) + 1):
            replicas.write(
                data.draw(st.sampled_from(['000', '7ff', 'fff'])), version,
                data.draw(st.sets(st.integers(0, r - 1), min_size=1)))
        order = data.draw(st.permutations(range(r)))
        newest = {}
        for held in replicas.contents.values():
            for suffix, version in held.items():
                newest[suffix] = max(version, newest.get(suffix, 0))
        replicas.rounds_until_equal(order, r - 1)
        self.assertEqual(newest, replicas.contents[0])
