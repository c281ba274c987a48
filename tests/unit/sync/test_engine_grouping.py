# SPDX-License-Identifier: Apache-2.0
"""core.engine.grouping: which rounds go into one message."""

import unittest
from types import SimpleNamespace

from swift_lightsync.sync.core.engine.grouping import (
    in_turns,
    messages_of,
    pairs_of,
)
from swift_lightsync.sync.core.sync_round import Check, Exchange
from tests.unit.sync.fixtures import node


def waiting(device, peer, *partitions, policy=0):
    """Rounds of a local device that wait for a peer."""
    return [SimpleNamespace(policy=policy, device=device,
                            partition=partition, pending=Check(peer))
            for partition in partitions]


class TestMessages(unittest.TestCase):

    def setUp(self):
        self.sda, self.sdb = node(1, 6200), node(2, 6200, 'sdb')

    def items(self, rounds, limit=100):
        return [[item for pair in message for item, _ in pair.items()]
                for message in messages_of(pairs_of(rounds), limit)]

    def test_all_devices_and_policies_make_one_message(self):
        self.assertEqual(
            [[(0, 'sda', 1), (0, 'sda', 2), (0, 'sdb', 1), (1, 'sda', 1)]],
            self.items(waiting('d1', self.sda, 2, 1)
                       + waiting('d2', self.sdb, 1)
                       + waiting('d1', self.sda, 1, policy=1)))

    def test_what_waits_for_something_else_is_left_out(self):
        rounds = waiting('d1', self.sda, 1, 2)
        rounds[0].pending = Exchange((self.sda,))
        self.assertEqual([[(0, 'sda', 2)]], self.items(rounds))
        self.assertEqual([], self.items(rounds[:1]))

    def test_two_devices_here_with_one_partition_take_two_messages(self):
        self.assertEqual(
            [[(0, 'sda', 1), (0, 'sdb', 1)], [(0, 'sda', 1)]],
            self.items(waiting('d1', self.sda, 1)
                       + waiting('d2', self.sda, 1)
                       + waiting('d2', self.sdb, 1)))

    def test_no_message_exceeds_the_limit_and_nothing_is_lost(self):
        rounds = (waiting('d1', self.sda, *range(25))
                  + waiting('d2', self.sdb, *range(7)))
        for limit in (1, 3, 10, 32):
            found = self.items(rounds, limit)
            self.assertLessEqual(max(map(len, found)), limit)
            self.assertEqual(32, len({item for message in found
                                      for item in message}))


class TestTurns(unittest.TestCase):

    def turns(self, items, most):
        return [''.join(turn) for turn in in_turns(items, str.lower, most)]

    def test_few_are_played_as_they_come(self):
        self.assertEqual(['abAB'], self.turns('abAB', 4))

    def test_those_of_one_neighbour_stay_together_as_far_as_they_can(self):
        self.assertEqual(['aAaA', 'bBc'], self.turns('abcAaBA', 4))
        self.assertEqual(['aa', 'aa', 'ab'], self.turns('aaaaab', 2))
        self.assertEqual([''], self.turns('', 2))
