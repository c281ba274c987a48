# SPDX-License-Identifier: Apache-2.0
"""sync_round: what a device does in a round, answer by answer."""

import unittest
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.sync_round import (
    NEXT,
    TURNS,
    Answer,
    Check,
    Exchanged,
    Next,
    full_exchange_due,
    sync_round,
)

DEVICES = [{'id': 1}, {'id': 2}, {'id': 3}]
HAND_OFFS = [{'id': 11}, {'id': 12}, {'id': 13}]
ENDS = (Answer.MATCH, Answer.BUSY, Answer.NOT_YET)
ASKS_FOR_EXCHANGE = (Answer.DIFFER, Answer.UNSUPPORTED, Answer.INVALID)


def nobody(*devices):
    return False


def play(devices, answers, pushes, failed=nobody, is_cut=nobody,
         hand_offs=()):
    """Play a round.

    :param answers: a dict, device id to Answer
    :param pushes: a dict, device id to whether an exchange with it goes well
    :returns: a list of ('check', id) and ('exchange', ids)
    """
    actions = sync_round(devices, failed, is_cut, hand_offs)
    seen, outcome = [], None
    try:
        while True:
            action = actions.send(outcome)
            if isinstance(action, Check):
                seen.append(('check', action.device['id']))
                outcome = answers[action.device['id']]
            else:
                ids = [device['id'] for device in action.devices]
                seen.append(('exchange', ids))
                outcome = all(pushes[number] for number in ids)
    except StopIteration:
        return seen


def expected(answers, pushes):
    """The rules of PROTOCOL.md, "A sync round", for three devices."""
    seen, missing = [], 0

    def holds(number):
        seen.append(('check', number))
        if answers[number] in ASKS_FOR_EXCHANGE:
            seen.append(('exchange', [number]))
            return pushes[number]
        return answers[number] in ENDS

    agreed = False
    for device in DEVICES:
        if agreed and not missing:
            break
        agreed |= holds(device['id'])
        missing += answers[device['id']] is Answer.UNMOUNTED
    for device in HAND_OFFS:
        if missing:
            missing -= holds(device['id'])
    return seen


class TestSyncRound(unittest.TestCase):

    def test_every_answer_has_its_place_in_the_table(self):
        self.assertEqual(set(Answer), set(NEXT))
        self.assertEqual(set(Next), set(NEXT.values()))

    def test_every_sequence_of_answers_and_pushes(self):
        for answers in product(Answer, repeat=3):
            for pushes in product((True, False), repeat=3):
                answers_of = dict(zip((1, 2, 3), answers))
                pushes_of = dict(zip((1, 2, 3), pushes))
                # The hand-offs answer in another order.
                answers_of.update(zip((11, 12, 13), answers[::-1]))
                pushes_of.update(zip((11, 12, 13), pushes))
                self.assertEqual(
                    expected(answers_of, pushes_of),
                    play(DEVICES, answers_of, pushes_of,
                         hand_offs=HAND_OFFS), (answers, pushes))

    def test_a_single_replica_has_nothing_to_do(self):
        self.assertEqual([], play([], {}, {}))

    def test_if_all_have_failed_nobody_is_asked(self):
        self.assertEqual([], play(DEVICES, {}, {}, lambda device: True))

    def test_a_hand_off_that_has_failed_replaces_nobody(self):
        self.assertEqual(
            [('check', 1), ('check', 2), ('check', 3), ('check', 12),
             ('exchange', [12])],
            play(DEVICES, {1: Answer.UNMOUNTED, 2: Answer.MATCH,
                           3: Answer.MATCH, 12: Answer.DIFFER}, {12: True},
                 lambda device: device['id'] == 11, hand_offs=HAND_OFFS))

    def test_hand_offs_are_looked_for_only_if_one_is_needed(self):
        def none():
            raise AssertionError('hand-offs were looked for')
            yield

        self.assertEqual([('check', 1)], play(
            DEVICES, {1: Answer.MATCH}, {}, hand_offs=none()))

    def test_whom_the_neighbour_does_not_pass_it_on_to_we_see_to(self):
        answers = dict.fromkeys((1, 2, 3), Answer.MATCH)
        for reports, checked in (({(1, 2)}, [1, 2]), ({(2, 3)}, [1]),
                                 ({(1, 2), (2, 3)}, [1, 2, 3]),
                                 ({(1, 3)}, [1])):
            self.assertEqual(
                [('check', number) for number in checked],
                play(DEVICES, answers, {}, is_cut=lambda one, other: (
                    one['id'], other['id']) in reports))

    def test_after_a_push_to_one_that_passes_nothing_on_we_go_on(self):
        self.assertEqual(
            [('check', 1), ('exchange', [1]), ('check', 2), ('check', 3)],
            play(DEVICES, {1: Answer.DIFFER, 2: Answer.REFUSED,
                           3: Answer.MATCH}, {1: True},
                 is_cut=lambda one, other: one['id'] == 1))

    def test_a_device_that_fails_during_the_round_is_not_asked(self):
        failed = set()
        actions = sync_round(DEVICES, lambda device: device['id'] in failed)
        self.assertEqual(Check(DEVICES[0]), next(actions))
        failed.add(2)
        self.assertEqual(Check(DEVICES[2]), actions.send(Answer.TIMEOUT))

    def test_what_is_no_answer_is_an_error(self):
        actions = sync_round(DEVICES, lambda device: False)
        next(actions)
        with self.assertRaises(KeyError):
            actions.send(None)

    def test_the_value_of_an_answer_can_name_a_metric(self):
        for answer in Answer:
            self.assertRegex(answer.value, '^[a-z]+$')

    @given(st.integers(0, 9), st.data())
    def test_it_ends_and_checks_each_live_device_once_at_most(self, r, data):
        devices = [{'id': number} for number in range(r)]
        failed = data.draw(st.sets(st.integers(0, 9)))
        seen = play(
            devices,
            [data.draw(st.sampled_from(Answer)) for _ in devices],
            [data.draw(st.booleans()) for _ in devices],
            lambda device: device['id'] in failed)
        checked = [what for kind, what in seen if kind == 'check']
        self.assertEqual(sorted(set(checked)), checked)
        self.assertFalse(failed.intersection(checked))
        for kind, what in seen:
            if kind == 'exchange':
                self.assertFalse(failed.intersection(what))
                self.assertTrue(what)


