# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
The bytes of a sync message and of its reply.

PROTOCOL.md, "The sync message", is the format; nothing else encodes it.
"""

import struct
from zlib import crc32

MAGIC = b'LSYN'
VERSION = 1
ROOTS, DIFFERING = 1, 2
#: Most partitions in one message; bounds what a receiver reads.
MAX_PARTITIONS = 65536

HEADER = struct.Struct('<4sBBHI')
ENTRY = {ROOTS: struct.Struct('<I16s'), DIFFERING: struct.Struct('<I')}
TRAILER = struct.Struct('<I')
#: Bytes of the longest valid message.
MAX_BYTES = (HEADER.size + MAX_PARTITIONS * ENTRY[ROOTS].size + TRAILER.size)


class SyncMessageError(ValueError):
    """Bytes that are no valid sync message, with the reason."""


def _encode(kind, entries):
    entry = ENTRY[kind]
    body = b''.join([HEADER.pack(MAGIC, VERSION, kind, 0, len(entries))] +
                    [entry.pack(*fields) for fields in entries])
    return body + TRAILER.pack(crc32(body))


def _require(what, found, allowed):
    if found != allowed:
        raise SyncMessageError('sync message: %s is %r, must be %r'
                               % (what, found, allowed))


def _decode(kind, data):
    if len(data) < HEADER.size + TRAILER.size:
        raise SyncMessageError(
            'sync message: %d bytes, must be at least %d'
            % (len(data), HEADER.size + TRAILER.size))
    magic, version, found_kind, reserved, count = HEADER.unpack_from(data)
    _require('magic', magic, MAGIC)
    _require('version', version, VERSION)
    _require('kind', found_kind, kind)
    _require('reserved field', reserved, 0)
    if count > MAX_PARTITIONS:
        raise SyncMessageError('sync message: %d partitions, at most %d'
                               % (count, MAX_PARTITIONS))
    end = HEADER.size + count * ENTRY[kind].size
    _require('length', len(data), end + TRAILER.size)
    _require('CRC32', TRAILER.unpack_from(data, end)[0], crc32(data[:end]))
    entries = list(ENTRY[kind].iter_unpack(data[HEADER.size:end]))
    partitions = [entry[0] for entry in entries]
    if any(a >= b for a, b in zip(partitions, partitions[1:])):
        raise SyncMessageError('sync message: partitions do not ascend')
    return entries


def encode_roots(roots):
    """
    :param roots: a dict, partition number to root (32 hex digits)
    :returns: the bytes of a sync message
    """
    return _encode(ROOTS, [(partition, bytes.fromhex(root))
                           for partition, root in sorted(roots.items())])


def decode_roots(data):
    """
    :param data: the bytes of a sync message
    :returns: a dict, partition number to root (32 hex digits)
    :raises SyncMessageError: if it is none
    """
    return {partition: root.hex()
            for partition, root in _decode(ROOTS, data)}


def encode_differing(partitions):
    """
    :param partitions: numbers of those whose roots differ
    :returns: the bytes of a reply
    """
    return _encode(DIFFERING, [(partition,)
                               for partition in sorted(partitions)])


def decode_differing(data, asked):
    """
    :param data: the bytes of a reply
    :param asked: the partitions that the message had
    :returns: the set of partitions whose roots differ
    :raises SyncMessageError: if it is no reply to such a message
    """
    differing = {partition for partition, in _decode(DIFFERING, data)}
    strange = differing.difference(asked)
    if strange:
        raise SyncMessageError('sync message: reply names partition %d, '
                               'which was not asked for' % min(strange))
    return differing
