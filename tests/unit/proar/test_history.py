# SPDX-License-Identifier: Apache-2.0
"""The checker of histories tells good ones from bad ones."""

import random
import unittest
from itertools import permutations

from tests.functional.history import (
    UNKNOWN,
    Operation,
    Outage,
    Value,
    find_violation,
    judge,
)

ABSENT, PRESENT = Value.ABSENT, Value.PRESENT


def write(value, invoked, answered=UNKNOWN, may_fail=False):
    return Operation(True, value, invoked, answered, may_fail=may_fail)


def read(value, invoked, answered):
    return Operation(False, value, invoked, answered)


def by_definition(operations):
    """Whether any order of a few operations is that of a register."""
    def explains(order):
        state = ABSENT
        for place, each in enumerate(order):
            if any(later.precedes(each) for later in order[place:]):
                return False
            if each.is_write:
                state = each.value
            elif not each.fits(state):
                return False
        return True
    certain, uncertain = [], []
    for each in operations:
        (uncertain if each.may_fail or each.answered == UNKNOWN
            else certain).append(each)
    return any(explains(order)
               for taken in range(1 << len(uncertain))
               for order in permutations(certain + [
                   each for number, each in enumerate(uncertain)
                   if taken >> number & 1]))


class HistoryCase(unittest.TestCase):

    def assertHolds(self, *operations):
        self.assertIsNone(find_violation(operations))

    def assertBreaks(self, bad, *operations):
        """Check that nothing explains one operation."""
        found = find_violation([*operations, bad])
        self.assertIs(bad, found and found.operation)


class TestLinearizable(HistoryCase):

    def test_what_an_order_explains(self):
        for what, *operations in (
                ('nothing',),
                ('reads of what was written last', read(ABSENT, 0, 1),
                 write('a', 2, 3), read('a', 4, 5), write('b', 6, 7),
                 read('b', 8, 9), write(ABSENT, 10, 11),
                 read(ABSENT, 12, 13)),
                ('concurrent writes in one order', write('a', 0, 3),
                 write('b', 1, 2), read('a', 4, 5)),
                ('and in the other', write('a', 0, 3), write('b', 1, 2),
                 read('b', 4, 5)),
                ('readers of a write under way', write('a', 0, 9),
                 read(ABSENT, 1, 2), read('a', 3, 4), read('a', 5, 6)),
                ('an answer at the moment of an invocation',
                 write('a', 0, 1), read(ABSENT, 1, 2)),
                ('a superseded write', write('a', 0, 1),
                 write('late', 2, 5), write('b', 3, 4), read('b', 6, 7)),
                ('present is any value', write('a', 0, 1),
                 read(PRESENT, 2, 3)),
                ('an unknown outcome that never takes effect',
                 write('a', 0, 1), write('b', 2), read('a', 10, 11),
                 read('a', 20, 21)),
                ('or at any later time', write('a', 0, 1), write('b', 2),
                 read('a', 10, 11), write('c', 12, 13), read('c', 14, 15),
                 read('b', 16, 17)),
                ('one that fails', write('a', 0, 1),
                 write('b', 2, 3, True), read('a', 4, 5)),
                ('or does not', write('a', 0, 1), write('b', 2, 3, True),
                 read('b', 4, 5)),
                ('or is seen until its answer', write('a', 0, 1),
                 write('b', 2, 6, True), read('b', 3, 4),
                 write('c', 4.5, 5), read('c', 7, 8))):
            with self.subTest(what):
                self.assertHolds(*operations)

    def test_what_none_explains(self):
        for what, bad, *operations in (
                ('a read of the past', read('a', 4, 5), write('a', 0, 1),
                 write('b', 2, 3)),
                ('a read that misses the first write', read(ABSENT, 2, 3),
                 write('a', 0, 1)),
                ('a read of what nobody wrote', read('c', 2, 3),
                 write('a', 0, 1)),
                ('a deleted value that comes back', read('a', 6, 7),
                 write('a', 0, 1), write(ABSENT, 2, 3), read(ABSENT, 4, 5)),
                ('a lost write', read('a', 6, 7), write('a', 0, 1),
                 write('b', 2, 3), read('b', 4, 5)),
                ('concurrent writes in both orders', read('b', 6, 7),
                 write('a', 0, 3), write('b', 1, 2), read('a', 4, 5)),
                ('readers of a write under way that disagree',
                 read(ABSENT, 5, 6), write('a', 0, 9), read('a', 3, 4)),
                ('a superseded write that nothing superseded',
                 read('a', 6, 7), write('a', 0, 1), write('late', 2, 5)),
                ('absent is not present', read(PRESENT, 4, 5),
                 write('a', 0, 1), write(ABSENT, 2, 3)),
                ('an unknown outcome that takes effect twice',
                 read('b', 9, 10), write('b', 2), read('b', 4, 5),
                 write('c', 5.5, 6), read('c', 7, 8)),
                ('or before it was invoked', read('b', 2, 3),
                 write('a', 0, 1), write('b', 4)),
                ('one that fails after its answer', read('b', 6, 7),
                 write('a', 0, 1), write('b', 2, 3, True), read('a', 4, 5)),
                ('or that has failed and is seen again', read('b', 6, 7),
                 write('a', 0, 1), write('b', 2, 4.5, True),
                 read('b', 3, 4), write('c', 3, 4), read('c', 5, 5.5))):
            with self.subTest(what):
                self.assertBreaks(bad, *operations)

    def test_a_read_of_the_future(self):
        found = find_violation([read('a', 0, 1), write('a', 2, 3)])
        self.assertEqual('a', found.operation.value)
        self.assertFalse(found.operation.is_write)

    def test_another_first_value(self):
        self.assertIsNone(find_violation([read('z', 0, 1)], 'z'))

    def test_so_many_deletions_are_so_many_effects(self):
        def history(unknown, rounds):
            for number in range(unknown):
                yield write(ABSENT, number)
            for number in range(20, 20 + rounds):
                yield write(number, number, number + .1)
                yield read(number, number + .2, number + .3)
                yield read(ABSENT, number + .4, number + .5)
        self.assertIsNone(find_violation(list(history(12, 12))))
        found = find_violation(list(history(12, 13)))
        self.assertEqual(32.4, found.operation.invoked)