class TestFullExchangeDue(unittest.TestCase):

    def test_an_interval_of_nothing_is_always_due(self):
        self.assertTrue(full_exchange_due(1, 1e9, 1e9, 0))

    def test_just_exchanged_is_not_due(self):
        self.assertFalse(full_exchange_due(5, 1e9, 1e9, 3600))

    @given(st.integers(0, 2 ** 32), st.floats(0, 4e9),
           st.floats(0.001, 1e6))
    def test_it_is_due_after_one_interval_at_most(self, part, last, every):
        self.assertTrue(full_exchange_due(part, last,
                                          last + every * 1.001 + 1e-5, every))

    @given(st.integers(0, 2 ** 20), st.floats(1e9, 2e9))
    def test_it_is_due_once_in_each_interval(self, partition, start):
        last, exchanges = start, 0
        for minute in range(1, 10 * 60 + 1):
            now = start + 60 * minute
            if full_exchange_due(partition, last, now, 3600):
                last, exchanges = now, exchanges + 1
        self.assertEqual(10, exchanges)

    def test_partitions_are_spread_over_the_turns_of_the_interval(self):
        turns = [0] * 60
        for partition in range(6000):
            for minute in range(60):
                turns[minute] += full_exchange_due(
                    partition, 1e9 + 60 * minute, 1e9 + 60 * minute + 60,
                    3600)
        self.assertEqual(6000, sum(turns))
        busy = [count for count in turns if count]
        self.assertEqual(TURNS, len(busy))
        self.assertLess(max(busy), 550)
        self.assertGreater(min(busy), 450)

    def test_a_time_in_the_future_puts_nothing_off(self):
        self.assertTrue(full_exchange_due(3, 4e9, 1e9, 3600))

    def test_any_time_and_interval_that_is_let_through_will_do(self):
        for last in (0.0, 1.0, 9.9e10):
            for every in (1e-9, 0.5, 3600, 1.7e308):
                self.assertIn(full_exchange_due(3, last, 1e9, every),
                              (True, False))


class TestSpreading(unittest.TestCase):
    """What had to be pushed is looked for further on in the same round."""

    def play(self, lacking, regions=(1, 1, 1, 1), region=1):
        """Return the devices that are pushed to, and those that are asked."""
        devices = [{'id': each, 'region': where}
                   for each, where in enumerate(regions)]
        asked, pushed = [], []
        actions = sync_round(devices, lambda device: False, region=region)
        outcome = None
        while True:
            try:
                action = actions.send(outcome)
            except StopIteration:
                return pushed, asked
            if isinstance(action, Check):
                number = action.device['id']
                asked.append(number)
                outcome = (Answer.DIFFER if number in lacking
                           else Answer.MATCH)
            else:
                pushed.append(action.devices[0]['id'])
                outcome = Exchanged.PUSHED

    def test_a_single_copy_reaches_all_in_one_round(self):
        self.assertEqual(([0, 1, 2, 3], [0, 1, 2, 3]),
                         self.play({0, 1, 2, 3}))

    def test_it_ends_at_a_device_that_lacks_nothing(self):
        self.assertEqual(([], [0]), self.play({1, 2}))
        self.assertEqual(([0], [0, 1]), self.play({0, 2, 3}))

    def test_of_another_region_one_is_pushed_to(self):
        self.assertEqual(([0, 1], [0, 1]),
                         self.play({0, 1, 2, 3}, (1, 2, 2, 2)))
        self.assertEqual(([0, 1, 3], [0, 1, 3]),
                         self.play({0, 1, 2, 3}, (1, 2, 2, 3)))

    def test_an_exchange_that_pushed_nothing_ends_it(self):
        devices = [{'id': 1}, {'id': 2}]
        actions = sync_round(devices, lambda device: False)
        next(actions)
        actions.send(Answer.DIFFER)
        with self.assertRaises(StopIteration):
            actions.send(Exchanged.DONE)
