# SPDX-License-Identifier: Apache-2.0
"""Plots: what stands where, in SVG that is well-formed whatever it says."""

import math
import re
import unittest
import xml.etree.ElementTree as ElementTree

from hypothesis import given, strategies

from cosbench.reports.numbers import (
    moment,
    number,
    printable,
    ratio,
    short,
    size,
)
from cosbench.reports.plots import (
    HEIGHT,
    WIDTH,
    Axis,
    Series,
    bar_plot,
    line_plot,
)
from cosbench.reports.scale import Scale
from tests.unit.cosbench.measure import oracle

HOSTILE = '<script>alert(1)</script>"\'&]]>'
VALUES = strategies.floats(1e-6, 1e9)


def lines(*series, **options):
    return line_plot('t', 'd', Axis('x'), Axis('y', **options), series)


def places(svg):
    """The (x, y) of all lines, by line."""
    return [[tuple(map(float, pair)) for pair in re.findall(
        r'[ML]([\d.]+) ([\d.]+)', path.get('d'))]
        for path in ElementTree.fromstring(svg).iter('path')
        if 'h22' not in path.get('d')]


class TestScale(unittest.TestCase):

    @oracle.PATIENT
    @given(strategies.lists(VALUES, min_size=1, max_size=9),
           strategies.booleans())
    def test_it_has_room_for_all_and_ticks_inside(self, values, log):
        scale = Scale.over(values, log)
        self.assertLessEqual(scale.low, min(values) * 1.001)
        self.assertGreaterEqual(scale.high, max(values) * .999)
        ticks = [value for value, _ in scale.ticks()]
        self.assertEqual(sorted(set(ticks)), ticks)
        self.assertTrue(2 <= len(ticks) <= 12, ticks)
        self.assertTrue(scale.low * .999 <= ticks[0])
        self.assertTrue(ticks[-1] <= scale.high * 1.001)

    def test_the_ends_and_the_middle(self):
        self.assertEqual([0, .25, 1], [
            Scale(0, 100).at(value) for value in (0, 25, 100)])
        self.assertAlmostEqual(.5, Scale(1, 100, True).at(10))

    def test_what_is_outside_is_at_the_end(self):
        self.assertEqual([0, 1, 0, 1], [
            Scale(0, 100).at(-1), Scale(0, 100).at(101),
            Scale(1, 100, True).at(0), Scale(1, 100, True).at(1e9)])

    def test_nothing_but_zero_still_has_a_scale(self):
        self.assertEqual(Scale(0, 1), Scale.over([0]))
        self.assertTrue(Scale.over([0], log=True).ticks())


class TestLinePlot(unittest.TestCase):

    def test_more_is_higher_and_later_is_further_right(self):
        line, = places(lines(Series('a', ((0, 1), (5, 3), (10, 2)))))
        (x0, y0), (x1, y1), (x2, y2) = line
        self.assertTrue(x0 < x1 < x2)
        self.assertTrue(y1 < y2 < y0)
        self.assertAlmostEqual(x1 - x0, x2 - x1, delta=.2)

    def test_a_gap_is_not_bridged(self):
        svg = lines(Series('a', ((0, 1), (1, None), (2, 3), (3, 4))))
        path = next(ElementTree.fromstring(svg).iter('path')).get('d')
        self.assertEqual(2, path.count('M'))
        self.assertEqual(1, path.count('L'))

    def test_a_single_point_is_seen(self):
        svg = lines(Series('a', ((0, 1),)))
        self.assertEqual(1, len(list(
            ElementTree.fromstring(svg).iter('circle'))))

    def test_a_long_line_is_not_dotted(self):
        svg = lines(Series('a', tuple((x, x) for x in range(100))))
        self.assertFalse(list(ElementTree.fromstring(svg).iter('circle')))

    def test_nothing_is_no_plot(self):
        self.assertEqual('', lines())
        self.assertEqual('', lines(Series('a', ((0, None),))))

    def test_it_has_a_title_and_a_description(self):
        root = ElementTree.fromstring(line_plot(
            'Speed & more', 'How fast <it> was.', Axis('x'), Axis('y'),
            [Series('a', ((0, 1),))]))
        self.assertEqual('img', root.get('role'))
        self.assertEqual('Speed & more', root.find('title').text)
        self.assertEqual('How fast <it> was.', root.find('desc').text)

    def test_series_differ_without_colour(self):
        root = ElementTree.fromstring(lines(
            *(Series(str(n), ((0, n), (1, n))) for n in range(4))))
        dashes = [path.get('stroke-dasharray')
                  for path in root.iter('path')][:4]
        self.assertEqual(4, len(set(dashes)))

    def test_words_are_words(self):
        root = ElementTree.fromstring(line_plot(
            HOSTILE, HOSTILE, Axis(HOSTILE), Axis(HOSTILE),
            [Series(HOSTILE, ((0, 1),)), Series(HOSTILE, ((0, 2),))],
            [(0, HOSTILE)]))
        self.assertEqual({'svg', 'title', 'desc', 'line', 'text', 'path',
                          'circle'}, {each.tag for each in root.iter()})

    @oracle.PATIENT
    @given(strategies.lists(strategies.tuples(
        VALUES, strategies.none() | VALUES), max_size=30),
        strategies.booleans())
    def test_all_is_inside(self, points, log):
        svg = lines(Series('a', tuple(points)), log=log)
        for line in places(svg) if svg else ():
            for x, y in line:
                self.assertTrue(0 <= x <= WIDTH and 0 <= y <= HEIGHT)
                self.assertTrue(math.isfinite(x + y))


class TestBarPlot(unittest.TestCase):

    def test_bars_are_as_high_as_their_counts(self):
        root = ElementTree.fromstring(bar_plot(
            't', 'd', Axis('x', log=True), Axis('y'), [1, 2, 4, 8],
            [10, 0, 20]))
        low, high = (float(each.get('height')) for each in root.iter('rect'))
        self.assertAlmostEqual(2 * low, high, delta=.2)

    def test_without_counts_there_is_no_plot(self):
        self.assertEqual('', bar_plot('t', 'd', Axis('x'), Axis('y'), [],
                                      []))


class TestText(unittest.TestCase):

    def test_numbers(self):
        self.assertEqual(['0.1', '5', '12.35', '0', 'N/A', '100'], [
            number(value) for value in (.1, 5.0, 12.345678, -.001, None,
                                        100)])
        self.assertEqual(['1,230', '12.3', '1.23', '0.012', '0', '1e-05',
                          'N/A', '100'],
                         [short(value) for value in (
                             1230.4, 12.34, 1.234, .0123, 0, 1e-5, None,
                             100)])

    def test_shares(self):
        self.assertEqual(['100%', '33.33%', '0%', 'N/A'],
                         [ratio(each) for each in (1, 1 / 3, 0, None)])

    def test_sizes(self):
        self.assertEqual(['0 B', '999 B', '1 KB', '1.5 MB', '2,000 EB'],
                         [size(each) for each in (
                             0, 999, 1000, 1500000, 2 * 10 ** 21)])

    def test_a_moment_that_is_not_there(self):
        self.assertEqual('', moment(None))

    def test_a_terminal_is_not_steered(self):
        self.assertEqual('a?[2Jb\n?', printable('a\x1b[2Jb\n\u202e'))


if __name__ == '__main__':
    unittest.main()
