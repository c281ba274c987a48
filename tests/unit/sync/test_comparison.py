# SPDX-License-Identifier: Apache-2.0
"""comparison: which of many partitions differ, in few messages."""

import random
import re
import unittest
from math import isqrt

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core import comparison
from swift_lightsync.sync.core.comparison import (
    UNREAD,
    differing_slices,
    slice_roots,
)
from swift_lightsync.sync.core.conversation import (
    Ask,
    Condition,
    DeviceState,
    SharedReply,
    SharedTold,
    converse,
)
from swift_lightsync.sync.core.partition_set import PartitionSet
from swift_lightsync.sync.core.shared_set import SharedSet
from tests.unit.sync import documented

SAME, OTHER = 'ab' * 16, 'cd' * 16
READY = DeviceState(Condition.READY)
MESSAGES = 3


def narrow(ours, theirs):
    """Return the partitions that differ, and the list of what was asked."""
    found, asked = compared(ours, theirs)
    return found[0], asked


def compared(ours, theirs):
    """Play a comparison to its end.

    :param ours: the sender's roots
    :param theirs: the receiver's
    :returns: what differs and what is unread, and the list of what was asked
    """
    ours, theirs = of_device(ours), of_device(theirs)
    asked, reply = [], None
    comparing = converse(ours)
    while True:
        try:
            ask = comparing.send(reply)
        except StopIteration as end:
            return [{partition for _, _, partition in found} for found in (
                end.value.differing, end.value.unread)], asked
        asked.append(ask)
        reply = SharedReply(True, differing_slices(
            ask.partitions, ask.roots, theirs), [READY])


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
        small = comparison.SMALL
        self.assertEqual(small, int(documented.found(
            r'^1\. N ≤ (\d+): one message with N slices')))
        for size in (1, small):
            for changed in ((), (0,)):
                self.assertEqual([(size, size)], self.counts(size, changed))

    def test_a_large_set_that_is_equal_is_one_message_of_one_root(self):
        for size in (comparison.SMALL + 1, 100, 10000):
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
        partitions = PartitionSet(range(100, 110))
        theirs = slice_roots(partitions, 4, roots(10, start=100))
        self.assertEqual(3, len(theirs))
        for changed, index in ((100, 0), (103, 0), (104, 1), (109, 2)):
            self.assertEqual([index], differing_slices(
                partitions, theirs, roots(10, {changed}, start=100)))
        self.assertEqual([], differing_slices(
            partitions, theirs, roots(10, start=100)))

    def test_of_several_partitions_an_unread_one_makes_them_differ(self):
        partitions = PartitionSet(range(10))
        theirs = slice_roots(partitions, 2, roots(10))
        ours = roots(10)
        del ours[9]
        self.assertEqual([1], differing_slices(partitions, theirs, ours))
        self.assertEqual([0, 1], differing_slices(partitions, theirs, {}))
        self.assertEqual([9 | UNREAD], differing_slices(
            partitions, slice_roots(partitions, 10, roots(10)), ours))

    def test_no_slices_of_nothing(self):
        nothing = PartitionSet(())
        self.assertEqual((), slice_roots(nothing, 0, {}))
        self.assertEqual([], differing_slices(nothing, (), {}))

    def test_what_is_asked_cannot_be_changed(self):
        with self.assertRaises(AttributeError):
            Ask(SharedSet(()), ()).roots = (SAME,)
