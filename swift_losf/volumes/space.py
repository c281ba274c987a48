# SPDX-License-Identifier: Apache-2.0
"""
The space that a volume takes of its filesystem, and giving it back.

A hole frees only blocks that it covers whole; the parts of a block are merely
made zeros. So a hole is widened to the blocks at its ends where the rest of
them is zeros already: that changes nothing that anybody can read. It must not
be done where somebody may be writing.
"""

import errno
import fcntl
import os
import struct

from swift_losf.format.header import VOLUME_HEADER_LENGTH, aligned
from swift_losf.mounts import MOUNTINFO
from swift_losf.volumes.volume import next_data, pread, punch_hole

#: start, length, flags, extents mapped, extents there is room for, 0
_FIEMAP = struct.Struct('=QQIIII')
_FS_IOC_FIEMAP = 0xc020660b
_NO_FIEMAP = (errno.EOPNOTSUPP, errno.ENOTTY)
_CHUNK = 2 ** 20
_CANNOT = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EISDIR)


class FilesystemError(Exception):
    """A filesystem that cannot hold volumes."""


def is_zero(fd, start, end):
    """Return whether a range reads as zeros, or is behind the end."""
    while (start := next_data(fd, start)) is not None and start < end:
        data = pread(fd, min(_CHUNK, end - start), start)
        if data.strip(b'\0'):
            return False
        start += max(len(data), 1)
    return True


def is_empty(fd):
    """Return whether a volume has nothing but its header."""
    return is_zero(fd, VOLUME_HEADER_LENGTH, os.fstat(fd).st_size)


def block_size(fd):
    """Return the size of the blocks of a file, in bytes."""
    return os.fstatvfs(fd).f_bsize


def widened(fd, start, end, limit):
    """
    Widen a range to whole blocks where they are zeros.

    :param fd: of a volume
    :param start: of a range that is to be a hole
    :param end: of the range
    :param limit: somebody may be writing from here on; None: nobody is
    :returns: (start, end), widened to whole blocks where they are zeros
    """
    block = block_size(fd)
    low, high = start - start % block, aligned(end, block)
    if (limit is None or start <= limit) and is_zero(fd, low, start):
        start = low
    if (limit is None or high <= limit) and is_zero(fd, end, high):
        end = high
    return start, end


def count_extents(fd):
    """
    Return how many extents a file has on its disk.

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


def _parts(fd):
    start = 0
    while (start := next_data(fd, start)) is not None:
        yield start
        start = os.lseek(fd, start, os.SEEK_HOLE)


def check_filesystem(directory):
    """
    Check that a filesystem can give back the space of its files.

    :param directory: of volumes
    :raises FilesystemError: if space of its files cannot be given back
    """
    try:
        fd = os.open(directory, os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            os.pwrite(fd, bytes(VOLUME_HEADER_LENGTH), 0)
            punch_hole(fd, 0, VOLUME_HEADER_LENGTH)
        finally:
            os.close(fd)
    except OSError as err:
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
