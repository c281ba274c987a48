# SPDX-License-Identifier: Apache-2.0
"""A timeline: each sample in the interval it ended in, exactly mergeable."""

import json
import unittest

from hypothesis import given, strategies

from cosbench.measure.histogram import MOST
from cosbench.measure.interval import MAX_SLOT, middle_of, slot_of
from cosbench.measure.sample import Sample
from cosbench.measure.timeline import Timeline
from swift_lightsync.common.records import RecordError, read_value
from tests.unit.cosbench.measure import oracle


def of(samples, seconds=5, origin=0.0):
    made = Timeline(seconds, origin)
    for sample in samples:
        made.add(sample)
    return made


def sample(ended, took=0.01, operation='op1', size=100, error=None):
    return Sample(operation, ended - took, ended - took, ended - took / 2,
                  ended, size, error)


class TestSlots(unittest.TestCase):

    @oracle.PATIENT
    @given(strategies.integers(1, MOST))
    def test_a_value_is_within_a_hundredth_of_the_middle_of_its_slot(
            self, value):
        self.assertLessEqual(abs(middle_of(slot_of(value)) - value),
                             value / 100)

    @oracle.PATIENT
    @given(strategies.integers(1, MOST - 1))
    def test_slots_are_in_order_without_gaps(self, value):
        self.assertIn(slot_of(value + 1) - slot_of(value), (0, 1))
        self.assertLessEqual(slot_of(value + 1), MAX_SLOT)


class TestTimeline(unittest.TestCase):

    @oracle.PATIENT
    @given(oracle.many(), oracle.many())
    def test_what_is_packed_is_and_merges_as_before(self, some, others):
        plain, packed = of(some), of(some)
        for _, _, interval in packed:
            interval.pack()
        self.assertEqual(plain.to_json(), packed.to_json())
        for found in plain, packed:
            for each in others:
                found.add(each)
        self.assertEqual(plain.to_json(), packed.to_json())

    def test_counts_of_any_size_are_packed(self):
        slots = [3, 2 ** 40, 5, 1]
        found = Timeline.from_json({'interval': 5, 'operations': {
            'op1': [[0, 2 ** 40 + 1, 0, 0, 0, 0, slots]]}})
        made = Timeline(5)
        made.merge(found)
        self.assertEqual(found.to_json(), made.to_json())

    def test_points_take_as_long_as_there_are_intervals_and_points(self):
        rows = [[number, 0, 0, 0, 0, 0, []] for number in (0, 10 ** 6)]
        found = Timeline.from_json({'interval': 5, 'operations': {
            'op%d' % number: rows for number in range(1000)}})
        for operation in found.operations:
            self.assertEqual(300, len(list(found.points(operation, 300))))

    @oracle.PATIENT
    @given(oracle.many(), strategies.integers(1, 7))
    def test_it_agrees_with_counting_by_hand(self, samples, seconds):
        made = of(samples, seconds)
        for operation in ('op1', 'op2'):
            mine = [each for each in samples if each.operation == operation]
            for point in made.points(operation, most=10):
                here = [each for each in mine if point.start <= each.ended
                        < point.start + point.seconds]
                known = oracle.summed(here)
                self.assertEqual(
                    (len(known['response']), known['bytes'],
                     sum(known['failures'].values())),
                    (point.count, point.bytes, point.failed))
                if known['response']:
                    times = known['response']
                    self.assertAlmostEqual(
                        sum(times) / len(times) / 1000, point.mean)
                    right = oracle.percentile(times, 99) / 1000
                    self.assertAlmostEqual(right, point.p99,
                                           delta=right / 100)
                    times = known['intended']
                    self.assertAlmostEqual(
                        sum(times) / len(times) / 1000, point.mean_intended)
                    right = oracle.percentile(times, 99) / 1000
                    self.assertAlmostEqual(right, point.p99_intended,
                                           delta=right / 100)
            self.assertEqual(len(mine), sum(
                point.count + point.failed
                for point in made.points(operation, most=10)))

    @oracle.PATIENT
    @given(oracle.many(), oracle.many(), oracle.many())
    def test_grouping_and_order_do_not_matter(self, first, second, third):
        left = of(first)
        left.merge(of(second))
        left.merge(of(third))
        right = of(third)
        right.merge(of(first))
        rest = of(second)
        rest.merge(right)
        whole = of(first + second + third).to_json()
        self.assertEqual(whole, left.to_json())
        self.assertEqual(whole, rest.to_json())

    @oracle.PATIENT
    @given(oracle.many())
    def test_it_comes_back_from_json(self, samples):
        text = json.dumps(of(samples).to_json())
        self.assertEqual(json.loads(text),
                         Timeline.from_json(json.loads(text)).to_json())

    def test_a_sample_belongs_to_the_interval_that_it_ends_in(self):
        made = of([sample(104.9), sample(105.0), sample(105.1, 3)],
                  origin=100.0)
        self.assertEqual([(0.0, 1), (5.0, 2)], [
            (point.start, point.count) for point in made.points('op1')])
        # Rates are by the second.
        point, = of([sample(1, size=300), sample(2, size=200)]).points('op1')
        self.assertEqual((0.4, 100.0), (point.throughput, point.bandwidth))

    def test_a_closed_loop_takes_no_room_for_times_from_when_due(self):
        made = of([sample(1), sample(2)])
        self.assertNotIn('intended', made.to_json())
        point, = made.points('op1')
        self.assertEqual((point.mean, point.p99),
                         (point.mean_intended, point.p99_intended))

    def test_times_from_when_due_that_cannot_be_are_refused(self):
        late = of([sample(1)._replace(intended=0)]).to_json()
        row, = late['intended']['op1']
        self.assertEqual([0, 1000000], row[:2])
        for rows, words in (
                ([row, row], r"intended\['op1'\]\[1\]\[0\]: 0 must be"),
                ([[1, *row[1:]]], '1 must be an interval'),
                ([[0, 5, row[2]]], 'at least what the response times'),
                ([[0, 1000000, [1, 2]]], 'as many in all'),
                ([[0, 1000000, [1]]], 'as many in all'),
                ([[0, 1000000]], 'intended')):
            with self.assertRaisesRegex(RecordError, words):
                Timeline.from_json({**late, 'intended': {'op1': rows}})
        with self.assertRaisesRegex(RecordError, 'must be an interval'):
            Timeline.from_json({**late, 'intended': {'op2': [row]}})

    def test_a_stall_is_seen_as_intervals_of_nothing(self):
        points = list(of([sample(1), sample(16)]).points('op1'))
        self.assertEqual([1, 0, 0, 1], [point.count for point in points])
        self.assertEqual([False, True, True, False],
                         [point.mean is None for point in points])

    def test_intervals_are_put_together_to_the_number_wanted(self):
        made = of([sample(number + .5) for number in range(10)], 1)
        self.assertEqual(
            [(0, 4, 4), (4, 4, 4), (8, 2, 2)],
            [(point.start, point.seconds, point.count)
             for point in made.points('op1', most=3)])

    def test_intervals_of_the_run_time_are_those_wholly_inside(self):
        made = of([sample(number + .5) for number in range(20)], 2)
        self.assertEqual(4, len(made.intervals('op1', 5, 14.5)))
        self.assertEqual(10, len(made.intervals('op1')))
        self.assertEqual([2] * 4, [
            each.count for each in made.intervals('op1', 5, 14.5)])

    def test_what_is_in_it_can_be_gone_through(self):
        made = of([sample(1), sample(11), sample(2, operation='op2')])
        self.assertEqual(
            [('op1', 0, 1), ('op1', 2, 1), ('op2', 0, 1)],
            sorted((operation, number, interval.count)
                   for operation, number, interval in made))

    def test_what_is_no_interval_or_another_is_refused(self):
        for words, act in [
                ('interval=3: must be 5', lambda: of([]).merge(Timeline(3))),
                ('sample.ended=99.0', lambda: of([sample(99.0)],
                                                 origin=100.0))] + [
                ('interval_seconds', lambda seconds=seconds: Timeline(
                    seconds)) for seconds in (0, -1, 2 ** 31, float('nan'))]:
            with self.assertRaisesRegex(ValueError, words):
                act()


