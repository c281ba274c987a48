# SPDX-License-Identifier: Apache-2.0
"""The directories and files in which the content of a disk's volumes is shown.

They are those that stock Swift would have: ``objects[-N]``, partition, suffix,
hash, file. A place among them is the tuple of the names that lead there; the
top has none. A directory is listed by the index's own listing of that level,
and nothing is kept here.

What fails is an OSError with the errno that a caller of the kernel is to see.
"""

import errno
import hashlib
import itertools
import os
import pickle  # nosec: B403
import re
from collections import Counter
from collections import Counter as CounterType
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import plyvel
from swift.obj import diskfile

from swift_losf.diskfile.object_files import ObjectFiles
from swift_losf.diskfile.store import Store
from swift_losf.diskfile.vfile import VFileReader
from swift_losf.format.keys import MAX_PARTITION, partition_of
from swift_losf.format.layout import ObjectPath
from swift_losf.volumes.volume import UNREADABLE

Place = tuple[str, ...]
#: how many names lead to a file
DEPTH = 5
#: what the names behind that of the objects directory look like
_NAMES = (r'0|[1-9][0-9]{0,9}', '[0-9a-f]{3}', '[0-9a-f]{32}', '.+')
#: bytes that Linux takes for one extended attribute
XATTR_SIZE = 65536
#: the number of the top, which is never forgotten (pyfuse3.ROOT_INODE)
ROOT = 1


@dataclass(frozen=True)
class File:
    """A file, as far as stat tells of it.

    :param size: of its data, bytes
    :param written: Unix time, ns; 0 if its record is damaged
    """
    size: int
    written: int


def attributes(metadata: Mapping[str, Any]) -> dict[bytes, bytes]:
    """Return the extended attributes in which stock Swift keeps metadata.

    :param metadata: of a file
    """
    text = pickle.dumps(diskfile._encode_metadata(metadata),
                        diskfile.PICKLE_PROTOCOL)
    pieces = [text[at:at + XATTR_SIZE]
              for at in range(0, len(text), XATTR_SIZE)]
    return {diskfile.METADATA_CHECKSUM_KEY: hashlib.md5(
                text, usedforsecurity=False).hexdigest().encode(),
            **{diskfile.METADATA_KEY + (b'%d' % number if number else b''):
               piece for number, piece in enumerate(pieces)}}


class Tree:
    """Lists and opens what the volumes of a device have.

    :param stores: a Store for each ``objects[-N]``; its index need only list
    """

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self._stores = stores
        self._files = ObjectFiles(
            lambda path: self._find(self._place(path)))
        #: where the device is mounted
        self.device_path = next(iter(stores.values())).layout.device_path

    def _path(self, place: Place) -> str:
        return os.path.join(self.device_path, *place)

    def _place(self, path: str) -> Place:
        return tuple(os.path.relpath(path, self.device_path).split('/'))

    def _gone(self, place: Place) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT),
                                 self._path(place))

    def _find(self, place: Place) -> tuple[Store, ObjectPath]:
        """Return the Store of a place below an objects directory, and where.

        :raises FileNotFoundError: if Swift has no such names
        """
        head, *names = place
        good = head in self._stores and all(map(re.fullmatch, _NAMES, names))
        if not good or int(names[0]) > MAX_PARTITION \
                or len(names) > 2 and names[2][-3:] != names[1]:
            raise self._gone(place)
        return self._stores[head], ObjectPath.parse(self._path(place))

    def list(self, place: Place) -> list[str]:
        """Return the names in a directory.

        :raises FileNotFoundError: if it is empty, which means it is not there
        """
        if not place:
            return sorted(self._stores)
        if len(place) == 1:
            return [str(each) for each in
                    self._stores[place[0]].index.list_partitions()]
        store, where = self._find(place)
        if len(place) == 2:
            return store.list_partition(where.partition)
        self._require_partition(store, place)
        return self._files.list_dir(self._path(place))

    def _require_partition(self, store: Store, place: Place) -> None:
        """Check that a hash has the partition in which it is looked for.

        :raises FileNotFoundError: if not: the index finds it anyhow
        """
        power = len(place) > 3 and store.index.statistics().part_power
        if power and partition_of(
                bytes.fromhex(place[3]), power) != int(place[1]):
            raise self._gone(place)

    def require(self, place: Place) -> None:
        """Check that a directory or a file is there.

        :raises FileNotFoundError: if it is not
        """
        if len(place) < 2:
            there = not place or place[0] in self._stores
        elif len(place) < 4:
            there = self._may_have_files(place)
        elif len(place) < DEPTH:
            there = bool(self.list(place))
        else:
            there = place[-1] in self.list(place[:-1])
        if not there:
            raise self._gone(place)

    def _may_have_files(self, place: Place) -> bool:
        """Return whether a partition or a suffix has files, or may have them.

        What cannot be read must not hide hashes below it that can.
        """
        store, where = self._find(place)
        try:
            return bool(store.has_files(where.partition, where.suffix))
        except plyvel.Error:
            return True

    def stat(self, place: Place) -> File:
        """Return what there is to tell of a file.

        :raises FileNotFoundError: if it is not there
        """
        try:
            with self.open(place) as reader:
                return File(reader.size, reader.written)
        except OSError as err:
            if err.errno not in UNREADABLE:
                raise
        location = self._files.locate(self._path(place))
        if not location:
            raise self._gone(place)
        return File(location.data_length, 0)

    def open(self, place: Place) -> VFileReader:
        """Open a file.

        :raises FileNotFoundError: if it is not there
        :raises OSError: EUCLEAN if it is damaged
        """
        self._require_partition(self._find(place)[0], place)
        return self._files.open_data_file(self._path(place))


class Inodes:
    """Gives each place that is looked up a number, which is never reused.

    The kernel goes by it, for as long as it knows the place.
    """

    def __init__(self) -> None:
        self._new = itertools.count(ROOT + 1)
        self._places: dict[int, Place] = {ROOT: ()}
        self._numbers: dict[Place, int] = {(): ROOT}
        self._looked_up: CounterType[int] = Counter()

    def place(self, number: int) -> Place:
        """Return the place of a number that the kernel knows."""
        return self._places[number]

    def number(self, place: Place) -> int:
        """Return the number of a place, a new one if it has none yet."""
        if place not in self._numbers:
            number = self._numbers[place] = next(self._new)
            self._places[number] = place
        return self._numbers[place]

    def look_up(self, number: int) -> None:
        """Note that the kernel was told of a number once more."""
        self._looked_up[number] += 1

    def forget(self, number: int, times: int = 0) -> None:
        """Drop a number that the kernel does not know any more.

        :param times: of its look-ups that are forgotten
        """
        self._looked_up[number] -= times
        if number != ROOT and self._looked_up[number] <= 0:
            del self._looked_up[number]
            self._numbers.pop(self._places.pop(number, ()), None)
