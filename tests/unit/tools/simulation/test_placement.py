# SPDX-License-Identifier: Apache-2.0
"""placement: who holds what, and what is aggregated."""

import random
import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.conversation import Ask
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.wire.sync_message import encode_roots
from tools.simulation.placement import Sample, place


class TestPlace(unittest.TestCase):

    @given(st.integers(2, 9), st.integers(0, 20), st.integers(1, 300))
    def test_a_row_has_different_nodes(self, replicas, more, partitions):
        placement = place(replicas + more, replicas, partitions, 100,
                          random.Random(1))
        self.assertEqual(min(partitions, 100), len(placement.rows))
        for row in placement.rows:
            self.assertEqual(replicas, len(set(row)))
            self.assertLess(max(row), replicas + more)

    def test_the_sample_stands_for_all(self):
        placement = place(5, 3, 1000, 10, random.Random(1))
        self.assertEqual(100, placement.weight)
        self.assertGreater(placement.pairs, 1)
        whole = place(5, 3, 1000, 1000, random.Random(1))
        self.assertEqual((1, 1), (whole.weight, whole.pairs))

    def test_devices_have_addresses_of_their_own(self):
        placement = place(10000, 3, 10, 10, random.Random(1), regions=3)
        self.assertEqual(10000, len({device['replication_ip']
                                     for device in placement.devices}))
        self.assertEqual({1, 2, 3}, {device['region']
                                     for device in placement.devices})


class TestRings(unittest.TestCase):

    def test_swift_gives_five_devices_of_five_replicas_one_order(self):
        rows = place(5, 5, 64, 64, random.Random(1), ring='built').rows
        self.assertEqual(1, len(set(rows)))

    def test_swift_spreads_first_replicas_where_there_are_more_devices(self):
        rows = place(8, 3, 64, 64, random.Random(1), ring='built').rows
        self.assertEqual(set(range(8)), {row[0] for row in rows})

    def test_hand_offs_are_all_the_others_in_an_order_that_stays(self):
        placement = place(9, 3, 5, 5, random.Random(1))
        for partition, row in enumerate(placement.rows):
            first, again = ([device['id'] for device
                             in placement.more_nodes(partition)]
                            for _ in range(2))
            self.assertEqual(first, again)
            self.assertEqual(list(range(9)), sorted([*row, *first]))

    def test_a_new_ring_moves_one_replica_of_a_partition(self):
        before = place(9, 3, 200, 200, random.Random(1))
        after = before.rebalanced(0.5, random.Random(2))
        moved = [len(set(new) - set(old))
                 for old, new in zip(before.rows, after.rows)]
        self.assertEqual({0, 1}, set(moved))
        self.assertAlmostEqual(100, sum(moved), delta=30)


class TestSample(unittest.TestCase):

    def message(self, partitions, slices):
        return Ask(SharedSet((0, 'sda', each) for each in range(
            0, 4 * partitions, 4)), ('ab' * 16,) * slices)

    def size(self, message, with_list=True):
        return len(encode_roots(message.partitions, message.roots,
                                with_list))

    def test_without_aggregation_the_bytes_are_those_encoded(self):
        message = self.message(100, 10)
        self.assertEqual((self.size(message), 12), Sample(1, 1).root_bytes(
            message, True, self.size(message), 3))

    def test_aggregated_bytes_are_those_of_the_whole(self):
        for slices, whole_slices, with_list in (
                (1, 1, False), (1, 1, True), (100, 1600, True)):
            message = self.message(100, slices)
            whole = self.message(1600, whole_slices)
            found, _ = Sample(16, 1).root_bytes(
                message, with_list, self.size(message, with_list), slices)
            self.assertEqual(self.size(whole, with_list), found)
