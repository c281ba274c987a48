# SPDX-License-Identifier: Apache-2.0
"""What was seen of writes is what the tables show."""

import io
import unittest

from tools.demonstration.show import Show
from tools.demonstration.writes import Write, print_copies, print_times


def rows(print_table, *args):
    stream = io.StringIO()
    print_table(Show(stream), *args)
    return [' '.join(line.split()) for line in stream.getvalue().splitlines()]


class TestWrites(unittest.TestCase):
    def test_copies_are_counted_by_age(self):
        write = Write(1, {1: 0.01, 3: 0.2})
        self.assertEqual([1, 1, 1, 3, 3], [
            write.copies_after(age) for age in (0, 0.05, 0.19, 0.2, 9)])

    def test_before_the_first_look_that_counts(self):
        self.assertEqual(2, Write(1, {2: 0.3, 3: 0.4}).copies_after(0))

    def test_objects_of_all_sizes_are_counted_by_policy(self):
        found = rows(print_copies, {
            ('small', 'stock'): [Write(1, {3: 0.01})],
            ('small', 'proar'): [Write(1, {1: 0.01, 3: 0.2})],
            ('large', 'proar'): [Write(1, {1: 0.01, 2: 0.4, 3: 1.5})]}, 3)
        for row in ('stock: 3 of 3 1 1 1 1 1 1', 'proar: 1 of 3 2 2 1 0 0 0',
                    'proar: 2 of 3 0 0 0 1 1 0', 'proar: 3 of 3 0 0 1 1 1 2'):
            self.assertIn(row, found)

    def test_times_are_compared_by_policy(self):
        def writes(*milliseconds):
            return [Write(each / 1000, {}) for each in milliseconds]

        found = rows(print_times, {
            ('small', 'stock'): writes(*range(1, 101)),
            ('small', 'proar'): writes(7, 8, 9)})
        self.assertIn('milliseconds until acknowledged stock proar', found)
        self.assertIn('small: median 50.5 8.0', found)
        self.assertIn('small: 95 % 95.0 9.0', found)
