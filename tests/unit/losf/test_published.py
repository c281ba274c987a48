# SPDX-License-Identifier: Apache-2.0
"""The table of places: a dictionary that forgets, and is never torn."""

import itertools
import struct
import unittest

from google_crc32c import value as crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from swift_losf.format.header import FormatError
from swift_losf.format.keys import PLACE
from swift_losf.format.published import BUCKET, Bucket, bucket_of, grouped
from swift_losf.format.values import WITHHELD, Location

#: bytes that are copied at a time by what writes and by what reads
WORD = 8
HASHES = [bytes([7] * 4 + [number] * 12) for number in range(40)]
NAMES = [b'\1abcdefg', b'\2abcdefg', b'\3abcdefg']


def value(offset, length, metadata=True):
    """:returns: the value of an entry with so much metadata, or without"""
    at = Location(7, 64 * offset, 500, length, 21, b'm' * length)
    return at.pack(length if metadata else 0)


FILES = st.dictionaries(
    st.sampled_from(NAMES), st.builds(
        value, st.integers(0, 2 ** 40), st.integers(2, 700),
        st.booleans()))
LONG = st.dictionaries(
    st.integers(0, 99).map(lambda n: b'%02d' % n * 50),
    st.builds(value, st.integers(0, 9), st.integers(2, 9)), min_size=1)
PLAIN = value(128, 190, False)


def probe(data, number, prefix):
    return Bucket(data, number).files(prefix)


def filled(count, files):
    """:returns: a Bucket with these files of so many hashes"""
    bucket = Bucket(bytes(BUCKET), 0)
    for each in range(count):
        bucket.put(b'%016d' % each, files)
    return bucket


def withheld(files):
    """:returns: files with what stands for metadata that were left out"""
    return {name: Location.unpack(each, True).pack() + (
        WITHHELD if Location.unpack(each, True).metadata else b'')
        for name, each in files.items()}


def written(data, packed):
    """:returns: the bytes of a bucket after a write of some"""
    return packed + data[len(packed):]


def words(data):
    return [data[at:at + WORD] for at in range(0, len(data), WORD)]


def interleaved(before, after, count):
    """Yield what a reader may see of a bucket while it is written.

    Both go through the words in order, each in a time of its own.

    :param count: of the words that are looked at
    """
    old, new = words(before), words(after)
    # Word i is read when the first `done` words are written already.
    for done in itertools.combinations_with_replacement(
            range(count + 1), count):
        yield b''.join(new[at] if at < done[at] else old[at]
                       for at in range(count)) + after[count * WORD:]


