# SPDX-License-Identifier: Apache-2.0
"""Swift's diskfile for fragments of erasure coding that are in volumes.

Swift's own classes decide which fragments make up an object, and what becomes
of the others; what they ask of a file system is answered as for whole objects
(kvfile.py). What is new is that a fragment gets another name, by which it is
durable: FORMAT.md, "Fragments".
"""

from collections.abc import Callable
from os.path import basename
from typing import Any

from swift.obj import diskfile

from swift_losf.diskfile.known_files import OneObject
from swift_losf.diskfile.kvfile import KVFile, KVReader, KVWriter
from swift_losf.diskfile.kvmanager import KVManager
from swift_losf.errors import IndexUnavailable
from swift_losf.format.values import Location


class KVECDiskFileReader(KVReader, diskfile.ECDiskFileReader):
    """Reads a fragment archive, and checks each fragment of it."""


class _Committing(OneObject):
    """Gives a fragment that its writer still holds its last name.

    :param find: of an ObjectFiles
    :param path: of the hash directory
    :param commit: a function of that name that returns the files of the
        object, as a dict; None if the writer holds the fragment no more
    """

    def __init__(self, find: Any, path: str,
                 commit: Callable[[str], dict[str, Location] | None]
                 ) -> None:
        super().__init__(find, path)
        self._commit = commit

    def rename_file(self, source: str, target: str) -> None:
        """Enter the fragment by the name by which it is durable."""
        files = self._commit(basename(target))
        if files is None:
            super().rename_file(source, target)
        else:
            self._given = self._located = files


class KVECDiskFileWriter(diskfile.ECDiskFileWriter, KVWriter):
    """Writes a fragment archive, and makes it durable.

    Until that, or until it is closed, it holds the record: recovery looks at
    it again, and no compactor moves it.
    """
    #: the Pending of a fragment that has an entry, but is not durable
    _held: Any = None
    #: the manager that its commit asks, once it was written
    _committing: Any = None

    @property
    def manager(self):
        return self._committing or super().manager

    def _enter(self, name, pending, superseded, is_last=True):
        if self._extension != '.data':
            return super()._enter(name, pending, superseded)
        self._held = pending
        self._committing = self.manager.with_files(_Committing(
            self.manager.files.find, self._datadir, self._commit))
        return super()._enter(name, pending, superseded, is_last=False)

    def _commit(self, name):
        if not self._held:
            return None
        self._store.mark_durable(self._held)
        self._note_change()
        try:
            files = super()._enter(name, self._held, self._superseded(name))
        except IndexUnavailable:
            if self._is_entered(self._held.location):
                raise
            # Another writer has removed it, or put one of its name there.
            self._let_go()
            return None
        self._held = None
        return dict(files)

    def _is_entered(self, location):
        return location in [each for _, each in self._store.ask_for_hash(
            self._where.partition, self._where.object_hash)]

    def _let_go(self):
        if self._held:
            self._held.done()
            self._held = None

    def close(self):
        self._let_go()
        super().close()


class KVECDiskFile(diskfile.ECDiskFile, KVFile):
    """The fragment archives of an object that this device has."""
    reader_cls = KVECDiskFileReader
    writer_cls = KVECDiskFileWriter


class KVECDiskFileManager(KVManager, diskfile.ECDiskFileManager):
    """The diskfile module ``egg:swift-lightsync#erasure_coding.kv``."""
    diskfile_cls = KVECDiskFile
    hooks = (*KVManager.hooks, 'rename_file')
