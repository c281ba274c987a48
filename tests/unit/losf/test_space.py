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
