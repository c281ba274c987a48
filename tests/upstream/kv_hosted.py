# SPDX-License-Identifier: Apache-2.0
"""The diskfile classes of LOSF, as Swift's tests need them.

The index servers are real, and so is all of swift_losf. There is a server
wherever there is a device; partitions and hashes may be words; what a test
mocks in Swift or in os is asked; and a writer has a descriptor.
"""

import os
import re
import tempfile
import zlib
from functools import cache

from swift.common.storage_policy import EC_POLICY, REPL_POLICY
from swift.common.utils import Timestamp
from swift.obj import diskfile

from swift_losf.diskfile.fragments import (
    KVECDiskFile,
    KVECDiskFileManager,
    KVECDiskFileReader,
    KVECDiskFileWriter,
)
from swift_losf.diskfile.kvfile import (
    KVDiskFile,
    KVDiskFileManager,
    KVDiskFileReader,
    KVDiskFileWriter,
)
from swift_losf.format.name_code import durable_name
from tests.upstream.index_host import IndexHost
from tests.upstream.kv_content import VolumeContent

HOST = IndexHost()

#: the directories of devices for which a test has made a manager
ROOTS = set()
#: the socket of an index has 20 characters more, and 107 at most
MAX_DEVICE_PATH = 87
PARTITION = re.compile(r'(?P<device>.*)/(?P<objects>objects(?:-\d+)?)/'
                       r'(?P<partition>[^/]+)')
#: the hash directory "hash", as some tests call the only one of a suffix
WORD = re.compile(r'/(?P<suffix>[0-9a-f]{3})/hash(?=/|\Z)')


@cache
def shortened(device_path):
    """Return a path of a device that leaves room for a socket's path."""
    if len(device_path) <= MAX_DEVICE_PATH:
        return device_path
    link = tempfile.mktemp(prefix='d')
    os.symlink(device_path, link)
    return link


def known(path):
    """Return a path as swift_losf takes it: partition and hash are no words.

    :param path: perhaps below an objects directory
    """
    match = PARTITION.match(path)
    if not match:
        return path
    partition = match['partition']
    if not partition.isdigit():
        partition = zlib.crc32(partition.encode())
    return '%s/%s/%s%s' % (
        shortened(match['device']), match['objects'], partition,
        WORD.sub(lambda word: '/%s/%032x' % (word['suffix'], int(
            word['suffix'], 16)), path[match.end():]))


class HostedContent(VolumeContent):
    """The content of devices for which a test has made a manager.

    :param policy_type: of the policies whose objects are in volumes
    """

    def __init__(self, policy_type):
        self._policy_type = policy_type

    def keeps(self, policy):
        return policy.policy_type == self._policy_type

    def known(self, path):
        match = PARTITION.match(path)
        if not match or os.path.dirname(match['device']) not in ROOTS:
            raise ValueError('no manager was made for %s' % path)
        return known(path)

    def serve(self, layout):
        HOST.serve(layout)


CONTENT = HostedContent(REPL_POLICY)
EC_CONTENT = HostedContent(EC_POLICY)
fstat = os.fstat
REAL = {(module, name): getattr(module, name) for module, name in (
    (os, 'listdir'), (os, 'unlink'), (os, 'rmdir'), (os, 'rename'),
    (os, 'fstat'), (diskfile, 'fsync_dir'), (diskfile, 'is_file_older'),
    (diskfile, 'drop_buffer_cache'), (diskfile, 'remove_file'),
    (diskfile, 'read_metadata'), (diskfile, '_read_file_metadata'))}


def mocked(*names):
    """Return whether a test has replaced one of the functions."""
    return any(getattr(now, '__wrapped__', now) is not real
               for (module, name), real in REAL.items() if name in names
               for now in [getattr(module, name)])


