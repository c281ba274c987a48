# SPDX-License-Identifier: Apache-2.0
"""Times: exact sums, percentiles within 0.1%, bytes that can be trusted."""

import base64
import struct
import tracemalloc
import unittest
import zlib

from hdrh.histogram import HdrHistogram
from hypothesis import given, strategies

from cosbench.measure.histogram import MOST, Histogram
from swift_lightsync.common.records import RecordError, read_value
from tests.unit.cosbench.measure import oracle

TIMES = strategies.lists(strategies.one_of(
    strategies.integers(0, 5000), strategies.integers(0, 2 * MOST)),
    max_size=60)


def of(values):
    made = Histogram()
    for value in values:
        made.record(value / 1000000)
    return made


def read(document):
    return read_value(Histogram, document, 'response')


def packed(inner, outer=0x1c849314, length=None):
    data = zlib.compress(inner)
    return base64.b64encode(struct.pack(
        '>II', outer, len(data) if length is None else length) + data
    ).decode()


def inner(counts=b'', cookie=0x1c849313, digits=3, most=MOST, length=None):
    return struct.pack('>IIIIQQd', cookie, len(counts) if length is None
                       else length, 0, digits, 1, most, 1.0) + counts


class TestHistogram(unittest.TestCase):

    @oracle.PATIENT
    @given(TIMES)
    def test_sums_and_ends_are_exact(self, values):
        made = of(values)
        known = [oracle.microseconds(value / 1e6) for value in values]
        self.assertEqual(
            (len(known), sum(known), min(known, default=None),
             max(known, default=None)),
            (made.count, made.total, made.least, made.most))

    @oracle.PATIENT
    @given(TIMES.filter(bool), strategies.sampled_from(
        [1, 50, 60, 90, 99, 99.9, 100]))
    def test_a_percentile_is_the_nearest_rank_within_a_thousandth(
            self, values, percent):
        known = oracle.percentile(
            [oracle.microseconds(value / 1e6) for value in values], percent)
        found = of(values).percentiles([percent])[0]
        self.assertLessEqual(known, found)
        self.assertLessEqual(found, known * 1.001)

    def test_many_times_are_packed_too(self):
        values = list(range(1, 20001))
        self.assertEqual(20000, read(of(values).to_json()).count)

    def test_one_of_a_hundred_is_above_the_99th_percentile(self):
        self.assertEqual([7, 900], of([7] * 99 + [900]).percentiles(
            [99, 100]))

    def test_without_values_there_are_no_percentiles(self):
        self.assertEqual([None, None], Histogram().percentiles([50, 100]))
        self.assertIsNone(Histogram().mean)

    def test_not_a_number_is_no_time(self):
        with self.assertRaises(ValueError):
            Histogram().record(float('nan'))

    @oracle.PATIENT
    @given(TIMES)
    def test_other_readers_of_the_format_read_it(self, values):
        theirs = HdrHistogram.decode(of(values).to_json()['hdr'])
        self.assertEqual(len(values), theirs.get_total_count())
        for low, high, count in of(values).buckets():
            self.assertEqual(count, theirs.get_count_at_value(low))
            self.assertTrue(theirs.values_are_equivalent(low, high))


class TestHostileDocuments(unittest.TestCase):

    def refused(self, change, place):
        document = {**of([10, 20, 30]).to_json(), **change}
        with self.assertRaises(RecordError) as caught:
            read(document)
        self.assertIn('response' + place, str(caught.exception))
        self.assertLess(len(str(caught.exception)), 500)

    def test_the_example_is_taken(self):
        self.assertEqual(3, read(of([10, 20, 30]).to_json()).count)

    def test_bytes_that_are_no_histogram(self):
        whole = of([10, 20, 30]).to_json()['hdr']
        behind = base64.b64decode(whole)[8:] + b'x'
        # Very many zeros, then 3.
        far = b'\xff\xff\xff\xff\x0f\x06'
        for text in ('', 'x', '====', whole[:-8], whole + whole, '\u20ac',
                     packed(inner(), outer=1), packed(inner(), length=3),
                     packed(b'short'), packed(inner(b'\x06', cookie=1)),
                     packed(inner(b'\x06', digits=2)),
                     packed(inner(b'\x06', most=10)),
                     packed(inner(b'\x06', length=9)),
                     packed(inner(b'\x80')), packed(inner(far)),
                     base64.b64encode(struct.pack(
                         '>II', 0x1c849314, len(behind)) + behind).decode(),
                     base64.b64encode(struct.pack('>II', 0x1c849314, 4)
                                      + b'abcd').decode()):
            self.refused({'hdr': text}, '.hdr')

    def test_a_small_text_that_inflates_to_much(self):
        bomb = packed(inner(bytes(50000000)))
        self.assertLess(len(bomb), 100000)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        self.refused({'hdr': bomb}, '.hdr')
        self.assertLess(tracemalloc.get_traced_memory()[1], 5000000)

    def test_sums_that_cannot_be_of_these_values(self):
        for change, place in (
                ({'total_us': 29}, ': '), ({'total_us': 91}, ': '),
                ({'min_us': 9}, ': '), ({'max_us': 31}, ': '),
                ({'count': 4}, '.hdr'),
                ({'count': 2, 'total_us': 60}, '.hdr')):
            self.refused(change, place)

    def test_what_is_no_number_or_out_of_range(self):
        for change, place in (
                ({'count': -1}, '.count: -1'), ({'count': 1.5}, '.count'),
                ({'count': True}, '.count'), ({'count': '3'}, '.count'),
                ({'total_us': 10 ** 30}, '.total_us'),
                ({'min_us': 0}, '.min_us'),
                ({'max_us': None}, ': min_us is 10, max_us is None'),
                ({'hdr': None}, '.hdr'), ({'hdr': 'A' * 10 ** 6}, '.hdr')):
            self.refused(change, place)
