# SPDX-License-Identifier: Apache-2.0
"""Numbers that the processes of a device share: times, mostly.

The file has a header and numbers of eight bytes, each followed by its
complement, so that one that is read while it is written is noticed. It is
not synced: it means nothing after the machine's next start.
"""

import errno
import fcntl
import os
import struct
import uuid
from contextlib import contextmanager, suppress

from swift_lightsync.proar.vouching.clock import boot_id

MAGIC = b'PROARSTP'
_HEADER = struct.Struct('<8s16s')
HEADER = 64
_STAMP = struct.Struct('<QQ')
_ONES = (1 << 64) - 1
ATTEMPTS = 100


class OtherBoot(Exception):
    """The numbers are of another boot of the machine, or of another one."""


class Stamps:
    """The numbers of one file.

    :param path: of the file
    """

    def __init__(self, path):
        self.path = path

    def read(self, *indexes):
        """Return numbers; those that were never written are 0.

        :param indexes: which ones
        :raises OtherBoot: if the file is of another boot
        :raises OSError: if it cannot be read
        """
        try:
            with opened(self.path, os.O_RDONLY) as file:
                if not _is_of_now(file):
                    raise OtherBoot(self.path)
                return [_read(file, index) for index in indexes]
        except FileNotFoundError:
            return [0] * len(indexes)

    @contextmanager
    def locked(self):
        """Let one process change numbers at a time.

        The file, and its directory, are made if they are missing. One of
        another boot begins anew.

        :returns: (as a context) a Writer
        :raises OSError: if it cannot be written
        """
        with opened(self.path, os.O_RDWR | os.O_CREAT) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            is_new = not os.fstat(file).st_size
            is_of_now = not is_new and _is_of_now(file)
            if not is_of_now:
                # In this order: nothing old is ever read with the new header.
                os.ftruncate(file, 0)
            yield Writer(file, is_new, is_of_now)


class Writer:
    """The file, while nobody else writes it.

    :param file: its descriptor
    :param is_new: whether it was made just now
    :param has_header: whether it is of this boot
    """

    def __init__(self, file, is_new, has_header):
        self._file = file
        self.is_new = is_new
        self.is_of_other_boot = not is_new and not has_header
        self._has_header = has_header

    def read(self, index):
        """Return a number."""
        return _read(self._file, index)

    def write(self, index, number):
        """Replace a number."""
        if not self._has_header:
            _pwrite(self._file, _header(), 0)
            self._has_header = True
        _pwrite(self._file, _STAMP.pack(number, number ^ _ONES),
                HEADER + index * _STAMP.size)


@contextmanager
def opened(path, flags):
    """Open a file that the processes of a device share.

    If it is to be made, its directory is, too, but not that of its device.

    :param path: of the file
    :param flags: of os.open
    :returns: (as a context) its descriptor
    :raises OSError: if it is missing, or the device is away
    """
    if flags & os.O_CREAT:
        with suppress(FileExistsError):
            os.mkdir(os.path.dirname(path))
    file = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _header():
    return _HEADER.pack(MAGIC, uuid.UUID(boot_id()).bytes).ljust(HEADER,
                                                                 b'\0')


def _is_of_now(file):
    return os.pread(file, HEADER, 0) == _header()


def _read(file, index):
    for _ in range(ATTEMPTS):
        found = os.pread(file, _STAMP.size, HEADER + index * _STAMP.size)
        if not any(found):
            return 0
        if len(found) == _STAMP.size:
            number, complement = _STAMP.unpack(found)
            if number ^ _ONES == complement:
                return number
    raise OSError(errno.EIO, 'number %d cannot be read' % index)


def _pwrite(file, data, offset):
    if os.pwrite(file, data, offset) != len(data):
        raise OSError(errno.ENOSPC, 'a part was written only')
