# SPDX-License-Identifier: Apache-2.0
"""
The manager of diskfiles whose files are in volumes.

What it is asked of single files is in kvpaths.py; here is what concerns whole
suffixes, partitions and devices, and what is refused.
"""

import random
import shutil
from os.path import basename, dirname, isdir, join

from swift.common.concurrency import tpool
from swift.common.constraints import check_drive
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.utils import list_from_csv, listdir
from swift.obj import diskfile

from swift_losf.diskfile.audit import Walk
from swift_losf.diskfile.kvpaths import KVPaths
from swift_losf.diskfile.lookahead import Lookahead
from swift_losf.errors import IndexUnavailable

#: What the patches of this distribution add to Swift's manager.
HOOKS = ('list_dir', 'list_suffixes')


class KVManager(KVPaths):
    """
    A manager for replicated objects and fragments alike.

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
        # They may act on what they are shown: it has to be there still.
        self._has_watchers = bool(list_from_csv(conf.get('watchers', '')))

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

    def object_audit_location_generator(self, policy, device_dirs=None,
                                        auditor_type='ALL'):
        devices = listdir(self.devices)
        if device_dirs:
            devices = list(set(devices).intersection(device_dirs))
        # A process that is often restarted is to come to each of them.
        random.shuffle(devices)
        for device in devices:
            try:
                yield from self._audit_locations(device, policy, auditor_type)
            except IndexUnavailable as err:
                self.logger.error('The audit of %s is broken off: %s',
                                  device, err)

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
        # What is listed from now on, and changes then, is invalidated again.
        store, where = self.find(partition_dir)
        self._look_ahead(partition_dir, Lookahead(store, where.partition))
        return hashes

    def _get_hashes(self, *args, **kwargs):
        try:
            return super()._get_hashes(*args, **kwargs)
        finally:
            self._look_ahead()

    def _hash_suffix_dir(self, path, policy):
        with self._listed(path):
            return super()._hash_suffix_dir(path, policy)

    def yield_hashes(self, device, partition, policy, suffixes=None,
                     **kwargs):
        path = self._get_mounted_part_path(device, partition, policy)
        if suffixes is None:
            suffixes = [suffix for _, suffix in self.yield_suffixes(
                device, partition, policy)]
        store, where = self.find(path)
        ahead = Lookahead(store, where.partition)
        for suffix in suffixes:
            with self._listed(join(path, suffix), ahead.files(suffix)):
                found = list(super().yield_hashes(
                    device, partition, policy, suffixes=[suffix], **kwargs))
            yield from found

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
        # What has come meanwhile must not be where no daemon looks.
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
        self.invalidate_hash(dirname(from_dir) if where.object_hash
                             else from_dir)
        store.quarantine(where)
        self._have_gone()
        return join(device_path, 'quarantined',
                    basename(store.layout.objects), basename(from_dir))
