# SPDX-License-Identifier: Apache-2.0
"""failure_table: who is left alone, and until when."""

import unittest

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from swift_lightsync.sync.core.failure_table import (
    MAX_HINTS,
    MAX_ROWS,
    NO_EXCEPTION,
    FailureTable,
    Row,
)


class TestFailureTable(unittest.TestCase):

    def test_an_unknown_key_has_no_exceptions(self):
        table = FailureTable()
        self.assertEqual(NO_EXCEPTION, table.row('a', 0))
        self.assertFalse(table.has_failed('a', 0))
        self.assertFalse(table.contact('a', 0))

    def test_failing_is_reported_once_a_suppression(self):
        table = FailureTable(limit=2, interval=10)
        reports = [table.record('a', now) for now in (0, 1, 2, 3)]
        self.assertEqual([False, True, False, False], reports)
        reports = [table.record('a', now) for now in (13, 14, 15)]
        self.assertEqual([False, True, False], reports)

    def test_a_row_that_is_over_is_gone(self):
        table = FailureTable(limit=1, interval=10)
        table.record('a', 0)
        self.assertEqual(Row(1, 0), table.row('a', 9))
        self.assertEqual(NO_EXCEPTION, table.row('a', 10))
        table.forget(10)
        self.assertFalse(table.contact('a', 10))

    def test_keys_are_independent(self):
        table = FailureTable(limit=1)
        table.record(('10.0.0.1', 6200, 'sda'), 0)
        self.assertFalse(table.has_failed(('10.0.0.1', 6200), 0))
        self.assertFalse(table.has_failed(('10.0.0.1', 6200, 'sdb'), 0))

    def test_an_interval_of_nothing_never_suppresses(self):
        table = FailureTable(limit=1, interval=0)
        table.record('a', 5)
        self.assertFalse(table.has_failed('a', 5))

    def test_a_clock_set_back_leaves_nobody_out_until_it_has_caught_up(self):
        table = FailureTable(limit=1, interval=10)
        table.record('a', 1000)
        self.assertFalse(table.has_failed('a', 0))

    def test_who_had_failed_and_answers_is_rejoining(self):
        table = FailureTable(limit=2, interval=10)
        table.record('a', 0, weight=2)
        table.record('b', 0)
        for key in 'abc':
            table.contact(key, 5)
        self.assertEqual({'a': 5}, table.rejoined)
        table.record('a', 6)
        self.assertEqual({'a': 5}, table.rejoined)
        table.forget(15)
        self.assertEqual({}, table.rejoined)

    def test_who_refused_only_has_let_nobody_wait(self):
        table = FailureTable(limit=3, interval=10)
        for key, weights in {'a': [1, 1, 1], 'b': [1, 1], 'c': [1, 2],
                             'd': [3]}.items():
            for weight in weights:
                table.record(key, 0, weight)
        self.assertEqual({'a'}, table.refusing(9))
        self.assertEqual(set(), table.refusing(10))


class TestPushes(unittest.TestCase):

    def test_who_is_back_is_pushed_to_again(self):
        for key, left in ((('h', 1), [('i', 1, '/push')]),
                          (('h', 1, 'd'), [('h', 1, 'e/push'),
                                           ('i', 1, '/push')])):
            table = FailureTable(limit=3, interval=10)
            for each in (('h', 1, '/push'), ('h', 1, 'd/push'),
                         ('h', 1, 'e/push'), ('i', 1, '/push'), key):
                table.record(each, 0, 3)
            table.contact(key, 1)
            self.assertEqual(left, list(table.rows))

    def test_who_always_answered_is_not(self):
        table = FailureTable(limit=3, interval=10)
        table.record(('h', 1, '/push'), 0, 3)
        table.contact(('h', 1), 1)
        self.assertTrue(table.has_failed(('h', 1, '/push'), 1))

    def test_one_that_refused_may_be_tried_once_more(self):
        table = FailureTable(limit=3, interval=10)
        table.record('a', 0, 3)
        for _ in range(3):
            table.record('b', 0)
        for key in 'abc':
            table.retry(key, 1)
        self.assertEqual([True, False], [table.has_failed(key, 1)
                                         for key in 'ab'])
        self.assertTrue(table.record('b', 1))
        self.assertEqual(['a', 'b'], list(table.rows))