class TestAgainstTheDefinition(unittest.TestCase):

    def test_histories_at_random(self):
        verdicts = []
        for seed in range(1000):
            chance = random.Random(seed)
            operations = []
            for number in range(6):
                invoked = chance.randrange(12)
                answered = invoked + chance.randrange(1, 6)
                if chance.random() < 0.5:
                    operations.append(write(
                        chance.choice((number, ABSENT)), invoked,
                        chance.choice((answered, answered, UNKNOWN)),
                        chance.random() < 0.3))
                else:
                    operations.append(read(chance.choice(
                        (ABSENT, PRESENT, 0, 1, 2)), invoked, answered))
            verdicts.append(find_violation(operations) is None)
            self.assertEqual(by_definition(operations), verdicts[-1],
                             'seed %d' % seed)
        self.assertLess(100, sum(verdicts))
        self.assertLess(100, len(verdicts) - sum(verdicts))


class TestOutages(unittest.TestCase):

    #: of the primary role: killed at 10, back at 20
    outages = [Outage(10, 11, 20, 22)]

    def judged(self, *operations):
        """Return how many reads are stale, and how many violations"""
        verdict = judge(operations, self.outages)
        return len(verdict.stale), len(verdict.violations)

    def test_a_stale_read_in_the_outage_is_told(self):
        history = write('a', 0, 1), write('b', 2, 3), read('a', 12, 13)
        self.assertEqual((1, 0), self.judged(*history))
        self.assertIsNotNone(find_violation(history))

    def test_a_read_of_the_newest_is_not_stale(self):
        self.assertEqual((0, 0), self.judged(
            write('a', 0, 1), write('b', 2, 3), read('b', 12, 13)))

    def test_before_and_after_the_outage_none_may_be(self):
        for moment in 8, 23:
            self.assertEqual((0, 1), self.judged(
                write('a', 0, 1), write('b', 2, 3),
                read('a', moment, moment + 1)))

    def test_what_others_acknowledged_must_not_be_missed(self):
        self.assertEqual((0, 1), self.judged(
            write('a', 0, 1), write('b', 12, 13), read('a', 14, 15)))

    def test_what_the_primary_role_takes_when_it_is_back_may_be(self):
        self.assertEqual((1, 0), self.judged(
            write('a', 0, 1), write('b', 20.5, 20.8), read('a', 21, 21.5)))

    def test_what_nobody_wrote_before_must_not_be_read(self):
        for operation in write('b', 18, 19), write('c', 0, 1):
            self.assertEqual((0, 1), self.judged(
                operation, read('b', 12, 13)))

    def test_a_tombstone_is_as_old_as_its_deletion(self):
        history = (write('a', 0, 1), write(ABSENT, 2, 3), write('b', 4, 5),
                   read(ABSENT, 12, 13))
        self.assertEqual((1, 0), self.judged(*history))
        self.assertEqual((1, 1), self.judged(
            *history, write('c', 14, 15), read(ABSENT, 16, 17)))

    def test_a_write_of_unknown_outcome_supersedes_nothing(self):
        self.assertEqual((0, 0), self.judged(
            write('a', 0, 1), write('b', 12), read('a', 14, 15),
            read('a', 30, 31)))

    def test_nor_does_one_that_may_have_failed(self):
        self.assertEqual((0, 0), self.judged(
            write('a', 0, 1), write('b', 12, 13, True), read('a', 14, 15)))


class TestMessages(unittest.TestCase):

    def test_a_violation_names_what_was_before(self):
        text = str(find_violation([write('a', 0, 1), read('z', 2, 3)]))
        self.assertIn('2.0000-3.0000 read z', text)
        self.assertIn('0.0000-1.0000 write a', text)

    def test_an_answer_before_its_invocation_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'before it was invoked'):
            read('a', 2, 1)
