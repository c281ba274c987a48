# SPDX-License-Identifier: Apache-2.0
"""Answers from memory what several calls of Swift's ask of the same files.

Each class here is an ObjectFiles that has asked the index once. A manager
that has one in the place of its own (:meth:`KVManager.with_files`) is made for
one operation, and only what Swift does in that operation sees it.
"""

from os.path import basename, dirname
from typing import Callable, Dict, List, Mapping, Optional, Tuple

from swift_losf.diskfile.object_files import ObjectFiles
from swift_losf.diskfile.store import Store
from swift_losf.format.layout import ObjectPath
from swift_losf.format.values import Location

_Find = Callable[[str], Tuple[Store, ObjectPath]]


class ListedSuffix(ObjectFiles):
    """The files of one suffix, as they were listed.

    The files of each hash are told once from the listing, and asked for
    afterwards.

    :param find: of an ObjectFiles
    :param path: of the suffix
    :param files: a dict, hash to file names
    """

    def __init__(self, find: _Find, path: str,
                 files: Dict[str, List[str]]) -> None:
        super().__init__(find)
        self._path = path
        self._listed = dict(files)
        # Whether the suffix still has files, as far as is known.
        self._lasts = bool(files)

    def _hashes(self, store: Store, where: ObjectPath, path: str
                ) -> List[str]:
        if path == self._path:
            return list(self._listed)
        return super()._hashes(store, where, path)

    def list_dir(self, path: str) -> List[str]:
        """Return the names in a directory, as os.listdir does."""
        if dirname(path) == self._path and basename(path) in self._listed:
            return self._listed.pop(basename(path))
        return super().list_dir(path)

    def _has_files(self, store: Store, where: ObjectPath, path: str) -> bool:
        return self._lasts and path == self._path or super()._has_files(
            store, where, path)

    def note_removal(self) -> None:
        """Note that files were removed, maybe of this suffix."""
        self._lasts = False


class OneObject(ObjectFiles):
    """The files of one hash, and where they were when they were listed.

    :param find: of an ObjectFiles
    :param path: of the hash directory
    :param files: a dict of names to Locations, which are told once; None: the
        index is asked
    """

    def __init__(self, find: _Find, path: str,
                 files: Optional[Mapping[str, Location]] = None) -> None:
        super().__init__(find)
        self._path = path
        self._given = files
        self._located = files or {}

    def _files(self, store: Store, where: ObjectPath, path: str
               ) -> Dict[str, Location]:
        if path != self._path:
            return super()._files(store, where, path)
        if self._given is not None:
            files, self._given = dict(self._given), None
        else:
            files = super()._files(store, where, path)
        self._located = files
        return files

    def _known(self, path: str) -> Optional[Location]:
        if dirname(path) == self._path:
            return self._located.get(basename(path))
        return None
