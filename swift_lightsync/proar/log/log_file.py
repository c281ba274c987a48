# SPDX-License-Identifier: Apache-2.0
"""
One open file of a log: its records, its locks, how it is made.

PROTOCOL.md, "The log". A process may be killed and the power be cut at any
time, because each of these is durable before the next:

1. the file's zeros, its name and its directory's name, before its header;
2. header and record, before the operation that the record names;
3. the content of a log that takes another's place, before its name; its
   name, before anything is appended: its maker holds the flock till then.

To sync the file is to sync all records before, whoever wrote them. So what
follows a record that a power cut took was not acknowledged either.
"""

import errno
import fcntl
import os
import struct
from dataclasses import dataclass

from swift.common.utils import fsync_dir

from swift_lightsync.proar.core.oplog import (
    CHUNK,
    RECORD,
    STATE_OFFSET,
    Entry,
    FormatError,
    decode_header,
    encode_header,
    is_end,
    place_of,
)

#: struct flock: type, whence, start, length, pid
_FLOCK = struct.Struct('hhqqi0q')


class LostError(Exception):
    """A log is gone, and another one may have taken its place."""


@dataclass(frozen=True)
class Mark:
    """
    A record by which its log is recognised.

    A log that takes the place of a lost one gives the same eversions to other
    operations.

    :param eversion: of the record
    :param content: its bytes behind its state
    """
    eversion: int
    content: bytes


class LogFile:
    """
    A log that is open.

    :param file: a raw file with a header
    :raises FormatError: if its header is damaged
    """

    def __init__(self, file):
        self.file = file
        self.base = decode_header(os.pread(file.fileno(), RECORD, 0))

    @property
    def inode(self):
        return os.fstat(self.file.fileno()).st_ino

    def record(self, eversion):
        return os.pread(self.file.fileno(), RECORD,
                        place_of(eversion, self.base))

    def mark(self, eversion):
        """Return the Mark of a record; None if it is before the first."""
        return Mark(eversion, self.record(eversion)[STATE_OFFSET + 1:]) \
            if eversion >= self.base else None

    def has(self, mark):
        """Return whether a mark is of this log; None always is."""
        return mark is None or self.mark(mark.eversion) == mark

    def records(self, after):
        """Yield (eversion, record) of all that follow an eversion."""
        eversion = max(after, self.base - 1)
        while chunk := os.pread(self.file.fileno(), CHUNK,
                                place_of(eversion + 1, self.base)):
            for start in range(0, len(chunk), RECORD):
                record = chunk[start:start + RECORD]
                if is_end(record):
                    return
                eversion += 1
                yield eversion, record

    def entries(self, after):
        """Yield (eversion, Entry or None if it is damaged) likewise."""
        for eversion, record in self.records(after):
            try:
                entry = Entry.decode(record)
            except FormatError:
                entry = None
            yield eversion, (entry if entry and entry.eversion == eversion
                             else None)

    def last(self, known=0):
        """
        Return the eversion of the last record, base - 1 if there is none.

        :param known: an eversion behind which to look, if it is in the log
        """
        if known < self.base or is_end(self.record(known)):
            known = self.base - 1
        for known, _ in self.records(known):
            pass
        return known

    def write(self, entry):
        """
        Lock the entry's record, then write it: nobody sees it unlocked.

        The caller has the flock.

        :raises OSError: if there is no space for it
        """
        place = place_of(entry.eversion, self.base)
        if place + RECORD > os.fstat(self.file.fileno()).st_size:
            lay_out(self.file, place)
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, _FLOCK.pack(
            fcntl.F_WRLCK, os.SEEK_SET, place, RECORD, 0))
        write_all(self.file, entry.encode(), place)

    def is_locked(self, eversion):
        """Return whether another open file has locked a record."""
        return self._is_locked(place_of(eversion, self.base), RECORD)

    def has_locks(self):
        """Return whether another open file has locked any record."""
        return self._is_locked(0, 0)

    def _is_locked(self, start, length):
        answer = fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, _FLOCK.pack(
            fcntl.F_WRLCK, os.SEEK_SET, start, length, 0))
        return _FLOCK.unpack(answer)[0] != fcntl.F_UNLCK


def open_log(path, flags=os.O_RDWR):
    """Open a log as a raw file, which closes when nobody keeps it."""
    return open(path, 'rb' if flags == os.O_RDONLY else 'r+b', buffering=0,
                opener=lambda path, _: os.open(path, flags | os.O_CLOEXEC,
                                               0o600))


def is_blank(file):
    """Return whether it is no log yet: its maker is at work, or has died."""
    return is_end(os.pread(file.fileno(), RECORD, 0))


def is_named(file, path):
    """Return whether the path is the name of this file."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def begin(file, path, base):
    """
    Make a log of a blank file; the caller has the flock.

    :param base: the eversion of its first record
    :raises OSError: if there is no space for it
    """
    lay_out(file, 0)
    sync_name(path)
    # With the zeros gone before it, the sync of the first record will do.
    write_all(file, encode_header(base), 0)


def lay_out(file, place):
    """Write zeros at the end of a file, and sync them."""
    try:
        write_all(file, bytes(CHUNK), place)
        os.fsync(file.fileno())
    except OSError:
        os.ftruncate(file.fileno(), place)
        raise


def sync_name(path):
    """Make a file's name durable, and its directory's name."""
    fsync_dir(os.path.dirname(path))
    fsync_dir(os.path.dirname(os.path.dirname(path)))


def write_all(file, data, place):
    written = os.pwrite(file.fileno(), data, place)
    if written != len(data):
        raise OSError(errno.ENOSPC, '%d of %d bytes written' % (
            written, len(data)), file.name)
