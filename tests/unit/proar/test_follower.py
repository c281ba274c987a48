# SPDX-License-Identifier: Apache-2.0
"""What peers lack: swift_lightsync/proar/core/follower.py."""

import random
import unittest
from dataclasses import replace

from swift_lightsync.proar.core.follower import Follower, Mark, Push
from swift_lightsync.proar.core.oplog import Entry, Op, State, eversion_of

A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))
PEERS = frozenset({7, 8})


def at(index, number=1):
    return eversion_of(number, index)


def entry(index, path_hash=A, state=State.COMMITTED, number=1, holders=()):
    return Entry(Op.MODIFY, 0, 0, 0, path_hash, 100, 0, 1000 + index,
                 eversion=at(index, number), state=state,
                 holders=frozenset(holders))


def push(path_hash, *indexes):
    return Push(path_hash, tuple(map(at, indexes)), 1000 + indexes[0])


def follower(*entries, peers=PEERS):
    made = Follower(lambda path_hash: peers)
    for each in entries:
        made.add(each)
    return made


class TestFollower(unittest.TestCase):

    def test_each_peer_lacks_each_object_once_oldest_first(self):
        found = follower(entry(1, A), entry(2, B), entry(3, A))
        for peer in PEERS:
            self.assertEqual([push(A, 1, 3), push(B, 2)],
                             found.pushes(peer, 10))
        self.assertEqual({7, 8}, set(found.lacking()))

    def test_no_more_objects_than_asked_for_are_pushed(self):
        found = follower(entry(1, A), entry(2, B), entry(3, A))
        self.assertEqual([push(A, 1, 3)], found.pushes(7, 1))

    def test_objects_can_be_left_out_of_what_is_pushed(self):
        found = follower(entry(1, A), entry(2, B), entry(3, A))
        self.assertEqual([push(B, 2)], found.pushes(7, 1, {(A, False)}))

    def test_what_one_peer_holds_the_others_still_lack(self):
        found = follower(entry(1, A))
        self.assertEqual([Mark(at(1), State.HELD, frozenset({7}))],
                         found.applied(7, push(A, 1)))
        self.assertEqual([], found.pushes(7, 10))
        self.assertEqual([push(A, 1)], found.pushes(8, 10))
        self.assertEqual((1, 0, {8: 1}), (
            found.entries, found.exposed, found.behind))
        self.assertEqual([Mark(at(1), State.CONVERGED, PEERS)],
                         found.applied(8, push(A, 1)))
        self.assertEqual((0, 0, {}, None, []), (
            found.entries, found.exposed, found.behind, found.oldest,
            found.lacking()))

    def test_an_object_that_nobody_takes_holds_no_other_one_up(self):
        found = follower(*(entry(index, bytes([index]) * 16)
                           for index in range(1, 100)))
        stuck = push(A, 1)
        for peer in PEERS:
            found.refused(peer, stuck)
            for each in found.pushes(peer, 200, {(A, False)}):
                found.applied(peer, each)
        self.assertEqual((1, 1), (found.entries, found.exposed))

    def test_what_a_push_does_not_answer_for_stays(self):
        found = follower(entry(1, A))
        under_way = found.pushes(7, 1)[0]
        found.add(entry(2, A))
        found.applied(7, under_way)
        self.assertEqual([push(A, 2)], found.pushes(7, 1))

    def test_an_answer_about_what_is_not_lacked_any_more_says_nothing(self):
        for is_gone in (False, True):
            found = follower(entry(1, A))
            found.applied(7, push(A, 1))
            if is_gone:
                found.forget(1)
            for answer in found.applied, found.refused:
                self.assertEqual([], answer(7, push(A, 1)))
            self.assertEqual({} if is_gone else {8: 1}, found.behind)

    def test_who_is_known_to_hold_it_is_not_pushed_to_again(self):
        found = follower(entry(1, A, State.HELD, holders=(7,)))
        self.assertEqual([], found.pushes(7, 1))
        self.assertEqual([push(A, 1)], found.pushes(8, 1))
        self.assertEqual(0, found.exposed)

    def test_what_all_present_peers_hold_is_noted_at_once(self):
        marks = Follower(lambda path_hash: PEERS).add(
            entry(1, A, State.HELD, holders=(7, 8, 9)))
        self.assertEqual([Mark(at(1), State.CONVERGED,
                               frozenset({7, 8, 9}))], marks)
        self.assertEqual([Mark(at(1), State.CONVERGED, frozenset())],
                         Follower(lambda path_hash: frozenset()).add(
                             entry(1)))

    def test_the_rows_of_an_object_are_pushed_for_themselves(self):
        found = follower(entry(1, A), replace(entry(2, A), op=Op.ROW))
        row = replace(push(A, 2), is_row=True)
        self.assertEqual([push(A, 1), row], found.pushes(7, 9))
        found.applied(7, push(A, 1))
        self.assertEqual([row], found.pushes(7, 9))

    def test_what_is_over_is_nobodys(self):
        found = follower(entry(1, A, State.ABORTED),
                         entry(2, B, State.CONVERGED))
        self.assertEqual((0, []), (found.entries, found.lacking()))

    def test_what_converged_goes_to_a_device_that_another_ring_adds(self):
        done = entry(1, A, State.CONVERGED, holders=PEERS)
        for version, wanted in ((0, []), (5, [push(A, 1)])):
            found = Follower(lambda path_hash: PEERS | {9}, version)
            self.assertEqual([], found.add(done))
            self.assertEqual(wanted, found.pushes(9, 1))
        self.assertEqual([Mark(at(1), State.CONVERGED, PEERS | {9})],
                         found.applied(9, push(A, 1)))

    def test_it_does_not_converge_in_an_older_ring_than_its_writers(self):
        newer = replace(entry(1, A), ring_version=6)
        found = Follower(lambda path_hash: frozenset({7}), 5)
        found.add(newer)
        self.assertEqual([Mark(at(1), State.HELD, frozenset({7}))],
                         found.applied(7, push(A, 1)))
        # It is out of the way until that ring comes.
        self.assertEqual((0, []), (found.entries, found.lacking()))

    def test_an_object_is_its_own_peers(self):
        owners = {A: frozenset({7}), B: frozenset({8, 9})}
        found = Follower(owners.__getitem__)
        for each in entry(1, A), entry(2, B):
            found.add(each)
        self.assertEqual([[push(A, 1)], [push(B, 2)], [push(B, 2)]],
                         [found.pushes(peer, 9) for peer in (7, 8, 9)])

    def test_the_oldest_is_told(self):
        found = follower(entry(5, A, number=2), entry(3, B), entry(4, C))
        self.assertEqual(entry(3, B), found.oldest)


