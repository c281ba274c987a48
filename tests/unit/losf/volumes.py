# SPDX-License-Identifier: Apache-2.0
"""What the tests of volumes share: an appender, and a disk that fails."""

import contextlib
import errno
import hashlib
import itertools
import os
import tempfile
import threading
import unittest
from dataclasses import dataclass
from unittest import mock

from swift_losf.diskfile.vfile import VFileReader, VFileWriter
from swift_losf.format.header import VolumeType
from swift_losf.format.layout import Layout
from swift_losf.volumes.appender import Appender
from swift_losf.volumes.volume import iter_records, read_header

NAME = '1700000000.00001.data'
PARTITION = 7
LONG = 300000


@dataclass(frozen=True)
class Options:
    max_volume_size: int = 10 * 2 ** 30
    max_volume_count: int = 1000
    volume_idle_time: float = 10.0


def hash_of(number):
    return hashlib.md5(b'%d' % number).digest()


def bytes_of(number, length):
    """:returns: bytes that look like those of no other number"""
    seed = hash_of(number)
    return (seed * (length // len(seed) + 1))[:length]


class VolumeTest(unittest.TestCase):
    """A device in a temporary directory."""

    def setUp(self):
        self.device = self.enterContext(
            tempfile.TemporaryDirectory(prefix='losf'))
        self.layout = Layout(self.device, 0)
        self.numbers = itertools.count(1)
        self.appender = self.new_appender()

    def new_appender(self, volume_type=VolumeType.DATA, **options):
        appender = Appender(self.layout, volume_type, Options(**options),
                            lambda: next(self.numbers))
        self.addCleanup(appender.close)
        return appender

    def writer(self, appender=None, **kwargs):
        return VFileWriter(appender or self.appender, **kwargs)

    def put(self, number, data, name=NAME, metadata=None, **kwargs):
        """:returns: the Pending of a file that was written"""
        writer = self.writer(**kwargs)
        if data:
            writer.write(data)
        return writer.finish(name, metadata or {'number': number}, PARTITION,
                             hash_of(number))

    def long_writers(self, count, appender=None):
        """Return writers that have volumes of their own."""
        writers = [self.writer(appender) for _ in range(count)]
        for writer in writers:
            writer.write(bytes(LONG))
        return writers

    def open_volumes(self):
        """Return the names of the volumes that this process has open."""
        inodes = set()
        for fd in os.listdir('/proc/self/fd'):
            with contextlib.suppress(OSError):
                inodes.add(os.fstat(int(fd)).st_ino)
        return [name for name in self.volumes() if os.stat(
            os.path.join(self.layout.volumes, name)).st_ino in inodes]

    def read(self, number, location, name=NAME):
        """:returns: all data of a file"""
        with VFileReader.open(self.layout, location, hash_of(number),
                              name) as reader:
            return reader.read()

    def volumes(self):
        """:returns: the names of the volumes"""
        return sorted(os.listdir(self.layout.volumes))

    def open_volume(self, number=1):
        """:returns: a descriptor of a volume, open for writing"""
        fd = os.open(self.layout.volume(number), os.O_RDWR)
        self.addCleanup(os.close, fd)
        return fd

    def found(self, number=1, start=0, **kwargs):
        """:returns: what a scan of a volume finds"""
        fd = self.open_volume(number)
        return list(iter_records(fd, read_header(fd), start,
                                 os.fstat(fd).st_size, **kwargs))


class FailingDisk:
    """Stands for the module os where volumes are written, and fails on demand.

    Everything that reaches a file is put down in log, as (operation, inode,
    arguments).
    """

    def __init__(self):
        self.log = []
        #: what is left of the space, in bytes; None: there is enough
        self.space = None
        #: how many syncs are to fail
        self.failing_syncs = 0
        #: whether truncating fails
        self.failing_cuts = False

    def __getattr__(self, name):
        return getattr(os, name)

    def _note(self, operation, fd, *arguments):
        self.log.append((operation, os.fstat(fd).st_ino) + arguments)

    def pwritev(self, fd, buffers, offset):
        data = b''.join(buffers)
        if self.space is not None:
            if not self.space:
                raise OSError(errno.ENOSPC, 'the disk is full')
            data = data[:self.space]
            self.space -= len(data)
        self._note('write', fd, offset, data)
        return os.pwrite(fd, data, offset)

    def ftruncate(self, fd, length):
        if self.failing_cuts:
            raise OSError(errno.EIO, 'the disk is broken')
        self._note('cut', fd, length)
        if self.space is not None:
            self.space += max(0, os.fstat(fd).st_size - length)
        os.ftruncate(fd, length)

    def fdatasync(self, fd):
        if self.failing_syncs:
            self.failing_syncs -= 1
            raise OSError(errno.EIO, 'the disk is broken')
        os.fdatasync(fd)
        self._note('sync', fd)

    def fsync(self, fd):
        os.fsync(fd)
        self._note('sync', fd)


class AppenderTest(VolumeTest):
    disk_class = FailingDisk

    def setUp(self):
        super().setUp()
        self.disk = self.disk_class()
        # Nothing is laid out: test_laying_out.py has that.
        for name, value in ('os', self.disk), ('ROOM', 2 ** 63):
            self.enterContext(mock.patch(
                'swift_losf.volumes.writable.' + name, value))

    def syncs(self):
        return sum(1 for each in self.disk.log if each[0] == 'sync')

    def put_many(self, lengths):
        """Put files from a thread each.

        :returns: the outcome of each, by number: a Pending or an OSError
        """
        outcomes = {}

        def put(number, length):
            try:
                outcomes[number] = self.put(number, bytes_of(number, length))
            except OSError as err:
                outcomes[number] = err
        threads = [threading.Thread(target=put, args=each, daemon=True)
                   for each in enumerate(lengths)]
        for thread in threads:
            thread.start()
        return threads, outcomes

    def join(self, threads):
        for thread in threads:
            thread.join(120)
            self.assertFalse(thread.is_alive())
