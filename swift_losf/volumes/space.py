# SPDX-License-Identifier: Apache-2.0
"""What volumes take of their filesystem, and what that has to be able to do.
"""

import errno
import fcntl
import os
import struct
from dataclasses import dataclass

from swift_lightsync.common.files import opened
from swift_losf.format.header import VOLUME_HEADER_LENGTH
from swift_losf.mounts import MOUNTINFO
from swift_losf.volumes.ranges import punch_hole
from swift_losf.volumes.volume import next_data

#: start, length, flags, extents mapped, extents there is room for, 0
_FIEMAP = struct.Struct('=QQIIII')
_FS_IOC_FIEMAP = 0xc020660b
_NO_FIEMAP = (errno.EOPNOTSUPP, errno.ENOTTY)
#: what says nothing about the filesystem: it was checked when it had no files
_LATER = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EISDIR)


#: A disk has so many parts. No volume grows beyond one, and compaction leaves
#: one free: with the hundredth that Swift does not write to by default, there
#: is always room for the copies of what lives in one more volume.
PARTS = 256
#: but none has less than this
LEAST = 2 ** 20


class FilesystemError(Exception):
    """A filesystem that cannot hold volumes."""


def count_extents(fd):
    """Return how many extents a file has on its disk.

    On a filesystem that does not tell, these are its parts between holes.
    """
    request = bytearray(_FIEMAP.pack(0, 2 ** 64 - 1, 0, 0, 0, 0))
    try:
        fcntl.ioctl(fd, _FS_IOC_FIEMAP, request)
    except OSError as err:
        if err.errno not in _NO_FIEMAP:
            raise
        return sum(1 for _ in _parts(fd))
    return _FIEMAP.unpack(request)[3]


def part_of(disk, most):
    """Return a number of bytes, or the 256th part of a disk if that is less.

    :param disk: a path on it, or a descriptor
    :param most: bytes
    """
    stat = os.statvfs(disk)
    # A tmpfs without a limit says that it has no blocks.
    size = stat.f_blocks * stat.f_frsize // PARTS or most
    return min(most, max(LEAST, size))


@dataclass(frozen=True)
class Footprint:
    """What a file takes of its disk.

    :param size: bytes up to its end
    :param allocated: bytes of the disk
    :param extents: pieces of the disk
    """
    size: int
    allocated: int
    extents: int


def footprint(path):
    """Return the Footprint of a file.

    :param path: of the file
    """
    with opened(path) as fd:
        found = os.fstat(fd)
        return Footprint(found.st_size, 512 * found.st_blocks,
                         count_extents(fd))


def _parts(fd):
    start = 0
    while (start := next_data(fd, start)) is not None:
        yield start
        start = os.lseek(fd, start, os.SEEK_HOLE)


def check_filesystem(directory):
    """Check that a filesystem can give back the space of its files.

    :param directory: of volumes
    :raises FilesystemError: if space of its files cannot be given back
    """
    try:
        with opened(directory, os.O_TMPFILE | os.O_RDWR, 0o600) as fd:
            os.pwrite(fd, bytes(VOLUME_HEADER_LENGTH), 0)
            punch_hole(fd, 0, VOLUME_HEADER_LENGTH)
    except OSError as err:
        if err.errno in _LATER:
            return
        if err.errno not in _CANNOT:
            raise
        raise FilesystemError(
            '%s: the filesystem (%s) must have O_TMPFILE and '
            'FALLOC_FL_PUNCH_HOLE, as XFS and ext4 have: %s' % (
                directory, _filesystem(directory), err.strerror)) from err


def _filesystem(path):
    """Return the type and the source of the filesystem of a file."""
    device = os.stat(path).st_dev
    wanted = '%d:%d' % (os.major(device), os.minor(device))
    with open(MOUNTINFO, encoding='utf8', errors='surrogateescape') as lines:
        for line in lines:
            fields = line.split()
            if fields[2] == wanted:
                return ' of '.join(line.rpartition(' - ')[2].split()[:2])
    return 'device %s' % wanted
