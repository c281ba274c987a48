# SPDX-License-Identifier: Apache-2.0
"""
The bytes of the messages by which partitions that differ are exchanged.

PROTOCOL.md, "An exchange", is the format; nothing else encodes it.
"""

import re
import struct

from swift_lightsync.sync.wire.sync_message import (
    NUMBER,
    SyncMessageError,
    pack,
    unpack,
)

SUFFIXES, SUFFIX_HASHES, REHASH = 3, 4, 5
#: Most partitions of one message.
MAX_PARTITIONS = 256
#: Longest message that asks for hashing: some 60,000 suffixes.
MAX_REHASH_BYTES = 1 << 17

COUNT = struct.Struct('<I')
#: partition, its suffixes
PARTITION = struct.Struct('<IH')
SUFFIX = struct.Struct('<H')
SUFFIX_HASH = struct.Struct('<H16s')
IS_HASH = re.compile('[0-9a-f]{32}').fullmatch
IS_SUFFIX = re.compile('[0-9a-f]{3}').fullmatch


def _encode(kind, entries):
    """:param entries: a list of (partition, [bytes of each suffix])"""
    parts = [COUNT.pack(len(entries))]
    for partition, suffixes in entries:
        parts.append(PARTITION.pack(partition, len(suffixes)))
        parts += suffixes
    return pack(kind, *parts)


def _decode(kind, entry, data):
    """:returns: a list of (partition, [fields of each suffix, first its
        number])"""
    (count,), rest = unpack(kind, COUNT, data)
    if count > MAX_PARTITIONS:
        raise SyncMessageError('%d partitions, at most %d'
                               % (count, MAX_PARTITIONS))
    entries, at = [], 0
    try:
        for _ in range(count):
            partition, suffixes = PARTITION.unpack_from(rest, at)
            at += PARTITION.size
            end = at + suffixes * entry.size
            if end > len(rest):
                raise SyncMessageError('ends within a partition')
            fields = list(entry.iter_unpack(rest[at:end]))
            require_ascent('suffixes', [number for number, *_ in fields])
            entries.append((partition, fields))
            at = end
    except struct.error:
        raise SyncMessageError('ends within a partition')
    if at != len(rest):
        raise SyncMessageError('%d bytes too many' % (len(rest) - at))
    require_ascent('partitions', [partition for partition, _ in entries])
    return entries


def require_ascent(what, numbers):
    """:raises SyncMessageError: if numbers do not ascend"""
    if any(a >= b for a, b in zip(numbers, numbers[1:])):
        raise SyncMessageError('%s do not ascend' % what)


def _suffix(number):
    if number > 0xfff:
        raise SyncMessageError('suffix is %d, at most %d' % (number, 0xfff))
    return '%03x' % number


def encode_suffixes(partitions):
    """
    :param partitions: numbers of those whose suffix hashes are wanted
    :returns: the bytes of the message
    """
    return pack(SUFFIXES, COUNT.pack(len(partitions)),
                *map(NUMBER.pack, sorted(partitions)))


def decode_suffixes(data):
    """
    :returns: a list of partition numbers
    :raises SyncMessageError: if the bytes are no such message
    """
    (count,), rest = unpack(SUFFIXES, COUNT, data)
    if count > MAX_PARTITIONS or len(rest) != count * NUMBER.size:
        raise SyncMessageError('%d partitions in %d bytes, at most %d'
                               % (count, len(rest), MAX_PARTITIONS))
    partitions = [partition for partition, in NUMBER.iter_unpack(rest)]
    require_ascent('partitions', partitions)
    return partitions


def encode_suffix_hashes(hashes):
    """
    :param hashes: a dict, partition number to a dict, suffix to hash; a
        partition with a hash that is none is left out
    :returns: the bytes of the message
    """
    return _encode(SUFFIX_HASHES, [
        (partition, [SUFFIX_HASH.pack(int(suffix, 16), bytes.fromhex(digest))
                     for suffix, digest in sorted(of_partition.items())])
        for partition, of_partition in sorted(hashes.items())
        if all(isinstance(digest, str) and IS_HASH(digest)
               and IS_SUFFIX(suffix)
               for suffix, digest in of_partition.items())])


def decode_suffix_hashes(data, asked):
    """
    :param asked: the partitions that were asked for
    :returns: a dict, partition number to a dict, suffix to hash
    :raises SyncMessageError: if the bytes are no answer to that
    """
    entries = _decode(SUFFIX_HASHES, SUFFIX_HASH, data)
    strange = {partition for partition, _ in entries}.difference(asked)
    if strange:
        raise SyncMessageError('partition %d was not asked for'
                               % min(strange))
    return {partition: {_suffix(number): digest.hex()
                        for number, digest in suffixes}
            for partition, suffixes in entries}


def encode_rehash(suffixes):
    """
    :param suffixes: a dict, partition number to a list of suffixes
    :returns: the bytes of the message
    """
    return _encode(REHASH, [
        (partition, [SUFFIX.pack(int(suffix, 16))
                     for suffix in sorted(of_partition)])
        for partition, of_partition in sorted(suffixes.items())])


def decode_rehash(data):
    """
    :returns: a dict, partition number to a list of suffixes
    :raises SyncMessageError: if the bytes are no such message
    """
    if len(data) > MAX_REHASH_BYTES:
        raise SyncMessageError('%d bytes, at most %d'
                               % (len(data), MAX_REHASH_BYTES))
    return {partition: [_suffix(number) for number, in suffixes]
            for partition, suffixes in _decode(REHASH, SUFFIX, data)}
