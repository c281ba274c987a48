# SPDX-License-Identifier: Apache-2.0
"""content: bodies, their trailer, and the check of it."""

import hashlib
import os
import unittest
import zlib

from hypothesis import given
from hypothesis import strategies as st

from cosbench.adaptors.content import BLOCK, POOL, Body, Checker, FileBody
from cosbench.workload.model import HASH_TRAILER, Content
from tests.unit.cosbench.directory_case import new_directory

#: SHA-256 of 10 ** 6 bytes with the seed 7.
PINNED = (
    'b6a4c8a966bf400d16e5cf025dfd90757de0a5cbaf3da177b860119eeba5f034')


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
        for size in (0, 1, BLOCK, BLOCK + 1, 3 * POOL + 5):
            sizes = [len(block) for block in Body(size, seed=size)]
            self.assertEqual(size, sum(sizes))
            self.assertLessEqual(max(sizes, default=0), BLOCK)
            self.assertNotIn(0, sizes)

    @given(st.integers(0, 10 ** 6), st.integers(-2 ** 70, 2 ** 70),
           st.booleans())
    def test_the_same_seed_gives_the_same_bytes_as_often_as_wanted(
            self, size, seed, hashed):
        size += HASH_TRAILER
        body = Body(size, seed=seed, hash_check=hashed)
        self.assertEqual(b''.join(body), b''.join(body))
        self.assertEqual(b''.join(body), content_of(
            size, seed=seed, hash_check=hashed))

    def test_content_is_the_same_on_every_machine(self):
        self.assertEqual(1000, len({content_of(16, seed=seed)
                                    for seed in range(1000)}))
        self.assertEqual(bytes(BLOCK + 9), content_of(
            BLOCK + 9, Content.ZERO, seed=3))
        self.assertEqual(
            PINNED, hashlib.sha256(content_of(10 ** 6, seed=7)).hexdigest())

    def test_content_goes_on_where_the_pool_ends(self):
        content = content_of(2 * POOL, seed=12345)
        self.assertEqual(content[:POOL], content[POOL:])
        self.assertNotIn(content[:64], content[1:POOL])

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

    def test_blocks_are_slices_not_copies(self):
        block, = Body(1000, seed=1)
        again, = Body(1000, seed=1)
        self.assertIs(block.obj, again.obj)


class TestFileBody(unittest.TestCase):

    def setUp(self):
        directory = new_directory(self)
        self.path = os.path.join(directory, 'file')

    def write(self, data):
        with open(self.path, 'wb') as output:
            output.write(data)

    def test_it_is_the_file(self):
        for size in (0, 1, BLOCK + 1):
            self.write(content_of(size))
            body = FileBody(self.path)
            self.assertEqual(size, body.size)
            for _ in range(2):
                self.assertEqual(content_of(size), b''.join(body))

    def test_a_trailer_follows_the_file(self):
        self.write(b'abc')
        body = FileBody(self.path, hash_check=True)
        content = b''.join(body)
        self.assertEqual((43, b'abc', True), (
            body.size, content[:3], check(content)))

    def test_a_file_that_changes_keeps_its_size_or_is_an_error(self):
        with self.assertRaises(FileNotFoundError):
            FileBody(self.path)
        self.write(b'abc')
        body = FileBody(self.path)
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
