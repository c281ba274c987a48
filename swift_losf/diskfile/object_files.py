# SPDX-License-Identifier: Apache-2.0
"""Lists, opens, reads and removes the files of objects that are in volumes.

Swift's own classes decide which files make up an object, which of them are
obsolete, and what the suffix hashes are. Here is only what they ask of a file
system (patch 0004). A path of a hash directory, or of a file in one, is a name
like any other: nothing is found there on the disk.

Here the index is asked each time. Where several calls of Swift's need one
answer, they are given a manager whose files remember it: known_files.py.
"""

import errno
import os
import time
from collections.abc import Callable
from os.path import basename
from typing import Any, TypeVar

from swift.common.exceptions import (
    DiskFileBadMetadataChecksum,
    DiskFileError,
    DiskFileStateChanged,
)

from swift_losf.diskfile.store import Store
from swift_losf.diskfile.vfile import VFileReader
from swift_losf.format.layout import ObjectPath
from swift_losf.format.values import Location
from swift_losf.volumes.volume import UNREADABLE

_T = TypeVar('_T')


def _no_such(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _unreadable(path: str, reason: object) -> OSError:
    return OSError(errno.EUCLEAN, str(reason), path)


class ObjectFiles:
    """The files below the partitions of a node's devices.

    :param find: a function of a path of a partition, or of a path below one,
        that returns the Store that has it and its ObjectPath; it raises
        ValueError for any other path
    """

    def __init__(self,
                 find: Callable[[str], tuple[Store, ObjectPath]]) -> None:
        self.find = find

    def list_dir(self, path: str) -> list[str]:
        """Return the names in a directory, as os.listdir does."""
        try:
            store, where = self.find(path)
        except ValueError:
            return os.listdir(path)
        if where.object_hash:
            names = list(self._files(store, where, path))
        elif where.suffix:
            names = self._hashes(store, where, path)
        else:
            # An error, if it is no directory.
            os.listdir(path)
            return store.list_partition(where.partition)
        if not names:
            raise _no_such(path)
        return names

    def _hashes(self, store: Store, where: ObjectPath, path: str
                ) -> list[str]:
        return [each for each, _ in store.list_suffix(
            where.partition, where.suffix)]

    def _files(self, store: Store, where: ObjectPath, path: str
               ) -> dict[str, Location]:
        """Return where the files of a hash are."""
        return dict(store.list_hash(where.partition, where.object_hash))

    def locate(self, path: str) -> Location | None:
        """Ask the index where a file is now.

        :param path: of the file
        :returns: the Location of its record, or None
        """
        return self._locate(*self.find(path))

    def remove_dir(self, path: str) -> None:
        """Check that a directory is empty: then it does not exist any more.

        :raises OSError: ENOTEMPTY if a suffix still has files
        """
        store, where = self.find(path)
        if not where.object_hash and self._has_files(store, where, path):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    def _has_files(self, store: Store, where: ObjectPath, path: str) -> bool:
        return store.has_files(where.partition, where.suffix)

    def remove_file(self, path: str) -> None:
        """Remove a file from the index."""
        store, where = self.find(path)
        store.remove(where.partition, where.object_hash, [where.name])
        self.note_removal()

    def rename_file(self, source: str, target: str) -> None:
        """Give a fragment the name by which it is durable.

        :raises FileNotFoundError: if it does not exist any more
        """
        store, where = self.find(source)
        store.make_durable(where, basename(target))

    def note_removal(self) -> None:
        """Note that files were removed, maybe of a suffix that is known."""

    def is_file_older(self, path: str, age: float) -> bool:
        """Return whether a file was written more than age seconds ago.

        Nobody waits for one that is damaged.
        """
        if age <= 0:
            return True
        try:
            _, written = self._read(path)
        except FileNotFoundError:
            return False
        except OSError as err:
            if err.errno == errno.EUCLEAN:
                return True
            raise
        return time.time() - written / 1e9 > age

    def open_data_file(self, path: str) -> VFileReader:
        """Open a data file.

        :raises FileNotFoundError: if the index does not have it
        :raises OSError: EUCLEAN if the file is to be put into quarantine
        :raises DiskFileError: if it cannot be read for another reason
        """
        store, where = self.find(path)
        return self._at_location(store, where, path, store.open)

    def read_file_metadata(self, source: Any) -> dict[str, Any]:
        """Return the metadata of a file.

        :param source: its path, or a VFileReader that is open
        :raises DiskFileStateChanged: if the file does not exist any more
        :raises DiskFileBadMetadataChecksum: if it is damaged
        """
        if not isinstance(source, str):
            return dict(source.metadata)
        try:
            return self._read(source)[0]
        except FileNotFoundError:
            raise DiskFileStateChanged()
        except OSError as err:
            raise DiskFileBadMetadataChecksum(str(err)) from err

    def _read(self, path: str) -> tuple[dict[str, Any], int]:
        store, where = self.find(path)
        return self._at_location(store, where, path, store.read_metadata)

    def _at_location(self, store: Store, where: ObjectPath, path: str,
                     method: Callable[[ObjectPath, Location], _T]) -> _T:
        """Call a method of the store with the location of a file.

        This is where it is known to have been, or, if it is no longer there,
        where it is now.
        """
        location = self._known(path) or self._locate(store, where)
        tried: Location | None = None
        while location and location != tried:
            try:
                return method(where, location)
            except FileNotFoundError:
                tried, location = location, self._locate(store, where)
            except OSError as err:
                if err.errno in UNREADABLE:
                    raise _unreadable(path, err) from err
                # Not an OSError: Swift would take it for an empty object.
                raise DiskFileError('Failed to read %s: %s' % (
                    path, err)) from err
        if location:
            raise _unreadable(path, 'the index has it, but not its volume')
        raise _no_such(path)

    def _known(self, path: str) -> Location | None:
        """Return where a file was a while ago, or None."""

    @staticmethod
    def _locate(store: Store, where: ObjectPath) -> Location | None:
        return dict(store.ask_for_hash(
            where.partition, where.object_hash)).get(where.name)
