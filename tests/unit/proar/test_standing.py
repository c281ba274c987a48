# SPDX-License-Identifier: Apache-2.0
"""standing: whose word counts, and until when."""

import unittest
from dataclasses import replace

from swift_lightsync.proar.core.filling import NS
from swift_lightsync.proar.core.standing import Standing, Told

PLACE = (7, 1)


def told(asked=100, ring=1, can_tell=True, held=()):
    return Told(asked, ring, can_tell, tuple(held))


class TestStanding(unittest.TestCase):

    def standing(self, **answers):
        return Standing('boot', 0, 1, 3.0).after(100, {
            int(peer[1:]): each for peer, each in answers.items()})

    def obstacle(self, standing, now=101, peers=(1, 2), missed=0,
                 place=PLACE):
        return standing.obstacle(now, place, peers, missed)

    def test_it_may_answer_alone_when_all_vouch(self):
        self.assertEqual('', self.obstacle(self.standing(
            d1=told(), d2=told())))

    def test_not_before_anybody_was_asked_though_it_has_no_peers(self):
        self.assertIn('nobody was asked', self.obstacle(
            Standing('boot', 0, 1, 3.0), 101, ()))
        self.assertEqual('', self.obstacle(self.standing(), peers=()))

    def test_not_when_a_peer_is_silent_cannot_tell_or_has_another_ring(self):
        for answer in ({}, {'d2': told(can_tell=False)},
                       {'d2': told(ring=2)}):
            self.assertIn('device 2', self.obstacle(self.standing(
                d1=told(), **answer)))

    def test_not_when_any_device_has_another_ring_or_what_is_missing(self):
        self.assertIn('device 9 has ring 2', self.obstacle(self.standing(
            d1=told(), d2=told(), d9=told(ring=2, can_tell=False))))
        standing = self.standing(d1=told(), d2=told(),
                                 d9=told(held=[PLACE]))
        self.assertIn('device 9 holds', self.obstacle(standing))
        self.assertEqual('', self.obstacle(standing, place=(7, 2)))

    def test_an_answer_counts_from_its_question_for_so_many_seconds(self):
        standing = self.standing(d1=told(), d2=told())
        for now, counts in ((99, False), (100, True), (99 + 3 * NS, True),
                            (100 + 3 * NS, False)):
            self.assertEqual(counts, not self.obstacle(standing, now), now)

    def test_what_was_asked_before_a_write_was_missed_does_not_count(self):
        standing = self.standing(d1=told(), d2=told())
        for missed, counts in ((99, True), (100, False), (101, False)):
            self.assertEqual(counts, not self.obstacle(
                standing, missed=missed), missed)

    def test_the_answer_of_a_peer_that_is_silent_now_counts_on(self):
        standing = self.standing(d1=told(), d2=told(held=[PLACE]))
        later = standing.after(100 + NS, {1: told(100 + NS)})
        self.assertIn('device 2 holds', self.obstacle(later, 100 + NS))
        later = later.after(100 + 3 * NS, {1: told(100 + 3 * NS)})
        self.assertEqual({1}, set(later.told))

    def test_when_some_are_asked_the_word_of_the_others_stands(self):
        standing = self.standing(d1=told(), d2=told(),
                                 d9=told(held=[PLACE]))
        later = 100 + 5 * NS
        found = standing.after(later, {1: told(later), 2: told(later)},
                               is_of_all=False)
        self.assertEqual(100, found.round)
        self.assertIn('device 9 holds', self.obstacle(found, later))
        found = found.after(later, {9: told(later)}, is_of_all=False)
        self.assertEqual('', self.obstacle(found, later))

    def test_all_have_to_be_asked_after_a_write_was_missed(self):
        later = 100 + NS
        standing = self.standing(d1=told(), d2=told()).after(
            later, {1: told(later), 2: told(later)}, is_of_all=False)
        self.assertIn('since a write was missed', self.obstacle(
            standing, later, missed=200))
        self.assertEqual('', self.obstacle(standing.after(
            later, {1: told(later), 2: told(later)}), later, missed=200))

    def test_those_with_open_questions_are_known(self):
        self.assertEqual({2, 3}, self.standing(
            d1=told(), d2=told(held=[PLACE]), d3=told(ring=2),
            d4=told(can_tell=False)).open_peers())

    def test_rings_agree_by_what_was_heard_last(self):
        standing = self.standing(d1=told(), d2=told())
        self.assertTrue(standing.agrees(1))
        self.assertFalse(standing.agrees(2))
        self.assertTrue(standing.agrees(1, since=99))
        self.assertFalse(standing.agrees(1, since=100))
        self.assertFalse(self.standing(d9=told(ring=2)).agrees(1))
        self.assertFalse(Standing('boot', 0, 1, 3.0).agrees(1))

    def test_it_takes_writes_alone_in_the_ring_that_all_told_of(self):
        self.assertTrue(self.standing(d1=told()).may_take_alone(1))
        self.assertFalse(self.standing(d1=told()).may_take_alone(2))
        for ring in 1, 2:
            self.assertFalse(
                self.standing(d9=told(ring=2)).may_take_alone(ring))
        self.assertFalse(Standing('boot', 0, 1, 3.0).may_take_alone(1))

    def test_who_did_not_vouch_when_asked_last_is_unheard(self):
        standing = self.standing(d1=told(), d2=told(can_tell=False)).after(
            101, {2: told(101)})
        self.assertEqual((1, 3), standing.unheard((1, 2, 3)))

    def test_one_that_may_have_lost_something_may_know_of_a_write(self):
        standing = self.standing(
            d1=told(), d2=replace(told(), is_unsure=True),
            d9=replace(told(), is_unsure=True))
        self.assertEqual((2,), standing.doubters(
            101, PLACE, (1, 2, 9), (1, 2), 0))
        self.assertEqual('', self.obstacle(standing))

    def test_any_device_may_know_of_what_one_holds(self):
        self.assertIsNone(self.standing(
            d1=told(), d2=told(), d9=told(held=[PLACE])).doubters(
                101, PLACE, (1, 2), (1, 2), 0))

    def test_who_was_asked_before_a_write_was_missed_is_silent(self):
        standing = self.standing(d1=told(asked=98), d2=told(asked=99))
        self.assertEqual((1,), standing.silent(101, (1, 2), missed=98))

    def test_it_is_read_as_it_was_written(self):
        standing = self.standing(d1=told(held=[PLACE]), d9=told(ring=2))
        self.assertEqual(standing, Standing.parse(standing.encode(), 10000))
