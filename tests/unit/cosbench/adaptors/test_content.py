# SPDX-License-Identifier: Apache-2.0
"""content: bodies, their trailer, and the check of it."""

import hashlib
import random
import unittest
import zlib

from hypothesis import given
from hypothesis import strategies as st

from cosbench.adaptors.content import (
    BLOCK,
    PAGE,
    REPEATED,
    UNIT,
    Body,
    Checker,
    FileBody,
)
from cosbench.workload.model import HASH_TRAILER, Content
from tests.unit.cosbench.directory_case import DirectoryCase

#: SHA-256 of 10 ** 6 bytes with the seed 7.
PINNED = (
    '6b1dd865b5408110ff2f926e378cf59be0d8c72e2f9123e5ded3b0ea0e70bd95')


def content_of(*args, **kwargs):
    return b''.join(Body(*args, **kwargs))


def check(data, cuts=()):
    checker = Checker()
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for begin, end in zip(places, places[1:]):
        checker.feed(data[begin:end])
    return checker.good


class TestBody(unittest.TestCase):

    def test_it_has_its_size_in_blocks_that_are_not_too_large(self):
        for size in (0, 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5):
            sizes = [len(block) for block in Body(size, seed=size)]
            self.assertEqual(size, sum(sizes))
            self.assertLessEqual(max(sizes, default=0), BLOCK)
            self.assertNotIn(0, sizes)

    @given(st.integers(0, 10 ** 6), st.integers(-2 ** 70, 2 ** 70),
           st.booleans(),
           st.integers(0, 100), st.integers(0, 100))
    def test_the_same_seed_gives_the_same_bytes_as_often_as_wanted(
            self, size, seed, hashed, dedup, compress):
        size += HASH_TRAILER
        knobs = {'seed': seed, 'hash_check': hashed, 'dedup': dedup,
                 'compress': compress}
        body = Body(size, **knobs)
        self.assertEqual(b''.join(body), b''.join(body))
        self.assertEqual(b''.join(body), content_of(size, **knobs))
        self.assertEqual(size, len(content_of(size, **knobs)))

    def test_content_is_the_same_on_every_machine(self):
        self.assertEqual(1000, len({content_of(16, seed=seed)
                                    for seed in range(1000)}))
        self.assertEqual(bytes(BLOCK + 9), content_of(
            BLOCK + 9, Content.ZERO, seed=3))
        self.assertEqual(
            PINNED, hashlib.sha256(content_of(10 ** 6, seed=7)).hexdigest())

    def test_random_content_never_repeats(self):
        pieces = [content_of(2 ** 25, seed=seed) for seed in (1, 2)]
        blocks = [piece[place:place + 64] for piece in pieces
                  for place in range(0, len(piece), 64)]
        self.assertEqual(2 * 2 ** 25 // 64, len(set(blocks)))

    def test_as_many_units_repeat_as_asked_for(self):
        repeated = self.repeated(UNIT)
        for dedup in (1, 25, 75, 100):
            units = [content[place:place + UNIT] for content in (
                content_of(100 * UNIT, seed=seed, dedup=dedup)
                for seed in (5, 2 ** 63 + 77))
                for place in range(0, 100 * UNIT, UNIT)]
            # Each of those that repeat is there once.
            once = 2 * (100 - dedup)
            self.assertLessEqual(once, len(set(units)))
            self.assertGreaterEqual(once + REPEATED, len(set(units)))
            self.assertEqual(2 * dedup, sum(
                unit in repeated for unit in units))

    def repeated(self, size):
        content = content_of(REPEATED * UNIT, seed=-1)
        return {content[place:place + size]
                for place in range(0, len(content), UNIT)}

    def test_an_object_of_one_unit_repeats_as_often_as_asked_for(self):
        rng, repeated = random.Random(3), self.repeated(1000)
        found = sum(content_of(1000, seed=rng.getrandbits(64), dedup=30)
                    in repeated for _ in range(2000))
        self.assertAlmostEqual(600, found, delta=4 * 21)

    def test_as_much_compresses_as_asked_for(self):
        for percent in (10, 50, 99):
            content = content_of(64 * PAGE, seed=9, compress=percent)
            self.assertAlmostEqual(
                1 - percent / 100, len(zlib.compress(content)) / len(content),
                delta=0.02)
            # In each page.
            kept = PAGE * (100 - percent) // 100
            self.assertEqual(bytes(PAGE - kept), content[kept:PAGE])
        self.assertEqual(bytes(77), content_of(77, compress=100))
        self.assertEqual(bytes(50), content_of(100, compress=50)[50:])

    def test_random_content_does_not_compress(self):
        self.assertGreater(len(zlib.compress(content_of(10 ** 6))), 10 ** 6)

    def test_with_hash_check_the_trailer_is_in_the_size(self):
        for size in (40, 41, 1000, BLOCK + 41):
            content = content_of(size, hash_check=True)
            plain, trailer = content[:-40], content[-40:]
            self.assertEqual(size, len(content))
            self.assertEqual('!!!!%s!!!!' % hashlib.md5(plain).hexdigest(),
                             trailer.decode())
            self.assertEqual(plain, content_of(size - 40))

    def test_what_cannot_hold_its_trailer_is_refused(self):
        with self.assertRaisesRegex(ValueError, 'size=39.*at least 40'):
            Body(39, hash_check=True)
        with self.assertRaisesRegex(ValueError, 'size=-1.*at least 0'):
            Body(-1)


class TestFileBody(DirectoryCase):

    def write(self, data):
        """:returns: the path of a file with this in it"""
        with open(self.path('file'), 'wb') as output:
            output.write(data)
        return output.name

    def test_it_is_the_file(self):
        for size in (0, 1, BLOCK + 1):
            body = FileBody(self.write(content_of(size)))
            self.assertEqual(size, body.size)
            for _ in range(2):
                self.assertEqual(content_of(size), b''.join(body))

    def test_a_trailer_follows_the_file(self):
        body = FileBody(self.write(b'abc'), hash_check=True)
        content = b''.join(body)
        self.assertEqual((43, b'abc', True), (
            body.size, content[:3], check(content)))

    def test_a_file_that_changes_keeps_its_size_or_is_an_error(self):
        with self.assertRaises(FileNotFoundError):
            FileBody(self.path('file'))
        body = FileBody(self.write(b'abc'))
        self.write(b'abcdef')
        self.assertEqual(b'abc', b''.join(body))
        self.write(b'a')
        with self.assertRaisesRegex(OSError, 'has become shorter'):
            b''.join(body)


class TestChecker(unittest.TestCase):

    @given(st.integers(40, 2000), st.lists(st.integers(0)))
    def test_what_was_written_is_good_however_it_is_cut(self, size, cuts):
        self.assertTrue(check(content_of(size, hash_check=True), cuts))

    @given(st.integers(40, 300), st.lists(st.integers(0)), st.integers(0),
           st.integers(1, 255))
    def test_one_wrong_byte_is_found(self, size, cuts, place, change):
        content = bytearray(content_of(size, hash_check=True))
        content[place % size] ^= change
        self.assertFalse(check(bytes(content), cuts))

    def test_views_are_taken_like_bytes(self):
        checker = Checker()
        for block in Body(BLOCK * 2 + 77, hash_check=True):
            checker.feed(memoryview(block))
        self.assertTrue(checker.good)

    def test_what_is_cut_off_or_has_no_trailer_is_not_good(self):
        content = content_of(500, hash_check=True)
        for wrong in (b'', content[:-1], content[1:], content[:-40],
                      content + b'x', content_of(500)):
            self.assertFalse(check(wrong))
