# SPDX-License-Identifier: Apache-2.0
"""
The log of a partition: its bytes, and how far its peers have come.

PROTOCOL.md, "The log"; PROAR §IV-C, Figure 4.
"""

import struct
import zlib
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import Iterable, Optional, Set

MAGIC = b'PROARLOG'
VERSION = 1
RECORD = 64
#: laid out ahead, in bytes
CHUNK = 16384
#: the slot of a writer that was not told which it is
NO_SLOT = 255
STATE_OFFSET = 4

_HEADER = struct.Struct('<8sHHLQ40x')
_ENTRY = struct.Struct('<LBcBxQ16sQQQ8x')


class FormatError(ValueError):
    """Bytes that are no header or record of a log."""


class Op(Enum):
    """What was done; the paper's column *op*."""
    MODIFY = b'M'
    DELETE = b'D'


class State(IntEnum):
    """What is known of an operation's outcome."""
    INTENT = 1
    COMMITTED = 2
    ABORTED = 3


@dataclass(frozen=True)
class Entry:
    """
    An operation of the log.

    :param op: what was done
    :param slot: of the primary role that it was for, or NO_SLOT
    :param eversion: 1 or more, one above the entry before
    :param path_hash: of the object, 16 bytes
    :param timestamp: X-Timestamp in units of 10 microseconds
    :param offset: of X-Timestamp
    :param logged: Unix time in microseconds at which it was written
    :param state: INTENT until its writer or the disk has told
    """
    op: Op
    slot: int
    eversion: int
    path_hash: bytes
    timestamp: int
    offset: int
    logged: int
    state: State = State.INTENT

    def encode(self) -> bytes:
        """Return the record, RECORD bytes."""
        record = _ENTRY.pack(
            0, self.state, self.op.value, self.slot, self.eversion,
            self.path_hash, self.timestamp, self.offset, self.logged)
        return struct.pack('<L', zlib.crc32(record[5:])) + record[4:]

    @classmethod
    def decode(cls, record: bytes) -> 'Entry':
        """
        Read a record.

        :param record: RECORD bytes
        :raises FormatError: if they are damaged
        """
        crc, state, op, slot, eversion, path_hash, timestamp, offset, \
            logged = _ENTRY.unpack(record)
        if crc != zlib.crc32(record[5:]):
            raise FormatError('record: its checksum is wrong')
        try:
            op = Op(op)
        except ValueError:
            raise FormatError('record: op %r, not M or D' % op)
        try:
            state = State(state)
        except ValueError:
            state = State.INTENT
        return cls(op, slot, eversion, path_hash, timestamp, offset, logged,
                   state)

    def decided(self, on_disk: bool) -> 'Entry':
        """
        Return the entry with its outcome, once its writer has ended.

        :param on_disk: whether the disk has a file of the object with this
            entry's timestamp or a newer one
        :returns: an intent as committed or aborted, any other as it is
        """
        if self.state is not State.INTENT:
            return self
        return replace(
            self, state=State.COMMITTED if on_disk else State.ABORTED)


def _header_sum(header: bytes) -> int:
    return zlib.crc32(header[16:], zlib.crc32(header[:12]))


def encode_header(base: int) -> bytes:
    """
    Return the header of a log, RECORD bytes.

    :param base: the eversion of the first record
    """
    header = _HEADER.pack(MAGIC, VERSION, RECORD, 0, base)
    return header[:12] + struct.pack('<L', _header_sum(header)) + header[16:]


def decode_header(header: bytes) -> int:
    """
    Return the eversion of a log's first record.

    :param header: the first RECORD bytes of the log
    :raises FormatError: if it is no header of this version
    """
    if len(header) != RECORD:
        raise FormatError('header: %d bytes, not %d' % (len(header), RECORD))
    base: int
    magic, version, size, crc, base = _HEADER.unpack(header)
    for name, value, wanted in (
            ('magic', magic, MAGIC), ('version', version, VERSION),
            ('size of a record', size, RECORD),
            ('checksum', crc, _header_sum(header))):
        if value != wanted:
            raise FormatError('header: %s is %r, not %r' % (
                name, value, wanted))
    if base < 1:
        raise FormatError('header: base is 0, but eversions begin with 1')
    return base


def place_of(eversion: int, base: int) -> int:
    """Return the offset of a record in the file of its log."""
    return RECORD * (1 + eversion - base)


def is_end(record: bytes) -> bool:
    """Return whether a log ends here: with zeros, or with the file."""
    return len(record) < RECORD or not any(record)


@dataclass
class Progress:
    """
    How far one peer has come.

    Entries are applied in any order; the cursor moves on over the applied
    ones, without a gap.

    :param cursor: the last eversion up to which the peer holds everything
    """
    cursor: int
    _beyond: Set[int] = field(default_factory=set)

    def apply(self, eversion: int) -> bool:
        """
        Note that the peer holds an entry, or need not hold it.

        :returns: whether the cursor moved
        """
        if eversion > self.cursor:
            self._beyond.add(eversion)
        before = self.cursor
        while self.cursor + 1 in self._beyond:
            self.cursor += 1
            self._beyond.remove(self.cursor)
        return self.cursor != before

    def holds(self, eversion: int) -> bool:
        """Return whether the peer needs this entry no more."""
        return eversion <= self.cursor or eversion in self._beyond

    def cut(self, base: int) -> None:
        """Note that the log's entries before its base are gone."""
        self.cursor = max(self.cursor, base - 1)
        self._beyond = {each for each in self._beyond if each > self.cursor}


def start_of(cursor: Optional[int], base: int, last_update: int) -> int:
    """
    Return the eversion up to which a peer needs nothing of a log.

    :param cursor: what is on record of the peer, or None
    :param base: the eversion of the log's first record
    :param last_update: the eversion of its last record, base - 1 if none
    """
    if cursor is None or cursor > last_update:
        return base - 1
    return max(cursor, base - 1)


def last_commit(cursors: Iterable[int], last_update: int) -> int:
    """
    Return the eversion up to which all other devices hold everything.

    :param cursors: of the partition's other devices
    :param last_update: the eversion of the log's last record, which is
        returned if there is no other device
    """
    return min(cursors, default=last_update)


def exposed_after(cursors: Iterable[int], last_update: int) -> int:
    """
    Return the eversion up to which at least one other device holds all.

    :param cursors: of the partition's other devices
    :param last_update: the eversion of the log's last record, which is
        returned if there is no other device
    """
    return max(cursors, default=last_update)
