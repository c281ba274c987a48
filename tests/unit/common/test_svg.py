# SPDX-License-Identifier: Apache-2.0
"""svg, grid, scale: well-formed, inside, and readable without colours."""

import math
import re
import unittest
import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common import grid
from swift_lightsync.common.scale import Scale
from swift_lightsync.common.svg import (
    COLOURS,
    HEIGHT,
    STYLE,
    WIDTH,
    Axis,
    Series,
    bar_plot,
    line_plot,
)

HOSTILE = '<script>alert(1)</script>"\'&]]>'
VALUES = st.floats(1e-6, 1e9)


def lines(*series, **options):
    return line_plot('t', 'd', Axis('x'), Axis('y', **options), series)


def shapes(svg, tag):
    return list(ElementTree.fromstring(svg).iter(tag))


def places(svg):
    """Return the (x, y) of all lines, by line."""
    return [[tuple(map(float, pair)) for pair in re.findall(
        r'[ML]([\d.]+) ([\d.]+)', path.get('d'))]
        for path in shapes(svg, 'path') if 'h22' not in path.get('d')]


class TestScale(unittest.TestCase):

    @given(st.lists(VALUES, min_size=1, max_size=9), st.booleans())
    def test_it_has_room_for_all_and_ticks_inside(self, values, log):
        scale = Scale.over(values, log)
        self.assertLessEqual(scale.low, min(values) * 1.001)
        self.assertGreaterEqual(scale.high, max(values) * .999)
        ticks = [value for value, _ in scale.ticks()]
        self.assertEqual(sorted(set(ticks)), ticks)
        self.assertTrue(2 <= len(ticks) <= 12, ticks)
        self.assertTrue(scale.low * .999 <= ticks[0])
        self.assertTrue(ticks[-1] <= scale.high * 1.001)

    def test_the_ends_the_middle_and_what_is_outside(self):
        self.assertEqual([0, .25, 1, 0, 1], [
            Scale(0, 100).at(value) for value in (0, 25, 100, -1, 101)])
        self.assertAlmostEqual(.5, Scale(1, 100, True).at(10))
        self.assertEqual([0, 1], [Scale(1, 100, True).at(value)
                                  for value in (0, 1e9)])

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
        path = shapes(svg, 'path')[0].get('d')
        self.assertEqual((2, 1), (path.count('M'), path.count('L')))

    def test_a_single_point_is_seen_and_a_long_line_is_not_dotted(self):
        for count, dots in ((1, 1), (100, 0)):
            svg = lines(Series('a', tuple((x, x) for x in range(count))))
            self.assertEqual(dots, len([
                each for each in shapes(svg, 'circle')
                if each.get('class') != 'hit']))

    def test_each_point_tells_its_values_unless_there_are_many(self):
        for count, told in ((3, 3), (1000, 0)):
            svg = lines(Series('a<b', tuple((x, x) for x in range(count))))
            found = [each for each in shapes(svg, 'circle')
                     if each.get('class') == 'hit']
            self.assertEqual(told, len(found))
            if found:
                self.assertEqual('a<b: 2 (2)', found[-1][0].text)

    def test_nothing_is_no_plot(self):
        self.assertEqual('', lines())
        self.assertEqual('', lines(Series('a', ((0, None),))))

    def test_it_has_a_title_and_a_description(self):
        root = ElementTree.fromstring(line_plot(
            'Speed & more', 'How fast <it> was.', Axis('x'), Axis('y'),
            [Series('a', ((0, 1),))]))
        self.assertEqual(('img', 'Speed & more', 'How fast <it> was.'), (
            root.get('role'), root.find('title').text,
            root.find('desc').text))

    def test_series_differ_without_colour_and_have_a_legend(self):
        svg = lines(*(Series('name %d' % n, ((0, n), (1, n)))
                      for n in range(4)))
        dashes = [path.get('stroke-dasharray')
                  for path in shapes(svg, 'path')][:4]
        self.assertEqual(4, len(set(dashes)))
        for number in range(4):
            self.assertIn('name %d' % number, svg)
        root = ElementTree.fromstring(svg)
        self.assertGreater(int(root.get('height')), HEIGHT)

    def test_marks_stay_inside(self):
        svg = line_plot('t', 'd', Axis('x'), Axis('y'), [
            Series('a', ((0, 1), (10, 1)))], [(1, 'left'), (10, 'right')])
        anchors = {each.text: each.get('text-anchor')
                   for each in shapes(svg, 'text')}
        self.assertEqual(('start', 'end'), (anchors['left'],
                                            anchors['right']))

    def test_ticks_may_be_given(self):
        svg = line_plot('t', 'd', Axis('x', at=(3, 7)), Axis('y'), [
            Series('a', ((0, 1), (10, 1)))])
        self.assertTrue({'3', '7'} <= {each.text
                                       for each in shapes(svg, 'text')})

    def test_words_are_words(self):
        svg = line_plot(HOSTILE, HOSTILE, Axis(HOSTILE), Axis(HOSTILE), [
            Series(HOSTILE, ((0, 1),)), Series(HOSTILE, ((0, 2),))],
            [(0, HOSTILE)])
        self.assertEqual(
            {'svg', 'title', 'desc', 'line', 'text', 'path', 'circle'},
            {each.tag for each in ElementTree.fromstring(svg).iter()})

    @given(st.lists(st.tuples(VALUES, st.none() | VALUES), max_size=30),
           st.booleans())
    def test_all_is_inside(self, points, log):
        svg = lines(Series('a', tuple(points)), log=log)
        for line in places(svg) if svg else ():
            for x, y in line:
                self.assertTrue(0 <= x <= WIDTH and 0 <= y <= HEIGHT)
                self.assertTrue(math.isfinite(x + y))

    def test_the_style_has_all_colours(self):
        for number in range(COLOURS):
            self.assertIn('.l%d {' % number, STYLE)
            self.assertEqual(2, STYLE.count('--c%d: #' % number))


