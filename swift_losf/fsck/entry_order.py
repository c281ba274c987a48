# SPDX-License-Identifier: Apache-2.0
"""Sorts the entries of an index by volume and offset.

An index is sorted by partition and hash, and a check walks through the
volumes. So the entries are put into a temporary LevelDB, some 70 bytes a
file besides metadata, and memory is bounded however many there are.
"""

import contextlib
import itertools
import os
import struct
import tempfile
from dataclasses import dataclass

import plyvel

from swift_losf.format import keys
from swift_losf.format.header import FormatError
from swift_losf.format.values import Location, unpack_varints
from swift_losf.fsck.findings import Finding, Kind

_PLACE = struct.Struct('>QQ')
_WRITE_BUFFER = 16 * 2 ** 20
#: tables of 2 MiB: those that are open are mapped into memory
_OPEN_FILES = 74
_BATCH = 10000


@dataclass(frozen=True)
class Entry:
    """An `o`, `q` or `d` entry of the index.

    :param key: its key
    :param volume: number
    :param offset: in the volume
    :param length: of the record or space
    :param location: the Location of the file; None of a `d`, like the rest
    :param partition: of the file
    :param hash: of the object's name, 16 bytes
    :param name: of the file
    """
    key: bytes
    volume: int
    offset: int
    length: int
    location: Location | None = None
    partition: int | None = None
    hash: bytes | None = None
    name: str | None = None

    @classmethod
    def unpack(cls, key, value):
        """Read an entry of the index.

        :raises FormatError: if it is none
        """
        if key[:1] == keys.DEAD:
            try:
                place = keys.split_dead_key(key)
            except struct.error as err:
                raise FormatError('key %s: %s' % (key.hex(), err))
            length, = unpack_varints(value, 1, 'length')
            return cls(key, *place, length)
        location = Location.unpack(value)
        partition, hash_, name = keys.split_file_key(key)
        return cls(key, *location.spot, location.length, location,
                   partition, hash_, name)

    @property
    def letter(self):
        """The first byte of the key: what the entry is of."""
        return self.key[:1]

    @property
    def spot(self):
        """The volume and offset that it points to."""
        return self.volume, self.offset


@dataclass
class Count:
    """The sums of the entries of a volume, as VolumeState has them."""
    files: int = 0
    bytes: int = 0
    dead_bytes: int = 0
    held: int = 0
    held_bytes: int = 0

    def add(self, entry):
        """Count an entry."""
        if entry.letter == keys.FILE:
            self.files += 1
            self.bytes += entry.length
        elif entry.letter == keys.QUARANTINED:
            self.held += 1
            self.held_bytes += entry.length
        else:
            self.dead_bytes += entry.length


class EntryOrder:
    """Entries of an index, sorted by volume and offset.

    :param path: of a directory that does not exist, for a LevelDB
    """

    def __init__(self, path):
        self._db = plyvel.DB(path, create_if_missing=True,
                             error_if_exists=True, compression=None,
                             write_buffer_size=_WRITE_BUFFER,
                             max_open_files=_OPEN_FILES)
        #: number of a volume -> Count
        self.counts = {}
        self.entries = 0

    @classmethod
    @contextlib.contextmanager
    def temporary(cls, directory=None):
        """Make one that is removed when its context is left.

        :param directory: where to put it; by default as tempfile does
        :returns: a context with an EntryOrder
        """
        with tempfile.TemporaryDirectory(prefix='losf-fsck-',
                                         dir=directory) as path:
            with contextlib.closing(
                    cls(os.path.join(path, 'entries'))) as order:
                yield order

    def fill(self, db, progress):
        """Take over the entries of an index.

        :param db: the Database of the index
        :param progress: a Progress
        :returns: an iterator of Findings: entries that cannot be read
        """
        for letter in (keys.FILE, keys.QUARANTINED, keys.DEAD):
            scan = db.scan(*keys.prefix_range(letter))
            while batch := list(itertools.islice(scan, _BATCH)):
                with self._db.write_batch() as writes:
                    for key, value in batch:
                        try:
                            entry = Entry.unpack(key, value)
                        except FormatError as err:
                            yield Finding(Kind.BAD_ENTRY, detail=str(err),
                                          put=key)
                            continue
                        self._take(writes, entry, value)
                progress.step(len(batch))

    def _take(self, writes, entry, value):
        self.counts.setdefault(entry.volume, Count()).add(entry)
        self.entries += 1
        writes.put(_PLACE.pack(*entry.spot) + entry.key, value)

    def volume(self, number):
        """Return an iterator of (offset, the Entries there), by offset."""
        start, stop = _PLACE.pack(number, 0), _PLACE.pack(number + 1, 0)
        entries = (Entry.unpack(key[_PLACE.size:], value)
                   for key, value in self._db.iterator(start=start,
                                                       stop=stop))
        for offset, group in itertools.groupby(
                entries, lambda entry: entry.offset):
            yield offset, list(group)

    def close(self):
        """Close the temporary LevelDB."""
        self._db.close()
