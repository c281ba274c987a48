# SPDX-License-Identifier: Apache-2.0
"""LightSync §5.4: Failed Neighbour Handling."""

import unittest
from itertools import combinations, permutations

from swift_lightsync.sync.core.failure_table import FailureTable
from swift_lightsync.sync.core.sync_round import Answer
from tests.paper.model import Replicas


class TestFailureDetection(unittest.TestCase):

    def test_5_4_1_a_node_fails_at_its_tenth_exception(self):
        table = FailureTable()
        for second in range(9):
            self.assertFalse(table.record('r3', second))
            self.assertFalse(table.has_failed('r3', second))
        self.assertTrue(table.record('r3', 9))
        self.assertTrue(table.has_failed('r3', 9))

    def test_5_4_1_it_is_left_alone_for_sixty_seconds(self):
        table = FailureTable()
        for _ in range(10):
            table.record('r3', 100)
        self.assertTrue(table.has_failed('r3', 159.9))
        self.assertFalse(table.has_failed('r3', 160))

    def test_fig_22_then_its_exceptions_count_from_zero(self):
        table = FailureTable()
        for _ in range(10):
            table.record('r3', 100)
        table.record('r3', 160)
        self.assertEqual(1, table.row('r3', 160).n_exception)
        self.assertFalse(table.has_failed('r3', 160))

    def test_table_2(self):
        table = FailureTable()
        noon = 12 * 3600
        exceptions = {'r5': (10, noon + 11 * 60),
                      'r4': (9, noon + 12 * 60 + 29),
                      'r3': (10, noon + 12 * 60 + 30)}
        for node, (count, second) in exceptions.items():
            for _ in range(count):
                table.record(node, second)
        now = noon + 12 * 60 + 31
        self.assertEqual(
            {'r1': 0, 'r3': 10, 'r4': 9, 'r5': 0},
            {node: table.row(node, now).n_exception
             for node in ('r1', 'r3', 'r4', 'r5')})
        self.assertEqual(['r3'], [node for node in exceptions
                                  if table.has_failed(node, now)])

    def test_5_4_1_only_consecutive_exceptions_count(self):
        table = FailureTable()
        for _ in range(9):
            table.record('r3', 0)
        self.assertTrue(table.contact('r3', 1))
        table.record('r3', 1)
        self.assertFalse(table.has_failed('r3', 1))
        self.assertFalse(table.contact('r1', 1))

    def test_5_4_2_a_notice_makes_the_next_time_out_decide(self):
        table = FailureTable()
        table.report(('r2',), ('r3',), 100)
        self.assertFalse(table.has_failed(('r3',), 100))
        self.assertTrue(table.record(('r3',), 101, weight=2))
        self.assertTrue(table.is_reported(('r2',), ('r3',), 3699))
        self.assertFalse(table.is_reported(('r2',), ('r3',), 3700))

    def test_5_4_3_a_failed_node_that_answers_is_rejoining(self):
        table = FailureTable()
        table.record(('r3',), 100, 10)
        table.record(('r4',), 100, 9)
        table.contact(('r3',), 110)
        table.contact(('r4',), 110)
        self.assertEqual({('r3',): 110}, table.rejoined)


class TestFailureHandling(unittest.TestCase):

    def neighbour_of_r2(self, *failed):
        replicas = Replicas([1] * 5)
        replicas.play(1, lambda device: device['id'] + 1 in failed)
        (_, receiver), = replicas.messages
        return receiver + 1

    def test_fig_23_the_ring_closes_over_a_failed_neighbour(self):
        self.assertEqual(3, self.neighbour_of_r2())
        self.assertEqual(4, self.neighbour_of_r2(3))
        self.assertEqual(5, self.neighbour_of_r2(3, 4))

    def test_5_4_2_the_live_become_equal_with_any_minority_silent(self):
        for dead in range(1, 3):
            for silent in combinations(range(5), dead):
                live = [i for i in range(5) if i not in silent]
                for holder in live:
                    for order in permutations(live):
                        replicas = Replicas([1] * 5, silent)
                        replicas.write('abc', 1, [holder])
                        replicas.rounds_until_equal(order, len(live) - 1)

    def test_5_4_2_a_device_that_one_node_cannot_reach_is_seen_to(self):
        # r2 cannot reach r3; the others can.
        class Split(Replicas):
            def _check(self, sender, receiver):
                if (sender, receiver) == (1, 2):
                    return Answer.TIMEOUT
                return super()._check(sender, receiver)

        replicas = Split([1] * 5)
        replicas.write('abc', 1, [1])
        for _ in range(4):
            replicas.round(range(5), is_cut=lambda a, b: (
                a['id'], b['id']) == (1, 2))
        self.assertTrue(replicas.are_equal())

    def test_a_neighbour_that_cannot_store_does_not_stop_the_rest(self):
        replicas = Replicas([1] * 5)
        replicas.write('abc', 1, [1])
        push = replicas._push
        replicas._push = lambda sender, receiver: (
            receiver != 2 and push(sender, receiver))
        for _ in range(3):
            replicas.round(range(5))
        self.assertEqual([{'abc': 1}] * 2 + [{}] + [{'abc': 1}] * 2,
                         [replicas.contents[i] for i in range(5)])


class TestIdleNeighbours(unittest.TestCase):
    """Devices that answer, but play no rounds: what the paper leaves out."""

    def with_idle(self, r):
        """Yield (ids of idle devices, orders of the rest) of r devices."""
        for count in range(1, r):
            for idle in combinations(range(r), count):
                yield idle, list(permutations(
                    number for number in range(r) if number not in idle))

    def rounds(self, r, idle, holders, order, most):
        replicas = Replicas([1] * r, idle=idle)
        replicas.write('abc', 1, range(r))
        replicas.write('abc', 2, holders)
        found = replicas.rounds_until_equal(
            order, most, is_cut=lambda one, other: one['id'] in idle)
        self.assertEqual({'abc': 2}, replicas.contents[0])
        return found

    def test_a_quorum_write_needs_no_round_more_than_if_all_ran(self):
        for r, most in ((3, 1), (4, 2), (5, 2)):
            needed = set()
            for idle, orders in self.with_idle(r):
                for holders in combinations(range(r), (r + 1) // 2):
                    if not set(holders) <= set(idle):
                        needed.update(self.rounds(
                            r, idle, holders, order, most)
                            for order in orders)
            self.assertEqual(most, max(needed))

    def test_a_single_copy_needs_r_minus_1_rounds_at_most(self):
        for r in (3, 4, 5):
            for idle, orders in self.with_idle(r):
                for holder in orders[0]:
                    for order in orders:
                        self.rounds(r, idle, [holder], order, r - 1)

    def test_an_idle_device_costs_one_message_a_round(self):
        for r in (3, 4, 5):
            replicas = Replicas([1] * r, idle=[r - 1])
            replicas.round(range(r), is_cut=lambda one, other: (
                one['id'] == r - 1))
            self.assertEqual(r, len(replicas.messages))

    def test_if_nobody_knew_it_would_cut_the_ring(self):
        for r in (3, 4, 5):
            replicas = Replicas([1] * r, idle=[1])
            replicas.write('abc', 1, [0])
            for _ in range(10):
                replicas.round(range(r))
            self.assertEqual([{'abc': 1}] * 2 + [{}] * (r - 2),
                             list(replicas.contents.values()))
