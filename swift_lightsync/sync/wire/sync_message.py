# SPDX-License-Identifier: Apache-2.0
"""The bytes of a sync message and of its reply.

It is about partitions of all devices that two nodes share, and its reply tells
how each device is as well. PROTOCOL.md, "The sync message", is the format;
nothing else encodes it.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from zlib import crc32

from swift_lightsync.sync.core.conversation import (
    UNREAD,
    AnySet,
    Condition,
    DeviceState,
    SharedReply,
)
from swift_lightsync.sync.core.shared_set import (
    MAX_PARTITIONS,
    PartitionSetError,
    SharedSet,
    slices_of,
)

MAGIC = b'LSYN'
VERSION = 1
ROOTS, REPLY = 1, 2

HEAD = struct.Struct('<4sBB')
#: form of the set, its partitions, its bytes, roots
ROOTS_FIELDS = struct.Struct('<HIII')
#: verdict, slices that differ, devices
REPLY_FIELDS = struct.Struct('<HII')
#: condition, seconds
STATE = struct.Struct('<BI')
MAX_SECONDS = 0xffffffff
NUMBER = struct.Struct('<I')
ROOT_BYTES = 16
DIGEST_BYTES = 16
#: Bytes of the longest message that is read at all.
MAX_BYTES = (HEAD.size + ROOTS_FIELDS.size + NUMBER.size
             + MAX_PARTITIONS * (5 + ROOT_BYTES))


class Form(IntEnum):
    """How a message says which partitions it is about."""
    LIST = 1
    DIGEST = 2


class Verdict(IntEnum):
    """What a reply says."""
    COMPARED = 1
    #: The set's digest is not known; send the list.
    UNKNOWN_SET = 2
    #: Some device is not ready.
    NOT_YET = 3


class SyncMessageError(ValueError):
    """Bytes that are no valid sync message, with the reason."""

    def __init__(self, reason: object) -> None:
        super().__init__('sync message: %s' % reason)


@dataclass(frozen=True)
class Roots:
    """A sync message, decoded.

    :param roots: the root of each slice of the set, 32 hex digits
    :param count: partitions in the set
    :param partitions: the set, or None if only its digest was sent
    :param digest: the digest, or None if the set itself was sent
    """
    roots: tuple[str, ...]
    count: int
    partitions: SharedSet | None = None
    digest: bytes | None = None


def _require(what: str, found: object, allowed: object) -> None:
    if found != allowed:
        raise SyncMessageError('%s is %r, must be %r'
                               % (what, found, allowed))


def pack(kind: int, *parts: bytes) -> bytes:
    """Return a message: its head, the bytes of its fields, and its checksum.

    :param kind: the kind of message
    :param parts: the bytes of its fields
    """
    body = b''.join((HEAD.pack(MAGIC, VERSION, kind),) + parts)
    return body + NUMBER.pack(crc32(body))


def unpack(kind: int, fields: struct.Struct,
           data: bytes) -> tuple[tuple[Any, ...], bytes]:
    """Check the frame of a message, and take it apart.

    :param kind: the kind that it must have
    :param fields: the fields that every message of its kind begins with
    :param data: the bytes of the message
    :returns: those fields, and the bytes that follow them
    :raises SyncMessageError: if it is no message of that kind
    """
    shortest = HEAD.size + fields.size + NUMBER.size
    if not shortest <= len(data) <= MAX_BYTES:
        raise SyncMessageError('%d bytes, must be %d to %d'
                               % (len(data), shortest, MAX_BYTES))
    magic, version, found_kind = HEAD.unpack_from(data)
    _require('magic', magic, MAGIC)
    _require('version', version, VERSION)
    _require('kind', found_kind, kind)
    body = data[:-NUMBER.size]
    _require('CRC-32', NUMBER.unpack(data[-NUMBER.size:])[0], crc32(body))
    rest = HEAD.size + fields.size
    return fields.unpack_from(data, HEAD.size), body[rest:]


def encode_roots(partitions: AnySet, roots: Sequence[str],
                 with_list: bool = True) -> bytes:
    """Return the bytes of a sync message.

    :param partitions: the set of partitions that it is about
    :param roots: the root of each of its slices, 32 hex digits
    :param with_list: whether to send the set, or its digest only
    """
    form, name = ((Form.LIST, partitions.encoded) if with_list
                  else (Form.DIGEST, partitions.digest))
    return pack(
        ROOTS, ROOTS_FIELDS.pack(form, len(partitions), len(name),
                                 len(roots)),
        name, bytes.fromhex(''.join(roots)))


def decode_roots(data: bytes) -> Roots:
    """Decode a sync message.

    :param data: the bytes of the message
    :raises SyncMessageError: if they are no sync message
    """
    (form, count, length, slices), rest = unpack(ROOTS, ROOTS_FIELDS, data)
    if slices != slices_of(count, slices):
        raise SyncMessageError('%d roots of %d partitions, which cannot be '
                               'cut so' % (slices, count))
    _require('length', len(rest), length + slices * ROOT_BYTES)
    name, digits = rest[:length], rest[length:].hex()
    roots = tuple(digits[start:start + 2 * ROOT_BYTES]
                  for start in range(0, len(digits), 2 * ROOT_BYTES))
    if form == Form.DIGEST:
        _require('length of the digest', length, DIGEST_BYTES)
        return Roots(roots, count, digest=name)
    _require('form', form, Form.LIST.value)
    try:
        return Roots(roots, count, SharedSet.decode(name, count))
    except PartitionSetError as err:
        raise SyncMessageError('set of partitions: %s' % err)


def encode_reply(verdict: Verdict, differing: Sequence[int] = (),
                 states: Sequence[DeviceState] = ()) -> bytes:
    """Return the bytes of the reply to a sync message.

    :param verdict: COMPARED; UNKNOWN_SET; NOT_YET if some device is not ready
    :param differing: as of ``conversation.differing_slices``
    :param states: of the devices, in the order of the set
    """
    return pack(REPLY,
                REPLY_FIELDS.pack(verdict, len(differing), len(states)),
                struct.pack('<%dI' % len(differing), *differing),
                b''.join(STATE.pack(state.condition,
                                    min(state.seconds, MAX_SECONDS))
                         for state in states))


def decode_reply(data: bytes, slices: int, devices: int
                 ) -> tuple[Verdict, SharedReply]:
    """Decode the reply to a sync message.

    :param data: the bytes of the reply
    :param slices: how many roots the message had
    :param devices: how many devices its set has
    :returns: the verdict, and the reply
    :raises SyncMessageError: if it is no reply to such a message
    """
    (verdict, count, said), rest = unpack(REPLY, REPLY_FIELDS, data)
    if verdict not in list(Verdict):
        raise SyncMessageError('verdict is %d' % verdict)
    if said != (0 if verdict == Verdict.UNKNOWN_SET else devices):
        raise SyncMessageError('%d devices, %d were asked about'
                               % (said, devices))
    at = count * NUMBER.size
    if len(rest) != at + said * STATE.size:
        raise SyncMessageError('%d bytes for %d slices and %d devices'
                               % (len(rest), count, said))
    differing = [index for index, in NUMBER.iter_unpack(rest[:at])]
    indices = [index & ~UNREAD for index in differing]
    if any(a >= b for a, b in zip(indices, indices[1:])):
        raise SyncMessageError('slices do not ascend')
    if indices and (indices[-1] >= slices or verdict != Verdict.COMPARED):
        raise SyncMessageError('slice %d differs, but %d were asked for'
                               % (indices[-1], slices))
    states = [_state(*fields) for fields in STATE.iter_unpack(rest[at:])]
    if verdict == Verdict.NOT_YET and all(
            state.condition is Condition.READY for state in states):
        raise SyncMessageError('nothing was compared, though all is ready')
    return Verdict(verdict), SharedReply(verdict == Verdict.COMPARED,
                                         differing, states)


def _state(condition: int, seconds: int) -> DeviceState:
    if condition not in list(Condition):
        raise SyncMessageError('condition is %d' % condition)
    return DeviceState(Condition(condition), seconds)
