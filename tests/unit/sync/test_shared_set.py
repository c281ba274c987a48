# SPDX-License-Identifier: Apache-2.0
"""shared_set: the bytes of a set, and how it is cut."""

import unittest
from hashlib import md5

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.shared_set import (
    MAX_NAME,
    MAX_PARTITIONS,
    SECTION,
    PartitionSetError,
    SharedSet,
    decode_numbers,
    encode_numbers,
    leaf_of,
    slice_length,
    slices_of,
)
from tests.unit.sync import documented

LARGEST = 2 ** 32 - 1
NUMBERS = st.sets(st.integers(0, LARGEST) | st.integers(0, 300), max_size=60)
EXAMPLE = [0, 1, 127, 128, 4660, 4789, 1 << 20, LARGEST]
ENCODED = encode_numbers(EXAMPLE)
ITEMS = st.sets(st.tuples(
    st.integers(0, 3), st.sampled_from(['sda', 'sdb', 'disk \u00fc']),
    st.integers(0, 5000)))


def of_device(partitions):
    return SharedSet((0, 'sda', partition) for partition in partitions)


class TestNumbers(unittest.TestCase):

    @given(NUMBERS)
    def test_what_is_encoded_is_decoded(self, partitions):
        self.assertEqual(sorted(partitions), decode_numbers(
            encode_numbers(sorted(partitions)), len(partitions)))

    @given(st.binary(max_size=30), st.integers(0, 30))
    def test_what_is_let_through_encodes_to_the_same_bytes(self, data, count):
        try:
            decoded = decode_numbers(data, count)
        except PartitionSetError:
            return
        self.assertEqual(count, len(decoded))
        self.assertEqual(data, encode_numbers(decoded))
        self.assertTrue(all(0 <= partition <= LARGEST
                            for partition in decoded))

    def test_the_bytes_are_gaps_of_seven_bits_lowest_first(self):
        for partitions, data in (
                ((), b''), ((0, 1, 2), b'\0\0\0'), ((127,), b'\x7f'),
                ((128, 134), b'\x80\x01\x05'),
                ((LARGEST,), b'\xff\xff\xff\xff\x0f'),
                # All partitions of a device are a byte each.
                (range(MAX_PARTITIONS), bytes(MAX_PARTITIONS))):
            self.assertEqual(data, encode_numbers(partitions))


