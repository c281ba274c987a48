# SPDX-License-Identifier: Apache-2.0
"""progress.py: a point claims what is done, and a row is due in its turn."""

import math
import unittest

from hypothesis import given, settings
from hypothesis import strategies as st

from swift_lightsync.versioning.core.progress import Lag, Progress, turn


class TestProgress(unittest.TestCase):

    def setUp(self):
        self.progress = Progress(3)

    def look(self, *rows):
        for row in rows:
            self.progress.look(row, 1000.0 + row)
            self.progress.schedule(row, 0, 0)

    def done(self, *rows):
        for row in rows:
            self.progress.done(row)

    def due(self, now):
        return self.progress.due(now, 10)

    def test_the_point_moves_over_what_is_done(self):
        self.look(4, 5, 9)
        self.assertEqual(3, self.progress.point)
        self.done(4, 5)
        # No row comes between any more.
        self.assertEqual(8, self.progress.point)
        self.done(9)
        self.assertEqual(9, self.progress.point)

    def test_a_row_that_is_not_done_keeps_the_point(self):
        self.look(4, 5, 9)
        self.done(5, 9)
        self.assertEqual(3, self.progress.point)
        self.assertEqual(Lag(1, 1004.0), self.progress.lag)
        self.done(4)
        self.assertEqual(9, self.progress.point)

    def test_what_is_not_wanted_is_done(self):
        self.progress.look(4, 1004.0, False)
        self.look(5)
        self.assertEqual(4, self.progress.point)
        self.assertEqual(Lag(1, 1005.0), self.progress.lag)

    def test_what_is_done_is_not_due_again(self):
        self.look(4, 5)
        self.done(5)
        self.look(4, 5)
        self.assertEqual([4], self.due(0))

    def test_nothing_is_kept_of_what_is_done(self):
        self.look(4, 5)
        self.assertEqual(2, self.progress.waiting)
        self.assertEqual(1004, self.progress.made(4))
        self.done(4, 5)
        self.assertEqual(0, self.progress.waiting)
        self.assertEqual(0, self.progress.made(4))
        self.assertEqual({}, self.progress._waiting)

    def test_the_oldest_is_that_of_the_rows_that_wait(self):
        self.assertEqual(Lag(0, None), self.progress.lag)
        self.look(4, 5)
        self.done(4)
        self.assertEqual(Lag(1, 1005.0), self.progress.lag)

    def test_a_row_is_due_when_that_was_decided(self):
        self.progress.look(4, 1004.0)
        self.progress.look(5, 1005.0)
        self.assertEqual([], self.due(1000))
        self.assertEqual(0, self.progress.due_at)
        self.progress.schedule(4, 0, 100)
        self.progress.schedule(5, 0, 200)
        self.progress.schedule(4, 0, 0)
        self.assertEqual([], self.due(99))
        self.assertEqual([4], self.due(100))
        self.assertEqual(100, self.progress.due_at)
        self.done(4)
        self.assertEqual(200, self.progress.due_at)
        self.done(5)
        self.assertEqual(math.inf, self.progress.due_at)

    def test_those_of_this_replica_are_the_first_that_are_due(self):
        for row, turns in (4, 2), (5, 0), (6, 1), (7, 0):
            self.progress.look(row, 1000.0)
            self.progress.schedule(row, turns, 0)
        self.assertEqual([5, 7, 6, 4], self.due(0))
        self.assertEqual([5, 7], self.progress.due(0, 2))

    def test_a_row_that_is_held_is_due_later_each_time_and_at_last(self):
        self.look(4)
        for delay in (1, 2, 4, 5, 5):
            self.progress.hold(4, 100, 1, 5)
            self.assertEqual([], self.due(100 + delay - 0.1))
            self.assertEqual([4], self.due(100 + delay))

    def test_what_is_under_way_is_not_due_again(self):
        self.progress.look(4, 1004.0)
        self.progress.look(5, 1005.0)
        self.progress.schedule(4, 0, 10, True)
        self.progress.schedule(5, 0, 20)
        self.assertEqual([True, False],
                         [self.progress.start(row) for row in (4, 5)])
        self.assertEqual([], self.due(100))
        self.assertEqual(math.inf, self.progress.due_at)
        self.assertEqual(2, self.progress.lag.rows)
        self.assertEqual(3, self.progress.point)
        self.progress.stop(4)
        self.progress.stop(5)
        self.progress.put_back(4, None, True)
        self.progress.put_back(5, 30, True)
        self.assertTrue(self.progress.start(5))
        self.progress.stop(5)
        self.assertEqual([4], self.due(20))
        self.assertEqual([4, 5], self.due(30))

    def test_what_was_tried_is_not_fresh(self):
        self.progress.look(4, 1004.0)
        self.progress.schedule(4, 0, 0, True)
        self.assertTrue(self.progress.start(4))
        self.progress.stop(4)
        self.progress.schedule(4, 0, 0, True)
        self.assertFalse(self.progress.start(4))

    def test_a_row_that_is_gone_can_end(self):
        self.assertFalse(self.progress.start(9))
        self.progress.stop(9)
        self.progress.put_back(9, 5, True)
        self.progress.hold(9, 0, 1, 1)
        self.done(9)
        self.assertEqual(3, self.progress.point)

    @settings(max_examples=200)
    @given(st.lists(st.sets(st.integers(1, 30)), max_size=8),
           st.sets(st.integers(1, 30)))
    def test_the_point_never_passes_a_row_that_is_there_and_not_done(
            self, looks, failing):
        progress, rows = Progress(0), set()
        for new in looks:
            new = {row for row in new if row > max(rows, default=0)}
            rows |= new
            for row in sorted(new):
                progress.look(row, 0)
            for row in new - failing:
                progress.done(row)
            self.assertEqual(min(rows & failing, default=max(
                rows, default=0) + 1) - 1, progress.point)


class TestTurn(unittest.TestCase):

    def test_each_row_has_one_first_and_one_of_each_rank(self):
        for name in range(10):
            self.assertEqual([0, 1, 2], sorted(
                turn(name, ordinal, 3) for ordinal in range(3)))

    def test_who_is_at_no_place_comes_last(self):
        self.assertEqual(3, turn(7, None, 3))
