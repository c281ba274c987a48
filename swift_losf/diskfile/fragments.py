# SPDX-License-Identifier: Apache-2.0
"""Swift's diskfile for fragments of erasure coding that are in volumes.

Swift's own classes decide which fragments make up an object, and what becomes
of the others; what they ask of a file system is answered as for whole objects
(kvfile.py). What is new is that a fragment gets another name, by which it is
durable: FORMAT.md, "Fragments".
"""

from typing import Any

from swift.common.concurrency import tpool
from swift.obj import diskfile

from swift_losf.diskfile.kvfile import KVFile, KVReader, KVWriter
from swift_losf.diskfile.kvmanager import KVManager
from swift_losf.format.name_code import durable_name, written_name


class KVECDiskFileReader(KVReader, diskfile.ECDiskFileReader):
    """Reads a fragment archive, and checks each fragment of it."""


class KVECDiskFileWriter(diskfile.ECDiskFileWriter, KVWriter):
    """Writes a fragment archive, and makes it durable.

    The index is told of it once: by commit, or, if that does not come, when
    the writer is closed. So it is entered with the name that it keeps.
    """
    #: name and Pending of a fragment that the index has not been told of
    _untold: Any = None

    def _enter(self, name, pending, cleanup):
        if self._extension == '.data':
            self._untold = name, pending
        else:
            super()._enter(name, pending, cleanup)

    def _superseded(self, name):
        return list(filter(None, (*super()._superseded(name),
                                  written_name(name))))

    def _note_change(self):
        if self._extension != '.data':
            super()._note_change()

    def _tell(self, is_durable):
        (name, pending), self._untold = self._untold, None
        try:
            with self._no_space():
                tpool.execute(self._settle, pending, is_durable)
        except BaseException:
            pending.done()
            raise
        super()._enter(durable_name(name) if is_durable else name, pending,
                       cleanup=is_durable)

    def _settle(self, pending, is_durable):
        if is_durable:
            self._store.mark_durable(pending)
        # Who has hashed the suffix since it was written has seen no file.
        super()._note_change()

    def commit(self, timestamp):
        if self._untold:
            self._tell(is_durable=True)
        else:
            super().commit(timestamp)

    def close(self):
        if self._untold:
            self._tell(is_durable=False)
        super().close()


class KVECDiskFile(diskfile.ECDiskFile, KVFile):
    """The fragment archives of an object that this device has."""
    reader_cls = KVECDiskFileReader
    writer_cls = KVECDiskFileWriter


class KVECDiskFileManager(KVManager, diskfile.ECDiskFileManager):
    """The diskfile module ``egg:swift-lightsync#erasure_coding.kv``."""
    diskfile_cls = KVECDiskFile
    hooks = (*KVManager.hooks, 'rename_file')
