# SPDX-License-Identifier: Apache-2.0
"""
Lists, opens, reads and removes the files of objects that are in volumes.

Swift's own classes decide which files make up an object, which of them are
obsolete, and what the suffix hashes are. Here is only what they ask of a file
system (patch 0004). A path of a hash directory, or of a file in one, is a name
like any other: nothing is found there on the disk.

The index is asked once for what several calls of Swift's need. What it said
last is kept for each greenlet and thread: the files of a suffix (``listed``),
those of the suffixes to come (``look_ahead``), and where the files of a hash
are (``with_files``).
"""

import errno
import os
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os.path import basename, dirname
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Tuple,
    TypeVar,
)

from swift.common.exceptions import (
    DiskFileBadMetadataChecksum,
    DiskFileError,
    DiskFileStateChanged,
)
from swift.common.utils import EUCLEAN

from swift_losf.diskfile.lookahead import Lookahead
from swift_losf.diskfile.store import Store
from swift_losf.diskfile.vfile import VFileReader
from swift_losf.format.layout import ObjectPath
from swift_losf.format.values import Location

_T = TypeVar('_T')

#: what a disk answers if a file is to be put into quarantine
UNREADABLE = errno.EIO, errno.ENODATA, EUCLEAN


@dataclass
class _Listed:
    """
    What the index has just said of a suffix.

    :param path: of the suffix
    :param files: a dict of hash to file names; each is taken out once
    :param lasts: whether the suffix still has files, as far as is known
    """
    path: Optional[str] = None
    files: Dict[str, List[str]] = field(default_factory=dict)
    lasts: bool = False


#: Each greenlet and thread has its own; threading.local, once eventlet has
#: patched it, mixes up threads.
_LISTED: ContextVar[_Listed] = ContextVar('listed', default=_Listed())
#: The path of a partition, and a Lookahead of its suffixes.
_AHEAD: ContextVar[Tuple[Optional[str], Optional[Lookahead]]] = ContextVar(
    'ahead', default=(None, None))
#: A path of a hash directory, and where its files are.
_LOCATED: ContextVar[Tuple[Optional[str], Mapping[str, Location]]] = \
    ContextVar('located', default=(None, {}))


