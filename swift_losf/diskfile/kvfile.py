# SPDX-License-Identifier: Apache-2.0
"""kvfile: Swift's diskfile for objects that are in volumes. FORMAT.md."""

import errno
import os
from contextlib import contextmanager, suppress
from os.path import basename, dirname
from typing import Any

from swift.common.concurrency import tpool
from swift.common.exceptions import (
    DiskFileBadMetadataChecksum,
    DiskFileDeviceUnavailable,
    DiskFileNoSpace,
    DiskFileNotExist,
    DiskFileStateChanged,
)
from swift.common.utils import Timestamp
from swift.obj import diskfile

from swift_losf.diskfile.known_files import KnownMetadata, OneObject
from swift_losf.diskfile.kvmanager import KVManager
from swift_losf.diskfile.queued import keep_queued
from swift_losf.volumes.ballast import is_given_up


class KVWriter(diskfile.BaseDiskFileWriter):
    """Writes a file of an object into a volume."""

    #: a VFileWriter while it is open
    _fd: Any

    def open(self):
        if self._fd is not None:
            raise ValueError('DiskFileWriter is already open')
        self._store, self._where = self.manager.find(self._datadir)
        # As in stock Swift, a DELETE is never refused for want of space.
        if self._extension != '.ts' and not self._has_room():
            raise DiskFileNoSpace()
        self._fd = self._store.writer(self._extension, self._bytes_per_sync)
        return self

    def _has_room(self):
        if any(map(is_given_up, self._store.layout.ballasts)):
            return False
        device_path = self._where.device_path
        is_percent = self.manager.fallocate_is_percent
        size = self._size or 0
        if size and is_percent:
            stat = os.statvfs(device_path)
            size *= 100 / (stat.f_frsize * stat.f_blocks)
        return diskfile.fs_has_free_space(
            device_path, self.manager.fallocate_reserve + size, is_percent)

    def close(self):
        if self._fd and not self._put_succeeded:
            self._fd.abort()
        self._fd = None

    def write(self, chunk):
        if not self._fd:
            raise ValueError('Writer is not open')
        self._chunks_etag.update(chunk)
        with self._no_space():
            self._fd.write(chunk)
        self._upload_size += len(chunk)

    @contextmanager
    def _no_space(self):
        try:
            yield
        except OSError as err:
            if err.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
                raise DiskFileNoSpace() from err
            raise

    def _put(self, metadata, cleanup=True, *a, **kw):
        ctype_timestamp = metadata.get('Content-Type-Timestamp')
        name = self.manager.make_on_disk_filename(
            Timestamp(metadata['X-Timestamp']), self._extension,
            ctype_timestamp=ctype_timestamp and Timestamp(ctype_timestamp),
            *a, **kw)
        metadata['name'] = self._name
        with self._no_space():
            pending = tpool.execute(
                self._make_durable, name, metadata,
                getattr(self.logger, 'thread_locals', None))
        files = self._enter(name, pending,
                            self._superseded(name) if cleanup else ())
        self._put_succeeded = True
        if cleanup:
            try:
                self.manager.of_object(
                    self._datadir, dict(files)).cleanup_ondisk_files(
                        self._datadir)
            except (OSError, DiskFileDeviceUnavailable):
                self.logger.exception('Problem cleaning up %s',
                                      self._datadir)

    def _enter(self, name, pending, superseded, is_last=True):
        """Make a file exist.

        :param name: of the file
        :param pending: the Pending of its record
        :param superseded: names of files that give way to it
        :param is_last: whether it keeps this name
        :returns: a list of (name, Location) of all files of the object
        """
        files = self._store.register(self._where, name, pending, superseded,
                                     is_last)
        keep_queued(self.manager, dirname(self._datadir))
        return files

    def _superseded(self, name):
        """Return the names of files that a new one makes obsolete.

        They are taken out together with its entry. What comes in between is
        left to the cleanup, as is all that is not known without a call.
        """
        files = self._store.known_files(self._where.object_hash)
        others = [other for other, _ in files or () if other != name]
        if not others:
            return ()
        found = self.manager.get_ondisk_files(
            sorted([name] + others, reverse=True), self._datadir,
            verify=False, policy=self._diskfile.policy)
        return [each['filename'] for each in found.get('obsolete', ())
                if each['filename'] != name]

    def _make_durable(self, name, metadata, logger_thread_locals):
        if self._diskfile.timing_breakdown:
            self._diskfile.timing_breakdown.record('tpool_scheduling')
        if logger_thread_locals is not None:
            self.logger.thread_locals = logger_thread_locals
        pending = self._fd.finish(
            name, metadata, self._where.partition,
            bytes.fromhex(self._where.object_hash))
        try:
            self._note_change()
        except BaseException:
            pending.done()
            raise
        return pending

    def _note_change(self):
        """Have the suffix hashed anew, before the index enters a file."""
        self.manager.invalidate_hash(dirname(self._datadir))


