# SPDX-License-Identifier: Apache-2.0
"""postponed: when those that put us off are asked again."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.postponed import (
    LEAST,
    MOST,
    PASS_PATIENCE,
    Postponed,
)
from tests.unit.sync import documented

KEY, OTHER = ('10.0.0.1', 6200), ('10.0.0.2', 6200)


class TestPostponed(unittest.TestCase):

    def setUp(self):
        self.chance = 0.5
        self.subject = Postponed(lambda: self.chance)

    def test_who_has_not_put_us_off_is_asked_at_once(self):
        self.assertEqual(0, self.subject.turn(KEY, 100))
        self.assertEqual(0, self.subject.since(KEY, 100))

    def test_the_delay_doubles_and_is_not_the_same_for_all(self):
        now, delays = 100.0, []
        for self.chance in (0.5, 0.5, 0.5, 0, 0.999):
            self.subject.begin_pass()
            self.subject.put_off(KEY, now)
            delays.append(self.subject.turn(KEY, now))
            now += delays[-1]
        self.assertEqual([LEAST, 2 * LEAST, 4 * LEAST, 4 * LEAST],
                         delays[:4])
        self.assertAlmostEqual(16 * LEAST * 1.499, delays[4])
        self.assertEqual(now - 100, self.subject.since(KEY, now))
        self.assertEqual(0, self.subject.turn(OTHER, now))

    def test_of_messages_under_way_at_once_the_first_counts(self):
        for _ in range(9):
            self.subject.put_off(KEY, 100)
        self.assertEqual(LEAST, self.subject.turn(KEY, 100))

    def test_who_says_how_long_is_given_so_long(self):
        self.subject.put_off(KEY, 100, 17)
        self.assertEqual(17, self.subject.turn(KEY, 100))
        self.subject.put_off(OTHER, 100, 10 * MOST)
        self.assertIsNone(self.subject.turn(OTHER, 100))
        self.assertEqual(0, self.subject.turn(OTHER, 100 + MOST))

    def test_an_answer_ends_it(self):
        self.subject.put_off(KEY, 100)
        self.subject.answered(KEY)
        self.assertEqual(0, self.subject.turn(KEY, 100))
        self.assertEqual(0, self.subject.since(KEY, 200))

    @given(st.lists(st.floats(0, 100), min_size=1), st.randoms())
    def test_a_pass_waits_for_one_no_longer_than_it_has_patience(
            self, waits, random):
        subject, now, begin = Postponed(random.random), 0.0, None
        for wait in waits:
            subject.put_off(KEY, now, wait)
            turn = subject.turn(KEY, now)
            if turn is None:
                break
            begin = now if begin is None else begin
            now += turn
            self.assertLessEqual(now - begin, PASS_PATIENCE)

    def test_the_documented_times(self):
        self.assertEqual((LEAST, MOST, PASS_PATIENCE), tuple(map(
            int, documented.found(
                r'after (\d+)\s+second, then\s+twice as long each time, up to '
                r'(\d+)[^.]*\. A\s+pass waits up to\s+(\d+) seconds'))))