class TestHints(unittest.TestCase):

    def setUp(self):
        self.table = FailureTable(limit=3, interval=10)

    def test_a_hint_stops_nothing_and_the_next_time_out_decides(self):
        self.table.hint('a', 0)
        self.assertFalse(self.table.has_failed('a', 0))
        self.assertTrue(self.table.record('a', 1, weight=2))
        self.assertTrue(self.table.has_failed('a', 1))

    def test_after_a_hint_refusals_count_as_without_it(self):
        self.table.hint('a', 0)
        self.assertEqual([False, False, True],
                         [self.table.record('a', now) for now in (1, 2, 3)])

    def test_after_a_hint_and_a_refusal_the_next_time_out_decides(self):
        self.table = FailureTable(limit=10, interval=10)
        self.table.hint('a', 0)
        self.table.record('a', 1)
        self.assertTrue(self.table.record('a', 2, weight=2))

    def test_any_number_of_hints_is_one(self):
        for now in range(100):
            self.table.hint('a', now)
            self.assertFalse(self.table.has_failed('a', now))

    def test_a_hint_is_believed_for_an_interval(self):
        self.table.hint('a', 0)
        self.assertFalse(self.table.record('a', 10, weight=2))
        self.assertEqual(Row(2, 10, True), self.table.row('a', 10))

    def test_a_time_out_before_an_answer_lets_the_next_one_decide(self):
        self.table.record('a', 0, weight=2)
        for now in (1, 2):
            self.table.contact('a', now)
        self.assertFalse(self.table.has_failed('a', 2))
        self.assertTrue(self.table.record('a', 9, weight=2))
        self.table.contact('a', 10)
        self.assertTrue(self.table.record('a', 18, weight=2))

    def test_a_refusal_before_an_answer_counts_for_nothing(self):
        self.table.record('a', 0)
        self.table.contact('a', 1)
        self.assertFalse(self.table.record('a', 2, weight=2))

    def test_a_sign_of_life_of_who_failed_makes_it_rejoin(self):
        self.table.record('a', 0, weight=3)
        self.table.hint('a', 1)
        self.assertFalse(self.table.has_failed('a', 1))
        self.assertEqual({'a': 1}, self.table.rejoined)
        self.assertTrue(self.table.record('a', 2, weight=2))

    def test_who_rejoined_and_let_us_wait_again_is_not_believed(self):
        self.table.record('a', 0, weight=3)
        self.table.hint('a', 1)
        self.table.record('a', 2, weight=3)
        self.table.hint('a', 3)
        self.assertTrue(self.table.has_failed('a', 3))
        self.assertFalse(self.table.has_failed('a', 12))

    def test_who_rejoined_and_refused_again_is_believed(self):
        self.table.record('a', 0, weight=3)
        self.table.hint('a', 1)
        for now in (2, 3, 4):
            self.table.record('a', now)
        self.assertTrue(self.table.has_failed('a', 4))
        self.table.hint('a', 5)
        self.assertFalse(self.table.has_failed('a', 5))

    def test_a_report_is_of_one_reporter_and_a_hint_for_us(self):
        self.table.report('r', 'a', 0)
        self.assertTrue(self.table.is_reported('r', 'a', 3599))
        self.assertFalse(self.table.is_reported('r', 'a', 3600))
        self.assertFalse(self.table.is_reported('s', 'a', 0))
        self.assertFalse(self.table.is_reported('r', 'b', 0))
        self.assertFalse(self.table.has_failed('a', 0))
        self.assertTrue(self.table.record('a', 1, weight=2))

    def test_a_report_does_not_revive_who_has_failed_for_us(self):
        self.table.record('a', 0, weight=3)
        self.table.report('r', 'a', 1)
        self.assertTrue(self.table.has_failed('a', 1))
        self.assertEqual({}, self.table.rejoined)

    def test_what_is_past_is_forgotten(self):
        self.table.record('a', 0)
        self.table.hint('b', 0)
        self.table.report('r', 'c', 0)
        self.table.record('d', 0, weight=3)
        self.table.contact('d', 0)
        self.table.forget(9)
        for entries in (self.table.rows, self.table.hints,
                        self.table.rejoined, self.table.reports):
            self.assertTrue(entries)
        self.table.forget(10)
        for entries in (self.table.rows, self.table.hints,
                        self.table.rejoined):
            self.assertFalse(entries)
        self.assertTrue(self.table.reports)
        self.table.forget(3600)
        self.assertFalse(self.table.reports)

    def test_nobody_can_make_it_grow_without_end(self):
        count = 2 * MAX_ROWS
        for number in range(count):
            self.table.reports['r', number] = number / count
            self.table.rows[number] = Row(1, number / count)
            self.table.hints[number] = number / count
        self.table.record('last', 1)
        self.table.report('r', 'last', 1)
        self.assertLessEqual(len(self.table.rows), MAX_ROWS)
        for entries in (self.table.hints, self.table.reports):
            self.assertLessEqual(len(entries), MAX_HINTS)
        # The newest stay.
        self.assertIn(count - 1, self.table.rows)
        self.assertTrue(self.table.is_reported('r', 'last', 1))


class AgainstADumbTable(RuleBasedStateMachine):
    """The table does what a list of all exceptions says."""

    def __init__(self):
        super().__init__()
        self.table = FailureTable(limit=4, interval=10)
        self.now = 0
        self.history = {'a': [], 'b': []}
        #: When a key that answered had let us wait.
        self.suspected = {}

    keys = st.sampled_from('ab')

    def count(self, key):
        history = self.history[key]
        if history and self.now - history[-1][0] >= 10:
            history.clear()
        return sum(weight for _, weight in history)

    @rule(key=keys, weight=st.sampled_from([1, 2, 5]))
    def record(self, key, weight):
        before = self.count(key)
        decides = (weight > 1 and key in self.suspected
                   and self.now - self.suspected[key] < 10)
        counted = max(weight, 4 - before if decides else 0)
        self.history[key].append((self.now, counted))
        assert (before < 4 <= before + counted) == self.table.record(
            key, self.now, weight)

    @rule(key=keys)
    def contact(self, key):
        known = bool(self.count(key))
        if self.waited(key):
            self.suspected[key] = self.history[key][-1][0]
        self.history[key].clear()
        assert self.table.contact(key, self.now) or not known

    def waited(self, key):
        return any(weight > 1 for _, weight in self.history[key])

    @rule(seconds=st.sampled_from([0.5, 5, 10]))
    def wait(self, seconds):
        self.now += seconds

    @invariant()
    def agree(self):
        for key in 'ab':
            assert self.table.row(key, self.now).n_exception \
                == self.count(key)
            assert self.table.has_failed(key, self.now) \
                == (self.count(key) >= 4)


TestAgainstADumbTable = AgainstADumbTable.TestCase