class Hosted:
    """A manager with an index server wherever there is a device.

    What a test has mocked is asked, as stock Swift would ask it, and finds
    the content when it asks on. So are paths that are not below a partition,
    which some tests make up.
    """

    # Most tests of the replicator leave sync_method at rsync, and mock what
    # pushes; those that push are left out. That such a policy is refused is
    # held by tests/unit/patches.
    supports_rsync = True

    def __init__(self, conf, logger):
        super().__init__(conf, logger)
        ROOTS.add(self.devices)

    def store(self, device_path, policy_index):
        store = super().store(device_path, policy_index)
        HOST.serve(store.layout)
        return store

    def find(self, path):
        return super().find(known(path))

    def _is_stock(self, path, *names):
        return not PARTITION.match(path) or mocked(*names)

    def list_dir(self, path):
        return os.listdir(path) if self._is_stock(path, 'listdir') \
            else super().list_dir(path)

    def remove_dir(self, path):
        return os.rmdir(path) if self._is_stock(path, 'rmdir') \
            else super().remove_dir(path)

    def remove_file(self, path):
        return diskfile.remove_file(path) if self._is_stock(
            path, 'unlink', 'remove_file') else super().remove_file(path)

    def is_file_older(self, path, age):
        return diskfile.is_file_older(path, age) if self._is_stock(
            path, 'is_file_older') else super().is_file_older(path, age)

    def read_metadata(self, path):
        return diskfile.read_metadata(path) if self._is_stock(
            path, 'read_metadata') else super().read_metadata(path)

    def read_file_metadata(self, source, add_missing_checksum=False):
        return diskfile._read_file_metadata(source) if mocked(
            '_read_file_metadata') else super().read_file_metadata(source)

    def get_data_file_size(self, fp):
        return os.fstat(fp).st_size if mocked('fstat') \
            else super().get_data_file_size(fp)

    def open_data_file(self, path):
        if 'open' in vars(diskfile):
            return diskfile.open(path, 'rb')
        source = super().open_data_file(path)
        source.content_path = path
        return source


class Draft:
    """A file that is being written, with a descriptor for tests: what they
    write to that is written, too.

    :param writer: a VFileWriter
    :param again: a function that gives another one
    """

    def __init__(self, writer, again):
        self._writer = writer
        self._again = again
        self._copy = tempfile.TemporaryFile(buffering=0)
        self._written = 0
        self.content_path = None

    def __index__(self):
        return self._copy.fileno()

    fileno = __index__

    def write(self, chunk):
        self._writer.write(chunk)
        self._copy.write(chunk)
        self._written += len(chunk)

    def finish(self, *args):
        size = fstat(self._copy.fileno()).st_size
        if size != self._written:
            self._writer.abort()
            self._writer = self._again()
            self._writer.write(os.pread(self._copy.fileno(), size, 0))
        return self._writer.finish(*args)

    def abort(self):
        self._writer.abort()
        self._copy.close()


class HostedManager(Hosted, KVDiskFileManager):
    """Of objects."""


class HostedECManager(Hosted, KVECDiskFileManager):
    """Of fragments."""

    def rename_file(self, source, target):
        if mocked('rename'):
            os.rename(source, target)
        super().rename_file(source, target)
        if mocked('fsync_dir'):
            diskfile.fsync_dir(os.path.dirname(target))


class DraftWriter:
    """A writer whose file tests can write to behind its back."""

    def open(self):
        super().open()
        self._fd = Draft(self._fd, lambda: self._store.writer(
            self._extension, self._bytes_per_sync))
        return self

    def put(self, metadata):
        super().put(metadata)
        ctype_timestamp = metadata.get('Content-Type-Timestamp')
        self._fd.content_path = os.path.join(
            self._datadir, self.manager.make_on_disk_filename(
                Timestamp(metadata['X-Timestamp']), self._extension,
                frag_index=getattr(self._diskfile, '_frag_index', None),
                ctype_timestamp=ctype_timestamp and
                Timestamp(ctype_timestamp)))


class HostedWriter(DraftWriter, KVDiskFileWriter):
    """Of objects."""


class HostedECWriter(DraftWriter, KVECDiskFileWriter):
    """Of fragments."""

    def commit(self, timestamp):
        super().commit(timestamp)
        path = getattr(self._fd, 'content_path', None)
        if path and self._extension == '.data':
            self._fd.content_path = durable_name(path)


class VolumeReader:
    """A reader that tells a test's mock where it is in the object."""

    def _drop_cache(self, fd, offset, length):
        if mocked('drop_buffer_cache'):
            offset -= self._fp.data_offset
        super()._drop_cache(fd, offset, length)


class HostedReader(VolumeReader, KVDiskFileReader):
    """Of objects."""


class HostedECReader(VolumeReader, KVECDiskFileReader):
    """Of fragments."""


class HostedFile(KVDiskFile):
    """Of the manager's."""
    reader_cls = HostedReader
    writer_cls = HostedWriter


class HostedECFile(KVECDiskFile):
    """Of the manager's."""
    reader_cls = HostedECReader
    writer_cls = HostedECWriter


HostedManager.diskfile_cls = HostedFile
HostedECManager.diskfile_cls = HostedECFile
