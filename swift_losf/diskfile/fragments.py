# SPDX-License-Identifier: Apache-2.0
"""Swift's diskfile for fragments of erasure coding that are in volumes.

Swift's own classes decide which fragments make up an object, and what becomes
of the others; what they ask of a file system is answered as for whole objects
(kvfile.py). What is new is that a fragment gets another name, by which it is
durable: FORMAT.md, "Fragments".
"""

from swift.obj import diskfile

from swift_losf.diskfile.kvfile import KVFile, KVReader, KVWriter
from swift_losf.diskfile.kvmanager import KVManager


class KVECDiskFileReader(KVReader, diskfile.ECDiskFileReader):
    """Reads a fragment archive, and checks each fragment of it."""


class KVECDiskFileWriter(diskfile.ECDiskFileWriter, KVWriter):
    """Writes a fragment archive, and makes it durable."""


class KVECDiskFile(diskfile.ECDiskFile, KVFile):
    """The fragment archives of an object that this device has."""
    reader_cls = KVECDiskFileReader
    writer_cls = KVECDiskFileWriter


class KVECDiskFileManager(KVManager, diskfile.ECDiskFileManager):
    """The diskfile module ``egg:swift-lightsync#erasure_coding.kv``."""
    diskfile_cls = KVECDiskFile
    hooks = (*KVManager.hooks, 'rename_file')
