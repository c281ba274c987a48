# SPDX-License-Identifier: Apache-2.0
"""sync_point.py: a point claims what is done."""

import math
import unittest

from hypothesis import given, settings
from hypothesis import strategies as st

from swift_lightsync.versioning.core.sync_point import Lag, Progress, turn


def page(*rows):
    return [(row, 1000.0 + row) for row in rows]


class TestProgress(unittest.TestCase):

    def setUp(self):
        self.progress = Progress(3)

    def look(self, *rows, after=3, complete=True):
        self.progress.look(after, page(*rows), complete)
        for row in rows:
            self.progress.schedule(row, 0)

    def waiting(self):
        return [row for row in range(1, 10) if row in self.progress._rows
                and not self.progress._rows[row].done]

    def test_the_point_moves_over_what_is_done(self):
        self.look(4, 5, 9)
        for row in (4, 5):
            self.progress.done(row)
        self.assertTrue(self.progress.advance())
        self.assertEqual(5, self.progress.point)
        self.assertFalse(self.progress.advance())

    def test_a_row_that_is_not_done_keeps_the_point(self):
        self.look(4, 5, 9)
        for row in (5, 9):
            self.progress.done(row)
        self.assertFalse(self.progress.advance())
        self.assertEqual(3, self.progress.point)
        self.assertEqual(Lag(1, 1004.0), self.progress.lag)
        self.progress.done(4)
        self.progress.advance()
        self.assertEqual(9, self.progress.point)

    def test_what_is_done_is_not_due_again(self):
        self.look(4, 5)
        self.progress.done(5)
        self.look(4, 5)
        self.assertEqual([True, False], [
            self.progress.is_due(row, 0) for row in (4, 5)])

    def test_a_row_that_was_written_anew_holds_nothing_up(self):
        self.look(4, 5)
        self.progress.done(5)
        self.look(5, 6)
        self.progress.done(6)
        self.progress.advance()
        self.assertEqual(6, self.progress.point)

    def test_rows_beyond_a_page_are_not_forgotten(self):
        self.look(4, 5, complete=False)
        self.look(6, 7, after=5, complete=True)
        self.look(4, 5, complete=False)
        self.assertEqual([4, 5, 6, 7], self.waiting())

    def test_the_last_row_about_a_subject_stands_for_those_before(self):
        self.look(4, 5, 6)
        self.assertTrue(self.progress.is_last(4, 'o'))
        self.assertTrue(self.progress.is_last(5, 'p'))
        self.assertTrue(self.progress.is_last(6, 'o'))
        self.assertEqual([4, 5, 6], self.waiting())
        self.assertFalse(self.progress.is_last(4, 'o'))
        self.assertEqual([5, 6], self.waiting())
        self.progress.done(5)
        self.progress.advance()
        self.assertEqual(5, self.progress.point)

    def test_a_last_row_that_is_gone_stands_for_none(self):
        self.look(4, 5)
        self.progress.is_last(5, 'o')
        self.look(4)
        self.assertTrue(self.progress.is_last(4, 'o'))
        self.assertEqual([4], self.waiting())

    def test_nothing_is_kept_of_what_is_done(self):
        self.look(4, 5)
        for row in (4, 5):
            self.progress.is_last(row, 'o%d' % row)
            self.progress.done(row)
        self.progress.advance()
        self.assertEqual(({}, {}), (self.progress._rows, self.progress._last))

    def test_the_oldest_is_that_of_the_rows_that_wait(self):
        self.assertEqual(Lag(0, None), self.progress.lag)
        self.look(4, 5)
        self.progress.done(4)
        self.assertEqual(Lag(1, 1005.0), self.progress.lag)

    def test_a_row_is_due_when_that_was_decided(self):
        self.progress.look(3, page(4, 5), True)
        self.assertFalse(self.progress.is_due(4, 1000))
        self.assertEqual(0, self.progress.due_at)
        self.progress.schedule(4, 100)
        self.progress.schedule(5, 200)
        self.progress.schedule(4, 0)
        self.assertFalse(self.progress.is_due(4, 99))
        self.assertTrue(self.progress.is_due(4, 100))
        self.assertEqual(100, self.progress.due_at)
        self.progress.done(4)
        self.assertEqual(200, self.progress.due_at)
        self.progress.done(5)
        self.assertEqual(math.inf, self.progress.due_at)

    def test_a_row_that_is_held_is_due_later_each_time_and_at_last(self):
        self.look(4)
        for delay in (1, 2, 4, 5, 5):
            self.progress.hold(4, 100, 1, 5)
            self.assertFalse(self.progress.is_due(4, 100 + delay - 0.1))
            self.assertTrue(self.progress.is_due(4, 100 + delay))

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.sets(st.integers(1, 30)), max_size=8),
           st.sets(st.integers(1, 30)))
    def test_the_point_never_passes_a_row_that_is_there_and_not_done(
            self, looks, failing):
        progress, rows = Progress(0), set()
        for new in looks:
            rows |= {row for row in new if row > max(rows, default=0)}
            there = sorted(row for row in rows if row > progress.point)
            progress.look(progress.point, page(*there), True)
            for row in there:
                if row not in failing:
                    progress.done(row)
            progress.advance()
            for row in rows & failing:
                self.assertLess(progress.point, row)


class TestTurn(unittest.TestCase):

    def test_each_row_has_one_first_and_one_of_each_rank(self):
        for name in range(10):
            self.assertEqual([0, 1, 2], sorted(
                turn(name, ordinal, 3) for ordinal in range(3)))

    def test_who_is_at_no_place_comes_last(self):
        self.assertEqual(3, turn(7, None, 3))
