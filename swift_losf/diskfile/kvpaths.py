# SPDX-License-Identifier: Apache-2.0
"""
The file system of objects that are in volumes: what a manager is asked of it.

Swift's own classes decide which files make up an object, which of them are
obsolete, what the suffix hashes are. Here is only what they ask of a file
system (patch 0004): to list, open, read and remove. A path of a hash directory
or of a file in it is a name like any other; nothing is found there.
"""

import errno
import os
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os.path import basename, dirname
from typing import Optional

from swift.common.exceptions import (
    DiskFileBadMetadataChecksum,
    DiskFileError,
    DiskFileNotExist,
    DiskFileStateChanged,
)
from swift.common.utils import EUCLEAN
from swift.obj import diskfile

from swift_losf.diskfile.store import Store
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout, ObjectPath
from swift_losf.options import LosfOptions

#: What a disk says of what is to be put into quarantine.
UNREADABLE = errno.EIO, errno.ENODATA, EUCLEAN


@dataclass
class _Listed:
    """
    What the index has just said of a suffix.

    :param path: of the suffix
    :param files: a dict of hash to file names; each is taken out once
    :param lasts: whether files are left that nobody here has removed
    """
    path: Optional[str] = None
    files: dict = field(default_factory=dict)
    lasts: bool = False


#: Each greenlet and thread has its own; threading.local, once eventlet has
#: patched it, mixes up threads.
_LISTED = ContextVar('listed', default=_Listed())
#: The path of a partition, and a Lookahead of its suffixes.
_AHEAD = ContextVar('ahead', default=(None, None))
#: A path of a hash directory, and where its files are.
_LOCATED = ContextVar('located', default=(None, None))


def _no_such(path):
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _unreadable(path, reason):
    return OSError(EUCLEAN, str(reason), path)


class KVPaths(diskfile.BaseDiskFileManager):
    """
    The part of a manager that is asked for what is below a partition.

    :param conf: the configuration section of the daemon, a dict
    :param logger: a logger
    :raises ValueError: if an option has a value that is not allowed
    """

    def __init__(self, conf, logger):
        super().__init__(conf, logger)
        self.options = LosfOptions.from_conf(conf)
        self._stores = {}

    def store(self, device_path, policy_index):
        """
        :param device_path: where a device is mounted
        :param policy_index: of the storage policy, a number
        :returns: the :class:`Store` of the two
        :raises IndexUnavailable: if there can be none
        """
        place = device_path, policy_index
        if place not in self._stores:
            layout = Layout(*place, index_path=self.options.index_path)
            try:
                store = Store(layout, self.options, self.logger)
            except ValueError as err:
                raise IndexUnavailable(str(err)) from err
            # Another thread may have been faster.
            self._stores.setdefault(place, store)
        return self._stores[place]

    def find(self, path):
        """
        :param path: of a partition, or below one
        :returns: the :class:`Store` that has it, and its ObjectPath
        :raises ValueError: if it is no such path
        """
        where = ObjectPath.parse(path)
        return self.store(where.device_path, where.policy_index), where

    def list_dir(self, path):
        try:
            store, where = self.find(path)
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

    def _list_hashes(self, store, where, path):
        listed = _LISTED.get()
        if listed.path == path:
            return list(listed.files)
        return [each for each, _ in store.list_suffix(
            where.partition, where.suffix)]

    def _list_files(self, store, where, path):
        listed = _LISTED.get()
        if listed.path == dirname(path) and where.object_hash in listed.files:
            return listed.files.pop(where.object_hash)
        files = dict(store.list_hash(where.partition, where.object_hash))
        _LOCATED.set((path, files))
        return list(files)

    @contextmanager
    def _listed(self, path, files=None):
        """
        Know the files of the objects of a suffix, each once, without asking
        the index again.

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

    def _files_of(self, path):
        store, where = self.find(path)
        partition, ahead = _AHEAD.get()
        if partition == dirname(path):
            return ahead.files(where.suffix)
        return dict(store.list_suffix(where.partition, where.suffix))

    @staticmethod
    def _look_ahead(path=None, ahead=None):
        """
        Have a Lookahead asked for the suffixes of a partition from now on, or
        the index again.
        """
        _AHEAD.set((path, ahead))

    def cleanup_listed_files(self, path, names):
        """
        As cleanup_ondisk_files, of a hash directory whose files are known.

        :param path: of the hash directory
        :param names: of its files
        """
        with self._listed(dirname(path), {basename(path): names}):
            self.cleanup_ondisk_files(path)

    @contextmanager
    def with_files(self, path, files):
        """
        Know the files of a hash directory without asking the index, once.

        :param path: of the hash directory
        :param files: a dict of names to Locations
        """
        _LOCATED.set((path, files))
        with self._listed(dirname(path), {basename(path): list(files)}):
            yield

    def locate(self, path):
        """
        :param path: of a file
        :returns: the Location that the index has of it now, or None
        """
        return self._locate(*self.find(path))

    def remove_dir(self, path):
        store, where = self.find(path)
        listed = _LISTED.get()
        lasts = listed.path == path and listed.lasts
        if not where.object_hash and (lasts or store.has_files(
                where.partition, where.suffix)):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    def remove_file(self, path):
        store, where = self.find(path)
        store.remove(where.partition, where.object_hash, [where.name])
        self._have_gone()

    @staticmethod
    def _have_gone():
        """Files have been removed: maybe of the suffix that was listed."""
        _LISTED.get().lasts = False

    def is_file_older(self, path, age):
        if age <= 0:
            return True
        try:
            _, written = self._read(path)
        except FileNotFoundError:
            return False
        return time.time() - written / 1e9 > age

    def open_data_file(self, path):
        store, where = self.find(path)
        return self._at_location(store, where, path, store.open)

    def get_data_file_size(self, fp):
        return fp.size

    def read_file_metadata(self, source, add_missing_checksum=False):
        if not isinstance(source, str):
            return dict(source.metadata)
        try:
            return self._read(source)[0]
        except FileNotFoundError:
            raise DiskFileStateChanged()
        except OSError as err:
            raise DiskFileBadMetadataChecksum(str(err)) from err

    def read_metadata(self, path):
        try:
            return self.read_file_metadata(path)
        except DiskFileStateChanged:
            raise DiskFileNotExist()

    def _read(self, path):
        store, where = self.find(path)
        return self._at_location(store, where, path, store.read_metadata)

    def _at_location(self, store, where, path, method):
        """
        Call a method of the store where the file was when it was listed, or,
        if it is no longer there, where it is.
        """
        directory, files = _LOCATED.get()
        known = files if directory == dirname(path) else {}
        location = known.get(where.name) or self._locate(store, where)
        tried = None
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
    def _locate(store, where):
        return dict(store.list_hash(
            where.partition, where.object_hash)).get(where.name)
