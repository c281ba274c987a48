# SPDX-License-Identifier: Apache-2.0
"""
The bytes of the messages that an exchange of partitions begins and ends with.

PROTOCOL.md, "An exchange", is the format; nothing else encodes it.
"""

import re
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

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


def _encode(kind: int,
            entries: Sequence[tuple[int, Sequence[bytes]]]) -> bytes:
    """Return a message of partitions with the bytes of their suffixes."""
    parts = [COUNT.pack(len(entries))]
    for partition, suffixes in entries:
        parts.append(PARTITION.pack(partition, len(suffixes)))
        parts += suffixes
    return pack(kind, *parts)


def _decode(kind: int, entry: struct.Struct, data: bytes
            ) -> list[tuple[int, list[tuple[Any, ...]]]]:
    """Take a message apart.

    :param entry: the fields of a suffix, of which the first is its number
    :returns: each partition with the fields of its suffixes
    """
    (count,), rest = unpack(kind, COUNT, data)
    if count > MAX_PARTITIONS:
        raise SyncMessageError('%d partitions, at most %d'
                               % (count, MAX_PARTITIONS))
    entries: list[tuple[int, list[tuple[Any, ...]]]] = []
    at = 0
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


def require_ascent(what: str, numbers: Sequence[int]) -> None:
    """Check that numbers ascend, so that each is there once.

    :param what: what the error calls them
    :param numbers: the numbers, in the order of the message
    :raises SyncMessageError: if they do not ascend
    """
    if any(a >= b for a, b in zip(numbers, numbers[1:])):
        raise SyncMessageError('%s do not ascend' % what)


def _suffix(number: int) -> str:
    if number > 0xfff:
        raise SyncMessageError('suffix is %d, at most %d' % (number, 0xfff))
    return '%03x' % number


def encode_suffixes(partitions: Collection[int]) -> bytes:
    """Return the message that asks for the suffix hashes of partitions.

    :param partitions: their numbers
    """
    return pack(SUFFIXES, COUNT.pack(len(partitions)),
                *map(NUMBER.pack, sorted(partitions)))


def decode_suffixes(data: bytes) -> list[int]:
    """Return the numbers of the partitions whose suffix hashes are asked for.

    :param data: the bytes of the message
    :raises SyncMessageError: if the bytes are no such message
    """
    (count,), rest = unpack(SUFFIXES, COUNT, data)
    if count > MAX_PARTITIONS or len(rest) != count * NUMBER.size:
        raise SyncMessageError('%d partitions in %d bytes, at most %d'
                               % (count, len(rest), MAX_PARTITIONS))
    partitions = [partition for partition, in NUMBER.iter_unpack(rest)]
    require_ascent('partitions', partitions)
    return partitions


def encode_suffix_hashes(hashes: Mapping[int, Mapping[str, object]]
                         ) -> bytes:
    """Return the message that tells the suffix hashes of partitions.

    :param hashes: the hash of each suffix of each partition; a partition in
        which a suffix could not be hashed (None, say) is left out
    """
    return _encode(SUFFIX_HASHES, [
        (partition, [SUFFIX_HASH.pack(int(suffix, 16),
                                      bytes.fromhex(str(digest)))
                     for suffix, digest in sorted(of_partition.items())])
        for partition, of_partition in sorted(hashes.items())
        if all(isinstance(digest, str) and IS_HASH(digest)
               and IS_SUFFIX(suffix)
               for suffix, digest in of_partition.items())])


def decode_suffix_hashes(data: bytes, asked: Iterable[int]
                         ) -> dict[int, dict[str, str]]:
    """Return the suffix hashes that a message tells.

    :param data: the bytes of the message
    :param asked: the partitions that were asked for
    :returns: the hash of each suffix of each partition
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


def encode_rehash(suffixes: Mapping[int, Iterable[str]]) -> bytes:
    """Return the message that has suffixes hashed anew.

    :param suffixes: the suffixes of each partition
    """
    return _encode(REHASH, [
        (partition, [SUFFIX.pack(int(suffix, 16))
                     for suffix in sorted(of_partition)])
        for partition, of_partition in sorted(suffixes.items())])


def decode_rehash(data: bytes) -> dict[int, list[str]]:
    """Return the suffixes of each partition that are to be hashed anew.

    :param data: the bytes of the message
    :raises SyncMessageError: if the bytes are no such message
    """
    if len(data) > MAX_REHASH_BYTES:
        raise SyncMessageError('%d bytes, at most %d'
                               % (len(data), MAX_REHASH_BYTES))
    return {partition: [_suffix(number) for number, in suffixes]
            for partition, suffixes in _decode(REHASH, SUFFIX, data)}