class TestBucket(unittest.TestCase):

    def test_what_was_never_written_is_empty(self):
        self.assertEqual({}, probe(bytes(BUCKET), 3, HASHES[0]))

    def test_a_bucket_of_another_number_does_not_verify(self):
        bucket = Bucket(bytes(BUCKET), 3)
        bucket.put(HASHES[0], {b'name': b'place'})
        data = written(bytes(BUCKET), bucket.pack())
        self.assertEqual({b'name': b'place'}, probe(data, 3, HASHES[0]))
        with self.assertRaises(FormatError):
            probe(data, 4, HASHES[0])

    def test_each_bit_counts(self):
        bucket = Bucket(bytes(BUCKET), 3)
        bucket.put(HASHES[0], {b'name': b'place'})
        packed = bucket.pack()
        for bit in range(8 * len(packed)):
            data = bytearray(written(bytes(BUCKET), packed))
            data[bit // 8] ^= 1 << bit % 8
            with self.assertRaises(FormatError):
                probe(bytes(data), 3, HASHES[0])

    def test_what_does_not_fit_its_own_lengths_is_refused(self):
        bucket = Bucket(bytes(BUCKET), 3)
        bucket.put(HASHES[0], {b'name': b'place'})
        # Of the files of the hash, of the name, and of the value.
        for at, message in ((24, 'its lengths are wrong'),
                            (26, 'cut off'), (31, 'cut off')):
            data = bytearray(bucket.pack())
            data[at] ^= 0x80
            data[:4] = struct.pack('<I', crc32c(
                struct.pack('<Q', 3) + data[4:]))
            with self.assertRaisesRegex(FormatError, message):
                probe(written(bytes(BUCKET), bytes(data)), 3, HASHES[0])

    def test_a_hash_whose_files_take_too_much_is_not_known(self):
        for names in ([b'%d' % each for each in range(99)],
                      [b'%d' % each for each in range(200)], [b'\0' * 256]):
            bucket = Bucket(bytes(BUCKET), 0)
            bucket.put(HASHES[0], dict.fromkeys(names, PLAIN))
            self.assertIsNone(bucket.files(HASHES[0]))
            self.assertIsNone(probe(
                written(bytes(BUCKET), bucket.pack()), 0, HASHES[0]))

    def test_the_one_changed_last_stays(self):
        bucket = filled(200, {NAMES[0]: PLAIN})
        self.assertEqual({NAMES[0]: PLAIN}, bucket.files(b'%016d' % 199))
        self.assertIsNone(bucket.files(b'%016d' % 0))

    def test_ninety_objects_of_one_file_fit(self):
        self.assertEqual({}, filled(
            90, {NAMES[0]: PLAIN}).files(HASHES[-1]))

    def test_metadata_give_way_before_files_do(self):
        files = {NAMES[0]: value(128, 200)}
        bucket = filled(80, files)
        self.assertEqual(
            [withheld(files)] * 70,
            [bucket.files(b'%016d' % each) for each in range(70)])
        self.assertEqual(files, bucket.files(b'%016d' % 79))

    def test_metadata_of_many_files_are_left_out(self):
        bucket = Bucket(bytes(BUCKET), 0)
        files = dict.fromkeys(NAMES, value(128, 500))
        bucket.put(HASHES[0], files)
        self.assertEqual(withheld(files), bucket.files(HASHES[0]))

    def test_a_hash_is_not_found_across_two_others(self):
        bucket = Bucket(bytes(BUCKET), 0)
        bucket.put(b'a' * 16, {NAMES[0]: PLAIN})
        bucket.put(b'b' * 16, {NAMES[1]: PLAIN})
        self.assertEqual({}, bucket.files(b'a' * 8 + b'b' * 8))
        self.assertEqual({NAMES[1]: PLAIN}, bucket.files(b'b' * 16))

    def test_files_are_grouped_by_hash(self):
        self.assertEqual(
            [(b'a' * PLACE, {b'1': b'x', b'2': b'y'}),
             (b'b' * PLACE, {b'1': b'z'})],
            grouped([(b'o' + b'a' * PLACE + b'1', b'x'),
                     (b'o' + b'a' * PLACE + b'2', b'y'),
                     (b'o' + b'b' * PLACE + b'1', b'z')]))

    def test_bytes_4_to_11_of_a_turned_hash_tell_its_bucket(self):
        for each in (*range(9), 2 ** 63 + 5):
            self.assertEqual(each % 7, bucket_of(
                b'\xff' * 4 + each.to_bytes(8, 'big') + b'\xff' * 4, 7))


class TestAgainstADict(unittest.TestCase):

    @settings(max_examples=300)
    @given(st.lists(st.tuples(st.sampled_from(HASHES), FILES | LONG),
                    max_size=150))
    def test_what_it_tells_is_so(self, changes):
        model, tables = {}, [bytes(BUCKET)] * 2
        for prefix, files in changes:
            model[prefix] = files
            number = bucket_of(prefix, 2)
            bucket = Bucket(tables[number], number)
            bucket.put(prefix, files)
            packed = bucket.pack()
            self.assertLessEqual(len(packed), BUCKET)
            tables[number] = written(tables[number], packed)
        for prefix in HASHES:
            number = bucket_of(prefix, 2)
            found = probe(tables[number], number, prefix)
            if found is not None:
                files = model.get(prefix, {})
                self.assertIn(found, (files, withheld(files)))


class TestTornReads(unittest.TestCase):
    """All orders of the words of one write and one read."""

    def states(self):
        """:returns: the bytes of a bucket, as one change follows another"""
        first, other = HASHES[:2]
        data, states = bytes(BUCKET), [bytes(BUCKET)]
        for prefix, files in (
                (first, {b'a': b'1'}), (first, {b'a': b'2'}),
                (other, {b'b': b'1'}), (first, {b'a': b'2', b'c': b'3'}),
                (other, {}), (first, {}), (first, {b'a': b'1'})):
            bucket = Bucket(data, 5)
            bucket.put(prefix, files)
            data = written(data, bucket.pack())
            states.append(data)
        return states

    def test_a_reader_sees_the_state_before_or_after_or_none(self):
        torn = 0
        for before, after in itertools.pairwise(self.states()):
            length = max(len(data.rstrip(b'\0')) for data in (before, after))
            allowed = [[probe(data, 5, prefix) for prefix in HASHES[:2]]
                       for data in (before, after)]
            for seen in interleaved(before, after, -(-length // WORD)):
                try:
                    found = [probe(seen, 5, prefix)
                             for prefix in HASHES[:2]]
                except FormatError:
                    torn += 1
                    continue
                self.assertIn(found, allowed)
        self.assertGreater(torn, 100)

    def test_words_in_any_order(self):
        for before, after in itertools.pairwise(self.states()):
            old, new = words(before), words(after)
            differing = [at for at in range(len(old)) if old[at] != new[at]]
            allowed = [probe(data, 5, HASHES[0]) for data in (before, after)]
            for chosen in itertools.product((old, new),
                                            repeat=len(differing)):
                mixed = list(old)
                for at, side in zip(differing, chosen):
                    mixed[at] = side[at]
                try:
                    self.assertIn(probe(b''.join(mixed), 5, HASHES[0]),
                                  allowed)
                except FormatError:
                    pass
