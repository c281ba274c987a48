# SPDX-License-Identifier: Apache-2.0
"""exchange_message: the bytes by which partitions are exchanged."""

import struct
import unittest
from hashlib import md5

from hypothesis import given, settings
from hypothesis import strategies as st

from swift_lightsync.sync.core.engine import exchanging
from swift_lightsync.sync.wire.exchange_message import (
    MAX_PARTITIONS,
    MAX_REHASH_BYTES,
    REHASH,
    SUFFIX_HASHES,
    SUFFIXES,
    decode_rehash,
    decode_suffix_hashes,
    decode_suffixes,
    encode_rehash,
    encode_suffix_hashes,
    encode_suffixes,
)
from swift_lightsync.sync.wire.sync_message import (
    MAX_BYTES,
    SyncMessageError,
    pack,
)
from tests.unit.sync.damage import MessageTestCase, allocated

#: Bytes of a message around what its kind has: head, count, CRC.
FRAME = 6 + 4 + 4
HASHES = {7: {'07b': md5(b'1').hexdigest(), 'a83': md5(b'2').hexdigest()},
          4660: {}, 2 ** 32 - 1: {'fff': 'f' * 32, '000': '0' * 32}}

numbers = st.integers(0, 2 ** 32 - 1)
suffixes = st.integers(0, 0xfff).map('{:03x}'.format)
digests = st.binary(min_size=16, max_size=16).map(bytes.hex)
messages = st.dictionaries(numbers, st.dictionaries(
    suffixes, digests, max_size=20), max_size=20)


def answered(data):
    return decode_suffix_hashes(data, HASHES)


def message(kind, count, *fields):
    """A message with a sound frame around any fields."""
    return pack(kind, struct.pack('<I', count), *fields)


def partition(number, count, entries=b''):
    return struct.pack('<IH', number, count) + entries


#: Each kind: a message, and what reads it.
KINDS = {
    'suffixes': (encode_suffixes(HASHES), decode_suffixes),
    'suffix hashes': (encode_suffix_hashes(HASHES), answered),
    'rehash': (encode_rehash(HASHES), decode_rehash),
}


class TestRoundTrips(unittest.TestCase):

    @given(st.sets(numbers, max_size=100))
    def test_partitions_are_read_as_they_were_asked_for(self, wanted):
        self.assertEqual(sorted(wanted),
                         decode_suffixes(encode_suffixes(wanted)))

    @given(messages)
    def test_suffix_hashes_are_read_as_they_were_written(self, hashes):
        self.assertEqual(hashes, decode_suffix_hashes(
            encode_suffix_hashes(hashes), hashes))

    @given(messages)
    def test_suffixes_to_hash_are_read_as_they_were_written(self, hashes):
        self.assertEqual(
            {number: sorted(of_one) for number, of_one in hashes.items()},
            decode_rehash(encode_rehash(hashes)))

    @given(messages)
    @settings(max_examples=30)
    def test_the_order_of_a_dict_does_not_change_the_bytes(self, hashes):
        backwards = {number: dict(reversed(hashes[number].items()))
                     for number in reversed(hashes)}
        for encode in (encode_suffix_hashes, encode_rehash, encode_suffixes):
            self.assertEqual(encode(hashes), encode(backwards))

    def test_the_bytes_are_the_documented_ones(self):
        digest = bytes(range(16))
        for kind, fields, data in (
                (SUFFIXES, struct.pack('<II', 2, 9),
                 encode_suffixes([9, 2])),
                (SUFFIX_HASHES,
                 struct.pack('<IHH16s', 9, 1, 0xa83, digest),
                 encode_suffix_hashes({9: {'a83': digest.hex()}})),
                (REHASH, struct.pack('<IHHH', 9, 2, 0x07b, 0xa83),
                 encode_rehash({9: ['a83', '07b']}))):
            count = 2 if kind == SUFFIXES else 1
            self.assertEqual(message(kind, count, fields), data)
            self.assertEqual(b'LSYN\x01' + bytes([kind]), data[:6])

    def test_an_answer_may_leave_out_partitions_that_were_asked_for(self):
        data = encode_suffix_hashes({7: HASHES[7]})
        self.assertEqual({7: HASHES[7]}, answered(data))


class TestSizes(unittest.TestCase):

    def test_a_message_has_the_documented_size(self):
        entries = sum(len(of_one) for of_one in HASHES.values())
        for data, size in (
                (encode_suffixes(HASHES), 4 * len(HASHES)),
                (encode_suffix_hashes(HASHES), 6 * len(HASHES)
                 + 18 * entries),
                (encode_rehash(HASHES), 6 * len(HASHES) + 2 * entries)):
            self.assertEqual(FRAME + size, len(data))

    def test_the_longest_answer_to_a_batch_can_be_read(self):
        # 64 partitions with all suffixes: more than a sender asks for.
        full = {'%03x' % number: 'a' * 32 for number in range(4096)}
        data = encode_suffix_hashes(
            {number: full for number in range(exchanging.PARTITIONS)})
        self.assertEqual(FRAME + 64 * (6 + 4096 * 18), len(data))
        self.assertLess(len(data), MAX_BYTES)
        self.assertEqual(64, len(decode_suffix_hashes(data, range(64))))

    def test_the_longest_rehash_of_a_batch_can_be_read(self):
        # All partitions of a batch but one are within its limit; that one
        # is alone if it is not.
        share = exchanging.SUFFIXES // exchanging.PARTITIONS
        for partitions, each in ((exchanging.PARTITIONS, share),
                                 (1, 4096), (2, 4096)):
            data = encode_rehash({
                number: ['%03x' % suffix for suffix in range(each)]
                for number in range(partitions)})
            self.assertEqual(FRAME + partitions * (6 + 2 * each), len(data))
            self.assertEqual(partitions, len(decode_rehash(data)))

    def test_a_rehash_longer_than_allowed_is_refused(self):
        full = ['%03x' % suffix for suffix in range(4096)]
        data = encode_rehash(dict.fromkeys(range(17), full))
        self.assertGreater(len(data), MAX_REHASH_BYTES)
        with self.assertRaisesRegex(SyncMessageError, 'at most 131072'):
            decode_rehash(data)

    def test_as_many_partitions_as_a_message_may_have(self):
        most = range(MAX_PARTITIONS)
        self.assertEqual(list(most), decode_suffixes(encode_suffixes(most)))
        self.assertEqual(MAX_PARTITIONS, len(decode_rehash(encode_rehash(
            dict.fromkeys(most, ())))))


