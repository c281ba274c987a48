# SPDX-License-Identifier: Apache-2.0
"""An index server on a disk that is full, read-only, or fails as it writes."""

import contextlib
import errno
import os
import shutil
import subprocess
import unittest
from unittest import mock

from swift_losf import memory_directory as memory_module
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout
from swift_losf.index.index import Index
from swift_losf.index.index_client import IndexClient
from swift_losf.index.index_lock import locked
from swift_losf.memory_directory import (
    make_memory_directory,
    memory_directory,
    standby_socket,
)
from swift_losf.upkeep.recovery import recover
from tests.unit.losf.filesystems import image
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    RecoveryTest,
)
from tests.unit.losf.test_full_disk import Filler
from tests.unit.losf.volumes import hash_of

FILES = 200


def fill(directory):
    """Take what is left: no byte and no file."""
    Filler(directory).fill()
    with contextlib.suppress(OSError):
        for number in range(10 ** 6):
            os.mkdir(os.path.join(directory, 'x%d' % number))


def remount(directory, how):
    subprocess.run(['mount', '-o', 'remount,' + how, directory], check=True)


@unittest.skipIf(os.geteuid(), 'only root can mount')
class UnwritableTest(RecoveryTest):
    """A device that is an image of its own, and an index that was in use."""

    make = ('mkfs.ext4', '-q', '-N', '400')

    def make_device(self):
        return self.enterContext(image(list(self.make)))

    def setUp(self):
        super().setUp()
        self.addCleanup(shutil.rmtree, memory_directory(self.layout.root),
                        ignore_errors=True)
        with locked(self.layout):
            pass  # as each server before has left it
        index = Index(self.layout.index)
        self.expected = {
            hash_of(number): self.put(index, NAME, hash_of(number))
            for number in range(FILES)}
        index.sync()
        # What only the log of LevelDB has, and what only the volume has.
        self.put(index, OTHER)
        self.crash(index)
        self.unregistered = self.write(NAME)
        self.release(1)
        self.client = IndexClient(self.layout.socket, 60)

    def serve(self):
        process = super().serve('--sync-interval', '0.2')
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        """Fail unless one that runs still ends well."""
        if process.poll() is None:
            process.terminate()
            self.assertEqual(0, process.wait())

    def assert_served(self):
        for hash_, location in self.expected.items():
            self.assertEqual([(NAME, location)],
                             self.client.list_hash(PARTITION, hash_))
        self.assertEqual([NAME, OTHER], [
            name for name, _ in self.client.list_hash(PARTITION, HASH)])

    def assert_in_memory(self):
        self.assertTrue(os.path.exists(os.path.join(
            memory_directory(self.layout.root), 'index', 'CURRENT')))


class TestFullDisk(UnwritableTest):

    def test_a_server_that_starts_serves_all_and_what_is_deleted(self):
        fill(self.device)
        self.serve()
        self.assert_in_memory()
        self.assert_served()
        gone = next(iter(self.expected))
        self.client.remove(PARTITION, gone)
        self.assertEqual([], self.client.list_hash(PARTITION, gone))

    def test_what_must_be_durable_is_refused(self):
        fill(self.device)
        self.serve()
        for refused in (
                lambda: self.client.quarantine(PARTITION, HASH),
                lambda: self.client.rename(PARTITION, hash_of(1), NAME,
                                           OTHER)):
            with self.assertRaisesRegex(IndexUnavailable,
                                        'cannot be written') as raised:
                refused()
            self.assertEqual(507, raised.exception.status_int)

    def test_it_is_served_from_the_disk_when_there_is_space_again(self):
        filler = Filler(self.device)
        filler.fill()
        process = self.serve()
        self.assert_in_memory()
        filler.remove()
        self.assertEqual(0, process.wait(120))
        self.serve()
        self.assert_served()
        self.assertFalse(os.path.exists(os.path.join(
            memory_directory(self.layout.root), 'index')))

    def test_a_delete_that_was_acknowledged_outlives_the_server(self):
        tombstone = self.write(TOMBSTONE)
        self.release(2)
        filler = Filler(self.device)
        filler.fill()
        process = self.serve()
        self.client.register(PARTITION, HASH, TOMBSTONE, tombstone,
                             tombstone.offset)
        self.client.remove(PARTITION, HASH, [NAME, OTHER])
        process.kill()
        process.wait()
        filler.remove()
        self.serve()
        self.assertIn(TOMBSTONE, [
            name for name, _ in self.client.list_hash(PARTITION, HASH)])


