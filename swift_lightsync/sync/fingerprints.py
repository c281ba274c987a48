# SPDX-License-Identifier: Apache-2.0
"""
The fingerprints of the partitions here, kept true and remembered.

``fingerprint`` has the file that one is kept in, and says when it counts.
"""

import math
import os
import struct
import time
from collections import defaultdict
from dataclasses import replace

from swift.common.concurrency import Timeout
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.obj.diskfile import get_part_path, get_tmp_dir

from swift_lightsync.sync import fingerprint
from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.fingerprint import (
    ABSENT,
    Fingerprint,
    FingerprintError,
)

#: Partitions that one visit to a thread pool looks at: a few milliseconds.
PORTION = 64


def in_portions(partitions):
    """Cut partitions into what one visit to a thread pool should bear."""
    partitions = list(partitions)
    return [partitions[start:start + PORTION]
            for start in range(0, len(partitions), PORTION)]


class _Memory:
    """
    Fingerprints that were true once, a hundred bytes each, by keys. Those
    that nobody has asked for in an hour, or two, are forgotten: their
    partitions have left the node.
    """

    #: root, suffixes, source, exchanged
    PACKED = struct.Struct('<16sHQQqd')
    INTERVAL = 3600

    def __init__(self):
        self._recent, self._older = {}, {}
        self._begin = time.monotonic()

    def get(self, key):
        """:returns: a :class:`Fingerprint`, or None"""
        now = time.monotonic()
        if now - self._begin >= self.INTERVAL:
            self._begin = now
            self._recent, self._older = {}, self._recent
        packed = self._recent.get(key)
        if packed is None:
            packed = self._older.pop(key, None)
            if packed is None:
                return None
            self._recent[key] = packed
        root, suffixes, *source, exchanged = self.PACKED.unpack(packed)
        return Fingerprint(root.hex(), suffixes, tuple(source), exchanged)

    def put(self, key, known):
        """:param known: a :class:`Fingerprint` that is or was current"""
        self._recent[key] = self.PACKED.pack(
            bytes.fromhex(known.root), known.suffixes, *known.source,
            known.exchanged)

    def drop(self, key):
        self._recent.pop(key, None)
        self._older.pop(key, None)


