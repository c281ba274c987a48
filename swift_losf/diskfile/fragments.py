# SPDX-License-Identifier: Apache-2.0
"""Swift's diskfile for fragments of erasure coding that are in volumes.

Swift's own classes decide which fragments make up an object, and what becomes
of the others; what they ask of a file system is answered as for whole objects
(kvfile.py). What is new is that a fragment gets another name, by which it is
durable: FORMAT.md, "Fragments".
"""

from os.path import basename
from typing import Any, Callable, Dict, Optional

from swift.common.concurrency import tpool
from swift.obj import diskfile

from swift_losf.diskfile.known_files import OneObject
from swift_losf.diskfile.kvfile import KVFile, KVReader, KVWriter
from swift_losf.diskfile.kvmanager import KVManager
from swift_losf.format.values import Location


class KVECDiskFileReader(KVReader, diskfile.ECDiskFileReader):
    """Reads a fragment archive, and checks each fragment of it."""


class _Untold(OneObject):
    """Gives a fragment that the index has not been told of its last name.

    :param find: of an ObjectFiles
    :param path: of the hash directory
    :param tell: what tells the index, a function of that name that returns
        the files of the object, as a dict; None if it was told before
    """

    def __init__(self, find: Any, path: str,
                 tell: Callable[[str], Optional[Dict[str, Location]]]
                 ) -> None:
        super().__init__(find, path)
        self._tell = tell

    def rename_file(self, source: str, target: str) -> None:
        """Enter the fragment by the name by which it is durable."""
        files = self._tell(basename(target))
        if files is None:
            super().rename_file(source, target)
        else:
            self._given = self._located = files


class KVECDiskFileWriter(diskfile.ECDiskFileWriter, KVWriter):
    """Writes a fragment archive, and makes it durable.

    The index is told of it once: by commit, or, if that does not come or
    fails, when the writer is closed.
    """
    #: name and Pending of a fragment that the index has not been told of
    _untold: Any = None
    #: the manager that its commit asks, once it was written
    _committing: Any = None

    @property
    def manager(self):
        return self._committing or super().manager

    def _enter(self, name, pending, superseded):
        if self._extension != '.data':
            return super()._enter(name, pending, superseded)
        self._untold = name, pending
        self._committing = self.manager.with_files(_Untold(
            self.manager.files.find, self._datadir, self._tell))
        return []

    def _note_change(self):
        if self._extension != '.data':
            super()._note_change()

    def _tell(self, name):
        if not self._untold:
            return None
        before, pending = self._untold
        if name != before:
            self._store.mark_durable(pending)
        # Who has hashed the suffix since it was written has seen no file.
        super()._note_change()
        superseded = (before, *self._superseded(name)) if name != before \
            else ()
        self._untold = None
        return dict(super()._enter(name, pending, superseded))

    def close(self):
        if self._untold:
            name, pending = self._untold
            try:
                tpool.execute(self._tell, name)
            except BaseException:
                pending.done()
                raise
        super().close()


class KVECDiskFile(diskfile.ECDiskFile, KVFile):
    """The fragment archives of an object that this device has."""
    reader_cls = KVECDiskFileReader
    writer_cls = KVECDiskFileWriter


class KVECDiskFileManager(KVManager, diskfile.ECDiskFileManager):
    """The diskfile module ``egg:swift-lightsync#erasure_coding.kv``."""
    diskfile_cls = KVECDiskFile
    hooks = (*KVManager.hooks, 'rename_file')
