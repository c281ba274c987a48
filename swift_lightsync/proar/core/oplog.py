# SPDX-License-Identifier: Apache-2.0
"""The log of a device: its bytes.

PROTOCOL.md, "The log"; PROAR §IV-C, Figure 4.
"""

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import NamedTuple

MAGIC = b'PROARLOG'
VERSION = 2
RECORD = 64
#: bytes of a segment, its header included
SEGMENT = 1 << 20
#: records that a segment takes
CAPACITY = SEGMENT // RECORD - 1
#: the slot of a writer that was not told which it is
NO_SLOT = 255
STATE_OFFSET = 4
#: of the ids of the devices that hold it
HOLDERS_OFFSET = 6
RING_OFFSET = 44
#: so many of them are noted, if they are no greater than MAX_HOLDER
MAX_HOLDERS = 4
MAX_HOLDER = 0xfffe

_INDEX_BITS = 14
_MOST = 0xffffffff
_HEADER = struct.Struct('<8sHHLQ16s24x')
#: changed in place: the checksum does not cover it
_CHANGING = struct.Struct('<LBx4H2x')
_FIXED = struct.Struct('<16sQLLQLHcB')


class FormatError(ValueError):
    """Bytes that are no header or record of a log."""


class Op(Enum):
    """What was done; the paper's column *op*."""
    MODIFY = b'M'
    DELETE = b'D'
    #: its container updates are kept on the disk, to be repeated
    ROW = b'C'


class State(IntEnum):
    """What is known of an operation's outcome, and of who holds it."""
    #: its writer is at work, or has died
    INTENT = 1
    #: it is durable here
    COMMITTED = 2
    ABORTED = 3
    #: its writer has ended, and the disk has to tell
    UNDECIDED = 4
    #: at least one other device holds it
    HELD = 5
    #: all devices that have to hold it do
    CONVERGED = 6
    #: no other device takes it, though they are well, or it is unreadable
    ASIDE = 7


#: no other device is known to hold it, and it may be durable here
EXPOSED = State.COMMITTED, State.UNDECIDED
#: nobody needs it any more
OVER = State.ABORTED, State.CONVERGED


class Header(NamedTuple):
    """What a segment says of itself.

    :param number: of the segment, 1 or more
    :param identity: of the device's log, 16 bytes
    """
    number: int
    identity: bytes

    def encode(self) -> bytes:
        """Return the header, RECORD bytes."""
        header = _HEADER.pack(MAGIC, VERSION, RECORD, 0, self.number,
                              self.identity)
        return header[:12] + struct.pack('<L', _header_sum(header)) \
            + header[16:]

    @classmethod
    def decode(cls, header: bytes) -> 'Header':
        """Read a header.

        :param header: the first RECORD bytes of a segment
        :raises FormatError: if it is no header of this version
        """
        if len(header) != RECORD:
            raise FormatError('header: %d bytes, not %d' % (
                len(header), RECORD))
        magic, version, size, crc, number, identity = _HEADER.unpack(header)
        for name, value, wanted in (
                ('magic', magic, MAGIC), ('version', version, VERSION),
                ('size of a record', size, RECORD),
                ('checksum', crc, _header_sum(header))):
            if value != wanted:
                raise FormatError('header: %s is %r, not %r' % (
                    name, value, wanted))
        if number < 1:
            raise FormatError('header: number is 0, but segments begin '
                              'with 1')
        return cls(number, identity)