class TestFullXfs(TestFullDisk):

    make = ('mkfs.xfs', '-q')


class TestReadOnly(UnwritableTest):

    def setUp(self):
        super().setUp()
        remount(self.device, 'ro')
        self.addCleanup(remount, self.device, 'rw')

    def test_all_is_served_by_a_socket_in_memory(self):
        self.serve()
        self.assertFalse(os.path.exists(self.layout.socket))
        self.assert_in_memory()
        self.assert_served()

    def test_without_an_index_it_is_made_in_memory(self):
        remount(self.device, 'rw')
        shutil.rmtree(self.layout.index)
        remount(self.device, 'ro')
        self.serve()
        self.assert_served()

    def test_two_servers_are_not_started(self):
        self.serve()
        other = self.start_process()
        self.assertEqual(1, other.wait())
        self.assertIn('another index server holds', other.stderr.read())

    def test_a_damaged_index_is_left_and_made_anew_in_memory(self):
        remount(self.device, 'rw')
        self.break_index()
        remount(self.device, 'ro')
        self.serve()
        self.assert_served()
        self.assertEqual(['index'], [
            name for name in os.listdir(self.layout.root)
            if name.startswith('index') and '.' not in name])


class Faults:
    """Lets one call fail that changes something on the disk.

    :param number: which of them
    :param error: its errno
    """

    def __init__(self, number, error):
        self.left = number
        self.error = error

    def around(self, stack, name, changes=lambda *args: True):
        real = getattr(os, name)

        def call(*args, **kwargs):
            if changes(*args):
                self.left -= 1
                if not self.left:
                    raise OSError(self.error, os.strerror(self.error))
            return real(*args, **kwargs)
        stack.enter_context(mock.patch.object(os, name, call))


class TestSingleFaults(RecoveryTest):

    def setUp(self):
        super().setUp()
        index = Index(self.layout.index)
        self.expected = {NAME: self.put(index, NAME),
                         OTHER: self.put(index, OTHER)}
        self.crash(index)
        self.release(1)
        self.overwrite(1, 0, b'x')
        with locked(self.layout):
            pass
        self.pristine = self.device + '.pristine'
        shutil.copytree(self.device, self.pristine)
        self.addCleanup(shutil.rmtree, self.pristine)
        self.addCleanup(shutil.rmtree, memory_directory(self.layout.root),
                        ignore_errors=True)

    def served(self):
        with locked(self.layout), contextlib.closing(
                recover(self.layout)) as index:
            return dict(index.reader.list_hash(PARTITION, HASH))

    def meets(self, number, error):
        """Return whether there are so many steps; start after each fault."""
        shutil.rmtree(self.device)
        shutil.copytree(self.pristine, self.device)
        faults = Faults(number, error)
        with contextlib.ExitStack() as stack:
            for name in ('mkdir', 'rename', 'unlink', 'pwrite', 'fsync',
                         'fdatasync', 'ftruncate'):
                faults.around(stack, name)
            faults.around(stack, 'open', lambda path, flags, *args: flags & (
                os.O_RDWR | os.O_WRONLY | os.O_CREAT))
            try:
                self.assertEqual(self.expected, self.served())
            except OSError as err:
                self.assertEqual(error, err.errno)
        self.assertEqual(self.expected, self.served())
        return faults.left <= 0

    def test_whichever_step_of_a_start_fails_all_is_there_afterwards(self):
        for error in (errno.ENOSPC, errno.EROFS, errno.EIO):
            steps = 0
            while self.meets(steps + 1, error):
                steps += 1
            self.assertGreater(steps, 5)


class TestMemoryDirectory(RecoveryTest):

    def test_one_that_others_may_enter_is_refused(self):
        with mock.patch.object(memory_module, 'MEMORY', self.device):
            parent = os.path.dirname(make_memory_directory(self.layout.root))
            os.chmod(parent, 0o755)
            for call in (make_memory_directory, standby_socket):
                with self.assertRaisesRegex(OSError, 'nobody else'):
                    call(self.layout.root)

    def test_devices_do_not_share_one(self):
        other = Layout(self.device, 1)
        os.makedirs(other.root)
        self.assertNotEqual(memory_directory(self.layout.root),
                            memory_directory(other.root))
