# SPDX-License-Identifier: Apache-2.0
"""conversation: which of many partitions differ, in few messages."""

import random
import re
import unittest
from math import isqrt

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.conversation import (
    SMALL,
    UNREAD,
    Ask,
    Condition,
    DeviceState,
    SharedReply,
    SharedTold,
    converse,
    differing_slices,
    told_of,
)
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.core.sync_round import Answer
from tests.unit.sync import documented
from tests.unit.sync.verbs import slice_roots

SAME, OTHER = 'ab' * 16, 'cd' * 16
READY = DeviceState(Condition.READY, 7)
DEVICES = ['sda', 'sdb', 'disk \u00fc']
ITEMS = st.sets(st.tuples(st.integers(0, 3), st.sampled_from(DEVICES),
                          st.integers(0, 5000)))
MESSAGES = 3


def play(ours, theirs, states=None):
    """Play a conversation to its end.

    :param theirs: the roots that the peer can read
    :param states: its devices that are not ready
    :returns: what was found, and the sets that were asked about
    """
    conversation, reply, asked = converse(ours), None, []
    while True:
        try:
            ask = conversation.send(reply)
        except StopIteration as end:
            return end.value, asked
        asked.append(ask)
        said = [(states or {}).get(device, READY)
                for device in ask.partitions.devices]
        ready = all(state is READY for state in said)
        reply = SharedReply(ready, differing_slices(
            ask.partitions, ask.roots, theirs) if ready else (), said)


def narrow(ours, theirs):
    """Return the partitions of a device that differ, and what was asked."""
    (found, _), asked = compared(ours, theirs)
    return found, asked


def compared(ours, theirs):
    """Return the partitions of a device that differ, those that are unread,
    and what was asked.
    """
    told, asked = play(of_device(ours), of_device(theirs))
    return [{partition for _, _, partition in found}
            for found in (told.differing, told.unread)], asked


def of_device(roots):
    return {(0, 'sda', partition): root for partition, root in roots.items()}


def roots(size, changed=(), start=0):
    return {partition: OTHER if partition in changed else SAME
            for partition in range(start, start + size)}


@st.composite
def both_sides(draw):
    """Roots of many partitions, and which of them differ."""
    size = draw(st.integers(0, 40) | st.integers(0, 700))
    step = draw(st.sampled_from((1, 3, 1000)))
    generator = random.Random(draw(st.integers(0, 1 << 30)))
    share = draw(st.sampled_from((0, 0, 0.01, 0.2, 1)))
    partitions = [step * number for number in range(size)]
    differing = {partition for partition in partitions
                 if generator.random() < share}
    return partitions, differing


class TestNarrowing(unittest.TestCase):

    @given(both_sides())
    def test_exactly_the_differing_are_found_in_three_messages(self, sides):
        partitions, differing = sides
        ours = dict.fromkeys(partitions, SAME)
        theirs = {partition: OTHER if partition in differing else SAME
                  for partition in partitions}
        found, asked = narrow(ours, theirs)
        self.assertEqual(differing, found)
        self.assertLessEqual(len(asked), MESSAGES)

    @given(both_sides())
    def test_what_the_other_side_cannot_read_is_told_apart(self, sides):
        partitions, unread = sides
        differing = set(partitions[::3]) - unread
        ours = dict.fromkeys(partitions, SAME)
        theirs = {partition: OTHER if partition in differing else SAME
                  for partition in partitions if partition not in unread}
        self.assertEqual([differing, unread], compared(ours, theirs)[0])

    def test_what_only_the_other_side_has_does_not_matter(self):
        self.assertEqual(set(), narrow(roots(40), roots(400))[0])

    def test_each_single_difference_is_found_in_every_size(self):
        for size in (1, 2, 15, 16, 17, 18, 99, 100, 101):
            for changed in range(size):
                self.assertEqual({changed}, narrow(
                    roots(size), roots(size, {changed}))[0])

    def test_roots_that_swapped_places_differ(self):
        ours = roots(40, {3})
        theirs = roots(40, {4})
        self.assertEqual({3, 4}, narrow(ours, theirs)[0])


