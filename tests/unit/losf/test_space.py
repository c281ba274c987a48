# SPDX-License-Identifier: Apache-2.0
"""Ranges, zeros, and what a filesystem must be able to do."""

import errno
import os
import tempfile
import unittest
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from swift_losf.format.ranges import Ranges
from swift_losf.volumes import space
from swift_losf.volumes.space import (
    FilesystemError,
    check_filesystem,
    is_zero,
    widened,
)
from tests.unit.losf.filesystems import mounted

RANGES = st.lists(st.tuples(st.booleans(), st.integers(0, 40),
                            st.integers(1, 10)), max_size=30)


class TestRanges(unittest.TestCase):

    @given(RANGES, st.integers(0, 40), st.integers(1, 10))
    def test_they_hold_what_was_added_and_not_cut(self, steps, start, length):
        ranges, expected = Ranges(), set()
        for added, low, count in steps:
            members = set(range(low, low + count))
            (ranges.add if added else ranges.cut)(low, low + count)
            expected = expected | members if added else expected - members
        pairs = list(ranges)
        self.assertEqual(expected, {each for low, high in pairs
                                    for each in range(low, high)})
        for (_, end), (later, _) in zip(pairs, pairs[1:]):
            self.assertLess(end, later)
        self.assertEqual(len(pairs), len(ranges))
        self.assertEqual(set(range(start, start + length)) <= expected,
                         ranges.has(start, start + length))


class TestZeros(unittest.TestCase):

    def setUp(self):
        file = tempfile.TemporaryFile()
        self.addCleanup(file.close)
        self.fd = file.fileno()

    def test_holes_zeros_and_what_is_behind_the_end_are_zeros(self):
        os.pwrite(self.fd, b'x' + bytes(10000) + b'x', 2 ** 40)
        at = 2 ** 40
        self.assertTrue(is_zero(self.fd, 0, at))
        self.assertTrue(is_zero(self.fd, at + 1, at + 10001))
        self.assertTrue(is_zero(self.fd, at + 10002, at + 10 ** 6))
        self.assertFalse(is_zero(self.fd, 0, at + 1))
        self.assertFalse(is_zero(self.fd, at + 1, at + 10002))

    def test_a_range_grows_to_blocks_that_are_zeros_else(self):
        os.ftruncate(self.fd, 40960)
        for used, limit, expected in (
                (None, None, (4096, 12288)),
                (4096, None, (5000, 12288)), (4999, None, (5000, 12288)),
                (4095, None, (4096, 12288)), (12288, None, (4096, 12288)),
                (9000, None, (4096, 9000)), (12287, None, (4096, 9000)),
                (None, 12288, (4096, 12288)), (None, 12287, (4096, 9000)),
                (None, 5000, (4096, 9000)), (None, 4999, (5000, 9000))):
            if used is not None:
                os.pwrite(self.fd, b'x', used)
            with mock.patch.object(space, 'block_size', lambda fd: 4096):
                self.assertEqual(expected, widened(
                    self.fd, 5000, 9000, limit), (used, limit))
            os.ftruncate(self.fd, 0)
            os.ftruncate(self.fd, 40960)


class TestFilesystem(unittest.TestCase):

    def test_one_that_can_punch_holes_will_do_and_nothing_is_left(self):
        with tempfile.TemporaryDirectory() as path:
            check_filesystem(path)
            self.assertEqual([], os.listdir(path))

    def refused(self, path):
        with self.assertRaises(FilesystemError) as raised:
            check_filesystem(path)
        return str(raised.exception)

    def test_one_that_cannot_is_named(self):
        with tempfile.TemporaryDirectory() as path, mock.patch.object(
                space, 'punch_hole', side_effect=OSError(
                    errno.EOPNOTSUPP, 'Operation not supported')):
            self.assertRegex(self.refused(path), (
                r'^%s: the filesystem \(\w+.*\) must have O_TMPFILE and '
                'FALLOC_FL_PUNCH_HOLE, .*: Operation not supported' % path))

    def test_a_full_disk_is_no_such_thing(self):
        with tempfile.TemporaryDirectory() as path, mock.patch.object(
                space.os, 'pwrite', side_effect=OSError(errno.ENOSPC, '')):
            with self.assertRaises(OSError):
                check_filesystem(path)

    @unittest.skipIf(os.geteuid(), 'mounting takes root')
    def test_ramfs_cannot(self):
        with mounted('-t', 'ramfs', 'losf-test') as path:
            self.assertIn('(ramfs of losf-test)', self.refused(path))