class Fingerprints:
    """
    The fingerprints of the partitions that one diskfile manager holds.

    Those that were seen are remembered; whether one is current is looked up
    on disk each time. The methods block: call them through a thread pool.

    :param df_mgr: a diskfile manager
    :param policy: the StoragePolicy of its partitions
    :param logger: a logger
    """

    def __init__(self, df_mgr, policy, logger):
        self.df_mgr = df_mgr
        self.policy = policy
        self.logger = logger
        #: Of each device.
        self._seen = defaultdict(_Memory)

    def get_many(self, device, partitions, deadline=math.inf):
        """
        The fingerprints of partitions as they are now.

        :param device: name of the device
        :param partitions: an iterable of partitions
        :param deadline: ``time.monotonic()`` from which on no further
            partition is looked at; those are left out
        :returns: a tuple of the number of suffixes that had to be hashed,
            and a dict, partition to :class:`Fingerprint`: ABSENT for a
            partition that is not on the device; one that could not be read
            is left out
        :raises DiskFileDeviceUnavailable: if the device is not mounted
        """
        dev_path = self._dev_path(device)
        hashed, found = 0, {}
        for partition, (more, known) in self._of_each(
                partitions, lambda partition: self._get(
                    dev_path, device, partition), device, deadline):
            hashed += more
            found[partition] = known
        return hashed, found

    def roots(self, device, partitions, deadline=math.inf):
        """
        The roots of partitions as they are now; as :meth:`get_many`.

        :returns: a dict, partition to root
        """
        _, found = self.get_many(device, partitions, deadline)
        return {partition: known.root for partition, known in found.items()}

    def suffix_hashes(self, device, partitions, deadline=math.inf):
        """
        The suffix hashes of partitions as they are now; as
        :meth:`get_many`.

        :returns: a dict, partition to a dict, suffix to hash: an empty one
            for a partition that is not on the device
        """
        dev_path = self._dev_path(device)

        def hashes(partition):
            if not os.path.isdir(get_part_path(dev_path, self.policy,
                                               partition)):
                return {}
            return self.df_mgr._get_hashes(device, partition,
                                           self.policy)[1]

        return dict(self._of_each(partitions, hashes, device, deadline))

    def invalidate(self, device, suffixes):
        """
        Queue suffixes for hashing.

        :param device: name of the device
        :param suffixes: a dict, partition to a list of suffixes; a partition
            that is not on the device is passed over
        :raises DiskFileDeviceUnavailable: if the device is not mounted
        """
        dev_path = self._dev_path(device)

        def invalidate_partition(partition):
            path = get_part_path(dev_path, self.policy, partition)
            if os.path.isdir(path):
                for suffix in suffixes[partition]:
                    self.df_mgr.invalidate_hash(os.path.join(path, suffix))

        for _ in self._of_each(suffixes, invalidate_partition, device):
            pass

    def _of_each(self, partitions, method, device, deadline=math.inf):
        """Yield (partition, result of the method), errors being logged."""
        for partition in partitions:
            if time.monotonic() >= deadline:
                return
            try:
                yield partition, method(partition)
            except (Exception, Timeout) as err:
                # Locked, or on a bad sector: no matter of the others.
                self.logger.error(
                    'Unable to hash partition %s on %s: %s: %s',
                    partition, device, type(err).__name__, err)

    def get(self, device, partition):
        """
        The fingerprint of one partition; as :meth:`get_many`.

        :returns: a tuple of the number of suffixes that had to be hashed,
            and a :class:`Fingerprint`
        """
        return self._get(self._dev_path(device), device, partition)

    def _dev_path(self, device):
        dev_path = self.df_mgr.get_dev_path(device)
        if not dev_path:
            raise DiskFileDeviceUnavailable()
        return dev_path

    def _get(self, dev_path, device, partition):
        seen, key = self._seen[device], int(partition)
        partition_path = get_part_path(dev_path, self.policy, partition)
        known = seen.get(key)
        if known and fingerprint.is_current(partition_path, known):
            return 0, known
        if not os.path.isdir(partition_path):
            seen.drop(key)
            return 0, ABSENT
        try:
            known = fingerprint.load(partition_path) or known
        except FingerprintError as err:
            self.logger.warning('Replacing a damaged fingerprint: %s', err)
        if known and fingerprint.is_current(partition_path, known):
            seen.put(key, known)
            return 0, known
        return self._renew(dev_path, device, partition, known)

    def _renew(self, dev_path, device, partition, known):
        hashed, hashes = self.df_mgr._get_hashes(device, partition,
                                                 self.policy)
        exchanged = known.exchanged if known else float(time.time())
        renewed = fingerprint.from_hashes_file(
            get_part_path(dev_path, self.policy, partition), exchanged)
        if renewed:
            self._keep(dev_path, device, partition, renewed)
            return hashed, renewed
        # Somebody is writing to the partition, or a suffix cannot be hashed
        # (None, as stock Swift has it): good for now, not for later.
        return hashed, Fingerprint(
            merkle.root({suffix: str(digest)
                         for suffix, digest in hashes.items()}),
            len(hashes), (0, 0, 0), exchanged)

    def _keep(self, dev_path, device, partition, known):
        self._seen[device].put(int(partition), known)
        partition_path = get_part_path(dev_path, self.policy, partition)
        try:
            fingerprint.store(
                partition_path,
                os.path.join(dev_path, get_tmp_dir(self.policy)), known)
        except FileNotFoundError:
            # The partition was moved away meanwhile.
            pass
        except OSError as err:
            # Only time is lost: the root is computed again when asked for.
            self.logger.warning('Unable to keep the fingerprint of %s: %s',
                                partition_path, err)

    def relist(self, device, partition):
        """
        Make the partition's hashes reflect the suffixes that really exist.

        :param device: name of the device
        :param partition: the partition
        :returns: the number of suffixes that had to be hashed
        """
        return self.df_mgr._get_hashes(device, partition, self.policy,
                                       do_listdir=True)[0]

    def note_exchange(self, device, partition, now):
        """
        Remember that all replicas were compared suffix by suffix.

        :param device: name of the device
        :param partition: the partition
        :param now: when, seconds
        """
        dev_path = self._dev_path(device)
        known = self._get(dev_path, device, partition)[1]
        if known is not ABSENT:
            self._keep(dev_path, device, partition,
                       replace(known, exchanged=float(now)))
