# SPDX-License-Identifier: Apache-2.0
"""division: parts of a whole."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from cosbench.workload.division import Share, part

WORKERS = st.integers(1, 300)


class TestDivision(unittest.TestCase):

    def test_the_first_workers_get_one_more(self):
        self.assertEqual([(0, 4), (4, 3), (7, 3)],
                         [part(10, 3, index) for index in range(3)])

    def test_with_more_workers_than_elements_the_rest_get_nothing(self):
        shares = [Share(index, 4).of(range(1, 3)) for index in range(4)]
        self.assertEqual([[1], [2], [], []], [list(each) for each in shares])

    def test_who_must_pick_shares_with_another(self):
        shares = [Share(index, 5).to_pick_from(range(1, 3))
                  for index in range(5)]
        self.assertEqual([[1], [2], [1], [2], [1]],
                         [list(each) for each in shares])

    @given(st.integers(0, 10 ** 15), WORKERS)
    def test_parts_are_disjoint_and_cover_the_whole(self, size, workers):
        end = 0
        for index in range(workers):
            offset, length = part(size, workers, index)
            self.assertEqual(end, offset)
            self.assertIn(length - size // workers, (0, 1))
            end += length
        self.assertEqual(size, end)

    @given(st.integers(1, 1000), WORKERS)
    def test_who_must_pick_never_picks_from_nothing(self, size, workers):
        whole = range(5, 5 + size)
        found = [Share(index, workers).to_pick_from(whole)
                 for index in range(workers)]
        self.assertTrue(all(found))
        self.assertEqual(set(whole), set().union(*found))
        if workers <= size:
            self.assertEqual(size, sum(len(each) for each in found))
