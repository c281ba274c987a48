# SPDX-License-Identifier: Apache-2.0
"""The block device below a mounted image: its counters and its limits."""

import os
from dataclasses import dataclass

from tools.benchmarks.errors import BenchError
from tools.cluster import commands

#: KiB that the kernel reads ahead of a disk; of an image it may be more
READ_AHEAD = 128


@dataclass(frozen=True)
class BlockStats:
    """
    What a block device has done (Linux, Documentation/block/stat.rst).

    :param reads: I/Os
    :param sectors_read: of 512 bytes
    :param writes: I/Os
    :param sectors_written: of 512 bytes
    :param flushes: of its write cache
    """
    reads: int
    sectors_read: int
    writes: int
    sectors_written: int
    flushes: int

    @classmethod
    def parse(cls, text):
        """:param text: of /sys/block/<device>/stat"""
        fields = [int(each) for each in text.split()]
        if len(fields) < 16:
            raise BenchError('the kernel does not count flushes: %d fields '
                             'in the stat of a device; Linux 5.5 has 17'
                             % len(fields))
        return cls(fields[0], fields[2], fields[4], fields[6], fields[15])

    def __sub__(self, earlier):
        return BlockStats(*(getattr(self, name) - getattr(earlier, name)
                            for name in self.__dataclass_fields__))


class Device:
    """
    The loop device of a mounted image.

    :param path: where it is mounted
    """

    def __init__(self, path):
        self.path = path
        number = os.stat(path).st_dev
        #: MAJOR:MINOR
        self.number = '%d:%d' % (os.major(number), os.minor(number))
        self._sys = os.path.realpath('/sys/dev/block/%s' % self.number)
        self.name = os.path.join('/dev', os.path.basename(self._sys))
        self._default_read_ahead = self._read_ahead()

    def be_a_disk(self):
        """
        Have the image read and written as a disk would be, until ``close``:
        past the page cache, and with a disk's read-ahead.

        :returns: whether the filesystem that the image is on can do without
            the page cache
        """
        self._read_ahead(READ_AHEAD)
        return not commands.run(['losetup', '--direct-io=on', self.name],
                                check=False).returncode

    def close(self):
        """Leave the device as it was found."""
        self._read_ahead(self._default_read_ahead)

    def _read_ahead(self, kib=None):
        path = os.path.join(self._sys, 'queue/read_ahead_kb')
        if kib is None:
            with open(path) as text:
                return int(text.read())
        with open(path, 'w') as text:
            text.write('%d' % kib)

    def stats(self):
        """:returns: its BlockStats"""
        with open(os.path.join(self._sys, 'stat')) as text:
            return BlockStats.parse(text.read())

    def write_back(self):
        """Have the filesystem write all that it has put off."""
        commands.run(['fsfreeze', '--freeze', self.path])
        commands.run(['fsfreeze', '--unfreeze', self.path])

    def used_bytes(self):
        """:returns: bytes that the filesystem has allocated"""
        stat = os.statvfs(self.path)
        return (stat.f_blocks - stat.f_bfree) * stat.f_frsize


def drop_caches():
    """Have the kernel forget what it has read: pages, entries, inodes."""
    os.sync()
    with open('/proc/sys/vm/drop_caches', 'w') as drop:
        drop.write('3')
