# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
The part of a diskfile manager that knows where objects are kept.

Swift's own classes decide which files make up an object, which of them are
obsolete, what the suffix hashes are. Here is only what they ask of a file
system (patch 0004): to list, open, read and remove. A path of a hash directory
or of a file in it is a name like any other; nothing is found there.
"""

import errno
import os
import shutil
import threading
import time
from contextlib import contextmanager
from os.path import basename, dirname, join

from swift.common.concurrency import tpool
from swift.common.exceptions import DiskFileDeviceUnavailable, \
    DiskFileNotExist, DiskFileStateChanged
from swift.common.utils import EUCLEAN
from swift.obj import diskfile

from swift_losf.layout import Layout, ObjectPath
from swift_losf.options import LosfOptions
from swift_losf.store import Store

#: What the patches of this distribution add to Swift's manager.
HOOKS = ('list_dir', 'list_suffixes')
#: No path, and what is known of it.
NOTHING = None, None


def _no_such(path):
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


class KVManager(diskfile.BaseDiskFileManager):
    """
    The part of a diskfile manager that knows where objects are kept.

    :param conf: the configuration section of the daemon, a dict
    :param logger: a logger
    :raises ValueError: if an option has a value that is not allowed, or if
        the installed Swift lacks the patches
    """

    #: For the replicators: nothing can be pushed by rsync.
    supports_rsync = False

    def __init__(self, conf, logger):
        missing = [hook for hook in HOOKS
                   if not hasattr(diskfile.BaseDiskFileManager, hook)]
        if missing:
            raise ValueError(
                'Swift lacks what replication.kv needs (%s): apply the '
                'patches with swift-lightsync-patch apply' %
                ', '.join(missing))
        super().__init__(conf, logger)
        self.use_splice = False
        self.options = LosfOptions.from_conf(conf)
        self._stores = {}
        # What one greenlet or thread has just listed, and where it is.
        self._local = threading.local()

    def store(self, device_path, policy_index):
        """
        :param device_path: where a device is mounted
        :param policy_index: of the storage policy, a number
        :returns: the :class:`Store` of the two
        """
        place = device_path, policy_index
        if place not in self._stores:
            self._stores[place] = Store(
                Layout(*place, index_path=self.options.index_path),
                self.options)
        return self._stores[place]

    def _find(self, path):
        where = ObjectPath.parse(path)
        return self.store(where.device_path, where.policy_index), where

    def get_diskfile(self, device, partition, account, container, obj,
                     policy, **kwargs):
        if kwargs.get('next_part_power') is not None:
            self.logger.error(
                'The partition power of policy %d is being increased, which '
                'is not possible while objects are in volumes: run '
                'swift-ring-builder <builder> '
                'cancel_increase_partition_power', int(policy))
            raise DiskFileDeviceUnavailable()
        return super().get_diskfile(device, partition, account, container,
                                    obj, policy, **kwargs)

    # The file system below a partition (patch 0004).

    def list_dir(self, path):
        store, where = self._find(path)
        if where.object_hash:
            names = self._list_files(store, where, path)
        elif where.suffix:
            names = self._list_hashes(store, where, path)
        else:
            return store.list_partition(where.partition) or os.listdir(path)
        if not names:
            raise _no_such(path)
        return names

    def _list_hashes(self, store, where, path):
        suffix, listed = getattr(self._local, 'listed', NOTHING)
        if suffix == path:
            return list(listed)
        return [each for each, _ in store.list_suffix(
            where.partition, where.suffix)]

    def _list_files(self, store, where, path):
        suffix, listed = getattr(self._local, 'listed', NOTHING)
        if suffix == dirname(path) and where.object_hash in listed:
            return listed.pop(where.object_hash)
        files = dict(store.list_hash(where.partition, where.object_hash))
        self._local.located = path, files
        return list(files)

    @contextmanager
    def _listed(self, path, listed=None):
        """
        Know the files of the objects of a suffix, each once, without asking
        the index again.

        :param path: of the suffix
        :param listed: a dict, hash to file names, or None to ask the index
        """
        if listed is None:
            store, where = self._find(path)
            listed = dict(store.list_suffix(where.partition, where.suffix))
        self._local.listed = path, listed
        try:
            yield
        finally:
            self._local.listed = NOTHING

    def cleanup_listed_files(self, path, names):
        """
        As cleanup_ondisk_files, of a hash directory whose files are known.

        :param path: of the hash directory
        :param names: of its files
        """
        with self._listed(dirname(path), {basename(path): names}):
            self.cleanup_ondisk_files(path)

    def remove_dir(self, path):
        store, where = self._find(path)
        if not where.object_hash and store.has_files(
                where.partition, where.suffix):
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)

    def remove_file(self, path):
        store, where = self._find(path)
        store.remove(where.partition, where.object_hash, [where.name])

    def is_file_older(self, path, age):
        if age <= 0:
            return True
        try:
            _, written = self._read(path)
        except FileNotFoundError:
            return False
        return time.time() - written / 1e9 > age

    def open_data_file(self, path):
        store, where = self._find(path)
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

    def read_metadata(self, path):
        try:
            return self.read_file_metadata(path)
        except DiskFileStateChanged:
            raise DiskFileNotExist()

    def _read(self, path):
        store, where = self._find(path)
        return self._at_location(store, where, path, store.read_metadata)

    def _at_location(self, store, where, path, method):
        """
        Call a method of the store where the file was when it was listed, or,
        if it is no longer there, where it is.
        """
        directory, files = getattr(self._local, 'located', NOTHING)
        location = files.get(where.name) if directory == dirname(path) \
            else None
        if location:
            try:
                return method(where, location)
            except FileNotFoundError:
                pass
        location = dict(store.list_hash(
            where.partition, where.object_hash)).get(where.name)
        if not location:
            raise _no_such(path)
        try:
            return method(where, location)
        except FileNotFoundError as err:
            # The index knows it, and its volume does not.
            raise OSError(EUCLEAN, os.strerror(EUCLEAN),
                          path) from err

    # Whole suffixes and partitions.

    def _hash_suffix_dir(self, path, policy):
        with self._listed(path):
            return super()._hash_suffix_dir(path, policy)

    def yield_hashes(self, device, partition, policy, suffixes=None,
                     **kwargs):
        if suffixes is None:
            suffixes = self.list_suffixes(device, partition, policy)
        path = self._get_mounted_part_path(device, partition, policy)
        for suffix in suffixes:
            with self._listed(join(path, suffix)):
                yield from super().yield_hashes(
                    device, partition, policy, suffixes=[suffix], **kwargs)

    def list_suffixes(self, device, partition, policy):
        store, where = self._find(
            self._get_mounted_part_path(device, partition, policy))
        return store.list_partition(where.partition)

    def delete_partition(self, device, partition, policy):
        path = self._get_mounted_part_path(device, partition, policy)
        store, where = self._find(path)
        for suffix in store.list_partition(where.partition):
            for object_hash, _ in store.list_suffix(where.partition, suffix):
                store.remove(where.partition, object_hash)
        tpool.execute(shutil.rmtree, path)

    def delete_hash_dir(self, device, partition, object_hash, policy):
        path = join(self._get_mounted_part_path(device, partition, policy),
                    object_hash[-3:])
        store, where = self._find(path)
        store.remove(where.partition, object_hash)
        self.remove_dir(path)

    def quarantine_renamer(self, device_path, corrupted_file_path):
        return self.quarantine_dir_renamer(device_path,
                                           dirname(corrupted_file_path))

    def quarantine_dir_renamer(self, device_path, from_dir):
        store, where = self._find(from_dir)
        self.invalidate_hash(dirname(from_dir) if where.object_hash
                             else from_dir)
        store.quarantine(where)
        return join(device_path, 'quarantined',
                    basename(store.layout.objects), basename(from_dir))
