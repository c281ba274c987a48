# SPDX-License-Identifier: Apache-2.0
"""Heat maps: a cell for each count, darker where there are more."""

import unittest

from lxml import etree

from swift_lightsync.common.svg import Axis
from swift_lightsync.common.svg_heat import heat_plot


def cells(counts, edges=((0, 5, 10), (1, 10, 100, 1000))):
    found = etree.fromstring(heat_plot(
        'a <t>', 'd', Axis('x'), Axis('y', log=True), edges, counts))
    return [{key: float(each.get(key)) for key in (
        'x', 'y', 'width', 'height', 'fill-opacity')}
        for each in found.iter('rect')]


class TestHeatPlot(unittest.TestCase):

    def test_a_cell_is_where_its_edges_are(self):
        low, high = cells([(1, 0, 0), (0, 0, 1000)])
        self.assertAlmostEqual(low['x'] + low['width'], high['x'], places=0)
        self.assertAlmostEqual(3 * high['height'], low['y'] + low['height']
                               - high['y'], places=0)

    def test_more_is_darker_and_one_is_seen(self):
        one, few, many = cells([(1, 30, 1000), (0, 0, 0)])
        self.assertLess(.15, one['fill-opacity'])
        self.assertLess(one['fill-opacity'], few['fill-opacity'])
        self.assertLess(few['fill-opacity'], many['fill-opacity'])
        self.assertEqual(1, many['fill-opacity'])

    def test_nothing_is_no_plot(self):
        for counts in ([], [()], [(0, 0)]):
            self.assertEqual('', heat_plot('t', 'd', Axis('x'), Axis('y'),
                                           ((0, 1), (0, 1, 2)), counts))
