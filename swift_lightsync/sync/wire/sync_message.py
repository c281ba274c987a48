# SPDX-License-Identifier: Apache-2.0
"""
The bytes of a sync message and of its reply.

PROTOCOL.md, "The sync message", is the format; nothing else encodes it.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Optional
from zlib import crc32

from swift_lightsync.sync.core.partition_set import (
    MAX_PARTITIONS,
    PartitionSet,
    PartitionSetError,
    slices_of,
)

MAGIC = b'LSYN'
VERSION = 1
ROOTS, REPLY = 1, 2

HEAD = struct.Struct('<4sBB')
#: form of the set, its partitions, its bytes, roots
ROOTS_FIELDS = struct.Struct('<HIII')
#: verdict, slices that differ
REPLY_FIELDS = struct.Struct('<HI')
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


class SyncMessageError(ValueError):
    """Bytes that are no valid sync message, with the reason."""

    def __init__(self, reason):
        super().__init__('sync message: %s' % reason)


@dataclass(frozen=True)
class Roots:
    """
    A sync message.

    :param roots: the root of each slice of the set, 32 hex digits
    :param count: partitions in the set
    :param partitions: the set, or None if only its digest was sent
    :param digest: the digest, or None if the set itself was sent
    """
    roots: tuple
    count: int
    partitions: Optional[PartitionSet] = None
    digest: Optional[bytes] = None


def _require(what, found, allowed):
    if found != allowed:
        raise SyncMessageError('%s is %r, must be %r'
                               % (what, found, allowed))


def pack(kind, *parts):
    """
    :param kind: of the message
    :param parts: the bytes of its fields
    :returns: the bytes of the message, with head and trailer
    """
    body = b''.join((HEAD.pack(MAGIC, VERSION, kind),) + parts)
    return body + NUMBER.pack(crc32(body))


def unpack(kind, fields, data):
    """
    :param kind: of the message
    :param fields: a Struct, the fields that each message of its kind has
    :param data: the bytes of the message
    :returns: a tuple of those fields and of the bytes that follow them
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


def encode_roots(partitions, roots, with_list=True):
    """
    :param partitions: a PartitionSet
    :param roots: the root of each of its slices, 32 hex digits
    :param with_list: whether to send the set, or its digest only
    :returns: the bytes of a sync message
    """
    form, name = ((Form.LIST, partitions.encoded) if with_list
                  else (Form.DIGEST, partitions.digest))
    return pack(
        ROOTS, ROOTS_FIELDS.pack(form, len(partitions), len(name),
                                 len(roots)),
        name, bytes.fromhex(''.join(roots)))


def decode_roots(data):
    """
    :param data: the bytes of a sync message
    :returns: :class:`Roots`
    :raises SyncMessageError: if it is none
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
        return Roots(roots, count, PartitionSet.decode(name, count))
    except PartitionSetError as err:
        raise SyncMessageError('set of partitions: %s' % err)


def encode_reply(verdict, differing=()):
    """
    :param verdict: a :class:`Verdict`
    :param differing: indices of the slices whose roots differ, ascending
    :returns: the bytes of a reply
    """
    return pack(REPLY, REPLY_FIELDS.pack(verdict, len(differing)),
                struct.pack('<%dI' % len(differing), *differing))


def decode_reply(data, slices):
    """
    :param data: the bytes of a reply
    :param slices: how many roots the message had
    :returns: a tuple of a :class:`Verdict` and a list of the indices of the
        slices that differ
    :raises SyncMessageError: if it is no reply to such a message
    """
    (verdict, count), rest = unpack(REPLY, REPLY_FIELDS, data)
    _require('length', len(rest), count * NUMBER.size)
    if verdict not in list(Verdict):
        raise SyncMessageError('verdict is %d' % verdict)
    differing = [index for index, in NUMBER.iter_unpack(rest)]
    if any(a >= b for a, b in zip(differing, differing[1:])):
        raise SyncMessageError('slices do not ascend')
    if differing and (differing[-1] >= slices
                      or verdict != Verdict.COMPARED):
        raise SyncMessageError('slice %d differs, but %d were asked for'
                               % (differing[-1], slices))
    return Verdict(verdict), differing