@dataclass(frozen=True)
class Entry:
    """An operation of the log.

    :param op: what was done
    :param slot: of the primary role that it was for, or NO_SLOT
    :param policy: index of the object's storage policy, 0 to 65535
    :param partition: of the object when it was written
    :param path_hash: of the object, 16 bytes
    :param timestamp: X-Timestamp in units of 10 microseconds
    :param offset: of X-Timestamp; what is greater than 32 bits is cut to them
    :param logged: Unix time in microseconds at which it was written
    :param ring_version: of the object ring that its writer had; 0: not known
    :param eversion: its place in the log; 0: none yet
    :param state: INTENT until its writer or the disk has told
    :param holders: ids of other devices that are known to hold it
    """
    op: Op
    slot: int
    policy: int
    partition: int
    path_hash: bytes
    timestamp: int
    offset: int
    logged: int
    ring_version: int = 0
    eversion: int = 0
    state: State = State.INTENT
    holders: frozenset[int] = frozenset()

    def encode(self, eversion: int) -> bytes:
        """Return the record for a place in the log, RECORD bytes."""
        fixed = _FIXED.pack(
            self.path_hash, self.timestamp, min(self.offset, _MOST),
            self.ring_version, self.logged, self.partition, self.policy,
            self.op.value, self.slot)
        return _CHANGING.pack(_record_sum(fixed, eversion), self.state,
                              *_packed(self.holders)) + fixed

    @classmethod
    def decode(cls, record: bytes, eversion: int) -> 'Entry':
        """Read a record.

        :param record: RECORD bytes
        :param eversion: its place in the log
        :raises FormatError: if it is damaged, or belongs elsewhere
        """
        crc, state, *holders = _CHANGING.unpack(record[:_CHANGING.size])
        fixed = record[_CHANGING.size:]
        if crc != _record_sum(fixed, eversion):
            raise FormatError('record: its checksum is wrong')
        path_hash, timestamp, offset, ring_version, logged, partition, \
            policy, op, slot = _FIXED.unpack(fixed)
        try:
            op = Op(op)
        except ValueError:
            raise FormatError('record: op %r, not M, D or C' % op)
        return cls(op, slot, policy, partition, path_hash, timestamp, offset,
                   logged, ring_version, eversion, state_of(state),
                   frozenset(each - 1 for each in holders if each))

    def is_lacked_by(self, peer: int, ring_version: int) -> bool:
        """Return whether a device that has to hold it is not known to.

        What converged in the ring that its writer had is held by all; in
        another ring, a new device may lack it.

        :param peer: id of the device
        :param ring_version: of the object ring in which it has to hold it
        """
        if peer in self.holders or self.state is State.ABORTED:
            return False
        return self.state is not State.CONVERGED or (
            ring_version != self.ring_version
            and len(self.holders) < MAX_HOLDERS and peer <= MAX_HOLDER)

    def is_on_disk(self, timestamp: int, offset: int) -> bool:
        """Return whether a file's X-Timestamp is this entry's or newer."""
        return (timestamp, min(offset, _MOST)) >= (
            self.timestamp, min(self.offset, _MOST))

    def decided(self, on_disk: bool) -> 'Entry':
        """Return the entry with its outcome, once its writer has ended.

        :param on_disk: whether the disk has a file of the object with this
            entry's timestamp or a newer one
        :returns: an open one as committed or aborted, any other as it is
        """
        if self.state not in (State.INTENT, State.UNDECIDED):
            return self
        return replace(
            self, state=State.COMMITTED if on_disk else State.ABORTED)


def _packed(holders: Iterable[int]) -> tuple[int, ...]:
    known = [each + 1 for each in sorted(holders) if each <= MAX_HOLDER]
    return tuple((known + [0] * MAX_HOLDERS)[:MAX_HOLDERS])


def encode_holders(holders: Iterable[int]) -> bytes:
    """Return what stands at HOLDERS_OFFSET; who has no room is left out."""
    return struct.pack('<4H', *_packed(holders))


def state_of(value: int) -> State:
    """Return the State of its byte; a damaged one is UNDECIDED."""
    try:
        return State(value)
    except ValueError:
        return State.UNDECIDED


def _header_sum(header: bytes) -> int:
    return zlib.crc32(header[16:], zlib.crc32(header[:12]))


def _record_sum(fixed: bytes, eversion: int) -> int:
    return zlib.crc32(fixed, zlib.crc32(struct.pack('<Q', eversion)))


def eversion_of(number: int, index: int) -> int:
    """Return the eversion of a record.

    :param number: of its segment, 1 or more
    :param index: in the segment, 1 to CAPACITY
    """
    return number << _INDEX_BITS | index


def place_of(eversion: int) -> tuple[int, int]:
    """Return (the number of a record's segment, its index there)."""
    return eversion >> _INDEX_BITS, eversion & CAPACITY


#: who has noted one of these has seen the record synced
_DURABLE = State.COMMITTED, State.HELD, State.CONVERGED
_NOT_OVER = re.compile(b'[^%s]' % re.escape(bytes(OVER)), re.DOTALL)


def exposed(content: bytes, has_writer: bool) -> tuple[int, int | None]:
    """Count the operations of a segment that no other device is known to hold.

    :param content: of the segment, from its begin on
    :param has_writer: whether its intents are those of a process at work;
        if not, they may be durable
    :returns: how many, and the index of the oldest, None if there is none
    """
    states = content[STATE_OFFSET::RECORD]
    # The first byte is the header's.
    wanted = EXPOSED if has_writer else (*EXPOSED, State.INTENT)
    places = [states.find(state, 1) for state in wanted]
    return (sum(states.count(state, 1) for state in wanted),
            min((each for each in places if each > 0), default=None))


def not_over(content: bytes, ring_version: int) -> Iterator[int]:
    """Yield the indexes of the records of a segment that some device may lack.

    :param content: of the segment, from its begin on
    :param ring_version: of the present object ring
    """
    ring = ring_version.to_bytes(4, 'little')
    records = len(content) // RECORD - 1
    if all(content[RECORD + RING_OFFSET + place::RECORD].count(byte)
           == records for place, byte in enumerate(ring)):
        states = content[STATE_OFFSET::RECORD]
        yield from (match.start() for match in _NOT_OVER.finditer(states, 1))
    else:
        yield from range(1, records + 1)


def position(content: bytes) -> tuple[int, int]:
    """Return how far a segment is.

    :param content: of the segment, from its begin on
    :returns: the index of the last record that is durable, since its operation
        was, or could have been, acknowledged; and of the last record
    """
    states = content[STATE_OFFSET::RECORD]
    durable = max(states.rfind(state, 1) for state in _DURABLE)
    return max(durable, 0), len(content) // RECORD - 1