class TestBarPlot(unittest.TestCase):

    def test_bars_are_as_high_as_their_counts(self):
        svg = bar_plot('t', 'd', Axis('x', log=True), Axis('y'),
                       [1, 2, 4, 8], [10, 0, 20])
        low, high = (float(each.get('height'))
                     for each in shapes(svg, 'rect'))
        self.assertAlmostEqual(2 * low, high, delta=.2)

    def test_without_counts_there_is_no_plot(self):
        for edges, counts in (([], []), ([1, 2], [0])):
            self.assertEqual('', bar_plot('t', 'd', Axis('x'), Axis('y'),
                                          edges, counts))


class TestGrid(unittest.TestCase):

    def test_each_name_has_a_row_and_a_column(self):
        svg = grid.grid('t', 'd', ['a', 'b'], [
            grid.Cell('a', 'b', '#fff', 'one'),
            grid.Cell('b', 'a', '#000', 'two', True),
            grid.Cell('b', 'z', '#000', 'left out')])
        one, two = shapes(svg, 'rect')
        self.assertEqual(['one', 'two'], [each.find('title').text
                                          for each in (one, two)])
        self.assertGreater(float(one.get('x')), float(two.get('x')))
        self.assertLess(float(one.get('y')), float(two.get('y')))
        self.assertEqual(['a', 'b'] * 2, [each.text
                                          for each in shapes(svg, 'text')])
        self.assertEqual(1, len(shapes(svg, 'path')))

    def test_bars_are_as_long_as_their_numbers(self):
        svg = grid.bars('t', 'd', [('a', 30), ('b', 10)], '#2a74b0')
        long, short = (float(each.get('width'))
                       for each in shapes(svg, 'rect'))
        self.assertAlmostEqual(3, long / short, 2)
        self.assertEqual(['a', '30', 'b', '10'],
                         [each.text for each in shapes(svg, 'text')])
        self.assertEqual('', grid.bars('t', 'd', [], '#2a74b0'))

    def test_words_are_words(self):
        for svg in (
                grid.grid(HOSTILE, HOSTILE, [HOSTILE], [
                    grid.Cell(HOSTILE, HOSTILE, HOSTILE, HOSTILE)]),
                grid.legend(HOSTILE, [(HOSTILE, HOSTILE)]),
                grid.bars(HOSTILE, HOSTILE, [(HOSTILE, 1)], HOSTILE)):
            self.assertLessEqual(
                {each.tag for each in ElementTree.fromstring(svg).iter()},
                {'svg', 'title', 'desc', 'rect', 'text'})
            self.assertEqual('img', ElementTree.fromstring(svg).get('role'))