class TestRefused(unittest.TestCase):

    def test_it_is_aside_when_all_that_lack_it_have_refused(self):
        found = follower(entry(1, A))
        self.assertEqual([], found.refused(7, push(A, 1)))
        self.assertEqual([Mark(at(1), State.ASIDE, frozenset())],
                         found.refused(8, push(A, 1)))
        self.assertEqual([], found.refused(8, push(A, 1)))
        self.assertEqual(1, found.aside)

    def test_it_is_not_while_a_device_that_is_away_may_take_it(self):
        found = follower(entry(1, A))
        found.refused(7, push(A, 1))
        self.assertEqual(0, found.aside)

    def test_it_is_not_any_more_when_one_has_taken_it(self):
        found = follower(entry(1, A, State.ASIDE))
        self.assertEqual(1, found.aside)
        self.assertEqual([Mark(at(1), State.HELD, frozenset({8}))],
                         found.applied(8, push(A, 1)))
        self.assertEqual(0, found.aside)

    def test_it_is_tried_after_all_else(self):
        found = follower(entry(1, A), entry(2, B))
        found.refused(7, push(A, 1))
        self.assertEqual([push(B, 2), push(A, 1)], found.pushes(7, 9))
        self.assertEqual([push(A, 1), push(B, 2)], found.pushes(8, 9))


class TestIntents(unittest.TestCase):

    def setUp(self):
        self.intent = entry(2, B, State.INTENT)
        self.found = follower(entry(1, A), self.intent, entry(3, C))

    def test_an_intent_is_not_pushed_but_what_follows_is(self):
        self.assertEqual([push(A, 1), push(C, 3)], self.found.pushes(7, 10))
        self.assertEqual([self.intent], self.found.intents())
        self.assertEqual(0, follower(self.intent).entries)

    def test_one_that_was_committed_is_pushed(self):
        self.found.decide(replace(self.intent, state=State.COMMITTED))
        self.assertEqual([push(A, 1), push(C, 3), push(B, 2)],
                         self.found.pushes(7, 10))
        self.assertEqual([], self.found.intents())

    def test_one_that_was_aborted_is_nobodys(self):
        self.found.decide(replace(self.intent, state=State.ABORTED))
        self.assertEqual([], self.found.intents())
        self.assertEqual(2, self.found.entries)

    def test_it_is_decided_once(self):
        for _ in range(2):
            self.found.decide(replace(self.intent, state=State.COMMITTED))
        self.assertEqual(3, self.found.entries)

    def test_a_segment_with_an_intent_is_needed(self):
        self.assertEqual([self.intent], follower(self.intent).open_in(1))


class TestSegments(unittest.TestCase):

    def test_what_is_open_in_a_segment_is_told(self):
        found = follower(entry(1, A), entry(1, B, number=2))
        self.assertEqual([entry(1, A)], found.open_in(1))
        for peer in PEERS:
            found.applied(peer, push(A, 1))
        self.assertEqual([], found.open_in(1))
        self.assertEqual(1, len(found.open_in(2)))

    def test_a_segment_that_is_gone_is_forgotten(self):
        found = follower(entry(1, A), entry(2, C, State.INTENT),
                         entry(1, A, number=2))
        self.assertEqual(1, found.forget(1))
        self.assertEqual([], found.intents())
        self.assertEqual([at(1, 2)], [
            eversion for each in found.pushes(7, 9)
            for eversion in each.eversions])
        self.assertEqual({7: 1, 8: 1}, found.behind)


class TestAtRandom(unittest.TestCase):

    def test_any_life_ends_with_all_devices_holding_all(self):
        for seed in range(200):
            chance = random.Random(seed)
            found = Follower(lambda path_hash: PEERS)
            noted, entries = {}, {}
            for index in range(1, 40):
                each = entry(index, chance.choice((A, B, C)), chance.choice(
                    (State.COMMITTED, State.INTENT)))
                entries[each.eversion] = each
                found.add(each)
                self.step(chance, found, noted)
            for each in found.intents():
                found.decide(replace(each, state=State.COMMITTED))
            while found.lacking():
                self.step(chance, found, noted)
            self.assertEqual(
                dict.fromkeys(entries, State.CONVERGED), noted,
                'seed %d' % seed)
            self.assertEqual([], found.open_in(1))

    def step(self, chance, found, noted):
        peer = chance.choice(sorted(PEERS))
        for each in found.pushes(peer, 2):
            for mark in chance.choice((found.applied, found.refused))(
                    peer, each):
                noted[mark.eversion] = mark.state
        for each in found.intents()[:chance.randrange(2)]:
            found.decide(replace(each, state=State.COMMITTED))
