# SPDX-License-Identifier: Apache-2.0
"""The state of one log: swift_lightsync/proar/core/follower.py."""

import unittest
from dataclasses import replace

from swift_lightsync.proar.core.follower import Follower, Push
from swift_lightsync.proar.core.oplog import Entry, Op, State
from swift_lightsync.proar.log.oplog_file import LogView

A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))


def entry(eversion, path_hash=A, state=State.COMMITTED):
    return Entry(Op.MODIFY, 0, eversion, path_hash, 100, 0, 1000 + eversion,
                 state)


def view(*entries, base=1, damaged=()):
    last = max([base - 1, *(each.eversion for each in entries), *damaged])
    return LogView(base, last, list(entries), list(damaged))


def push(path_hash, *eversions):
    return Push(path_hash, eversions, 1000 + eversions[0])


def follower(*entries, cursors=None, peers=(7, 8), **kwargs):
    return Follower(view(*entries, **kwargs), frozenset(peers), cursors or {},
                    lambda path_hash: frozenset(peers))


class TestFollower(unittest.TestCase):

    def test_each_peer_lacks_each_object_once_oldest_first(self):
        log = follower(entry(1, A), entry(2, B), entry(3, A))
        for peer in 7, 8:
            self.assertEqual([push(A, 1, 3), push(B, 2)],
                             log.pushes(peer, 10))

    def test_no_more_objects_than_asked_for_are_pushed(self):
        log = follower(entry(1, A), entry(2, B), entry(3, A))
        self.assertEqual([push(A, 1, 3)], log.pushes(7, 1))

    def test_all_of_a_long_log_is_pushed_in_turns(self):
        log = follower(*(entry(number, bytes([number % 7]) * 16)
                         for number in range(1, 4001)))
        turns = 0
        while log.lacks(7):
            turns += 1
            for each in log.pushes(7, 3):
                log.applied(7, each.eversions)
        self.assertEqual({7: 4000, 8: 0}, log.cursors())
        self.assertLess(turns, 20)

    def test_objects_can_be_left_out_of_what_is_pushed(self):
        log = follower(entry(1, A), entry(2, B), entry(3, A))
        self.assertEqual([push(B, 2)], log.pushes(7, 1, {A}))

    def test_what_one_peer_holds_the_others_still_lack(self):
        log = follower(entry(1, A), entry(2, B))
        log.applied(7, (1, 2))
        self.assertEqual([], log.pushes(7, 10))
        self.assertEqual(2, len(log.pushes(8, 10)))
        self.assertEqual({7: 2, 8: 0}, log.cursors())
        self.assertEqual((0, 0), (log.last_commit, log.exposed))
        self.assertEqual(entry(1, A), log.oldest)

    def test_a_cursor_stands_before_what_its_peer_lacks(self):
        log = follower(entry(1, A), entry(2, B), entry(3, C))
        log.applied(7, (2, 3))
        self.assertEqual({7: 0, 8: 0}, log.cursors())
        self.assertEqual([push(A, 1)], log.pushes(7, 10))
        self.assertEqual(3, log.exposed)
        log.applied(7, (1,))
        self.assertEqual({7: 3, 8: 0}, log.cursors())

    def test_when_all_hold_all_nothing_is_kept(self):
        log = follower(entry(1, A), entry(2, B))
        for peer in 7, 8:
            log.applied(peer, (1, 2))
        self.assertEqual(2, log.last_commit)
        self.assertIsNone(log.oldest)

    def test_what_cursors_on_record_say_is_not_pushed_again(self):
        log = follower(entry(4, A), entry(5, B), base=4, cursors={7: 4})
        self.assertEqual([push(B, 5)], log.pushes(7, 10))
        self.assertEqual(2, len(log.pushes(8, 10)))

    def test_a_cursor_of_a_log_that_was_lost_counts_as_none(self):
        log = follower(entry(1, A), cursors={7: 90, 8: 90})
        self.assertEqual([push(A, 1)], log.pushes(7, 10))

    def test_a_device_that_is_no_peer_any_more_holds_nothing_up(self):
        log = follower(entry(1, A), cursors={9: 0, 7: 1, 8: 1})
        self.assertEqual(1, log.last_commit)

    def test_without_another_device_all_is_committed(self):
        log = follower(entry(1, A), peers=())
        self.assertEqual((1, 0), (log.last_commit, log.exposed))
        self.assertIsNone(log.oldest)

    def test_new_entries_follow_the_old_ones(self):
        log = follower(entry(1, A))
        self.assertEqual(1, log.after)
        log.see(view(entry(2, B)))
        self.assertEqual([push(A, 1), push(B, 2)], log.pushes(7, 10))


