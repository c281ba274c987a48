# SPDX-License-Identifier: Apache-2.0
"""Numbers and times as reports write them."""

import unittest

from cosbench.reports.numbers import moment, number, ratio, short, size


class TestNumbers(unittest.TestCase):

    def test_numbers(self):
        self.assertEqual(['0.1', '5', '12.35', '0', 'N/A', '100'], [
            number(value) for value in (.1, 5.0, 12.345678, -.001, None,
                                        100)])
        self.assertEqual(['1,230', 'N/A'],
                         [short(value) for value in (1230.4, None)])

    def test_shares(self):
        self.assertEqual(['100%', '33.33%', '0%', 'N/A'],
                         [ratio(each) for each in (1, 1 / 3, 0, None)])

    def test_sizes(self):
        self.assertEqual(['0 B', '999 B', '1 KB', '1.5 MB', '2,000 EB'],
                         [size(each) for each in (
                             0, 999, 1000, 1500000, 2 * 10 ** 21)])

    def test_a_moment_that_is_not_there(self):
        self.assertEqual('', moment(None))
