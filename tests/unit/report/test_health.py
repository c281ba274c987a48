# SPDX-License-Identifier: Apache-2.0
"""health: what the answers of nodes come to."""

import unittest
from dataclasses import replace

from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.report.answer import State
from swift_lightsync.report.health import PairState
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


def state_of(pair, **fields):
    found, = health(reply(pairs=[pair], **fields)).policies[0].pairs
    return found.state


class TestPairs(unittest.TestCase):

    def test_a_pair_that_agreed_is_well(self):
        self.assertEqual(PairState.AGREED, state_of(PAIR))

    def test_a_neighbour_that_did_not_answer_is_unreachable(self):
        states = {answer: state_of(replace(PAIR, answer=answer))
                  for answer in Answer}
        gone = {Answer.REFUSED, Answer.TIMEOUT, Answer.UNMOUNTED}
        self.assertEqual(gone, {answer for answer, state in states.items()
                                if state is PairState.UNREACHABLE})
        self.assertEqual({PairState.AGREED}, {
            states[answer] for answer in set(Answer) - gone})

    def test_a_neighbour_that_failed_is_unreachable_asked_or_not(self):
        for key in (place(2), place(2)[:2]):
            for checked in (NOW - 10, NOW - 5000):
                self.assertEqual(PairState.UNREACHABLE, state_of(
                    replace(PAIR, checked=checked),
                    suspects=[replace(SUSPECT, key=key)]))

    def test_other_suspects_stop_nothing(self):
        for suspect in (replace(SUSPECT, key=place(3)),
                        replace(SUSPECT, key=place(2, 'sdb')),
                        *(replace(SUSPECT, state=state) for state in State
                          if state is not State.FAILED)):
            self.assertEqual(PairState.AGREED,
                             state_of(PAIR, suspects=[suspect]))

    def test_a_pair_that_the_last_pass_did_not_ask_is_idle(self):
        # The pass began 25 seconds ago.
        for age, state in ((24, PairState.AGREED), (26, PairState.IDLE)):
            for answer in (Answer.MATCH, Answer.REFUSED):
                found = state_of(replace(PAIR, checked=NOW - age,
                                         answer=answer))
                self.assertEqual(state is PairState.IDLE,
                                 found is PairState.IDLE, age)

    def test_while_no_pass_has_ended_no_pair_is_idle(self):
        self.assertEqual(PairState.AGREED, state_of(
            replace(PAIR, checked=NOW - 500), devices=[]))

    def test_a_pair_is_stale_once_it_has_not_agreed_for_too_long(self):
        for age, state in ((3600, PairState.AGREED), (3601, PairState.STALE)):
            self.assertEqual(state, state_of(replace(PAIR, agreed=NOW - age)))
            self.assertEqual(state, state_of(
                replace(PAIR, agreed=None, since=NOW - age)))

    def test_a_pair_that_differs_is_differing_until_it_is_stale(self):
        pair = replace(PAIR, differing=1, answer=Answer.DIFFER)
        self.assertEqual(PairState.DIFFERING, state_of(pair))
        self.assertEqual(PairState.STALE,
                         state_of(replace(pair, agreed=NOW - 9999)))
        self.assertEqual(PairState.AGREED,
                         state_of(replace(pair, differing=0, differed=1)))

    def test_the_clock_that_counts_is_that_of_the_node(self):
        ahead = replace(PAIR, agreed=NOW + 5000, checked=NOW + 5000)
        self.assertEqual(PairState.AGREED, state_of(ahead))
        self.assertEqual(PairState.STALE,
                         state_of(ahead, time=NOW + 9000, devices=[]))

    def test_the_worst_come_first(self):
        pairs = [PAIR, replace(PAIR, agreed=NOW - 20),
                 replace(PAIR, answer=Answer.TIMEOUT),
                 replace(PAIR, agreed=NOW - 4000),
                 replace(PAIR, agreed=None, since=NOW - 4000),
                 replace(PAIR, checked=NOW - 8000)]
        policy, = health(reply(pairs=pairs)).policies
        self.assertEqual([pairs[number] for number in (2, 4, 3, 1, 0, 5)],
                         [pair.record for pair in policy.pairs])
        self.assertEqual(pairs[4], policy.oldest.record)

    def test_what_is_idle_counts_for_nothing(self):
        idle = replace(PAIR, checked=NOW - 8000, differing=9, agreed=None)
        policy, = health(reply(pairs=[PAIR, idle])).policies
        self.assertEqual((1, 0, PAIR), (len(policy.in_use), policy.differing,
                                        policy.oldest.record))

    def test_each_policy_has_its_own_pairs(self):
        other = replace(RING, policy=1, name='silver')
        found = health(reply(pairs=[PAIR, replace(PAIR, policy=1),
                                    replace(PAIR, policy=2)]),
                       rings=[RING, other])
        self.assertEqual([[0], [1]], [
            [pair.record.policy for pair in policy.pairs]
            for policy in found.policies])


