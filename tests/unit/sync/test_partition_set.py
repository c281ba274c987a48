# SPDX-License-Identifier: Apache-2.0
"""partition_set: the bytes of a set, and how it is cut."""

import unittest
from hashlib import md5

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.partition_set import (
    MAX_PARTITIONS,
    PartitionSet,
    PartitionSetError,
    root_of,
    slice_length,
    slices_of,
)
from tests.unit.sync import documented

LARGEST = 2 ** 32 - 1
SETS = st.sets(st.integers(0, LARGEST) | st.integers(0, 300), max_size=60)
EXAMPLE = PartitionSet((0, 1, 127, 128, 4660, 4789, 1 << 20, LARGEST))


class TestRoundTrip(unittest.TestCase):

    @given(SETS)
    def test_what_is_encoded_is_decoded(self, partitions):
        encoded = PartitionSet(partitions).encoded
        decoded = PartitionSet.decode(encoded, len(partitions))
        self.assertEqual(sorted(partitions), list(decoded))
        self.assertEqual(encoded, decoded.encoded)
        self.assertEqual(md5(encoded).digest(), decoded.digest)

    @given(st.binary(max_size=30), st.integers(0, 30))
    def test_what_is_let_through_encodes_to_the_same_bytes(self, data, count):
        try:
            decoded = PartitionSet.decode(data, count)
        except PartitionSetError:
            return
        self.assertEqual(count, len(decoded))
        self.assertEqual(data, PartitionSet(tuple(decoded)).encoded)
        self.assertTrue(all(0 <= partition <= LARGEST
                            for partition in decoded))

    @given(st.permutations(EXAMPLE))
    def test_the_order_in_which_it_is_given_does_not_matter(self, partitions):
        self.assertEqual(EXAMPLE.digest, PartitionSet(partitions).digest)

    @given(SETS, SETS)
    def test_two_sets_have_two_names(self, one, other):
        self.assertEqual(one == other, PartitionSet(one).digest
                         == PartitionSet(other).digest)

    def test_the_bytes_are_gaps_of_seven_bits_lowest_first(self):
        self.assertEqual(b'', PartitionSet(()).encoded)
        self.assertEqual(b'\0\0\0', PartitionSet((0, 1, 2)).encoded)
        self.assertEqual(b'\x7f', PartitionSet((127,)).encoded)
        self.assertEqual(b'\x80\x01\x05', PartitionSet((128, 134)).encoded)
        self.assertEqual(b'\xff\xff\xff\xff\x0f',
                         PartitionSet((LARGEST,)).encoded)

    def test_all_partitions_of_a_device_are_a_byte_each(self):
        self.assertEqual(bytes(MAX_PARTITIONS),
                         PartitionSet(range(MAX_PARTITIONS)).encoded)


class TestRefused(unittest.TestCase):

    def refused(self, data, count, reason):
        with self.assertRaisesRegex(PartitionSetError, reason):
            PartitionSet.decode(data, count)

    def test_every_truncation(self):
        encoded = EXAMPLE.encoded
        for length in range(len(encoded)):
            self.refused(encoded[:length], len(EXAMPLE), '')

    def test_what_follows(self):
        self.refused(EXAMPLE.encoded + b'\0', len(EXAMPLE), 'said to be 8')

    def test_no_flipped_bit_passes_for_the_same_set(self):
        encoded = EXAMPLE.encoded
        for bit in range(8 * len(encoded)):
            flipped = bytearray(encoded)
            flipped[bit // 8] ^= 1 << bit % 8
            try:
                self.assertNotEqual(EXAMPLE, PartitionSet.decode(
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
        self.assertEqual((LARGEST,), PartitionSet.decode(
            b'\xff\xff\xff\xff\x0f', 1))
        self.refused(b'\x80\x80\x80\x80\x10', 1, '4294967296.* 32 bits')
        # Each gap would do; their sum does not.
        self.refused(b'\xff\xff\xff\xff\x0f\x00', 2, '32 bits')

    def test_too_many_partitions(self):
        self.assertEqual(MAX_PARTITIONS, len(PartitionSet.decode(
            bytes(MAX_PARTITIONS), MAX_PARTITIONS)))
        for count in (MAX_PARTITIONS + 1, LARGEST):
            self.refused(bytes(MAX_PARTITIONS + 1), count,
                         '%d partitions, at most %d'
                         % (count, MAX_PARTITIONS))

    def test_another_count_than_was_said(self):
        for count in (7, 9):
            self.refused(EXAMPLE.encoded, count,
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
                PartitionSet(partitions).encoded


class TestSlices(unittest.TestCase):

    def test_the_receiver_cuts_as_the_sender_did(self):
        # It is told the number of roots only, not that of slices asked for.
        for size in range(201):
            partitions = PartitionSet(range(size))
            for asked in range(size + 1):
                slices = partitions.slices(asked)
                self.assertEqual(slices, partitions.slices(len(slices)))
                self.assertEqual(len(slices), slices_of(size, asked))
                self.assertEqual(len(slices), slices_of(size, len(slices)))

    def test_slices_are_the_set_in_order_of_one_length_but_for_the_last(self):
        for size in range(60):
            partitions = PartitionSet(range(0, 3 * size, 3))
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
        self.assertEqual([(0, 1, 2, 3), (4, 5, 6, 7), (8, 9)],
                         PartitionSet(range(10)).slices(4))
        self.assertEqual([], PartitionSet(()).slices(0))
        self.assertEqual([], PartitionSet(()).slices(3))


class TestRootOf(unittest.TestCase):

    def test_it_is_the_root_of_numbers_in_8_digits_and_their_roots(self):
        roots = {4660: 'ab' * 16, 5: 'cd' * 16, 9: 'ef' * 16}
        self.assertEqual(
            merkle.root({'00001234': 'ab' * 16, '00000005': 'cd' * 16}),
            root_of((5, 4660), roots))

    @given(st.dictionaries(st.integers(0, LARGEST), st.sampled_from(
        ['ab' * 16, 'cd' * 16]), min_size=1, max_size=20), st.data())
    def test_any_root_that_changes_changes_it(self, roots, data):
        partition = data.draw(st.sampled_from(sorted(roots)))
        changed = {**roots, partition: 'ef' * 16}
        self.assertNotEqual(root_of(roots, roots), root_of(changed, changed))
        del changed[partition]
        self.assertNotEqual(root_of(roots, roots), root_of(changed, changed))