class TestIntents(unittest.TestCase):

    def setUp(self):
        self.intent = entry(2, B, State.INTENT)
        self.log = follower(entry(1, A), self.intent, entry(3, C))

    def test_an_undecided_intent_is_not_pushed_but_what_follows_is(self):
        self.assertEqual([push(A, 1), push(C, 3)],
                         self.log.pushes(7, 10))
        self.assertEqual([self.intent], self.log.intents())

    def test_a_cursor_does_not_pass_an_undecided_intent(self):
        for peer in 7, 8:
            self.log.applied(peer, (1, 3))
        self.assertEqual(1, self.log.last_commit)
        self.assertEqual(self.intent, self.log.oldest)

    def test_the_log_is_read_again_from_the_first_intent(self):
        self.assertEqual(1, self.log.after)

    def test_an_intent_that_was_committed_is_pushed(self):
        self.log.see(view(replace(self.intent, state=State.COMMITTED),
                          entry(3, C)))
        self.assertEqual(3, self.log.after)
        self.assertEqual([push(A, 1), push(B, 2), push(C, 3)],
                         self.log.pushes(7, 10))

    def test_an_intent_that_was_aborted_is_held_by_all(self):
        for peer in 7, 8:
            self.log.applied(peer, (1, 3))
        self.log.decide(self.intent.decided(False))
        self.assertEqual(3, self.log.last_commit)
        self.assertIsNone(self.log.oldest)

    def test_an_entry_that_was_pushed_is_not_seen_again(self):
        for peer in 7, 8:
            self.log.applied(peer, (1, 3))
        self.log.see(view(self.intent, entry(3, C)))
        self.assertEqual([], self.log.pushes(7, 10))

    def test_an_intent_that_is_damaged_meanwhile_is_held_by_all(self):
        self.log.see(view(entry(3, C), damaged=(2,)))
        self.assertEqual([], self.log.intents())
        self.assertEqual(3, self.log.after)


class TestLogs(unittest.TestCase):

    def test_what_was_damaged_or_aborted_is_held_by_all(self):
        log = follower(entry(1, A, State.ABORTED), damaged=(2,))
        self.assertEqual(2, log.last_commit)
        self.assertEqual([], log.pushes(7, 10))

    def test_a_log_that_was_cut_is_followed_from_its_base(self):
        log = follower(entry(1, A), entry(2, B, State.INTENT), entry(3, C))
        log.see(view(entry(3, C), entry(4, A), base=3))
        self.assertEqual([], log.intents())
        self.assertEqual([push(C, 3), push(A, 4)], log.pushes(7, 10))
        self.assertEqual((2, 2), (log.last_commit, log.records))

    def test_an_object_that_moved_is_pushed_to_its_own_peers_only(self):
        owners = {A: frozenset({7, 8}), B: frozenset({8, 9})}
        log = Follower(view(entry(1, A), entry(2, B)), frozenset({7, 8}), {},
                       owners.get)
        self.assertEqual([push(A, 1)], log.pushes(7, 10))
        self.assertEqual([push(B, 2)], log.pushes(9, 10))
        log.applied(7, (1,))
        self.assertEqual({7: 2, 8: 0, 9: 1}, log.cursors())

    def test_a_peer_of_a_moved_object_keeps_its_cursor(self):
        owners = {A: frozenset({7}), B: frozenset({9})}
        log = Follower(view(entry(1, B), entry(2, B)), frozenset({7}),
                       {9: 1}, owners.get)
        self.assertEqual([push(B, 2)], log.pushes(9, 10))