class TestNodes(unittest.TestCase):

    def complaints(self, *replies, **options):
        return health(*replies, **options).complaints

    def test_not_to_be_answered_by_anybody_is_no_success(self):
        stock = replace(PAIR, answer=Answer.UNSUPPORTED)
        found = health(reply(pairs=[stock, PAIR]))
        self.assertEqual(1, found.policies[0].as_stock)
        self.assertEqual([], found.complaints)
        self.assertEqual(
            ['policies whose neighbours all answer as stock Swift, on the '
             'replication port: 1'],
            self.complaints(reply(pairs=[stock])))

    def test_nodes_that_tell_of_nothing_bad_are_well(self):
        self.assertEqual([], self.complaints())

    def test_each_kind_of_trouble_is_named_and_counted(self):
        stale = replace(PAIR, agreed=NOW - 9999)
        gone = replace(PAIR, answer=Answer.REFUSED)
        self.assertEqual(
            ['unreachable nodes: 2', 'unusable answers: 1', 'stale pairs: 1',
             'unreachable pairs: 3', 'failed neighbours: 1',
             'devices without a recent pass: 1'],
            self.complaints(
                Reply(host(3), Outcome.UNREACHABLE, 'x'),
                Reply(host(4), Outcome.UNREACHABLE, 'x'),
                Reply(host(5), Outcome.INVALID, 'x'),
                reply(1, [stale, gone, gone], suspects=[
                    replace(SUSPECT, key=place(9))]),
                reply(2, [gone], [replace(PASS, device=place(2),
                                          ended=NOW - 3601)],
                      [replace(SUSPECT, key=place(9))])))

    def test_what_differs_is_no_trouble_yet(self):
        pair = replace(PAIR, differing=7, answer=Answer.DIFFER)
        found = health(reply(pairs=[pair]))
        self.assertEqual([], found.complaints)
        self.assertEqual(7, found.policies[0].differing)

    def test_a_node_without_the_filter_is_trouble_only_if_there_is_no_other(
            self):
        without = Reply(host(2), Outcome.WITHOUT, 'status 404')
        self.assertEqual([], self.complaints(reply(), without))
        self.assertEqual(['no node with LightSync: 1 asked'],
                         self.complaints(without))

    def test_a_device_of_a_node_that_answers_has_to_have_a_pass(self):
        ring = replace(RING, devices={place(1): host(1),
                                      place(1, 'sdb'): host(1),
                                      place(2): host(2)})
        late = health(reply(), rings=[ring, ring]).late
        self.assertEqual([(place(1, 'sdb'), None)],
                         [(each.device, each.age) for each in late])

    def test_servers_that_share_their_files_are_heard_once(self):
        other = replace(reply(1, suspects=[SUSPECT]),
                        host=(host(1)[0], 6201))
        found = health(reply(1, suspects=[SUSPECT]), other)
        self.assertEqual((1, 1), (len(found.sightings),
                                  len(found.policies[0].pairs)))
        apart = health(reply(1, suspects=[SUSPECT]),
                       reply(2, (), suspects=[SUSPECT]))
        self.assertEqual([host(1), host(2)],
                         [each.node for each in apart.sightings])

    def test_how_long_a_suspicion_lasts_is_by_the_nodes_clock(self):
        sighting, = health(reply(suspects=[SUSPECT], time=NOW + 10)).sightings
        self.assertEqual(20, sighting.left)
        sighting, = health(reply(suspects=[SUSPECT], time=NOW + 99)).sightings
        self.assertEqual(0, sighting.left)
