# SPDX-License-Identifier: Apache-2.0
"""A heat map: each operation once, where its time and its duration are."""

import unittest

from hypothesis import given, strategies

from cosbench.measure.heat import EDGES, heat_map
from tests.unit.cosbench.measure import oracle
from tests.unit.cosbench.measure.test_timeline import of, sample


class TestHeatMap(unittest.TestCase):

    def test_columns_are_times_and_rows_are_durations(self):
        line = of([sample(6, 0.001), sample(7, 0.0011), sample(21, 0.45),
                   sample(22, 0.5, error='timeout'),
                   sample(3, 0.5, 'op2')])
        found = heat_map(line, 'op1', 600)
        self.assertEqual((5, 5, 2), (found.start, found.seconds, found.most))
        self.assertEqual([2, 0, 0, 1], [sum(each) for each in found.counts])
        self.assertAlmostEqual(1, found.edges[0], places=3)
        self.assertAlmostEqual(501.187, found.edges[-1], places=3)
        self.assertEqual((10, 3), (heat_map(line, 'op1', 2).seconds, max(
            sum(each) for each in heat_map(line, 'op1', 1).counts)))
        self.assertIsNone(heat_map(line, 'op3', 600))

    def test_an_hour_has_its_place(self):
        found = heat_map(of([sample(7000, 6000)]), 'op1', 9)
        self.assertEqual(((1,),), found.counts)
        self.assertLess(found.edges[0], 3600000)
        self.assertGreater(found.edges[1], 3600000)

    @oracle.PATIENT
    @given(oracle.many(operations=('op1',)), strategies.integers(1, 50))
    def test_each_operation_is_counted_once(self, samples, most):
        line = of(samples)
        for is_intended, key in ((False, 'response'), (True, 'intended')):
            times = oracle.summed(samples)[key]
            found = heat_map(line, 'op1', most, is_intended)
            if not times:
                self.assertIsNone(found)
                continue
            self.assertLessEqual(len(found.counts), most)
            self.assertEqual(len(times), sum(map(sum, found.counts)))
            # Slots are within a hundredth.
            slow = sum(each > found.edges[-2] * 1010 for each in times)
            self.assertLessEqual(slow, sum(each[-1]
                                           for each in found.counts))
        self.assertEqual(sorted(EDGES), list(EDGES))
