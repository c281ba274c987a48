# SPDX-License-Identifier: Apache-2.0
"""The fingerprints of all partitions here: looked up, renewed and remembered.

``changed_file`` has the file that keeps one fingerprint, and decides when that
is valid.
"""

import math
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from logging import Logger
from typing import Any, TypeVar

from swift.common.concurrency import Timeout
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import EC_POLICY, StoragePolicy
from swift.obj.diskfile import get_part_path, get_tmp_dir, read_hashes

from swift_lightsync.sync import changed_file
from swift_lightsync.sync.changed_file import (
    ABSENT,
    Fingerprint,
    FingerprintError,
)
from swift_lightsync.sync.core import fragments, merkle
from swift_lightsync.sync.fingerprint_memory import FingerprintMemory
from swift_lightsync.sync.hashed_anew import HashedAnew, suffixes_in

#: Partitions that one visit to a thread pool looks at: a few milliseconds.
PORTION = 64

#: A partition's number, or the name of its directory.
Partition = int | str
_Partition = TypeVar('_Partition', int, str, Partition)
_Item = TypeVar('_Item')
_Result = TypeVar('_Result')


def in_portions(items: Iterable[_Item]) -> list[list[_Item]]:
    """Cut work into portions for single visits to a thread pool.

    :param items: what there is to do, such as partitions
    :returns: lists of at most ``PORTION`` of them, in order
    """
    items = list(items)
    return [items[start:start + PORTION]
            for start in range(0, len(items), PORTION)]


