# SPDX-License-Identifier: Apache-2.0
"""Answers from memory what several calls of Swift's ask of the same files.

Each class here is an ObjectFiles that has asked the index once. A manager
that has one in the place of its own (:meth:`KVManager.with_files`) is made for
one operation, and only what Swift does in that operation sees it.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from os.path import basename, dirname
from typing import Any, NamedTuple

from swift_losf.diskfile.object_files import ObjectFiles
from swift_losf.diskfile.store import Store
from swift_losf.format.header import FormatError
from swift_losf.format.layout import ObjectPath
from swift_losf.format.metadata import decode_metadata
from swift_losf.format.values import WITHHELD, Location

_Find = Callable[[str], tuple[Store, ObjectPath]]


class ListedSuffix(ObjectFiles):
    """The files of one suffix, as they were listed.

    The files of each hash are told once from the listing, and asked for
    afterwards.

    :param find: of an ObjectFiles
    :param path: of the suffix
    :param files: a dict, hash to file names
    """

    def __init__(self, find: _Find, path: str,
                 files: dict[str, list[str]]) -> None:
        super().__init__(find)
        self._path = path
        self._listed = dict(files)
        # Whether the suffix still has files, as far as is known.
        self._lasts = bool(files)

    def _hashes(self, store: Store, where: ObjectPath, path: str
                ) -> list[str]:
        if path == self._path:
            return list(self._listed)
        return super()._hashes(store, where, path)

    def list_dir(self, path: str) -> list[str]:
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
                 files: Mapping[str, Location] | None = None) -> None:
        super().__init__(find)
        self._path = path
        self._given = files
        self._located: Mapping[str, Location | None] = files or {}

    def _files(self, store: Store, where: ObjectPath, path: str
               ) -> dict[str, Location]:
        if path != self._path:
            return super()._files(store, where, path)
        if self._given is not None:
            files, self._given = dict(self._given), None
        else:
            files = super()._files(store, where, path)
        self._located = files
        return files

    def _known(self, path: str) -> Location | None:
        if dirname(path) == self._path:
            return self._located.get(basename(path))
        return None


class MetadataOfFile(NamedTuple):
    """A data file whose metadata are known, and which nobody reads.

    :param size: of the data, in bytes
    :param metadata: a dict
    """
    size: int
    metadata: dict[str, Any]

    def close(self) -> None:
        """Do nothing: no file is open."""


class KnownMetadata(OneObject):
    """The files of one hash of which only the metadata are asked for.

    Where the index has them, no volume is opened.
    """

    def open_data_file(self, path: str) -> Any:
        """Return what has the size and the metadata of a data file."""
        return self._told(path) or super().open_data_file(path)

    def read_file_metadata(self, source: Any) -> dict[str, Any]:
        """Return the metadata of a file."""
        told = self._told(source) if isinstance(source, str) else None
        return told.metadata if told else super().read_file_metadata(source)

    def _told(self, path: str) -> MetadataOfFile | None:
        location = self._known(path)
        if location and location.metadata == WITHHELD:
            location = self.locate(path)
            self._located = {**self._located, basename(path): location}
        if location and location.metadata:
            with suppress(FormatError):  # the record is to tell, then
                return MetadataOfFile(location.data_length,
                                      decode_metadata(location.metadata))
        return None
