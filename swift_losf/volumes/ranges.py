# SPDX-License-Identifier: Apache-2.0
"""Ranges of volumes: locking them, and giving their space back.

FORMAT.md, "Removing a file". Locks belong to open files, not to processes.
"""

import ctypes
import errno
import fcntl
import os
import struct

#: of the C library's struct flock; l_pid has to be 0 for these locks
_FLOCK = struct.Struct('@hhqqi4x')
#: FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
_PUNCH_HOLE = 0x03
_libc = ctypes.CDLL(None, use_errno=True)


def _lock_range(fd, kind, offset, length):
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, _FLOCK.pack(
        kind, os.SEEK_SET, offset, length, 0))


def lock_range(fd, offset, length, shared=False):
    """Lock a range of a volume for this open file, without waiting.

    :param length: of the range; 0: to the end, however far that moves
    :param shared: with others that read; else the file has to be open for
        writing
    :returns: False if another holds a lock that does not go with it
    """
    try:
        _lock_range(fd, fcntl.F_RDLCK if shared else fcntl.F_WRLCK,
                    offset, length)
    except OSError as err:
        if err.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def unlock_range(fd, offset, length):
    """Give up a lock that lock_range got."""
    _lock_range(fd, fcntl.F_UNLCK, offset, length)


def punch_hole(fd, offset, length):
    """
    Give the space of a range back to the filesystem. It reads as zeros then.

    REQUIRES: an exclusive lock_range.

    :raises OSError: if the filesystem cannot do that
    """
    if _libc.fallocate(fd, _PUNCH_HOLE, ctypes.c_int64(offset),
                       ctypes.c_int64(length)):
        err = ctypes.get_errno()
        raise OSError(err, 'punching %d bytes at %d: %s' % (
            length, offset, os.strerror(err)))
