# SPDX-License-Identifier: Apache-2.0
"""shared_set, conversation: two nodes, many devices."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.comparison import differing_slices
from swift_lightsync.sync.core.conversation import (
    Condition,
    DeviceState,
    SharedReply,
    SharedTold,
    converse,
    told_of,
)
from swift_lightsync.sync.core.partition_set import PartitionSetError
from swift_lightsync.sync.core.shared_set import (
    MAX_NAME,
    SECTION,
    SharedSet,
)
from swift_lightsync.sync.core.sync_round import Answer

SAME, OTHER = 'ab' * 16, 'cd' * 16
READY = DeviceState(Condition.READY, 7)
DEVICES = ['sda', 'sdb', 'disk \u00fc']
ITEMS = st.sets(st.tuples(st.integers(0, 3), st.sampled_from(DEVICES),
                          st.integers(0, 5000)))


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


class TestSharedSet(unittest.TestCase):

    @given(ITEMS)
    def test_what_is_encoded_is_decoded(self, items):
        found = SharedSet(items)
        self.assertEqual(found, SharedSet.decode(found.encoded, len(items)))
        self.assertEqual(sorted({device for _, device, _ in items}),
                         list(found.devices))

    def test_the_longest_name_is_one(self):
        found = SharedSet([(0, 'x' * MAX_NAME, 1)])
        self.assertEqual(found, SharedSet.decode(found.encoded, 1))

    def test_what_is_no_set_is_refused(self):
        good = SharedSet([(0, 'sda', 1), (0, 'sda', 7)]).encoded
        none = SECTION.pack(0, 3, 0, 0)
        for data, count, reason in (
                (none + b'sda', 0, 'more than 0'),
                (none + b'sd0' + good, 2, 'shortest'),
                (SECTION.pack(0, MAX_NAME + 1, 1, 1) + b'x' * MAX_NAME
                 + b'x\0', 1, 'a section'),
                (good, 1, 'said to be 1'), (good, 3, 'said to be 3'),
                (good[:-1], 2, 'a section'), (good + b'x', 2, 'more than 2'),
                (good + b'x', 9, 'ends within'), (b'', 1 << 19, 'at most'),
                (good + good, 4, 'ascend'),
                (SECTION.pack(0, 0, 1, 1) + b'\0', 1, 'a section'),
                (SECTION.pack(0, 3, 1, 1) + b'a/b\0', 1, 'no device'),
                (SECTION.pack(0, 2, 1, 1) + b'..\0', 1, 'no device'),
                (SECTION.pack(0, 1, 1, 1) + b'\xff\0', 1, 'utf-8')):
            with self.subTest(reason), self.assertRaisesRegex(
                    PartitionSetError, reason):
                SharedSet.decode(data, count)


class TestConversation(unittest.TestCase):

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
