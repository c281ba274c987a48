# SPDX-License-Identifier: Apache-2.0
"""text: what a reader gets to see of each kind of trouble."""

import json
import unittest
from dataclasses import replace

from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.report import as_json, text
from swift_lightsync.report.answer import State
from swift_lightsync.sync.core.sync_round import Answer
from tests.unit.report.fixtures import (
    NOW,
    PAIR,
    PASS,
    RING,
    SUSPECT,
    health,
    host,
    place,
    reply,
)

TROUBLE = (
    reply(1, [PAIR, replace(PAIR, neighbour=place(3), agreed=NOW - 7300,
                            differing=5, differed=6, answer=Answer.DIFFER),
              replace(PAIR, neighbour=place(4), agreed=None, since=NOW,
                      answer=Answer.TIMEOUT)],
          suspects=[SUSPECT, replace(SUSPECT, key=place(3), exceptions=4,
                                     state=State.COUNTING)]),
    Reply(host(2), Outcome.UNREACHABLE, 'Connection refused'),
    Reply(host(3), Outcome.WITHOUT, 'status 404'))


def words(lines):
    return [line.split() for line in lines.splitlines()]


class TestDuration(unittest.TestCase):

    def test_it_has_the_two_largest_units(self):
        for seconds, shown in ((0, '0s'), (0.9, '0s'), (59, '59s'),
                               (60, '1m'), (61, '1m1s'), (3600, '1h'),
                               (3725, '1h2m'), (90061, '1d1h'),
                               (86400 * 400, '400d'), (None, 'never')):
            self.assertEqual(shown, text.duration(seconds))


class TestText(unittest.TestCase):

    def test_a_healthy_cluster_takes_a_few_lines(self):
        self.assertEqual('''\
1970-01-12 13:46:40 UTC: 1 nodes asked, 1 answered; a pair is stale after 1h

POLICY  PAIRS  AGREED  DIFFERING  STALE  UNREACHABLE  AS STOCK\
  PARTITIONS DIFFERING  OLDEST AGREEMENT
0 gold  1      1       0          0      0            0       \
  0                   \
  10s  10.1.0.1:6300/sda -> 10.1.0.2:6300/sda

LAST PASSES OVER  MESSAGES  ASKED ABOUT  DIFFERED  PUSHED  PUT OFF\
  LISTED ANEW  RINGS CLOSED  LISTED LONGEST AGO
1 devices         0         0            0         0       0      \
  0            0             0s

All is well.
''', text.render(health()))

    def test_each_kind_of_trouble_has_its_table(self):
        lines = words(text.render(health(*TROUBLE)))
        for expected in (
                '0 gold 3 0 0 1 2 0 5 never 10.1.0.1:6300/sda -> '
                '10.1.0.4:6300/sda',
                '10.0.0.2:6200 unreachable Connection refused',
                '10.0.0.3:6200 without LightSync status 404',
                '10.0.0.1:6200 10.1.0.2:6300 failed 10 30s',
                '10.0.0.1:6200 10.1.0.3:6300/sda counting 4 30s',
                '0 10.1.0.1:6300/sda -> 10.1.0.3:6300/sda stale differ 5 64 '
                '2h1m',
                '0 10.1.0.1:6300/sda -> 10.1.0.4:6300/sda unreachable '
                'timeout 0 64 never',
                'Not well: unreachable nodes: 1, stale pairs: 1, '
                'unreachable pairs: 2, failed neighbours: 1.'):
            self.assertIn(expected.split(), lines, text.render(
                health(*TROUBLE)))

    def test_a_device_without_a_pass_is_named(self):
        lines = words(text.render(health(reply(2))))
        self.assertIn(['10.1.0.2:6300/sda', 'never'], lines)

    def test_a_policy_without_pairs_has_no_oldest(self):
        self.assertIn(['0', 'gold', *'0000000-'],
                      words(text.render(health(reply(pairs=())))))

    def test_columns_are_aligned(self):
        lines = text.aligned([('A', 'LONG', 'C'), ('long', 1, 'c'),
                              ('… and 3 more that do not count',)])
        self.assertEqual(['A     LONG  C', 'long  1     c',
                          '… and 3 more that do not count'], lines)

    def test_a_long_table_is_cut_and_says_so(self):
        pairs = [replace(PAIR, neighbour=place(number % 250, 'd%d' % number),
                         answer=Answer.REFUSED) for number in range(1, 101)]
        shown = text.render(health(reply(pairs=pairs)))
        self.assertIn('… and 80 more', shown)
        self.assertLess(len(shown.splitlines()), 40)

    def test_names_from_elsewhere_cannot_upset_the_terminal(self):
        evil = ('10.0.0.1\x1b[2J', 6200, 'sda\n\x07')
        shown = text.render(health(
            reply(pairs=[replace(PAIR, neighbour=evil,
                                 answer=Answer.REFUSED)],
                  suspects=[replace(SUSPECT, key=evil)]),
            Reply(host(2), Outcome.INVALID, 'a\x1b[2J\nb')))
        self.assertTrue(all(each.isprintable() or each == '\n'
                            for each in shown))
        self.assertIn('10.0.0.1?[2J:6200/sda??', shown)


class TestJson(unittest.TestCase):

    def test_it_has_all_that_is_known(self):
        data = json.loads(as_json.render(health(*TROUBLE)))
        self.assertEqual((NOW, 3600, False), (
            data['time'], data['stale_after'], data['well']))
        self.assertEqual(health(*TROUBLE).complaints, data['complaints'])
        self.assertEqual(['answered', 'unreachable', 'without LightSync'],
                         [each['outcome'] for each in data['nodes']])
        policy, = data['policies']
        self.assertEqual((0, 'gold'), (policy['policy'], policy['name']))
        self.assertEqual(
            [('unreachable', None, 'timeout'), ('unreachable', 10, 'match'),
             ('stale', 7300, 'differ')],
            [(pair['state'], pair['age'], pair['answer'])
             for pair in policy['pairs']])
        self.assertEqual([('failed', 30, list(host(1)), list(place(2)[:2])),
                          ('counting', 30, list(host(1)), list(place(3)))],
                         [(each['state'], each['left'], each['node'],
                           each['key']) for each in data['failures']])

    def test_a_healthy_cluster_is_well(self):
        data = json.loads(as_json.render(health()))
        self.assertEqual((True, [], []), (
            data['well'], data['complaints'], data['late']))

    def test_a_device_without_a_pass_is_late(self):
        data = json.loads(as_json.render(health(reply(2), rings=[RING])))
        self.assertEqual([{'device': list(place(2)), 'age': None}],
                         data['late'])

    def test_hand_offs_are_told_with_the_time_that_they_take(self):
        found = health(reply(devices=(replace(
            PASS, hand_offs=12, hand_offs_seconds=90.0),)))
        self.assertEqual([{'device': list(place(1)), 'partitions': 12,
                           'seconds': 90.0}],
                         json.loads(as_json.render(found))['hand_offs'])
        self.assertRegex(text.render(found), r'10\.1\.0\.1.*sda +12 +1m30s')
        self.assertEqual([], found.complaints)
