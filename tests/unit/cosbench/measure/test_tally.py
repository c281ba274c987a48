# SPDX-License-Identifier: Apache-2.0
"""A tally is the sum over its samples, however they come together."""

import json
import tracemalloc
import unittest
from itertools import permutations

from hypothesis import given, strategies

from cosbench.measure.sample import Sample
from cosbench.measure.tally import MAX_CLASSES, OTHER, Tally
from swift_lightsync.common.records import RecordError, read_value
from tests.unit.cosbench.measure import oracle


def of(samples, origin=0.0):
    made = Tally(origin)
    for sample in samples:
        made.add(sample)
    return made


def merged(tallies):
    """:returns: their sum, from sums of sums; they stay as they are"""
    made, half = Tally(), len(tallies) // 2
    for part in (tallies[half:], tallies[:half]) if half else (tallies,):
        before = [each.to_json() for each in part]
        made.merge(merged(part) if half else part[0])
        assert before == [each.to_json() for each in part]
    return made


SAMPLE = Sample('op1', 1.0, 1.0, 1.01, 1.02, 7)


class TestTally(unittest.TestCase):

    @oracle.PATIENT
    @given(oracle.many())
    def test_it_agrees_with_sorted_lists(self, samples):
        made, known = of(samples), oracle.summed(samples)
        self.assertEqual((known['bytes'], known['failures'],
                          len(known['response'])),
                         (made.bytes, made.failures, made.count))
        for name in ('response', 'processing', 'intended'):
            histogram, values = getattr(made, name), known[name]
            self.assertEqual(sum(values), histogram.total)
            for percent in (60, 99, 100) if values else ():
                right = oracle.percentile(values, percent)
                found = histogram.percentiles([percent])[0]
                self.assertTrue(right <= found <= right * 1.001)

    def test_times_that_are_the_same_in_a_document_are_not_the_same_later(
            self):
        made = Tally.from_json(of([SAMPLE]).to_json())
        self.assertEqual(of([SAMPLE]).to_json(), made.to_json())
        made.add(SAMPLE._replace(intended=SAMPLE.intended - 1))
        self.assertEqual((2, 2), (made.response.count, made.intended.count))
        self.assertGreater(made.intended.total, made.response.total)

    @oracle.PATIENT
    @given(oracle.many())
    def test_it_spans_all_samples(self, samples):
        made = of(samples)
        if samples:
            self.assertAlmostEqual(
                max(each.ended for each in samples)
                - min(each.started for each in samples),
                (made.last_end - made.first_start) / 1e6, 5)
        else:
            self.assertEqual((None, None), (made.first_start, made.last_end))

    @oracle.PATIENT
    @given(oracle.many(), strategies.randoms(use_true_random=False),
           strategies.integers(1, 5))
    def test_parts_merge_to_the_whole_in_any_order(self, samples, rng,
                                                   parts):
        shares = [[] for _ in range(parts)]
        for sample in samples:
            rng.choice(shares).append(sample)
        self.assertEqual(of(samples).to_json(),
                         merged([*map(of, shares)]).to_json())

    @oracle.PATIENT
    @given(oracle.many())
    def test_it_comes_back_from_json(self, samples):
        text = json.dumps(of(samples).to_json())
        self.assertEqual(json.loads(text),
                         Tally.from_json(json.loads(text)).to_json())

    def test_times_count_from_the_origin(self):
        made = of([Sample('op1', 1000.5, 1000.5, 1001, 1002, 1)], 1000.0)
        self.assertEqual((500000, 2000000), (made.first_start,
                                             made.last_end))

    def test_one_message_of_each_class_is_kept_in_any_order(self):
        said = ['b\n\u202e' + 'x' * 400, 'c', '', 'a\x1b[2J']
        samples = [SAMPLE._replace(error='http 503', message=each)
                   for each in said]
        for order in permutations(samples):
            made = merged([of(order[:1]), of(order[1:3]), of(order[3:])])
            self.assertEqual({'http 503': 'a [2J'}, made.examples)
            self.assertEqual(made.to_json(),
                             Tally.from_json(made.to_json()).to_json())
        self.assertEqual({'http 503': 'b  ' + 'x' * 297},
                         of(samples[:1]).examples)
        self.assertNotIn('examples', of([SAMPLE]).to_json())
        # None of a class that did not fail.
        document = {**of([SAMPLE]).to_json(), 'examples': {'gone': 'x'}}
        self.assertEqual({}, Tally.from_json(document).examples)

    def test_the_names_of_failures_are_bounded(self):
        made = of([Sample('op1', 0, 0, 1, 1, 0, 'e%d' % number)
                   for number in range(1000)])
        self.assertEqual(MAX_CLASSES, len(made.failures))
        self.assertEqual(1000, made.failed)
        self.assertEqual(1000 - MAX_CLASSES + 1, made.failures[OTHER])
        long = of([Sample('op1', 0, 0, 1, 1, 0, 'e' * 1000)])
        self.assertEqual(1, Tally.from_json(long.to_json()).failed)


class TestHostileDocuments(unittest.TestCase):

    def setUp(self):
        self.document = of([Sample('op1', 1, 1, 2, 3, 5),
                            Sample('op1', 1, 1, 2, 3, 5, 'timeout')]
                           ).to_json()

    def refused(self, document, words):
        with self.assertRaises(RecordError) as caught:
            read_value(Tally, document, 'answer.tally')
        self.assertIn(words, str(caught.exception))

    def test_wrong_values_are_named_with_what_is_allowed(self):
        for key, value, words in (
                ('bytes', -1, 'bytes: -1 must be an integer from 0 to'),
                ('bytes', 2 ** 60, 'must be an integer'),
                ('failures', [], 'must be an object'),
                ('failures', {'timeout': 0}, 'timeout'),
                ('failures', {'x' * 101: 1}, 'characters'),
                ('failures', {str(n): 1 for n in range(10001)},
                 'an object of 0 to 10000'),
                ('first_start_us', 'now', 'first_start_us'),
                ('last_end_us', 0, 'last_end_us'),
                ('response', 7, 'answer.tally.response')):
            self.refused({**self.document, key: value}, words)

    def test_a_short_document_does_not_become_large(self):
        document = of([Sample('op1', 1, 1, 2, 3, 5)]).to_json()
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        kept = [Tally.from_json(document) for _ in range(200)]
        size = tracemalloc.get_traced_memory()[0] / len(kept)
        self.assertLess(size, 10 * len(json.dumps(document)))

    def test_histograms_of_different_counts(self):
        self.document['processing'] = Tally().to_json()['processing']
        self.refused(self.document, 'the same count')