class TestHostileFields(MessageTestCase):

    def test_partitions_that_do_not_ascend_are_refused(self):
        for kind, decode, field in (
                (SUFFIXES, decode_suffixes, lambda number: struct.pack(
                    '<I', number)),
                (SUFFIX_HASHES, lambda data: decode_suffix_hashes(
                    data, range(9)), lambda number: partition(number, 0)),
                (REHASH, decode_rehash, lambda number: partition(number, 0))):
            for order in ((2, 1), (1, 1), (1, 3, 2)):
                with self.subTest(kind=kind, order=order):
                    self.assert_refused(decode, message(
                        kind, len(order), *map(field, order)), 'ascend')

    def test_a_partition_that_was_not_asked_for_is_refused(self):
        data = encode_suffix_hashes({6: {}, 7: {}, 8: {}})
        self.assert_refused(answered, data, 'partition 6 was not asked for')

    def test_a_suffix_above_the_highest_is_refused(self):
        for number in (0x1000, 0xffff):
            self.assert_refused(answered, message(
                SUFFIX_HASHES, 1, partition(7, 1, struct.pack(
                    '<H16s', number, bytes(16)))),
                'suffix is %d, at most 4095' % number)
            self.assert_refused(decode_rehash, message(
                REHASH, 1, partition(7, 1, struct.pack('<H', number))),
                'suffix is %d, at most 4095' % number)

    def test_a_suffix_named_twice_is_refused(self):
        twice = struct.pack('<H16sH16s', 1, bytes(16), 1, b'\1' * 16)
        self.assert_refused(
            answered, message(SUFFIX_HASHES, 1, partition(7, 2, twice)),
            'suffix')
        self.assert_refused(
            decode_rehash, message(REHASH, 1, partition(
                7, 2, struct.pack('<HH', 1, 1))), 'suffix')

    def test_more_partitions_than_allowed_are_refused(self):
        entries = [partition(number, 0)
                   for number in range(MAX_PARTITIONS + 1)]
        for kind, fields, decode in (
                (SUFFIXES, bytes(4 * len(entries)), decode_suffixes),
                (SUFFIX_HASHES, b''.join(entries), answered),
                (REHASH, b''.join(entries), decode_rehash)):
            self.assert_refused(
                decode, message(kind, len(entries), fields),
                '%d partitions.* at most %d'
                % (MAX_PARTITIONS + 1, MAX_PARTITIONS))

    def test_counts_without_their_bytes_allocate_nothing(self):
        for count, each in ((2 ** 32 - 1, 0), (MAX_PARTITIONS, 0),
                            (1, 0xffff)):
            for kind, decode in ((SUFFIXES, decode_suffixes),
                                 (SUFFIX_HASHES, answered),
                                 (REHASH, decode_rehash)):
                data = message(kind, count, partition(7, each))
                with self.subTest(kind=kind, count=count, each=each):
                    self.assertLess(allocated(decode, data), 1 << 16)

    def test_a_long_message_takes_memory_in_proportion(self):
        # As many suffixes as fit, in as few partitions as can have them.
        per_partition = 0xffff
        count = (MAX_BYTES - FRAME) // (6 + 2 * per_partition)
        data = message(REHASH, count, *[
            partition(number, per_partition, bytes(2 * per_partition))
            for number in range(count)])
        self.assertLess(allocated(decode_rehash, data), 8 * len(data))


class TestHashesThatAreNone(unittest.TestCase):

    def test_a_partition_with_a_hash_that_is_none_is_left_out(self):
        sound = {'abc': 'a' * 32}
        for digest in (None, '', 'a' * 31, 'a' * 33, 'A' * 32, 'g' * 32,
                       'a' * 31 + '\n', 'a' * 32 + '\n', b'a' * 32, 7,
                       ['a' * 32], {}, '١' * 32):
            with self.subTest(digest=digest):
                data = encode_suffix_hashes(
                    {1: sound, 2: dict(sound, abd=digest), 3: sound})
                self.assertEqual({1: sound, 3: sound},
                                 decode_suffix_hashes(data, (1, 2, 3)))

    def test_a_partition_with_a_suffix_that_is_none_is_left_out(self):
        for suffix in ('', 'ab', 'abcd', 'xyz', 'ABC', '../', '-12', '0x1',
                       '+ab', 'a\n', 'abc\n', 'a b', '1_1', '١٢٣'):
            with self.subTest(suffix=suffix):
                data = encode_suffix_hashes(
                    {1: {}, 2: {'abc': 'a' * 32, suffix: 'b' * 32}})
                self.assertEqual({1: {}}, decode_suffix_hashes(data, (1, 2)))
