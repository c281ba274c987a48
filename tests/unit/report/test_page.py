# SPDX-License-Identifier: Apache-2.0
"""page, plots: one page that is well-formed and needs nothing else."""

import re
import unittest
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

from swift_lightsync.common.address import place_name
from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.report import page, plots
from swift_lightsync.sync.core.sync_round import Answer
from tests.unit.report.fixtures import (
    NOW,
    PAIR,
    RING,
    SUSPECT,
    health,
    host,
    place,
    reply,
)
from tests.unit.report.test_text import TROUBLE

EMPTY = {'meta', 'link', 'img', 'br'}


class Checker(HTMLParser):
    """Holds that tags are closed in order, and collects them."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.tags = []
        self.attributes = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if self.open.pop() != tag:
            raise AssertionError('</%s> closes nothing' % tag)


def checked(text):
    checker = Checker()
    checker.feed(text)
    checker.close()
    return checker


def pairs_of(found):
    return found.policies[0].in_use


def shapes(svg, tag):
    return list(ElementTree.fromstring(svg).iter(tag))


def heat_map(found):
    return plots.heat_map(pairs_of(found), 3600, 'x')


class TestPage(unittest.TestCase):

    def test_it_is_well_formed(self):
        for found in (health(), health(*TROUBLE), health(reply(pairs=())),
                      health(Reply(host(1), Outcome.WITHOUT, 'x'))):
            checker = checked(page.render(found))
            self.assertEqual([], checker.open)
            self.assertEqual(1, checker.tags.count('html'))

    def test_it_needs_nothing_from_elsewhere_and_runs_nothing(self):
        text = page.render(health(*TROUBLE))
        checker = checked(text)
        self.assertEqual(set(), set(checker.tags) & {
            'script', 'link', 'img', 'iframe', 'object', 'embed', 'a'})
        self.assertEqual([], [name for name, _ in checker.attributes
                              if name.startswith('on')
                              or name in ('src', 'href')])
        self.assertNotRegex(text, r'url\(|@import|https?:')

    def test_it_says_what_the_text_says(self):
        text = page.render(health(*TROUBLE))
        for said in ('Not well: unreachable nodes: 1', 'Connection refused',
                     '10.1.0.3:6300/sda', 'status 404', 'counting'):
            self.assertIn(said, text)
        self.assertIn('All is well.', page.render(health()))

    def test_each_policy_has_its_plots(self):
        other = replace(RING, policy=1, name='silver')
        text = page.render(health(reply(pairs=[
            PAIR, replace(PAIR, policy=1, differing=3)]),
            rings=[RING, other]))
        # A legend and a heat map each, and bars for the one that differs.
        self.assertEqual(5, text.count('<svg'))
        self.assertEqual(1, text.count('<p>None.</p>'))

    def test_names_from_elsewhere_stay_text(self):
        evil = ('<script>alert(1)</script>"\'&', 6200, '</svg><img src=x>')
        found = health(
            reply(pairs=[replace(PAIR, device=evil, differing=2),
                         replace(PAIR, neighbour=evil)],
                  suspects=[replace(SUSPECT, key=evil)]),
            Reply(host(2), Outcome.INVALID, '<img src=x onerror=alert(1)>'),
            rings=[replace(RING, name='<b>"&')])
        checker = checked(page.render(found))
        self.assertEqual(set(), set(checker.tags) & {'script', 'img', 'b'})
        for svg in re.findall('<svg.*?</svg>', page.render(found)):
            ElementTree.fromstring(svg)


class TestHeatMap(unittest.TestCase):

    def test_each_pair_has_its_cell_and_each_device_its_row(self):
        pairs = [replace(PAIR, device=place(a), neighbour=place(b))
                 for a, b in ((1, 2), (2, 3), (3, 1))]
        svg = heat_map(health(reply(pairs=pairs)))
        self.assertEqual(3, len(shapes(svg, 'rect')))
        self.assertEqual(6, len(shapes(svg, 'text')))
        places = {(cell.get('x'), cell.get('y'))
                  for cell in shapes(svg, 'rect')}
        self.assertEqual(3, len(places))

    def test_rows_are_in_the_order_of_their_numbers(self):
        names = ['sda1', 'sda2', 'sda10', 'sdb', '\u0663']
        svg = heat_map(health(reply(pairs=[
            replace(PAIR, device=place(1, a), neighbour=place(1, b))
            for a in names for b in names if a != b])))
        self.assertEqual([place_name(place(1, name)) for name in names], [
            each.text for each in shapes(svg, 'text')[:5]])

    def test_the_older_an_agreement_the_darker_its_cell(self):
        colours = [colour for _, colour in plots.SHADES]
        for age, colour in ((0, colours[0]), (60, colours[0]),
                            (61, colours[1]), (3600, colours[-1]),
                            (3601, plots.STALE), (None, plots.NEVER)):
            agreed = None if age is None else NOW - age
            cell, = shapes(heat_map(health(reply(pairs=[
                replace(PAIR, agreed=agreed)]))), 'rect')
            self.assertEqual(colour, cell.get('fill'), age)

    def test_a_neighbour_that_is_unreachable_has_a_cross(self):
        for answer, crosses in ((Answer.MATCH, 0), (Answer.REFUSED, 1)):
            svg = heat_map(health(reply(pairs=[
                replace(PAIR, answer=answer)])))
            self.assertEqual(crosses, len(shapes(svg, 'path')))

    def test_a_cell_tells_of_its_pair(self):
        cell, = shapes(heat_map(health(reply(pairs=[
            replace(PAIR, differing=3)]))), 'rect')
        self.assertEqual(
            '10.1.0.1:6300/sda -> 10.1.0.2:6300/sda: differing, agreed 10s '
            'ago; 3 of 64 partitions differ', cell.find('title').text)

    def test_the_devices_of_a_large_cluster_share_rows(self):
        pairs = [replace(PAIR, device=place(a, 'd%d' % disk),
                         neighbour=place(a % 20 + 1, 'd%d' % disk),
                         agreed=NOW - disk)
                 for a in range(1, 21) for disk in range(12)]
        svg = heat_map(health(reply(pairs=pairs)))
        cells = shapes(svg, 'rect')
        self.assertEqual(20, len(cells))
        self.assertTrue(all('(the worst of 12 pairs)'
                            in cell.find('title').text for cell in cells))
        self.assertTrue(all('agreed 11s ago' in cell.find('title').text
                            for cell in cells))

    def test_of_a_huge_cluster_the_worst_are_shown(self):
        pairs = [replace(PAIR, device=place(a), neighbour=place(a + 1),
                         agreed=NOW - a) for a in range(1, 250)]
        svg = heat_map(health(reply(pairs=pairs)))
        self.assertEqual(2 * plots.MOST_ROWS, len(shapes(svg, 'text')))
        tips = [cell.find('title').text for cell in shapes(svg, 'rect')]
        self.assertTrue(any('agreed 4m9s ago' in tip for tip in tips))
        self.assertFalse(any('agreed 1s ago' in tip for tip in tips))


class TestBars(unittest.TestCase):

    def bars(self, pairs):
        return plots.bar_chart(pairs_of(health(reply(pairs=pairs))), 'x')

    def test_a_device_has_a_bar_of_what_it_has_and_its_neighbours_lack(self):
        svg = self.bars([
            replace(PAIR, differing=10),
            replace(PAIR, differing=5, neighbour=place(3)),
            replace(PAIR, differing=5, device=place(2)),
            replace(PAIR, device=place(4))])
        self.assertEqual(['10.1.0.1:6300/sda', '15', '10.1.0.2:6300/sda',
                          '5'], [each.text for each in shapes(svg, 'text')])
        long, short = (float(bar.get('width'))
                       for bar in shapes(svg, 'rect'))
        self.assertAlmostEqual(3, long / short, 2)

    def test_where_nothing_differs_there_are_none(self):
        self.assertEqual('', self.bars([PAIR]))
