# SPDX-License-Identifier: Apache-2.0
"""One file of a device's log: its records, its lock, how it is made.

PROTOCOL.md, "The log". A process may be killed and the power be cut at any
time, because each of these is durable before the next: the segment's zeros,
its name and its directory's name; its header; a record; the operation that
the record names.
"""

import errno
import fcntl
import os
import struct
from contextlib import suppress

from swift_lightsync.common.files import sync_directory
from swift_lightsync.proar.core.oplog import (
    CAPACITY,
    HOLDERS_OFFSET,
    RECORD,
    SEGMENT,
    STATE_OFFSET,
    Entry,
    FormatError,
    Header,
    encode_holders,
    eversion_of,
    not_over,
)

LOG_SUFFIX = '.log'
#: read at once behind what is known of a segment, in bytes
CHUNK = 16384
#: struct flock: type, whence, start, length, pid
_FLOCK = struct.Struct('hhqqi0q')


class Segment:
    """A segment that is open.

    :param path: of the file
    :param file: the file, raw
    :raises FormatError: if its header is damaged
    """

    def __init__(self, path, file):
        self.path = path
        self.file = file
        self.header = Header.decode(os.pread(file.fileno(), RECORD, 0))
        if self.header.number != number_of(path):
            raise FormatError('header: number is %d, not %s' % (
                self.header.number, number_of(path)))
        self._status = os.fstat(file.fileno())

    @property
    def number(self):
        return self.header.number

    def eversion(self, index):
        return eversion_of(self.number, index)

    def close(self):
        """Close the file, which ends the lock of its writer."""
        self.file.close()

    def is_named(self):
        """Return whether the path is the name of this file."""
        return _is_named(self._status, self.path)

    # Reading

    def content(self):
        """Return the bytes of the segment up to its last record."""
        data = os.pread(self.file.fileno(), SEGMENT, 0).rstrip(b'\0')
        return data.ljust(-len(data) // RECORD * -RECORD, b'\0')

    def last(self):
        """Return the index of the last record, 0 if there is none."""
        return len(self.content()) // RECORD - 1

    def entries(self, after=0):
        """Return [(eversion, Entry or None if it is damaged)] behind an index.

        Zeros between records, which a power cut may leave, are none.
        """
        if not after:
            return self._decoded(self.content()[RECORD:], 1)
        found = []
        while chunk := os.pread(self.file.fileno(), CHUNK,
                                RECORD * (after + 1)).rstrip(b'\0'):
            found += self._decoded(chunk, after + 1)
            after += CHUNK // RECORD
        return found

    def not_over(self, ring_version):
        """Yield the entries that some device may lack in a ring.

        :raises FormatError: if one of them is damaged
        """
        content = self.content()
        for index in not_over(content, ring_version):
            for eversion, entry in self._decoded(
                    content[RECORD * index:RECORD * (index + 1)], index):
                if entry is None:
                    raise FormatError('entry %d of %s is damaged' % (
                        eversion, self.path))
                yield entry

    def _decoded(self, data, index):
        found: list[tuple[int, Entry | None]] = []
        for start in range(0, len(data), RECORD):
            record = data[start:start + RECORD].ljust(RECORD, b'\0')
            if any(record):
                eversion = self.eversion(index + start // RECORD)
                try:
                    found.append((eversion, Entry.decode(record, eversion)))
                except FormatError:
                    found.append((eversion, None))
        return found

    def entry(self, index):
        """Return the Entry of a record, None if it is damaged."""
        (_, entry), = self._decoded(os.pread(
            self.file.fileno(), RECORD, RECORD * index), index) or [(0, None)]
        return entry

    # Writing

    def write(self, entries, index):
        """Write entries from an index on, without syncing them."""
        write_all(self.file, b''.join(
            entry.encode(self.eversion(number))
            for number, entry in enumerate(entries, index)), RECORD * index)

    def sync(self):
        """Make all records durable."""
        os.fdatasync(self.file.fileno())

    def note(self, index, state, holders=None):
        """Change what is known of a record; it is not synced."""
        place = RECORD * index
        if holders is not None:
            write_all(self.file, encode_holders(holders),
                      place + HOLDERS_OFFSET)
        write_all(self.file, bytes([state]), place + STATE_OFFSET)

    # Its writer

    def lock(self):
        """Become its writer; return False if another is."""
        return _lock(self.file)

    def unlock(self):
        """Be its writer no more."""
        fcntl.fcntl(self.file, fcntl.F_OFD_SETLK, _FLOCK.pack(
            fcntl.F_UNLCK, os.SEEK_SET, 0, 0, 0))

    def has_writer(self):
        """Return whether another open file is that of its writer."""
        answer = fcntl.fcntl(self.file, fcntl.F_OFD_GETLK, _FLOCK.pack(
            fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        return _FLOCK.unpack(answer)[0] != fcntl.F_UNLCK


def logs_path(device_path):
    """Return the directory of a device's log."""
    return os.path.join(device_path, 'proar')


def segment_path(directory, number):
    """Return the path of a segment."""
    return os.path.join(directory, '%d%s' % (number, LOG_SUFFIX))


def number_of(path):
    """Return the number of a segment's file, None if it is no segment."""
    name, suffix = os.path.splitext(os.path.basename(path))
    return int(name) if suffix == LOG_SUFFIX and name.isdecimal() \
        and name.isascii() and len(name) < 15 else None


def numbers(directory):
    """Return the numbers of the segments in a directory, sorted."""
    try:
        names = os.listdir(directory)
    except FileNotFoundError:
        return []
    return sorted(number for number in map(number_of, names)
                  if number is not None)


def open_segment(path, flags=os.O_RDWR):
    """Open a segment.

    :returns: a Segment; None if it is gone, or if it is none yet
    :raises FormatError: if its header is damaged
    :raises OSError: if it cannot be opened
    """
    try:
        file = open_raw(path, flags)
    except FileNotFoundError:
        return None
    try:
        if not any(os.pread(file.fileno(), RECORD, 0)):
            file.close()
            return None
        return Segment(path, file)
    except BaseException:
        file.close()
        raise


def make_segment(path, identity):
    """Make a segment, and become its writer.

    :param identity: of the device's log, 16 bytes
    :returns: a Segment; None if another has made it
    :raises OSError: if it cannot be made; it is not there then
    """
    file = open_raw(path, os.O_RDWR | os.O_CREAT)
    is_mine = False
    try:
        # Who has the lock of a file without a header makes it, again if its
        # first maker has died.
        if not _lock(file) or not _is_named(
                os.fstat(file.fileno()), path) or any(
                os.pread(file.fileno(), RECORD, 0)):
            file.close()
            return None
        is_mine = True
        os.posix_fallocate(file.fileno(), 0, SEGMENT)
        write_all(file, bytes(SEGMENT), 0)
        os.fsync(file.fileno())
        sync_directory(os.path.dirname(path))
        sync_directory(os.path.dirname(os.path.dirname(path)))
        # With the zeros gone before it, the sync of the first record will do.
        write_all(file, Header(number_of(path), identity).encode(), 0)
        return Segment(path, file)
    except BaseException:
        if is_mine:
            with suppress(OSError):
                os.unlink(path)
        file.close()
        raise


def open_raw(path, flags):
    """Open a file as a raw one, which closes when nobody keeps it."""
    return open(path, 'rb' if flags == os.O_RDONLY else 'r+b', buffering=0,
                opener=lambda path, _: os.open(path, flags | os.O_CLOEXEC,
                                               0o600))


def _lock(file):
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _FLOCK.pack(
            fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_named(status, path):
    try:
        return os.path.samestat(os.stat(path), status)
    except FileNotFoundError:
        return False


def write_all(file, data, place):
    """Write bytes at a place of a file.

    :raises OSError: if not all of them could be written
    """
    written = os.pwrite(file.fileno(), data, place)
    if written != len(data):
        raise OSError(errno.ENOSPC, '%d of %d bytes written' % (
            written, len(data)), file.name)


assert CAPACITY == 0x3fff