class TestRefusedNumbers(unittest.TestCase):

    def refused(self, data, count, reason):
        with self.assertRaisesRegex(PartitionSetError, reason):
            decode_numbers(data, count)

    def test_every_truncation(self):
        for length in range(len(ENCODED)):
            self.refused(ENCODED[:length], len(EXAMPLE), '')

    def test_what_follows(self):
        self.refused(ENCODED + b'\0', len(EXAMPLE), 'said to be 8')

    def test_no_flipped_bit_passes_for_the_same_set(self):
        for bit in range(8 * len(ENCODED)):
            flipped = bytearray(ENCODED)
            flipped[bit // 8] ^= 1 << bit % 8
            try:
                self.assertNotEqual(EXAMPLE, decode_numbers(
                    bytes(flipped), len(EXAMPLE)))
            except PartitionSetError:
                pass

    def test_what_is_not_the_shortest_form(self):
        for data in (b'\x80\x00', b'\xff\x80\x00', b'\x80\x80\x80\x80\x00',
                     b'\x85\x80\x00'):
            self.refused(data, 1, 'shortest')
        self.refused(b'\x01\x80\x00', 2, 'shortest')

    def test_a_number_that_does_not_end(self):
        self.refused(b'\x80', 1, 'ends within a number')
        self.refused(b'\x00\xff', 2, 'ends within a number')

    def test_a_number_that_is_too_long(self):
        for length in (5, 6, 1000):
            self.refused(b'\xff' * length + b'\x01', length + 1, '32 bits')

    def test_a_partition_that_is_too_big(self):
        self.assertEqual([LARGEST], decode_numbers(
            b'\xff\xff\xff\xff\x0f', 1))
        self.refused(b'\x80\x80\x80\x80\x10', 1, '4294967296.* 32 bits')
        # Each gap would do; their sum does not.
        self.refused(b'\xff\xff\xff\xff\x0f\x00', 2, '32 bits')

    def test_too_many_partitions(self):
        self.assertEqual(MAX_PARTITIONS, len(decode_numbers(
            bytes(MAX_PARTITIONS), MAX_PARTITIONS)))
        for count in (MAX_PARTITIONS + 1, LARGEST):
            self.refused(bytes(MAX_PARTITIONS + 1), count,
                         '%d partitions, at most %d'
                         % (count, MAX_PARTITIONS))

    def test_another_count_than_was_said(self):
        for count in (7, 9):
            self.refused(ENCODED, count,
                         '8 partitions, said to be %d' % count)

    def test_a_length_that_the_count_cannot_have(self):
        for data, count in ((b'', 1), (b'\0', 2), (b'\0', 0),
                            (bytes(6), 1), (bytes(5000000), 1)):
            self.refused(data, count, '%d bytes for %d partitions'
                         % (len(data), count))

    def test_the_limit_is_the_documented_one(self):
        self.assertEqual(format(MAX_PARTITIONS, ','), documented.found(
            r'at\s+most\s+([\d,]+) partitions in all of them'))

    def test_a_partition_given_twice_or_below_nothing_is_not_encoded(self):
        for partitions in ((3, 3), (-1, 2)):
            with self.assertRaises(ValueError):
                encode_numbers(partitions)


class TestSharedSet(unittest.TestCase):

    @given(ITEMS)
    def test_what_is_encoded_is_decoded(self, items):
        found = SharedSet(items)
        self.assertEqual(found, SharedSet.decode(found.encoded, len(items)))
        self.assertEqual(md5(found.encoded).digest(), found.digest)
        self.assertEqual(sorted({device for _, device, _ in items}),
                         list(found.devices))

    @given(st.permutations(EXAMPLE))
    def test_the_order_in_which_it_is_given_does_not_matter(self, partitions):
        self.assertEqual(of_device(EXAMPLE).digest,
                         of_device(partitions).digest)

    @given(ITEMS, ITEMS)
    def test_two_sets_have_two_names(self, one, other):
        self.assertEqual(one == other,
                         SharedSet(one).digest == SharedSet(other).digest)

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


class TestSlices(unittest.TestCase):

    def test_the_receiver_cuts_as_the_sender_did(self):
        # It is told the number of roots only, not that of slices asked for.
        for size in range(201):
            partitions = of_device(range(size))
            for asked in range(size + 1):
                slices = partitions.slices(asked)
                self.assertEqual(slices, partitions.slices(len(slices)))
                self.assertEqual(len(slices), slices_of(size, asked))
                self.assertEqual(len(slices), slices_of(size, len(slices)))

    def test_slices_are_the_set_in_order_of_one_length_but_for_the_last(self):
        for size in range(60):
            partitions = of_device(range(0, 3 * size, 3))
            for asked in range(size + 3):
                slices = partitions.slices(asked)
                self.assertEqual(tuple(partitions), sum(
                    map(tuple, slices), ()))
                self.assertLessEqual(len(slices), max(asked, 1))
                length = slice_length(size, asked)
                self.assertEqual({length} if len(slices) > 1 else set(),
                                 {len(part) for part in slices[:-1]})
                self.assertTrue(all(0 < len(part) <= length
                                    for part in slices))

    def test_the_documented_lengths(self):
        items = of_device(range(10))
        self.assertEqual([items[:4], items[4:8], items[8:]], items.slices(4))
        self.assertEqual([], SharedSet(()).slices(0))
        self.assertEqual([], SharedSet(()).slices(3))


class TestLeaf(unittest.TestCase):

    def test_it_is_of_the_documented_name_and_the_root(self):
        self.assertEqual(
            merkle.leaf('0001/disk%20%C3%BC/00001234', 'ab' * 16),
            leaf_of((1, 'disk \u00fc', 4660), 'ab' * 16))
