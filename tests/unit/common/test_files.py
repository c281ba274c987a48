# SPDX-License-Identifier: Apache-2.0
"""files: a file is replaced as a whole, or stays as it was."""

import os
import tempfile
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

from swift_lightsync.common.files import (
    open_locked,
    opened,
    replace_file,
    sync_directory,
    try_lock,
)
from tests.descriptors import open_below


class FilesTestCase(unittest.TestCase):

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = holder.name
        self.path = os.path.join(self.root, 'file')
        self.addCleanup(os.umask, os.umask(0o022))

    def content(self):
        with open(self.path, 'rb') as stream:
            return stream.read()


class TestReplace(FilesTestCase):

    def test_it_is_made_and_replaced(self):
        for data in (b'one', b'', b'two' * 100000):
            status = replace_file(self.path, data)
            self.assertEqual(data, self.content())
            self.assertTrue(os.path.samestat(status, os.stat(self.path)))
            self.assertEqual(len(data), status.st_size)
        self.assertEqual(['file'], os.listdir(self.root))

    def test_its_mode_is_as_asked_for_less_the_umask(self):
        for mode, found in (({}, 0o644), ({'mode': 0o600}, 0o600)):
            replace_file(self.path, b'', **mode)
            self.assertEqual(found, os.stat(self.path).st_mode & 0o777)

    def test_what_a_killed_writer_left_is_overwritten(self):
        with open(self.path + '.new', 'wb') as left:
            left.write(b'x' * 100)
        replace_file(self.path, b'data')
        self.assertEqual(b'data', self.content())
        self.assertEqual(['file'], os.listdir(self.root))

    def test_a_link_that_somebody_left_is_not_followed(self):
        victim = os.path.join(self.root, 'victim')
        replace_file(victim, b'its own')
        os.symlink(victim, self.path + '.new')
        replace_file(self.path, b'ours', mode=0o600)
        with open(victim, 'rb') as stream:
            self.assertEqual(b'its own', stream.read())
        self.assertFalse(os.path.islink(self.path))
        self.assertEqual(0o600, os.stat(self.path).st_mode & 0o777)

    def test_an_error_leaves_what_was_there_and_nothing_else(self):
        replace_file(self.path, b'old')
        for name in ('fsync', 'replace', 'fstat'):
            for error in (OSError(28, 'full'), KeyboardInterrupt()):
                for where in (None, self.root):
                    with mock.patch('os.' + name, side_effect=error), \
                            self.assertRaises(type(error)):
                        replace_file(self.path, b'new', is_durable=True,
                                     temporary_in=where)
                    self.assertEqual(b'old', self.content())
                    self.assertEqual(['file'], os.listdir(self.root))

    def test_a_directory_that_is_missing_is_an_error(self):
        with self.assertRaises(FileNotFoundError):
            replace_file(os.path.join(self.root, 'x', 'y'), b'')

    def test_only_a_durable_one_is_synced_first_the_file_then_its_name(self):
        calls = []
        with mock.patch('os.fsync', lambda fd: calls.append(
                os.readlink('/proc/self/fd/%d' % fd))):
            replace_file(self.path, b'')
            self.assertEqual([], calls)
            replace_file(self.path, b'', is_durable=True)
        self.assertEqual([self.path + '.new', self.root], calls)

    def test_a_name_without_a_directory_is_one_of_the_present(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.root)
        replace_file('file', b'data', is_durable=True)
        self.assertEqual(b'data', self.content())

    def test_any_number_may_replace_it_at_once(self):
        aside = os.path.join(self.root, 'tmp')
        os.mkdir(aside)
        data = [bytes([each]) * 100000 for each in range(8)]
        begun, fstat, seen = threading.Barrier(len(data)), os.fstat, []

        def wait_for_all(fd):
            begun.wait(60)
            seen.append(len(os.listdir(aside)))
            begun.wait(60)
            return fstat(fd)
        with mock.patch('os.fstat', wait_for_all), \
                ThreadPoolExecutor(len(data)) as threads:
            list(threads.map(lambda each: replace_file(
                self.path, each, temporary_in=aside), data))
        self.assertEqual([len(data)] * len(data), seen)
        self.assertIn(self.content(), data)
        self.assertEqual([], os.listdir(aside))

    def test_a_directory_is_synced_or_that_is_an_error(self):
        sync_directory(self.root)
        with self.assertRaises(OSError):
            sync_directory(self.path)


class TestLock(FilesTestCase):

    def test_one_has_it_until_it_is_closed(self):
        fd = open_locked(self.path)
        self.assertEqual(0o600, os.stat(self.path).st_mode & 0o777)
        self.assertFalse(os.get_inheritable(fd))
        self.assertIsNone(open_locked(self.path))
        os.close(fd)
        os.close(open_locked(self.path))

    def test_the_content_stays(self):
        replace_file(self.path, b'data')
        os.close(open_locked(self.path))
        self.assertEqual(b'data', self.content())

    def test_a_file_that_was_opened_otherwise_is_locked_too(self):
        with open(self.path, 'wb') as one, open(self.path, 'rb') as other:
            self.assertTrue(try_lock(one.fileno()))
            self.assertFalse(try_lock(other.fileno()))

    def test_no_descriptor_is_lost(self):
        before = open_below(self.root)
        replace_file(self.path, b'', is_durable=True)
        sync_directory(self.root)
        fd = open_locked(self.path)
        open_locked(self.path)
        with self.assertRaises(KeyError), opened(self.path, os.O_RDWR):
            raise KeyError()
        with mock.patch('fcntl.flock', side_effect=OSError(5, 'x')), \
                self.assertRaises(OSError):
            open_locked(self.path)
        os.close(fd)
        self.assertEqual(before, open_below(self.root))
