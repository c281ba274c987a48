# SPDX-License-Identifier: Apache-2.0
"""Copies what can be read of a damaged index into a new one.

FORMAT.md, "A damaged index". LevelDB passes over a block that it cannot read,
and says so: so what can be read before and behind it is found by seeking. An
older entry may show where a newer one, or a deletion, could not be read; so of
what stands between the two nothing is taken, from whatever table.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import plyvel

from swift_losf.format import keys
from swift_losf.format.header import FormatError
from swift_losf.format.values import Location, VolumeState, unpack_varints
from swift_losf.index.change import NEXT_KEY
from swift_losf.index.db import UNFINISHED, VERSION_KEY
from swift_losf.index.known import ALL, Gap
from swift_losf.index.part_power import KEY as PART_POWER
from swift_losf.index.part_power import unpack as unpack_part_power

#: longer than any key of a hash: by such numbers places between keys are told
_WIDTH = 64
_LAST = b'\xff' * _WIDTH
#: entries that are written at once
_BATCH = 5000

#: a key and a value; no value: nothing could be read from the end of the entry
#: before up to the key
_Entry = tuple[bytes, bytes | None]


class NothingLeft(Exception):
    """Too little of an index can be read to go on with it."""


def read_around(db: Any) -> Iterator[_Entry]:
    """Yield the entries that can be read, and where such begin again.

    :param db: a plyvel.DB
    :raises NothingLeft: if nothing can be read up to the end
    """
    at = b''
    while True:
        try:
            for key, value in _entries(db, at):
                yield key, value
                at = key + b'\0'
            return
        except plyvel.Error:
            at = _readable_from(db, at)
            yield at, None


def _entries(db, start):
    return db.iterator(start=start, verify_checksums=True, fill_cache=False)


def _is_readable(db, key):
    try:
        with _entries(db, key) as entries:
            next(entries, None)
        return True
    except plyvel.Error:
        return False


def _readable_from(db, start):
    """Return the first key from which on there is something readable."""
    if not _is_readable(db, _LAST):
        raise NothingLeft('none of its tables can be found')
    low, step = int.from_bytes(start.ljust(_WIDTH, b'\0'), 'big'), 1
    last = int.from_bytes(_LAST, 'big')
    while not _is_readable(db, _key(min(low + step, last))):
        low, step = low + step, 2 * step
    high = min(low + step, last)
    while high - low > 1:
        middle = (low + high) // 2
        if _is_readable(db, _key(middle)):
            high = middle
        else:
            low = middle
    return _key(high)


def _key(number):
    return number.to_bytes(_WIDTH, 'big')


class Salvage:
    """Takes over the entries of a damaged index, hash by hash.

    :param source: its directory
    :param database: of an index that is new, and is to be filled
    :param progress: called with a few words on what is being done
    """

    def __init__(self, source: str, database: Any,
                 progress: Callable[[str], None] = lambda state: None
                 ) -> None:
        self._source = source
        self._database = database
        self._progress = progress
        self._copied = 0
        #: places of hashes that could not be read whole
        self.gaps: list[Gap] = []
        #: the hash whose entries are being read, empty if others are; they
        self._place = b''
        self._group: list[tuple[bytes, bytes]] = []
        #: behind what could not be read: such a hash is not taken
        self._skipped = b''
        self._batch: list[tuple[bytes, bytes]] = []
        self._counts: dict[int, Counter[str]] = {}

    def run(self) -> None:
        """Copy what can be read.

        :raises NothingLeft: if more than entries of files is damaged
        :raises plyvel.Error: if the new index cannot be written
        """
        try:
            source = plyvel.DB(self._source, paranoid_checks=True)
        except (plyvel.Error, OSError) as err:
            raise NothingLeft(str(err)) from err
        try:
            for key, value in read_around(source):
                if value is None:
                    self._pass_over(key)
                else:
                    self._take(key, value)
        except FormatError as err:
            raise NothingLeft(str(err)) from err
        finally:
            source.close()
        self._end_group()
        self._write()

    def _pass_over(self, end: bytes) -> None:
        if not self._place or end >= keys.QUARANTINED:
            raise NothingLeft('more than entries of files is damaged')
        self._group = []
        self._skipped = keys.hash_prefix(end)
        self._add_gap(self._place, self._skipped)

    def _add_gap(self, first: bytes, last: bytes) -> None:
        """Note that hashes are not known.

        :param first: the place of the first
        :param last: the prefix of the keys of the last
        """
        if self.gaps and self.gaps[-1][1] >= first:
            first = self.gaps.pop()[0]
        behind = keys.prefix_range(last)[1]
        self.gaps.append((first, behind[1:] if behind[:1] == keys.FILE
                          else ALL[1]))

    def _take(self, key: bytes, value: bytes) -> None:
        letter = key[:1]
        if letter == keys.FILE:
            if key.startswith(self._skipped or b'\xff'):
                return
            if keys.split_code(key)[0] != self._place:
                self._end_group()
                self._place = keys.split_code(key)[0]
            self._group.append((key, value))
            return
        self._end_group()
        self._place = b''
        self._take_other(letter, key, value)

    def _take_other(self, letter: bytes, key: bytes, value: bytes) -> None:
        if letter == keys.DEAD:
            length, = unpack_varints(value, 1, 'length')
            self._count(keys.split_dead_key(key)[0], dead_bytes=length)
        elif letter == keys.QUARANTINED:
            location = Location.unpack(value)
            self._count(location.volume, held=1, held_bytes=location.length)
        elif letter == keys.VOLUME:
            value = self._counted(keys.split_volume_key(key), value)
        elif key == UNFINISHED:
            raise NothingLeft('it was being made anew itself')
        elif key == PART_POWER:
            unpack_part_power(value)
        elif key not in (NEXT_KEY, VERSION_KEY):
            return
        self._put(key, value)

    def _end_group(self) -> None:
        try:
            found = [(keys.split_file_key(key), Location.unpack(value))
                     for key, value in self._group]
        except FormatError:
            self._add_gap(self._place, keys.FILE + self._place)
        else:
            for _, location in found:
                self._count(location.volume, files=1, bytes=location.length)
            for key, value in self._group:
                self._put(key, value)
        self._group = []

    def _count(self, volume: int, **numbers: int) -> None:
        self._counts.setdefault(volume, Counter()).update(numbers)

    def _counted(self, volume: int, value: bytes) -> bytes:
        none = dict.fromkeys(
            ('files', 'bytes', 'dead_bytes', 'held', 'held_bytes'), 0)
        return replace(VolumeState.unpack(value), **{
            **none, **self._counts.get(volume, {})}).pack()

    def _put(self, key: bytes, value: bytes) -> None:
        self._batch.append((key, value))
        if len(self._batch) >= _BATCH:
            self._write()

    def _write(self) -> None:
        self._database.copy_in(self._batch)
        self._copied += len(self._batch)
        self._batch = []
        self._progress('%d entries of the index copied' % self._copied)
