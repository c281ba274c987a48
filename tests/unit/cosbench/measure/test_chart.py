# SPDX-License-Identifier: Apache-2.0
"""A chart: the points of its timeline, each made when it has changed."""

import json
import unittest
from unittest import mock

from hypothesis import given, strategies

from cosbench.measure.chart import Chart
from cosbench.measure.interval import Interval
from cosbench.measure.sample import Sample
from cosbench.measure.timeline import Timeline
from tests.unit.cosbench.measure import oracle

#: Numbers of intervals, in the order in which reports bring them.
NUMBERS = strategies.lists(strategies.integers(0, 60), max_size=30)


def timeline(numbers, seconds=2):
    made = Timeline(seconds)
    for number in numbers:
        end = (number + .5) * seconds
        made.add(Sample('op1', end - .1, end - .1, end - .05, end, 10))
    return made


def chart(numbers, most, seconds=2):
    made = Chart(seconds, most)
    for number in numbers:
        for _, place, interval in timeline([number], seconds):
            made.add(place, interval)
    return made


def points(made):
    return [json.loads(each) for each in made.texts()]


class TestChart(unittest.TestCase):

    @oracle.PATIENT
    @given(NUMBERS)
    def test_with_places_for_all_it_has_the_points_of_the_timeline(
            self, numbers):
        self.assertEqual(
            [vars(each) for each in timeline(numbers).points('op1')],
            points(chart(numbers, 61)))

    @oracle.PATIENT
    @given(NUMBERS, strategies.integers(2, 9))
    def test_with_fewer_places_it_puts_them_together(self, numbers, most):
        found = points(chart(numbers, most))
        self.assertLessEqual(len(found), most)
        self.assertEqual(len(numbers), sum(each['count'] for each in found))
        for one, other in zip(found, found[1:]):
            self.assertEqual(one['start'] + one['seconds'], other['start'])
        if numbers:
            self.assertEqual((2 * min(numbers), 2 * max(numbers) + 2), (
                found[0]['start'],
                found[-1]['start'] + found[-1]['seconds']))
        for each in found:
            self.assertEqual(each['count'], sum(
                each['start'] <= 2 * number < each['start'] + each['seconds']
                for number in numbers))

    @oracle.PATIENT
    @given(NUMBERS, NUMBERS, strategies.integers(2, 9))
    def test_who_looked_before_sees_no_other_points(self, before, after,
                                                    most):
        looked = chart(before, most)
        looked.texts()
        for number in after:
            for _, place, interval in timeline([number]):
                looked.add(place, interval)
            looked.texts()
        self.assertEqual(points(chart(before + after, most)),
                         points(looked))

    def test_only_what_has_changed_is_made_again(self):
        made = chart(range(100), 128)
        made.texts()
        with mock.patch.object(Interval, 'point', autospec=True,
                               side_effect=Interval.point) as point:
            for _, place, interval in timeline([98, 100]):
                made.add(place, interval)
            made.texts()
            # The first, the two that were at the end, the new one.
            self.assertEqual([0, 196, 198, 200], sorted(
                each.args[1] for each in point.call_args_list))

    def test_an_interval_far_away_costs_no_memory(self):
        made = chart([0, 10 ** 6], 600)
        self.assertLessEqual(len(made.texts()), 600)
        self.assertEqual(2, sum(each['count'] for each in points(made)))

    def test_what_is_added_stays_as_it_is(self):
        given = timeline([1])
        before = given.to_json()
        made = chart([1, 1], 2)
        for _, place, interval in given:
            made.add(place, interval)
            made.add(place, interval)
        self.assertEqual(before, given.to_json())
        self.assertEqual([4], [each['count'] for each in points(made)])
