# SPDX-License-Identifier: Apache-2.0
"""The bytes of the messages that offer objects, and of the answers to them.

PROTOCOL.md, "An exchange", is the format; nothing else encodes it. The lines
are ssync's, and written and read by Swift's own functions.
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from swift.obj.ssync_receiver import decode_missing
from swift.obj.ssync_sender import encode_missing

from swift_lightsync.sync.wire.exchange_message import (
    COUNT,
    MAX_PARTITIONS,
    require_ascent,
)
from swift_lightsync.sync.wire.sync_message import (
    HEAD,
    NUMBER,
    SyncMessageError,
    pack,
    unpack,
)

OFFER, WANTED = 6, 7
#: Most objects that one message offers.
MAX_OBJECTS = 8192
#: Longest line, bytes without its line feed.
MAX_LINE = 160

#: partition, its objects, the bytes of their lines
OFFERED = struct.Struct('<III')
#: partition, objects that were looked at, those of them that are wanted
LOOKED = struct.Struct('<III')
MAX_OFFER_BYTES = (HEAD.size + COUNT.size + MAX_PARTITIONS * OFFERED.size
                   + MAX_OBJECTS * (MAX_LINE + 1) + NUMBER.size)

_DELTA = rb'-?[0-9a-f]{1,16}(__[0-9a-f]{1,16})?'
IS_LINE = re.compile(
    rb'[0-9a-f]{32} [0-9]{10}\.[0-9]{5}(_[0-9a-f]{16})?'
    rb'( m:%s(,t:%s)?)?( x)?' % (_DELTA, _DELTA)).fullmatch
#: The end of a line that offers a tombstone.
DELETED = b' x'

#: An object that a peer offers: the fields of Swift's ``decode_missing``, and
#: ``deleted``.
Offered = dict[str, Any]
#: Of each partition: how many objects were looked at, and the indices of those
#: of them that are wanted, ascending.
Wanted = dict[int, tuple[int, list[int]]]


def line_of(object_hash: str, timestamps: Mapping[str, Any],
            deleted: bool = False) -> bytes | None:
    """Return the line that offers an object.

    :param object_hash: 32 hex digits
    :param timestamps: as from a diskfile manager's ``yield_hashes``
    :param deleted: whether it is a tombstone
    :returns: the line, or None if the format cannot express the object
    """
    line: bytes = encode_missing(object_hash, **timestamps)
    if deleted:
        line += DELETED
    return line if IS_LINE(line) else None


def encode_offer(offer: Mapping[int, Sequence[bytes]]) -> bytes:
    """Return the message that offers objects.

    :param offer: the lines of each partition
    """
    parts = [COUNT.pack(len(offer))]
    for partition, lines in sorted(offer.items()):
        text = b''.join(line + b'\n' for line in lines)
        parts += [OFFERED.pack(partition, len(lines), len(text)), text]
    return pack(OFFER, *parts)


def decode_offer(data: bytes) -> dict[int, list[Offered]]:
    """Return the objects that a message offers, by partition.

    :param data: the bytes of the message
    :raises SyncMessageError: if the bytes are no such message
    """
    if len(data) > MAX_OFFER_BYTES:
        raise SyncMessageError('%d bytes, at most %d'
                               % (len(data), MAX_OFFER_BYTES))
    offer: dict[int, list[Offered]] = {}
    total = 0
    for (partition, objects, length), rest in _entries(OFFER, OFFERED, data):
        total += objects
        if total > MAX_OBJECTS:
            raise SyncMessageError('more than %d objects' % MAX_OBJECTS)
        lines = rest(length).split(b'\n')
        if lines.pop() or len(lines) != objects:
            raise SyncMessageError('partition %d: not %d lines'
                                   % (partition, objects))
        offer[partition] = [_object(line) for line in lines]
    return offer


def _object(line: bytes) -> Offered:
    if not IS_LINE(line):
        raise SyncMessageError('%r offers no object' % line[:MAX_LINE])
    try:
        return dict(decode_missing(line), deleted=line.endswith(DELETED))
    except (ValueError, OverflowError) as err:
        raise SyncMessageError('%r: %s' % (line, err))


def encode_wanted(answer: Wanted) -> bytes:
    """Return the message that answers an offer."""
    parts = [COUNT.pack(len(answer))]
    for partition, (looked, wanted) in sorted(answer.items()):
        parts += [LOOKED.pack(partition, looked, len(wanted)),
                  struct.pack('<%dI' % len(wanted), *wanted)]
    return pack(WANTED, *parts)


def decode_wanted(data: bytes,
                  offer: Mapping[int, Sequence[bytes]]) -> Wanted:
    """Decode the answer to an offer.

    :param data: the bytes of the answer
    :param offer: the offer that it answers
    :raises SyncMessageError: if the bytes are no answer to that offer
    """
    answer: Wanted = {}
    for (partition, looked, wanted), rest in _entries(WANTED, LOOKED, data):
        if partition not in offer:
            raise SyncMessageError('partition %d was not offered'
                                   % partition)
        indices = [index for index, in NUMBER.iter_unpack(
            rest(wanted * NUMBER.size))]
        require_ascent('objects', indices)
        if looked > len(offer[partition]) or indices[-1:] >= [looked]:
            raise SyncMessageError(
                'partition %d: more objects than the %d offered'
                % (partition, len(offer[partition])))
        answer[partition] = looked, indices
    return answer


def _entries(kind: int, fields: struct.Struct, data: bytes
             ) -> Iterator[tuple[tuple[int, int, int],
                                 Callable[[int], bytes]]]:
    """Take a message apart, partition by partition.

    :returns: for each partition its fields, of which the first is its number,
        and a function that takes so many of the bytes that follow them
    """
    (count,), body = unpack(kind, COUNT, data)
    if count > MAX_PARTITIONS:
        raise SyncMessageError('%d partitions, at most %d'
                               % (count, MAX_PARTITIONS))
    at = 0
    partitions: list[int] = []

    def take(length: int) -> bytes:
        nonlocal at
        if length > len(body) - at:
            raise SyncMessageError('ends within a partition')
        at += length
        return body[at - length:at]

    for _ in range(count):
        number, first, second = fields.unpack(take(fields.size))
        partitions.append(number)
        yield (number, first, second), take
    if at != len(body):
        raise SyncMessageError('%d bytes too many' % (len(body) - at))
    require_ascent('partitions', partitions)
