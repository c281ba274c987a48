# SPDX-License-Identifier: Apache-2.0
"""Keeps the records of a rebuild in files, each in the order of the index.

Nothing of them outlives the rebuild, and nobody else reads them.
"""

import heapq
import struct
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from swift_losf.format import keys
from swift_losf.format.header import record_length
from swift_losf.format.name_code import durable_name, encode_name
from swift_losf.format.values import UNIT, pack_varints

#: records of one file, so that a process holds no more of them in memory
MOST = 200000
_ENTRY = struct.Struct('>20sQ?QQQH')
_LENGTH = struct.Struct('>H')
_BUFFER = 2 ** 18


class Entry(NamedTuple):
    """A record, as an entry of the index is made of it.

    :param place: partition and turned hash, as in a key
    :param written: Unix time, ns
    :param quarantined: whether it is in quarantine
    :param volume: its number
    :param offset: in the volume
    :param length: of the record, in bytes
    :param code: of the name
    :param location: the value of its entry
    """

    place: bytes
    written: int
    quarantined: bool
    volume: int
    offset: int
    length: int
    code: bytes
    location: bytes

    @classmethod
    def unpack(cls, data: bytes) -> 'Entry':
        """Read what entry_of gave."""
        *fields, count = _ENTRY.unpack_from(data)
        end = _ENTRY.size + count
        return cls._make((*fields, data[_ENTRY.size:end], data[end:]))


def entry_of(number, found, part_power=None, most_metadata=0):
    """Return the bytes of an Entry, which sort as in the index.

    :param number: of the volume
    :param found: a Scanned
    :param part_power: of the ring; None: the record's header has to tell the
        partition
    :param most_metadata: bytes of metadata that an entry has at most
    """
    partition = (found.partition if part_power is None
                 else keys.partition_of(found.hash, part_power))
    name = found.name
    if found.durable and '#' in name:
        name = durable_name(name)
    code = encode_name(name)
    data, metadata, name_length = found.lengths
    return b''.join((
        _ENTRY.pack(keys.place_of(partition, found.hash), found.written,
                    found.quarantined, number, found.offset,
                    record_length(data, metadata, name_length), len(code)),
        code, pack_varints((number, found.offset // UNIT, data, metadata,
                            name_length)),
        found.metadata if metadata <= most_metadata else b''))


def write_run(path: str, entries: list[bytes]) -> None:
    """Write entries to a file, sorted."""
    entries.sort()
    with open(path, 'wb') as file:
        for start in range(0, len(entries), 1024):
            file.write(b''.join(
                _LENGTH.pack(len(each)) + each
                for each in entries[start:start + 1024]))


def _read_run(path: str) -> Iterator[bytes]:
    rest = b''
    with open(path, 'rb', buffering=0) as file:
        while data := file.read(_BUFFER):
            rest, at = rest + data, 0
            while at + 2 <= len(rest):
                end = at + 2 + (rest[at] << 8 | rest[at + 1])
                if end > len(rest):
                    break
                yield rest[at + 2:end]
                at = end
            rest = rest[at:]


def merged(paths: list[str]) -> Iterator[list[bytes]]:
    """Yield the entries of each hash, from all files, by place."""
    entries = heapq.merge(*map(_read_run, paths))
    for _, group in groupby(entries, key=lambda each: each[:keys.PLACE]):
        yield list(group)
