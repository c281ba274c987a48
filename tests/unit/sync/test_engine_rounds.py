# SPDX-License-Identifier: Apache-2.0
"""core.engine.rounds: full comparisons, and what a round takes note of."""

import unittest

from swift_lightsync.sync import shared_reads
from swift_lightsync.sync.core.engine.rounds import (
    Relist,
    Round,
    full_comparison,
)
from swift_lightsync.sync.core.sync_round import Answer, Check, Exchange
from swift_lightsync.sync.keys import device_key
from swift_lightsync.sync.patient_reads import PATIENCE, patience_of
from tests.unit.sync.fixtures import node

ONE, TWO, THREE = (node(number, 6200, ip='127.0.0.%d' % number)
                   for number in (1, 2, 3))


class Pass:
    """A pass in which some devices have failed."""

    def __init__(self, *failed):
        self.failed = failed

    def has_failed(self, device):
        return device in self.failed

    def has_verb(self, device):
        return True

    def cannot_push(self, device):
        return False


class TestFullComparison(unittest.TestCase):

    def play(self, *answers, failed=()):
        """Play it with three others, until it wants an exchange or ends."""
        self.skipped = None
        each = self.round = Round(Pass(*failed), 0, 'sda', 1, 5, 'ab', 3)
        each.begin(self.plan(each))
        self.assertIsInstance(each.pending, Relist)
        each.relisted('cd', 4)
        self.assertEqual(('cd', 4), (each.root, each.suffixes))
        for answer in answers:
            self.assertIsInstance(each.pending, Check)
            each.answer(answer)
        return each.pending

    def plan(self, each):
        self.skipped = yield from full_comparison((ONE, TWO, THREE),
                                                  each.has_failed)

    def test_where_all_are_equal_nothing_is_exchanged(self):
        self.assertIsNone(self.play(*[Answer.MATCH] * 3))
        self.assertEqual((3, True, []), (
            self.round.matched, self.round.complete, self.skipped))

    def test_those_that_differ_or_are_not_mounted_are_exchanged_with(self):
        self.assertEqual(Exchange((ONE, THREE)), self.play(
            Answer.DIFFER, Answer.MATCH, Answer.UNMOUNTED))
        self.round.exchanged(device_key(ONE), 1, 4)
        self.round.exchanged(device_key(THREE), 0, 4)
        self.assertTrue(self.round.complete)

    def test_who_is_tried_alone_is_not_passed_over_before(self):
        self.play(Answer.UNMOUNTED, Answer.MATCH, Answer.MATCH)
        self.assertEqual([ONE], self.round.able())
        self.assertEqual(frozenset(), self.round.passed_over)

    def test_it_is_complete_only_if_all_could_be_compared(self):
        for answer in (Answer.BUSY, Answer.NOT_YET, Answer.TIMEOUT,
                       Answer.REFUSED):
            self.assertIsNone(self.play(Answer.MATCH, answer, Answer.MATCH))
            self.assertFalse(self.round.complete)
            self.assertEqual({device_key(TWO)}, self.round.passed_over)

    def test_who_has_failed_is_skipped(self):
        self.assertIsNone(self.play(Answer.MATCH, Answer.MATCH,
                                    failed=[TWO]))
        self.assertEqual([device_key(TWO)], self.skipped)


class TestPatience(unittest.TestCase):

    def test_a_node_tells_of_a_disk_that_hangs_while_it_is_waited_for(self):
        for seconds in (1, 2, 10, 49, 50, 60, 3600):
            patience = patience_of('%d' % seconds)
            # Admission, what is kept, a new tree, and reading.
            self.assertLess(
                patience * (0.5 + 1 + 1 + 1 + shared_reads.GRACE), seconds)

    def test_who_says_nothing_sensible_is_given_the_usual_time(self):
        for said in (None, '', '-1', '1.5', '12345', '²'):
            self.assertEqual(PATIENCE, patience_of(said))
