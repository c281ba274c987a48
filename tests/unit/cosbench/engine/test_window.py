# SPDX-License-Identifier: Apache-2.0
"""What counts, and when a run is over."""

import math
import unittest

from cosbench.engine.core.window import Window
from tests.unit.cosbench.documents import work, works_of


def window(attributes, origin=100.0):
    return Window.of(works_of(work(attributes='workers="1" ' + attributes))
                     [0], origin)


class TestWindow(unittest.TestCase):

    def test_what_starts_and_ends_in_the_run_time_counts(self):
        found = window('rampup="10" runtime="30" rampdown="5"')
        for started, ended, counts in (
                (109.9, 110.5, False), (110, 110.5, True),
                (139, 140, True), (139, 140.1, False),
                (141, 142, False), (109, 141, False)):
            self.assertIs(counts, found.counts(started, ended),
                          (started, ended))

    def test_late_is_what_starts_in_the_run_time_and_ends_after_it(self):
        window = Window(10, 11, 14, 15)
        for started, ended, late in ((11, 14.5, 0.5), (14, 44, 30),
                                     (10.9, 14.5, 0), (14.1, 14.5, 0),
                                     (11, 14, 0)):
            self.assertEqual(late, window.overrun(started, ended))

    def test_no_operation_starts_after_the_ramp_down(self):
        self.assertEqual(
            145, window('rampup="10" runtime="30" rampdown="5"').close)

    def test_without_a_run_time_all_counts_and_nothing_ends_it(self):
        found = window('totalOps="9"')
        self.assertTrue(found.counts(100, 10 ** 9))
        self.assertEqual(math.inf, found.close)

    def test_seconds_that_counted_are_those_of_the_run_time(self):
        found = window('rampup="10" runtime="30" rampdown="5"')
        self.assertEqual([0, 0, 12, 30, 30], [
            found.counted_until(now) for now in (100, 105, 122, 140, 150)])
