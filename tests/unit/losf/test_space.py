# SPDX-License-Identifier: Apache-2.0
"""Extents of files, and what a filesystem must be able to do."""

import errno
import os
import tempfile
import unittest
from unittest import mock

from swift_losf.volumes import space
from swift_losf.volumes.ranges import punch_hole
from swift_losf.volumes.space import (
    FilesystemError,
    check_filesystem,
    count_extents,
    part_of,
)
from tests.unit.losf.filesystems import mounted, with_holes


class TestExtents(unittest.TestCase):

    def count(self, directory):
        with tempfile.TemporaryFile(dir=directory) as file:
            os.pwrite(file.fileno(), b'x' * 40960, 0)
            for start in (4096, 16384, 32768):
                punch_hole(file.fileno(), start, 4096)
            os.fsync(file.fileno())
            return count_extents(file.fileno())

    def test_holes_part_a_file(self):
        for name, make in with_holes().items():
            with self.subTest(name), make() as directory:
                self.assertEqual(4, self.count(directory))

    def test_what_goes_wrong_is_said(self):
        with open(os.devnull) as file, mock.patch.object(
                space.fcntl, 'ioctl', side_effect=OSError(errno.EIO, '')):
            self.assertRaises(OSError, count_extents, file.fileno())


class TestPart(unittest.TestCase):

    def part(self, blocks, most):
        with mock.patch.object(space.os, 'statvfs', return_value=mock.Mock(
                f_blocks=blocks, f_frsize=4096)):
            return part_of('/', most)

    def test_it_is_a_256th_of_the_disk_at_most_and_one_mebibyte_at_least(self):
        for blocks, most, part in (
                (2 ** 40, 2 ** 33, 2 ** 33), (2 ** 20, 2 ** 33, 2 ** 24),
                (2 ** 10, 2 ** 33, 2 ** 20), (2 ** 10, 100, 100),
                (0, 2 ** 33, 2 ** 33)):
            with self.subTest(blocks=blocks, most=most):
                self.assertEqual(part, self.part(blocks, most))


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

    def test_a_disk_that_cannot_be_written_is_no_such_thing(self):
        for error in (errno.ENOSPC, errno.EROFS, errno.EIO):
            with tempfile.TemporaryDirectory() as path, mock.patch.object(
                    space.os, 'pwrite', side_effect=OSError(error, '')):
                space.check_filesystem(path)

    @unittest.skipIf(os.geteuid(), 'mounting takes root')
    def test_ramfs_cannot(self):
        with mounted('-t', 'ramfs', 'losf-test') as path:
            self.assertIn('(ramfs of losf-test)', self.refused(path))
