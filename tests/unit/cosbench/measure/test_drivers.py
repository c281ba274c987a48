# SPDX-License-Identifier: Apache-2.0
"""From which figures of its drivers on a work may show their limit."""

import unittest

from cosbench.measure.drivers import WorkDriver, strains


def driver(cpu, lag, name='d1'):
    return WorkDriver(name, 1, cpu, lag, 0)


class TestStrains(unittest.TestCase):

    def test_each_limit_is_told_of_by_itself(self):
        for cpu, lag, expected in (
                (90, 20, []), (None, None, []), (91, 20, ['91% of its core']),
                (90, 21, ['late by 21 ms']),
                (99, 50, ['99% of its core', 'late by 50 ms'])):
            found = strains([driver(1, 1, 'd0'), driver(cpu, lag)])
            self.assertEqual(len(expected), len(found), found)
            for words, text in zip(expected, found):
                self.assertIn(words, text)
                self.assertTrue(text.startswith('driver d1 '), text)
                self.assertNotIn('more', text)

    def test_of_many_the_worst_is_named_and_each_is_counted_once(self):
        found, = strains([driver(95, 1), driver(99, 1, 'd2'),
                          driver(92, 1), driver(91, 1, 'd3'),
                          driver(50, 1, 'd4')])
        self.assertIn('driver d2 used 99% of its core, and 2 more like it',
                      found)