class Fingerprints:
    """The fingerprints of the partitions that one diskfile manager holds.

    They are remembered in memory and in ``changed.pkl``; whether one is
    current is looked up on disk each time. The methods block: call them
    through a thread pool.

    :param df_mgr: a diskfile manager of Swift
    :param policy: the StoragePolicy of its partitions
    :param logger: where damaged files and unreadable partitions are logged
    """

    def __init__(self, df_mgr: Any, policy: StoragePolicy,
                 logger: Logger) -> None:
        self.df_mgr = df_mgr
        self.policy = policy
        self.logger = logger
        #: By the name of the device.
        self._seen: dict[str, FingerprintMemory] = defaultdict(
            FingerprintMemory)
        self._anew = HashedAnew(df_mgr, policy)
        self._is_ec = policy.policy_type == EC_POLICY
        self._summary: Callable[[Any], tuple[str, int]] = (
            fragments.summary if self._is_ec else changed_file.of_replicas)

    @classmethod
    def by_policy(cls, managers: Any, logger: Logger
                  ) -> Callable[[StoragePolicy], 'Fingerprints']:
        """Return what gives those of a policy, the same each time.

        :param managers: Swift's router: the diskfile manager by the policy
        """
        return cache(lambda policy: cls(managers[policy], policy, logger))

    def get_many(self, device: str, partitions: Iterable[_Partition],
                 deadline: float = math.inf, anew: bool = False
                 ) -> tuple[int, dict[_Partition, Fingerprint]]:
        """Return the fingerprints of partitions as they are now.

        :param device: name of the device
        :param partitions: the partitions
        :param deadline: ``time.monotonic()`` from which on no further
            partition is looked at; those are left out
        :param anew: whether to hash all that is on the disk, whatever
            hashes.pkl says of it, if that was not done lately
        :returns: the number of suffixes that had to be hashed, and the
            fingerprint of each partition: ABSENT for a partition that is not
            on the device; one that could not be read is left out
        :raises DiskFileDeviceUnavailable: if the device is not mounted
        """
        dev_path = self._dev_path(device)
        look = self._hash_anew if anew else self._get
        hashed, found = 0, {}
        for partition, (more, known) in self._of_each(
                partitions, lambda partition: look(
                    dev_path, device, partition), device, deadline):
            hashed += more
            found[partition] = known
        return hashed, found

    def roots(self, device: str, partitions: Iterable[_Partition],
              deadline: float = math.inf,
              anew: bool = False) -> dict[_Partition, str]:
        """Return the root that each partition shows; as :meth:`get_many`."""
        _, found = self.get_many(device, partitions, deadline, anew)
        return {partition: known.shown for partition, known in found.items()}

    def suffix_hashes(self, device: str, partitions: Iterable[_Partition],
                      deadline: float = math.inf
                      ) -> dict[_Partition, dict[str, str | None]]:
        """Return the suffix hashes of each partition; as :meth:`get_many`.

        :returns: the hash of each suffix of each partition; no suffixes for
            a partition that is not on the device
        """
        dev_path = self._dev_path(device)

        def hashes(partition: _Partition) -> dict[str, str | None]:
            if not os.path.isdir(get_part_path(dev_path, self.policy,
                                               partition)):
                return {}
            found: dict[str, str | None] = self.df_mgr._get_hashes(
                device, partition, self.policy)[1]
            return found

        return dict(self._of_each(partitions, hashes, device, deadline))

    def invalidate(self, device: str,
                   suffixes: Mapping[_Partition, Iterable[str]]) -> None:
        """Queue suffixes for hashing.

        :param device: name of the device
        :param suffixes: the suffixes of each partition; a partition that is
            not on the device is passed over
        :raises DiskFileDeviceUnavailable: if the device is not mounted
        """
        dev_path = self._dev_path(device)

        def invalidate_partition(partition: _Partition) -> None:
            path = get_part_path(dev_path, self.policy, partition)
            if os.path.isdir(path):
                for suffix in suffixes[partition]:
                    self.df_mgr.invalidate_hash(os.path.join(path, suffix))

        for _ in self._of_each(suffixes, invalidate_partition, device):
            pass

    def _of_each(self, partitions: Iterable[_Partition],
                 method: Callable[[_Partition], _Result], device: str,
                 deadline: float = math.inf
                 ) -> Iterator[tuple[_Partition, _Result]]:
        """Yield each partition with the result of a method.

        Those whose method fails are logged and left out.
        """
        for partition in partitions:
            if time.monotonic() >= deadline:
                return
            try:
                yield partition, method(partition)
            except (Exception, Timeout) as err:
                # Locked, or on a bad sector: the others are not concerned.
                self.logger.error(
                    'Unable to hash partition %s on %s: %s: %s',
                    partition, device, type(err).__name__, err)

    def get(self, device: str,
            partition: Partition) -> tuple[int, Fingerprint]:
        """Return the fingerprint of one partition; as :meth:`get_many`.

        :returns: the number of suffixes that had to be hashed, and the
            fingerprint
        """
        return self._get(self._dev_path(device), device, partition)

    def seen(self, device: str, partition: int) -> Fingerprint | None:
        """Return the fingerprint that a partition had when last looked at."""
        return self._seen[device].get(partition)

    def forget(self, device: str) -> None:
        """Give the memory of a device's fingerprints back."""
        self._seen.pop(device, None)

    def _dev_path(self, device: str) -> str:
        dev_path: str | None = self.df_mgr.get_dev_path(device)
        if not dev_path:
            raise DiskFileDeviceUnavailable()
        return dev_path

    def _get(self, dev_path: str, device: str,
             partition: Partition) -> tuple[int, Fingerprint]:
        seen, key = self._seen[device], int(partition)
        partition_path = get_part_path(dev_path, self.policy, partition)
        known = seen.get(key)
        if known and changed_file.is_current(partition_path, known):
            return 0, known
        try:
            stored = changed_file.load(partition_path)
        except FingerprintError as err:
            self.logger.warning('Replacing a damaged fingerprint: %s', err)
            stored = None
        if stored and stored != known and changed_file.is_current(
                partition_path, stored):
            seen.put(key, stored)
            return 0, stored
        if not stored and not os.path.isdir(partition_path):
            seen.drop(key)
            return 0, ABSENT
        return self._renew(dev_path, device, partition, stored or known)

    def _hash_anew(self, dev_path: str, device: str,
                   partition: Partition) -> tuple[int, Fingerprint]:
        hashed = self._anew.ensure(dev_path, device, partition)
        more, known = self._get(dev_path, device, partition)
        return hashed + more, known

    def _renew(self, dev_path: str, device: str, partition: Partition,
               known: Fingerprint | None) -> tuple[int, Fingerprint]:
        hashed, hashes = self.df_mgr._get_hashes(device, partition,
                                                 self.policy)
        exchanged = known.exchanged if known else float(time.time())
        renewed = changed_file.from_hashes_file(
            get_part_path(dev_path, self.policy, partition), exchanged,
            self._summary)
        if renewed:
            self._keep(dev_path, device, partition, renewed)
            return hashed, renewed
        # Somebody is writing to the partition, or a suffix cannot be hashed
        # (None, as in stock Swift): valid for now, not for later.
        root = merkle.root({suffix: str(digest)
                            for suffix, digest in hashes.items()})
        return hashed, Fingerprint(
            root, len(hashes), (0, 0, 0), exchanged,
            fragment=fragments.MIXED if self._is_ec else fragments.NONE)

    def _keep(self, dev_path: str, device: str, partition: Partition,
              known: Fingerprint) -> None:
        self._seen[device].put(int(partition), known)
        partition_path = get_part_path(dev_path, self.policy, partition)
        try:
            changed_file.store(
                partition_path,
                os.path.join(dev_path, get_tmp_dir(self.policy)), known)
        except FileNotFoundError:
            # The partition was moved away meanwhile.
            pass
        except OSError as err:
            # Only time is lost: the root is computed again when asked for.
            self.logger.warning('Unable to keep the fingerprint of %s: %s',
                                partition_path, err)

    def relist(self, device: str, partition: Partition
               ) -> tuple[int, Fingerprint]:
        """Make hashes and root reflect the suffixes that really exist.

        Nothing is written if they do: stock Swift would replace hashes.pkl. A
        partition that is gone has none.

        :param device: name of the device
        :param partition: the partition
        :returns: the number of suffixes that had to be hashed, and the
            fingerprint then
        """
        path = get_part_path(self._dev_path(device), self.policy, partition)
        hashed = 0
        # The partition may have been moved away meanwhile.
        with suppress(FileNotFoundError):
            if not suffixes_in(self.df_mgr, path) <= read_hashes(path).keys():
                hashed = self.df_mgr._get_hashes(
                    device, partition, self.policy, do_listdir=True)[0]
        more, known = self.get(device, partition)
        found = changed_file.from_hashes_file(path, known.exchanged,
                                              self._summary)
        if found and found != known:
            self._keep(self._dev_path(device), device, partition, found)
            known = found
        return hashed + more, known

    def note_exchange(self, device: str, partition: Partition,
                      now: float) -> None:
        """Remember that all replicas were compared suffix by suffix.

        :param device: name of the device
        :param partition: the partition
        :param now: when, seconds
        """
        dev_path = self._dev_path(device)
        known = self._get(dev_path, device, partition)[1]
        if known is not ABSENT:
            self._keep(dev_path, device, partition,
                       replace(known, exchanged=float(now)))