def _no_such(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _unreadable(path: str, reason: object) -> OSError:
    return OSError(EUCLEAN, str(reason), path)


class ObjectFiles:
    """
    The files below the partitions of a node's devices.

    :param find: a function of a path of a partition, or of a path below one,
        that returns the Store that has it and its ObjectPath; it raises
        ValueError for any other path
    """

    def __init__(self,
                 find: Callable[[str], Tuple[Store, ObjectPath]]) -> None:
        self._find = find

    def list_dir(self, path: str) -> List[str]:
        """Return the names in a directory, as os.listdir does."""
        try:
            store, where = self._find(path)
        except ValueError:
            return os.listdir(path)
        if where.object_hash:
            names = self._list_files(store, where, path)
        elif where.suffix:
            names = self._list_hashes(store, where, path)
        else:
            # An error, if it is no directory.
            os.listdir(path)
            return store.list_partition(where.partition)
        if not names:
            raise _no_such(path)
        return names

    @staticmethod
    def _list_hashes(store: Store, where: ObjectPath, path: str) -> List[str]:
        listed = _LISTED.get()
        if listed.path == path:
            return list(listed.files)
        return [each for each, _ in store.list_suffix(
            where.partition, where.suffix)]

    @staticmethod
    def _list_files(store: Store, where: ObjectPath, path: str) -> List[str]:
        listed = _LISTED.get()
        if listed.path == dirname(path) and where.object_hash in listed.files:
            return listed.files.pop(where.object_hash)
        files = dict(store.list_hash(where.partition, where.object_hash))
        _LOCATED.set((path, files))
        return list(files)

    @contextmanager
    def listed(self, path: str, files: Optional[Dict[str, List[str]]] = None
               ) -> Iterator[None]:
        """
        Answer from one listing what is asked of a suffix in the context.

        The files of each object are listed once without asking the index.

        :param path: of the suffix
        :param files: a dict, hash to file names, or None to ask the index
        """
        if files is None:
            files = self._files_of(path)
        token = _LISTED.set(_Listed(path, files, bool(files)))
        try:
            yield
        finally:
            _LISTED.reset(token)

    def _files_of(self, path: str) -> Dict[str, List[str]]:
        store, where = self._find(path)
        partition, ahead = _AHEAD.get()
        if ahead and partition == dirname(path):
            return ahead.files(where.suffix)
        return dict(store.list_suffix(where.partition, where.suffix))

    @staticmethod
    def look_ahead(path: Optional[str] = None,
                   ahead: Optional[Lookahead] = None) -> None:
        """
        Ask a Lookahead for the suffixes of a partition from now on.

        :param path: of the partition; None: ask the index again
        :param ahead: the Lookahead of the partition
        """
        _AHEAD.set((path, ahead))

    @contextmanager
    def with_files(self, path: str, files: Mapping[str, Location]
                   ) -> Iterator[None]:
        """
        Answer from given files what is asked once of a hash directory.

        :param path: of the hash directory
        :param files: a dict of names to Locations
        """
        _LOCATED.set((path, files))
        with self.listed(dirname(path), {basename(path): list(files)}):
            yield

    def locate(self, path: str) -> Optional[Location]:
        """
        Ask the index where a file is now.

        :param path: of the file
        :returns: the Location of its record, or None
        """
        return self._locate(*self._find(path))

    def remove_dir(self, path: str) -> None:
        """
        Check that a directory is empty: then it does not exist any more.

        :raises OSError: ENOTEMPTY if a suffix still has files
        """
        store, where = self._find(path)
        listed = _LISTED.get()
        lasts = listed.path == path and listed.lasts
        if not where.object_hash and (lasts or store.has_files(
                where.partition, where.suffix)):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    def remove_file(self, path: str) -> None:
        """Remove a file from the index."""
        store, where = self._find(path)
        store.remove(where.partition, where.object_hash, [where.name])
        self.note_removal()

    def rename_file(self, source: str, target: str) -> None:
        """
        Give a fragment the name by which it is durable.

        :raises FileNotFoundError: if it does not exist any more
        """
        store, where = self._find(source)
        store.make_durable(where, basename(target))

    @staticmethod
    def note_removal() -> None:
        """Note that files were removed, maybe of the suffix just listed."""
        _LISTED.get().lasts = False

    def is_file_older(self, path: str, age: float) -> bool:
        """
        Return whether a file was written more than age seconds ago.

        Nobody waits for one that is damaged.
        """
        if age <= 0:
            return True
        try:
            _, written = self._read(path)
        except FileNotFoundError:
            return False
        except OSError as err:
            if err.errno == EUCLEAN:
                return True
            raise
        return time.time() - written / 1e9 > age

    def open_data_file(self, path: str) -> VFileReader:
        """
        Open a data file.

        :raises FileNotFoundError: if the index does not have it
        :raises OSError: EUCLEAN if the file is to be put into quarantine
        :raises DiskFileError: if it cannot be read for another reason
        """
        store, where = self._find(path)
        return self._at_location(store, where, path, store.open)

    def read_file_metadata(self, source: Any) -> Dict[str, Any]:
        """
        Return the metadata of a file.

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

    def _read(self, path: str) -> Tuple[Dict[str, Any], int]:
        store, where = self._find(path)
        return self._at_location(store, where, path, store.read_metadata)

    def _at_location(self, store: Store, where: ObjectPath, path: str,
                     method: Callable[[ObjectPath, Location], _T]) -> _T:
        """
        Call a method of the store with the location of a file.

        This is where the file was when it was listed, or, if it is no longer
        there, where it is now.
        """
        directory, files = _LOCATED.get()
        known = files.get(str(where.name)) if directory == dirname(path) \
            else None
        location = known or self._locate(store, where)
        tried: Optional[Location] = None
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

    @staticmethod
    def _locate(store: Store, where: ObjectPath) -> Optional[Location]:
        return dict(store.list_hash(
            where.partition, where.object_hash)).get(where.name)
