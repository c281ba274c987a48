# SPDX-License-Identifier: Apache-2.0
"""The manager of diskfiles whose files are in volumes.

It answers what concerns whole suffixes, partitions and devices, and refuses
what volumes cannot do. What Swift asks of single files and directories goes
to an :class:`ObjectFiles`.
"""

import copy
import random
import shutil
import time
from os.path import basename, dirname, isdir, join
from typing import Any

from swift.common import exceptions
from swift.common.concurrency import sleep, tpool
from swift.common.constraints import check_drive
from swift.common.exceptions import (
    DiskFileBadMetadataChecksum,
    DiskFileNotExist,
    DiskFileStateChanged,
)
from swift.common.utils import list_from_csv, listdir
from swift.obj import diskfile

from swift_losf.diskfile.audit import Walk
from swift_losf.diskfile.complaints import complaints_of
from swift_losf.diskfile.known_files import ListedSuffix, OneObject
from swift_losf.diskfile.lookahead import Lookahead
from swift_losf.diskfile.object_files import ObjectFiles
from swift_losf.diskfile.queued import keep_queued
from swift_losf.diskfile.refusal import refuse
from swift_losf.diskfile.store import Store
from swift_losf.errors import IndexUnavailable
from swift_losf.format.layout import Layout, ObjectPath
from swift_losf.options import LosfOptions

#: seconds for which an index may take to go by the part power of a new ring,
#: which the manager of the index servers reads within 15, and between looks
PART_POWER_PATIENCE = 60
PART_POWER_INTERVAL = 0.2