class TestMessages(unittest.TestCase):

    def counts(self, size, changed=()):
        """Of each message: partitions and slices."""
        _, asked = narrow(roots(size), roots(size, changed))
        return [(len(ask.partitions), len(ask.roots)) for ask in asked]

    def test_nothing_is_asked_of_nothing(self):
        self.assertEqual([], self.counts(0))

    def test_small_sets_are_asked_of_partition_by_partition(self):
        self.assertEqual(SMALL, int(documented.found(
            r'^1\. N ≤ (\d+): one message with N slices')))
        for size in (1, SMALL):
            for changed in ((), (0,)):
                self.assertEqual([(size, size)], self.counts(size, changed))

    def test_a_large_set_that_is_equal_is_one_message_of_one_root(self):
        for size in (SMALL + 1, 100, 10000):
            self.assertEqual([(size, 1)], self.counts(size))

    def test_a_large_set_that_differs_is_narrowed_down(self):
        # 79 slices of 128, the last one of 16.
        self.assertEqual([(10000, 1), (10000, 79), (128, 128)],
                         self.counts(10000, {77}))
        self.assertEqual([(10000, 1), (10000, 79), (144, 144)],
                         self.counts(10000, {77, 9999}))
        self.assertLessEqual(79, isqrt(10000))

    def test_it_ends_once_the_difference_is_gone(self):
        for after in (1, 2):
            comparing = converse(of_device(roots(100)))
            ask = next(comparing)
            for _ in range(after):
                ask = comparing.send(SharedReply(
                    True, list(range(len(ask.roots))), [READY]))
            with self.assertRaises(StopIteration) as end:
                comparing.send(SharedReply(True, [], [READY]))
            self.assertEqual(SharedTold(states={'sda': READY}),
                             end.exception.value)

    def test_the_documented_numbers_of_slices(self):
        self.assertRegex(re.sub(r'\s+', ' ', documented.protocol()),
                         '⌊√N⌋ slices; then, for the set of the partitions '
                         'in those that differ, as many slices as partitions')


class TestSlices(unittest.TestCase):

    def test_an_answer_names_slices_by_their_index(self):
        ours = of_device(roots(10, start=100))
        items = SharedSet(ours)
        theirs = slice_roots(items, 4, ours)
        self.assertEqual(3, len(theirs))
        for changed, index in ((100, 0), (103, 0), (104, 1), (109, 2)):
            self.assertEqual([index], differing_slices(
                items, theirs, {**ours, (0, 'sda', changed): OTHER}))
        self.assertEqual([], differing_slices(items, theirs, ours))

    def test_of_several_partitions_an_unread_one_makes_them_differ(self):
        ours = of_device(roots(10))
        items = SharedSet(ours)
        theirs, each = (slice_roots(items, count, ours) for count in (2, 10))
        del ours[0, 'sda', 9]
        self.assertEqual([1], differing_slices(items, theirs, ours))
        self.assertEqual([0, 1], differing_slices(items, theirs, {}))
        self.assertEqual([9 | UNREAD], differing_slices(items, each, ours))

    def test_no_slices_of_nothing(self):
        self.assertEqual([], differing_slices(SharedSet(()), (), {}))

    def test_what_is_asked_cannot_be_changed(self):
        with self.assertRaises(AttributeError):
            Ask(SharedSet(()), ()).roots = (SAME,)


class TestDevices(unittest.TestCase):

    @given(ITEMS, ITEMS)
    def test_exactly_what_differs_is_found_in_three_questions(
            self, items, changed):
        ours = dict.fromkeys(items, SAME)
        theirs = {item: OTHER if item in changed else SAME for item in items}
        told, asked = play(ours, theirs)
        self.assertEqual(items & changed, told.differing)
        self.assertLessEqual(len(asked), 3)

    def test_all_devices_that_agree_are_one_question_of_one_root(self):
        ours = {(policy, device, number): SAME for policy in range(2)
                for device in DEVICES for number in range(99)}
        told, asked = play(ours, ours)
        self.assertEqual([(594, 1)], [(len(ask.partitions), len(ask.roots))
                                      for ask in asked])
        self.assertEqual(SharedTold(states=dict.fromkeys(DEVICES, READY)),
                         told)

    def test_a_root_that_is_that_of_another_device_differs(self):
        ours = {(0, 'sda', 1): SAME, (0, 'sdb', 1): OTHER}
        theirs = {(0, 'sda', 1): OTHER, (0, 'sdb', 1): SAME}
        self.assertEqual(set(ours), play(ours, theirs)[0].differing)

    def test_a_device_that_is_not_ready_does_not_hold_up_the_others(self):
        ours = {(0, device, number): SAME for device in DEVICES
                for number in range(20)}
        theirs = {**ours, (0, 'sda', 3): OTHER}
        gone = {'sdb': DeviceState(Condition.UNMOUNTED),
                DEVICES[2]: DeviceState(Condition.NOT_YET, 9)}
        told, asked = play(ours, theirs, gone)
        self.assertEqual({(0, 'sda', 3)}, told.differing)
        self.assertEqual([60, 20], [len(ask.partitions)
                                    for ask in asked[:2]])
        for device, number, expected in (
                ('sda', 3, Answer.DIFFER), ('sda', 4, Answer.MATCH),
                ('sdb', 3, Answer.UNMOUNTED), (DEVICES[2], 3, Answer.NOT_YET),
                ('unheard of', 3, Answer.NOT_YET)):
            self.assertIs(expected, told_of(
                told, 0, device, range(20)).about(number))
        self.assertEqual(7, told_of(told, 0, 'sda', range(20)).idle)

    def test_a_partition_that_cannot_be_read_is_told_apart(self):
        ours = {(0, 'sda', number): SAME for number in range(40)}
        theirs = dict(ours)
        del theirs[0, 'sda', 5]
        told, _ = play(ours, theirs)
        self.assertEqual((set(), {(0, 'sda', 5)}),
                         (told.differing, told.unread))
