# SPDX-License-Identifier: Apache-2.0
"""backoff: delays double, end somewhere and begin anew."""

import math
import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common.backoff import Backoff, delay_after

SECONDS = st.floats(0, 1e9)


class TestDelay(unittest.TestCase):

    def test_it_doubles_up_to_its_end(self):
        self.assertEqual([0, 0.5, 1, 2, 4, 5, 5], [
            delay_after(failures, 0.5, 5) for failures in range(7)])

    def test_the_end_may_be_before_the_first_delay(self):
        self.assertEqual(2, delay_after(1, 5, 2))

    @given(st.integers(-5, 10 ** 9), SECONDS, SECONDS)
    def test_it_is_within_its_bounds_and_never_shrinks(self, failures, least,
                                                       most):
        delay = delay_after(failures, least, most)
        self.assertTrue(0 <= delay <= most and math.isfinite(delay))
        self.assertLessEqual(delay, delay_after(failures + 1, least, most))
        if failures > 0:
            self.assertGreaterEqual(delay, min(least, most))

    @given(st.integers(1, 70), st.floats(1e-3, 1e3), st.floats(1e-3, 1e6))
    def test_it_is_what_doubling_the_last_one_gives(self, failures, least,
                                                    most):
        delay = 0.0
        for _ in range(failures):
            delay = min(max(2 * delay, least), most)
        self.assertEqual(delay, delay_after(failures, least, most))


class TestBackoff(unittest.TestCase):

    def test_it_may_be_tried_until_it_fails_and_again_after_the_delay(self):
        backoff = Backoff(1, 60)
        self.assertTrue(backoff.may_try(0))
        self.assertEqual(1, backoff.failed(100))
        self.assertFalse(backoff.may_try(100.9))
        self.assertTrue(backoff.may_try(101))
        self.assertEqual([2, 4], [backoff.failed(101), backoff.failed(103)])
        self.assertEqual((3, 4, 107), (backoff.failures, backoff.delay,
                                       backoff.until))

    def test_a_success_ends_it(self):
        backoff = Backoff(1, 60)
        backoff.failed(100)
        backoff.failed(100)
        backoff.succeeded()
        self.assertTrue(backoff.may_try(0))
        self.assertEqual((0, 0, 0), (backoff.failures, backoff.delay,
                                     backoff.until))
        self.assertEqual(1, backoff.failed(100))

    @given(st.integers(1, 100), st.floats(0, 1))
    def test_chance_makes_it_half_to_one_and_a_half(self, failures, drawn):
        backoff = Backoff(1, 60, lambda: drawn)
        for _ in range(failures):
            delay = backoff.failed(7)
        exact = delay_after(failures, 1, 60)
        self.assertAlmostEqual(exact * (0.5 + drawn), delay)
        self.assertEqual(7 + delay, backoff.until)