class KVManager(diskfile.BaseDiskFileManager):
    """Manages replicated objects and fragments alike.

    :param conf: the configuration section of the daemon, a dict
    :param logger: a logger
    :raises ValueError: if an option has a value that is not allowed
    :raises SystemExit: if the installed Swift lacks the patches
    """

    #: methods of Swift's manager that the patches of this distribution add
    hooks: tuple[str, ...] = ('list_dir', 'list_suffixes')

    #: tells the replicators that nothing can be pushed by rsync
    supports_rsync = False

    def __init__(self, conf, logger):
        # Watchers may act on what they are shown: it has to exist still.
        self._has_watchers = bool(list_from_csv(conf.get('watchers', '')))
        missing = [hook for hook in self.hooks
                   if not hasattr(diskfile.BaseDiskFileManager, hook)]
        if self._has_watchers and not hasattr(exceptions, 'DeleteRequest'):
            missing.append('DeleteRequest')
        if missing:
            refuse(logger, 'Swift lacks what objects in volumes need (%s): '
                   'run swift-lightsync-patch apply' % ', '.join(missing))
        super().__init__(conf, logger)
        self.options = LosfOptions.from_conf(conf)
        self.use_splice = False
        self.complaints = complaints_of(logger)
        self.files = ObjectFiles(lambda path: self.find(path))
        #: of the partition that _get_hashes hashes: its path, a Lookahead
        self._ahead: tuple[str | None, Any] = (None, None)
        self._stores = {}

    def store(self, device_path, policy_index):
        """Return the Store of a device and a storage policy.

        :param device_path: where the device is mounted
        :param policy_index: of the storage policy, a number
        :raises IndexUnavailable: if the path of its socket is too long
        """
        key = device_path, policy_index
        if key not in self._stores:
            layout = Layout(*key, index_path=self.options.index_path)
            try:
                store = Store(layout, self.options, self.logger)
            except ValueError as err:
                raise IndexUnavailable(str(err)) from err
            # Another thread may have been faster.
            self._stores.setdefault(key, store)
        return self._stores[key]

    def find(self, path):
        """Return the Store that has a path, and the ObjectPath.

        :param path: of a partition, or below one
        :raises ValueError: if it is no such path
        """
        where = ObjectPath.parse(path)
        return self.store(where.device_path, where.policy_index), where

    def with_files(self, files):
        """Return a manager like this one that has other files.

        What Swift's own methods ask while they carry out one operation, they
        ask of the manager that they belong to: so it is answered by the files
        that are given here, and for nobody else.

        :param files: an ObjectFiles
        """
        view: KVManager = object.__new__(type(self))
        view.__dict__ = {**self.__dict__, 'files': files}
        return view

    def of_object(self, path, files=None, kind=OneObject):
        """Return a manager that asks once where the files of an object are.

        :param path: of the hash directory
        :param files: a dict of their names to Locations, if they are known
        :param kind: the class of ObjectFiles that knows them
        """
        return self.with_files(kind(self.files.find, path, files))

    def _of_suffix(self, path, files):
        return self.with_files(ListedSuffix(self.files.find, path, files))

    # What Swift asks of single files and directories (patch 0004).

    def list_dir(self, path):
        return self.files.list_dir(path)

    def remove_dir(self, path):
        self.files.remove_dir(path)

    def remove_file(self, path):
        self.files.remove_file(path)

    def rename_file(self, source, target):
        self.files.rename_file(source, target)

    def is_file_older(self, path, age):
        return self.files.is_file_older(path, age)

    def open_data_file(self, path):
        return self.files.open_data_file(path)

    def get_data_file_size(self, fp):
        return fp.size

    def read_file_metadata(self, source, add_missing_checksum=False):
        return self.files.read_file_metadata(source)

    def read_metadata(self, path):
        try:
            return self.read_file_metadata(path)
        except DiskFileStateChanged:
            raise DiskFileNotExist()
        except DiskFileBadMetadataChecksum as err:
            # An ssync receiver that heard of it would end, and never come to
            # the rest of the partition: so it gets this object anew, too.
            # Where a newer file has replaced it meanwhile, that one stays.
            if self.files.locate(path):
                where = self.find(path)[1]
                self.quarantine_renamer(where.device_path, path)
                self.logger.increment('quarantines')
                self.logger.warning('Quarantined object %s: %s', path, err)
            raise DiskFileNotExist() from err

    def get_list_command(self, device_path, policy, partition, object_hash):
        return 'swift-losf-fsck dump %s --policy %d --hash %s' % (
            device_path, int(policy), object_hash)

    # What concerns objects, suffixes, partitions and devices.

    def get_diskfile(self, *args, next_part_power=None, **kwargs):
        # There are no links to make while a part power is increased: the
        # index knows the partition, and invalidates it if this is another.
        return super().get_diskfile(*args, **kwargs)

    def get_hashes(self, device, partition, suffixes, policy,
                   skip_rehash=False):
        if not skip_rehash:
            self._require_part_power(device, policy)
        return super().get_hashes(device, partition, suffixes, policy,
                                  skip_rehash)

    def _require_part_power(self, device, policy):
        """Wait until partitions are those of a ring that has been increased.

        swift-object-relinker hashes each partition when it cleans up: so it
        fails if an index still goes by the part power before.

        :raises IndexUnavailable: if they are not yet
        """
        ring, path = policy.object_ring, self.get_dev_path(device)
        if not ring or not path or ring.next_part_power != ring.part_power:
            return
        index = self.store(path, int(policy)).index
        give_up = time.monotonic() + PART_POWER_PATIENCE
        while index.statistics().part_power != ring.part_power:
            if time.monotonic() > give_up:
                raise self.complaints.of(IndexUnavailable(
                    '%s: the partitions of policy %d are not yet those of '
                    'part power %d: its index server has not read the ring'
                    % (device, int(policy), ring.part_power)))
            sleep(PART_POWER_INTERVAL)

    def object_audit_location_generator(self, policy, device_dirs=None,
                                        auditor_type='ALL'):
        devices = listdir(self.devices)
        if device_dirs:
            devices = list(set(devices).intersection(device_dirs))
        # A process that is often restarted has to reach each device.
        random.shuffle(devices)
        for device in devices:
            try:
                yield from self._audit_locations(device, policy, auditor_type)
            except IndexUnavailable as err:
                self.complaints.of(err)

    def _audit_locations(self, device, policy, auditor_type):
        try:
            path = check_drive(self.devices, device, self.mount_check)
        except ValueError as err:
            self.logger.debug('Skipping: %s', err)
            return
        store = self.store(path, int(policy))
        if isdir(store.layout.objects):
            yield from Walk(store, auditor_type, self.logger).locations(
                device, policy)

    def get_diskfile_from_audit_location(self, audit_location):
        df = super().get_diskfile_from_audit_location(audit_location)
        if not self._has_watchers:
            df.listed = getattr(audit_location, 'files', None)
        return df

    def consolidate_hashes(self, partition_dir):
        hashes = super().consolidate_hashes(partition_dir)
        # A change behind a listing from now on invalidates its suffix again.
        store, where = self.find(partition_dir)
        self._ahead = partition_dir, Lookahead(store, where.partition)
        return hashes

    def _get_hashes(self, *args, **kwargs):
        # Swift's method calls consolidate_hashes, then _hash_suffix_dir for
        # each suffix: one manager for this partition keeps what is between.
        return super(KVManager, copy.copy(self))._get_hashes(*args, **kwargs)

    def _hash_suffix_dir(self, path, policy):
        partition, ahead = self._ahead
        store, where = self.find(path)
        files = ahead.files(where.suffix) if partition == dirname(path) \
            else dict(store.list_suffix(where.partition, where.suffix))
        return super(KVManager, self._of_suffix(
            path, files))._hash_suffix_dir(path, policy)

    def yield_hashes(self, device, partition, policy, suffixes=None,
                     **kwargs):
        path = self._get_mounted_part_path(device, partition, policy)
        if suffixes is None:
            suffixes = [suffix for _, suffix in self.yield_suffixes(
                device, partition, policy)]
        store, where = self.find(path)
        ahead = Lookahead(store, where.partition)
        for suffix in suffixes:
            view = self._of_suffix(join(path, suffix), ahead.files(suffix))
            yield from super(KVManager, view).yield_hashes(
                device, partition, policy, suffixes=[suffix], **kwargs)

    def list_suffixes(self, device, partition, policy):
        store, where = self.find(
            self._get_mounted_part_path(device, partition, policy))
        return store.list_partition(where.partition)

    def delete_partition(self, device, partition, policy):
        path = self._get_mounted_part_path(device, partition, policy)
        store, where = self.find(path)
        for suffix in store.list_partition(where.partition):
            for object_hash, _ in store.list_suffix(where.partition, suffix):
                store.remove(where.partition, object_hash)
        tpool.execute(shutil.rmtree, path)
        # What was added meanwhile must not stay where no daemon looks.
        for suffix in store.list_partition(where.partition):
            self.invalidate_hash(join(path, suffix))

    def delete_hash_dir(self, device, partition, object_hash, policy):
        path = join(self._get_mounted_part_path(device, partition, policy),
                    object_hash[-3:])
        store, where = self.find(path)
        store.remove(where.partition, object_hash)
        self.remove_dir(path)

    def quarantine_renamer(self, device_path, corrupted_file_path):
        return self.quarantine_dir_renamer(device_path,
                                           dirname(corrupted_file_path))

    def quarantine_dir_renamer(self, device_path, from_dir):
        store, where = self.find(from_dir)
        suffix_path = dirname(from_dir) if where.object_hash else from_dir
        self.invalidate_hash(suffix_path)
        store.quarantine(where)
        keep_queued(self, suffix_path)
        self.files.note_removal()
        return join(device_path, 'quarantined',
                    basename(store.layout.objects), basename(from_dir))
