# SPDX-License-Identifier: Apache-2.0
"""The keys and values of the index."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_losf.format import keys
from swift_losf.format.header import FormatError, VolumeType
from swift_losf.format.values import (
    Location,
    VolumeState,
    pack_varints,
    unpack_spot,
)

NUMBERS = st.integers(0, 2 ** 63 - 1)
PARTITIONS = st.integers(0, 2 ** 32 - 1)
HASHES = st.binary(min_size=16, max_size=16)
NAMES = st.sampled_from([
    '1700000000.00001.data', '1700000000.00001#3#d.data',
    '1700000000.00001-1f.meta', '0000000001.00000.ts', 'other name'])
LOCATIONS = st.builds(
    Location, NUMBERS, st.integers(0, 2 ** 50).map(lambda n: n * 64),
    NUMBERS, st.integers(0, 2 ** 20), st.integers(1, 255))


class TestValues(unittest.TestCase):

    @given(LOCATIONS)
    def test_a_location_comes_back(self, location):
        self.assertEqual(location, Location.unpack(location.pack()))

    @given(LOCATIONS.filter(lambda location: location.volume))
    def test_the_spot_of_a_location_comes_by_itself(self, location):
        self.assertEqual(location.spot, unpack_spot(location.pack()))

    def test_what_has_no_spot_is_refused(self):
        for bad in (b'', b'\1', b'\1\x80', b'\0\1'):
            with self.assertRaisesRegex(FormatError, 'begin with two varin'):
                unpack_spot(bad)

    @given(st.builds(VolumeState, st.sampled_from(VolumeType), NUMBERS,
                     NUMBERS, NUMBERS, NUMBERS, NUMBERS))
    def test_the_state_of_a_volume_comes_back(self, state):
        self.assertEqual(state, VolumeState.unpack(state.pack()))

    def test_a_location_is_coded_in_ten_bytes(self):
        self.assertEqual(
            '05' '8008' '9003' 'fa01' '15',
            Location(5, 1024 * 64, 400, 250, 21).pack().hex())

    def test_a_location_tells_where_its_parts_are(self):
        location = Location(1, 8192, 65537, 100, 21)
        self.assertEqual(8192 + 64, location.data_offset)
        self.assertEqual(8192 + 64 + 65537, location.footer_offset)
        self.assertEqual(64 + 65537 + 21 + 100 + 2 * 4 + 4, location.length)

    def test_a_value_of_the_wrong_length_is_refused(self):
        good = Location(1, 4096, 10, 20, 21).pack()
        for bad in (b'', good[:-1], good + b'\0', good[:-1] + b'\x80',
                    b'\xff' * 10 + good):
            with self.assertRaisesRegex(FormatError, 'location .*5 varints'):
                Location.unpack(bad)

    def test_the_state_of_a_volume_has_eight_numbers(self):
        good = VolumeState(1, 4096, 4096).pack()
        self.assertEqual('01' '8020' '8020' '0000000000', good.hex())
        for bad in (b'', good[:-1], good + b'\0'):
            with self.assertRaisesRegex(FormatError, 'volume .*8 varints'):
                VolumeState.unpack(bad)

    def test_a_negative_number_is_refused(self):
        with self.assertRaisesRegex(FormatError, '-1: must not be negative'):
            pack_varints([-1])


class TestKeys(unittest.TestCase):

    @given(PARTITIONS, HASHES, NAMES, LOCATIONS)
    def test_a_key_comes_back(self, partition, hash_, name, location):
        for key in (keys.file_key(partition, hash_, name),
                    keys.quarantine_key(partition, hash_, name, location)):
            self.assertEqual((partition, hash_, name),
                             keys.split_file_key(key))

    @given(st.lists(st.tuples(PARTITIONS, HASHES), min_size=2))
    def test_files_stand_by_partition_suffix_and_hash(self, places):
        self.assertEqual(
            sorted(places, key=lambda each: (
                each[0], keys.suffix_of(each[1]), each[1])),
            sorted(places, key=lambda each: keys.file_key(*each, 'x')))

    @given(PARTITIONS, HASHES, PARTITIONS, HASHES)
    def test_ranges_hold_what_is_theirs_and_nothing_else(
            self, partition, hash_, other_partition, other_hash):
        other = keys.file_key(other_partition, other_hash, 'x')
        same_partition = other_partition == partition
        suffix = keys.suffix_of(hash_)
        for (start, stop), expected in (
                (keys.partition_range(partition), same_partition),
                (keys.suffix_range(partition, suffix), same_partition
                 and keys.suffix_of(other_hash) == suffix),
                (keys.hash_range(partition, hash_), same_partition
                 and other_hash == hash_)):
            self.assertEqual(expected, start <= other < stop)
            self.assertTrue(start <= keys.file_key(partition, hash_, 'x')
                            < stop)

    def test_the_last_suffix_of_the_last_partition_has_an_end(self):
        start, stop = keys.suffix_range(2 ** 32 - 1, 4095)
        self.assertTrue(
            start <= keys.file_key(2 ** 32 - 1, b'\xff' * 16, 'x') < stop)
        self.assertEqual(b'p', stop)

    @given(PARTITIONS, HASHES)
    def test_a_key_tells_its_suffix(self, partition, hash_):
        self.assertEqual(
            (partition, int(hash_.hex()[-3:], 16)),
            keys.split_place(keys.file_key(partition, hash_, 'x')))

    def test_a_key_of_a_usual_file_has_29_bytes(self):
        self.assertEqual(29, len(keys.file_key(
            1, bytes(16), '1700000000.00001.data')))

    def test_equal_names_in_quarantine_have_keys_of_their_own(self):
        self.assertNotEqual(*(keys.quarantine_key(
            1, bytes(16), 'x', Location(1, offset, 1, 1, 1))
            for offset in (4096, 8192)))

    def test_what_is_no_key_of_a_file_is_refused(self):
        for bad in (b'', b'v' + bytes(40), b'o' + bytes(20)):
            with self.assertRaisesRegex(FormatError, 'must be that of a'):
                keys.split_file_key(bad)
