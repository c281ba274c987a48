# SPDX-License-Identifier: Apache-2.0
"""
The log of a partition: its bytes, and how far its peers have come.
PROTOCOL.md, "The log"; PROAR §IV-C, Figure 4.
"""

import struct
import zlib
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum

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
    INTENT = 1
    COMMITTED = 2
    ABORTED = 3


@dataclass(frozen=True)
class Entry:
    """
    An operation of the log.

    :param op: an Op
    :param slot: of the primary role that it was for, or NO_SLOT
    :param eversion: 1 or more, that of the entry before and one
    :param path_hash: of the object, 16 bytes
    :param timestamp: X-Timestamp in units of 10 microseconds
    :param offset: of X-Timestamp
    :param logged: Unix time in microseconds at which it was written
    :param state: a State
    """
    op: Op
    slot: int
    eversion: int
    path_hash: bytes
    timestamp: int
    offset: int
    logged: int
    state: State = State.INTENT

    def encode(self):
        """:returns: the record, RECORD bytes"""
        return _sealed(_ENTRY.pack(
            0, self.state, self.op.value, self.slot, self.eversion,
            self.path_hash, self.timestamp, self.offset, self.logged), 0, 5)

    @classmethod
    def decode(cls, record):
        """
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

    def decided(self, on_disk):
        """
        What an intent is whose writer has ended.

        :param on_disk: whether the disk has a file of the object with this
            entry's timestamp or a newer one
        :returns: the Entry, committed or aborted
        """
        if self.state is not State.INTENT:
            return self
        return replace(
            self, state=State.COMMITTED if on_disk else State.ABORTED)


def _sealed(record, at, covered):
    crc = struct.pack('<L', zlib.crc32(record[covered:]))
    return record[:at] + crc + record[at + 4:]


def _header_sum(header):
    return zlib.crc32(header[16:], zlib.crc32(header[:12]))


def encode_header(base):
    """
    :param base: the eversion of the first record
    :returns: the header of a log, RECORD bytes
    """
    header = _HEADER.pack(MAGIC, VERSION, RECORD, 0, base)
    return header[:12] + struct.pack('<L', _header_sum(header)) + header[16:]


def decode_header(header):
    """
    :param header: the first RECORD bytes of a log
    :returns: the eversion of the first record
    :raises FormatError: if it is none of this version
    """
    if len(header) != RECORD:
        raise FormatError('header: %d bytes, not %d' % (len(header), RECORD))
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


def place_of(eversion, base):
    """:returns: the offset of a record in the file of its log"""
    return RECORD * (1 + eversion - base)


def is_end(record):
    """Whether a log ends here: with zeros, or with the file."""
    return len(record) < RECORD or not any(record)


@dataclass
class Progress:
    """
    How far one peer has come. Entries are applied in any order; the cursor
    moves on over those that are, without a gap.

    :param cursor: the last eversion up to which the peer holds everything
    """
    cursor: int
    _beyond: set = field(default_factory=set)

    def apply(self, eversion):
        """
        The peer holds an entry, or needs not hold it.

        :returns: whether the cursor moved
        """
        if eversion > self.cursor:
            self._beyond.add(eversion)
        before = self.cursor
        while self.cursor + 1 in self._beyond:
            self.cursor += 1
            self._beyond.remove(self.cursor)
        return self.cursor != before

    def holds(self, eversion):
        return eversion <= self.cursor or eversion in self._beyond

    def cut(self, base):
        """Entries before the base of the log are gone."""
        self.cursor = max(self.cursor, base - 1)
        self._beyond = {each for each in self._beyond if each > self.cursor}


def start_of(cursor, base, last_update):
    """
    Where a peer stands at the start.

    :param cursor: what is on record of it, or None
    :param base: the eversion of the log's first record
    :param last_update: the eversion of its last record, base - 1 if none
    :returns: the eversion up to which it needs nothing of this log
    """
    if cursor is None or cursor > last_update:
        return base - 1
    return max(cursor, base - 1)


def last_commit(cursors, last_update):
    """
    :param cursors: of the partition's other devices, a list
    :param last_update: the eversion of the log's last record
    :returns: the eversion up to which all hold everything; last_update if
        there is no other device
    """
    return min(cursors, default=last_update)


def exposed_after(cursors, last_update):
    """
    :returns: the eversion up to which at least one other device holds
        everything; last_update if there is no other device
    """
    return max(cursors, default=last_update)