class TestHostileDocuments(unittest.TestCase):

    def refused(self, document, words):
        with self.assertRaises(RecordError) as caught:
            read_value(Timeline, document, 'timeline')
        self.assertIn(words, str(caught.exception))

    def row(self, row, words):
        self.refused({'interval': 5, 'operations': {'op1': [row]}}, words)

    def test_wrong_rows(self):
        self.assertEqual(['op1'], Timeline.from_json({
            'interval': 5, 'operations': {
                'op1': [[0, 2, 9, 0, 30, 20, [10, 1, 20, 1]]]}}).operations)
        for row, words in (
                (None, "timeline.operations['op1'][0]: None"),
                ([0, 1], 'a list of 7 values'),
                ([-1, 0, 0, 0, 0, 0, []], '[0][0]'),
                ([10 ** 7, 0, 0, 0, 0, 0, []], 'to 1000000'),
                ([0, 1, 0, 0, 9, 9, []], 'as many in all'),
                ([0, 1, 0, 0, 9, 9, [9, 2]], 'as many in all'),
                ([0, 1, 0, 0, 9, 9, [9]], 'as many in all'),
                ([0, 2, 0, 0, 9, 9, [9, 1, 9, 1]], 'each slot once'),
                ([0, 1, 0, 0, 9, 9, [MAX_SLOT + 1, 1]], '[6][0]'),
                ([0, 1, 0, 0, 9, 9, [9, 0]], '[6][1]')):
            self.row(row, words)
        row = [0, 0, 0, 1, 0, 0, []]
        self.refused({'interval': 5, 'operations': {'op1': [row, row]}},
                     '[1][0]: 0 is there twice')

    def test_wrong_documents(self):
        for document, words in (
                ([], 'timeline'), ({}, 'timeline.interval is missing'),
                ({'interval': 0, 'operations': {}}, '0.001 to 2'),
                ({'interval': 5e-324, 'operations': {}}, '0.001 to 2'),
                ({'interval': float('nan'), 'operations': {}}, 'nan'),
                ({'interval': 5, 'operations': []}, 'operations'),
                ({'interval': 5, 'operations': {
                    str(n): [] for n in range(1001)}},
                 'an object of 0 to 1000')):
            self.refused(document, words)
