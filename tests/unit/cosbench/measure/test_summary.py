# SPDX-License-Identifier: Apache-2.0
"""The figures of a report: a hand-checked example, and the edges."""

import unittest

from cosbench.measure.sample import Sample
from cosbench.measure.summary import Metrics
from cosbench.measure.tally import Tally


def tally():
    """Ten reads of 1000 bytes that take 1, 2, ... 10 ms, half of that to the
    first byte, each due 1 ms before its start; and two that fail.
    """
    made = Tally()
    for number in range(1, 11):
        start = 0.1 * number
        took = 0.001 * number
        made.add(Sample('op1', start - .001, start, start + took / 2,
                        start + took, 1000))
    for error in ('timeout', 'http 503'):
        made.add(Sample('op1', 2, 2, 2.05, 2.1, 0, error))
    return made


class TestMetrics(unittest.TestCase):

    def test_by_hand(self):
        found = Metrics.of(tally(), 4, 5)
        self.assertEqual((10, 10000, 2, 4, 5, 2.0, 2000.0, 10 / 12), (
            found.op_count, found.byte_count, found.failures, found.workers,
            found.seconds, found.throughput, found.bandwidth,
            found.success_ratio))
        self.assertAlmostEqual(5.5, found.avg_res)
        self.assertAlmostEqual(2.75, found.avg_proc)
        for name, value in dict(p50=5, p60=6, p80=8, p90=9, p95=10, p99=10,
                                p999=10, p100=10).items():
            self.assertAlmostEqual(value, getattr(found, name),
                                   delta=value / 1000, msg=name)
        self.assertAlmostEqual(6.5, found.intended.average)
        self.assertEqual(11.0, found.intended.p100)
        # Without a run time it is the first start to the last end.
        self.assertAlmostEqual(2.0, Metrics.of(tally(), 4).seconds)
        self.assertAlmostEqual(5.0, Metrics.of(tally(), 4, 0).throughput)

    def test_nothing_has_no_ratio_and_no_times(self):
        found = Metrics.of(Tally(), 4)
        self.assertEqual((0, 0.0, 0.0, None, None, None, None, None), (
            found.op_count, found.throughput, found.bandwidth,
            found.success_ratio, found.avg_res, found.avg_proc, found.p100,
            found.intended))
        made = Tally()
        made.add(Sample('op1', 0, 0, 1, 1, 0, 'connect'))
        found = Metrics.of(made, 1, 10)
        self.assertEqual((0.0, 0.0, None), (
            found.success_ratio, found.throughput, found.avg_res))

    def test_of_many_tallies_it_is_that_of_their_sum(self):
        other = Tally()
        other.add(Sample('op1', .5, .5, .55, .6, 7))
        other.add(Sample('op1', 3, 3, 3, 4, 0, 'timeout'))
        for tallies in ([tally(), other], [other, tally()], [other, Tally()],
                        [Tally(), Tally()], []):
            for seconds in (None, 5):
                whole = Tally()
                for each in tallies:
                    whole.merge(each)
                self.assertEqual(Metrics.of(whole, 4, seconds),
                                 Metrics.of_all(tallies, 4, seconds))

    def test_what_never_waited_has_the_intended_times_of_its_response(self):
        made = Tally()
        for took in (.001, .002):
            made.add(Sample('op1', 1, 1, 1, 1 + took, 1))
        found = Metrics.of(made, 1)
        self.assertEqual((found.avg_res, found.p50, found.p100), (
            found.intended.average, found.intended.p50,
            found.intended.p100))
