# SPDX-License-Identifier: Apache-2.0
"""Disks that come and go, rings that change, nodes that are slow."""

import math
import unittest

from hypothesis import given
from hypothesis import strategies as st

from tests.simulation.cluster import (
    CALM_ROUNDS,
    LIGHTSYNC,
    QUICK,
    rounds_until_equal,
    world,
    write,
)
from tools.simulation.costs import TODAY
from tools.simulation.network import Reach

SEEDS = st.integers(0, 2 ** 16)


def write_all(where, copies):
    for partition in range(len(where.placement.rows)):
        write(where, partition, 1, copies=copies, version=7)


def fewest_copies(where):
    return min(map(where.copies, range(len(where.placement.rows))))


class TestDisks(unittest.TestCase):

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(3, 5), st.data())
    def test_hand_offs_hold_what_unmounted_disks_should(
            self, protocol, seed, replicas, data):
        where = world(protocol, seed=seed, replicas=replicas, nodes=8)
        write_all(where, replicas // 2 + 1)
        # Of each partition one live replica has the write.
        missing = data.draw(st.sets(st.integers(0, 7), min_size=1,
                                    max_size=replicas // 2))
        for number in missing:
            where.unmount(number)
        self.assertIsNotNone(rounds_until_equal(where, replicas + 1))
        self.assertGreaterEqual(fewest_copies(where), replicas)

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5),
           st.booleans())
    def test_hand_offs_return_what_they_hold_once_the_disk_is_back(
            self, protocol, seed, replicas, empty):
        where = world(protocol, seed=seed, replicas=replicas)
        where.unmount(0)
        write_all(where, 1)
        self.assertIsNotNone(rounds_until_equal(where, replicas + 1))
        where.mount(0, empty=empty)
        self.assertIsNotNone(rounds_until_equal(where, replicas + 1))
        where.run_round()
        self.assertEqual(0, where.hand_offs())
        self.assertEqual(replicas, fewest_copies(where))

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5))
    def test_an_empty_disk_is_filled_in_one_round(
            self, protocol, seed, replicas):
        where = world(protocol, seed=seed, replicas=replicas)
        write_all(where, replicas)
        where.mount(0, empty=True)
        self.assertGreater(where.differing(), 0)
        where.run_round()
        self.assertEqual(0, where.differing())

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5),
           st.sets(st.integers(0, 7), max_size=4),
           st.sets(st.integers(0, 7), max_size=2))
    def test_there_are_as_many_copies_as_stock_makes(
            self, protocol, seed, replicas, unmounted, down):
        copies = []
        for name, rounds in (('stock', 1), (protocol, replicas + 3)):
            where = world(name, seed=seed, replicas=replicas, nodes=8)
            write_all(where, replicas)
            for number in unmounted:
                where.unmount(number)
            for number in down:
                where.crash(number)
            for _ in range(rounds):
                where.run_round()
            copies.append([where.copies(partition) for partition
                           in range(len(where.placement.rows))])
        for stock, ours in zip(*copies):
            self.assertLessEqual(stock, ours)


class TestRings(unittest.TestCase):

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(2, 5),
           st.lists(st.sets(st.integers(0, 7), min_size=1), max_size=3),
           st.floats(0.1, 1))
    def test_partitions_move_while_nodes_have_different_rings(
            self, protocol, seed, replicas, deliveries, fraction):
        where = world(protocol, seed=seed, replicas=replicas, nodes=8)
        write_all(where, replicas // 2 + 1)
        for numbers in deliveries:
            where.rebalance(fraction)
            where.deliver_ring(numbers)
            where.run_round()
        where.deliver_ring(range(8))
        self.assertIsNotNone(rounds_until_equal(where, replicas + 1))
        where.run_round()
        self.assertEqual(0, where.hand_offs())
        self.assertEqual(replicas, fewest_copies(where))

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.floats(0, 2))
    def test_a_ring_that_changes_in_a_pass_loses_nothing(
            self, protocol, seed, seconds):
        where = world(protocol, seed=seed, nodes=8)
        write_all(where, 1)
        where.events.at(where.events.now + where.settings.interval + seconds,
                        self.change_ring, where)
        where.run_round()
        where.deliver_ring(range(8))
        self.assertIsNotNone(rounds_until_equal(where, 5))
        self.assertEqual(3, fewest_copies(where))

    @staticmethod
    def change_ring(where):
        where.rebalance(0.5)
        where.deliver_ring(range(8))


class TestSeveralAtOnce(unittest.TestCase):

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(3, 5),
           st.sets(st.integers(0, 7), min_size=2, max_size=7),
           st.sampled_from([Reach.SILENT, Reach.REFUSED]))
    def test_nodes_that_fail_and_return_together_are_brought_up_to_date(
            self, protocol, seed, replicas, down, how):
        where = world(protocol, seed=seed, replicas=replicas, nodes=8)
        for number in down:
            where.crash(number, how)
        write_all(where, 1)
        for _ in range(3):
            where.run_round()
        for number in down:
            where.restart(number)
        self.assertIsNotNone(rounds_until_equal(where, CALM_ROUNDS))

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.sets(
        st.integers(0, 7), min_size=1, max_size=2))
    def test_what_is_left_of_the_rings_becomes_equal_meanwhile(
            self, protocol, seed, down):
        where = world(protocol, seed=seed, replicas=5, nodes=8)
        for number in down:
            where.crash(number)
        write_all(where, 1)
        self.assertIsNotNone(rounds_until_equal(where, 6))


class TestSlowNodes(unittest.TestCase):

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS, st.integers(3, 5))
    def test_a_hanging_node_costs_a_time_out_or_two(
            self, protocol, seed, replicas):
        where = world(protocol, seed=seed, replicas=replicas)
        write_all(where, replicas)
        before = where.run_round()
        where.network.slow[0] = math.inf
        after = where.run_round()
        self.assertLessEqual(
            after.slowest, before.slowest + 2 * TODAY.http_timeout)
        self.assertLessEqual(after.most_messages,
                             2 * before.most_messages + 20)

    @QUICK
    @given(st.sampled_from(LIGHTSYNC), SEEDS,
           st.sampled_from([3, 30, 3000, math.inf]))
    def test_the_others_become_equal_without_a_slow_one(
            self, protocol, seed, slowness):
        where = world(protocol, seed=seed, replicas=5)
        where.network.slow[0] = slowness
        write_all(where, 5)
        for partition, row in enumerate(where.placement.rows):
            others = [node for node in row if node]
            where.disks.write(partition, 2, 8, others[:1])
        for _ in range(6):
            where.run_round()
        for partition, row in enumerate(where.placement.rows):
            self.assertFalse(where.disks.differs(
                partition, [node for node in row if node]))