class Superseded(DiskFileNotExist):
    """The index has changed a file since it was listed."""


class KVReader(diskfile.BaseDiskFileReader):
    """Reads a data file from its volume."""

    def _quarantine(self, msg):
        self._diskfile.require_current(self._data_file)
        super()._quarantine(msg)

    def _handle_close_quarantine(self):
        with suppress(Superseded):
            super()._handle_close_quarantine()

    def _drop_cache(self, fd, offset, length):
        super()._drop_cache(fd, self._fp.data_offset + offset, length)


class KVDiskFileReader(diskfile.DiskFileReader, KVReader):
    pass


class KVDiskFileWriter(diskfile.DiskFileWriter, KVWriter):
    pass


class KVFile(diskfile.BaseDiskFile):
    """An object whose files are in volumes."""

    _manager: Any
    #: names of its files and their Locations, as they were a while ago, or
    #: None: then the index is asked
    listed = None
    #: whether the data is not asked for
    _is_metadata_enough = False

    def read_metadata(self, *args, **kwargs):
        self._is_metadata_enough = True
        try:
            return super().read_metadata(*args, **kwargs)
        finally:
            self._is_metadata_enough = False

    def open(self, *args, **kwargs):
        if self.listed is None:
            return self._open(None, *args, **kwargs)
        name = self._name
        try:
            return self._open(self.listed, *args, **kwargs)
        except (Superseded, DiskFileStateChanged):
            self.listed = None
            self._name = name
            return self._open(None, *args, **kwargs)

    def _open(self, files, *args, **kwargs):
        manager = self._manager
        self._manager = manager.of_object(
            self._datadir, files,
            KnownMetadata if self._is_metadata_enough else OneObject)
        try:
            return super().open(*args, **kwargs)
        finally:
            self._manager = manager

    def require_current(self, path):
        """Ask the index whether a file is what it was when it was listed.

        :param path: of the file
        :raises Superseded: if not
        """
        if self.listed is None:
            return
        if self.manager.files.locate(path) != self.listed.get(basename(path)):
            raise Superseded()

    def _quarantine(self, data_file, msg):
        self.require_current(data_file)
        return super()._quarantine(data_file, msg)

    def _read_and_validate_metadata(self, source, quarantine_filename=None,
                                    add_missing_checksum=False):
        # No other failure says that anything is wrong with the file.
        try:
            return self.manager.read_file_metadata(source)
        except DiskFileBadMetadataChecksum as err:
            raise self._quarantine(quarantine_filename, str(err))


class KVDiskFile(diskfile.DiskFile, KVFile):
    reader_cls = KVDiskFileReader
    writer_cls = KVDiskFileWriter


class KVDiskFileManager(KVManager, diskfile.DiskFileManager):
    """The diskfile module ``egg:swift-lightsync#replication.kv``."""
    diskfile_cls = KVDiskFile
