# SPDX-License-Identifier: Apache-2.0
"""Plays the rounds of many partitions together.

What is asked and exchanged in which order is the engine's
(``core/engine/playing``). PROTOCOL.md, "Batches".
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from swift.common.concurrency import Timeout, sleep, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import StoragePolicy

from swift_lightsync.sync.changed_file import ABSENT, Fingerprint
from swift_lightsync.sync.core.engine.actions import Process
from swift_lightsync.sync.core.engine.playing import ListAnew, playing_together
from swift_lightsync.sync.driving import drive
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.fingerprints import in_portions
from swift_lightsync.sync.keys import Job, JobKey
from swift_lightsync.sync.partition_round import PartitionRound

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: A policy, and the name of a local device.
_Local = tuple[StoragePolicy, str]


class SyncBatch:
    """Plays the rounds of partitions, as far as they can be played together.

    :param daemon: the replicator
    :param jobs: jobs of partitions that belong here, none of a hand-off
    :param counted: whether partitions that are done go into the statistics
    """

    #: Makes a round, and the process that plays many of them.
    make: Callable[..., Any] = PartitionRound
    playing: Callable[..., Process[None]] = staticmethod(playing_together)
    #: Whether to hash all that is on the disk anew.
    anew = False

    def __init__(self, daemon: 'LightSyncReplicator', jobs: Iterable[Job],
                 counted: bool = True) -> None:
        self.daemon = daemon
        self.jobs = jobs
        self.counted = counted

    def run(self) -> dict[JobKey, PartitionRound | None]:
        """Check all partitions with their neighbours, and exchange those that
        differ, as far as that can be done together.

        :returns: the round of each partition that has something left to do;
            None for one whose fingerprint could not be taken
        """
        begin = time.time()
        rounds = self.play()
        if self.counted:
            self._count(rounds, begin)
            self.daemon.logger.timing_since('partition.batch.timing', begin)
        return {(device, int(policy), partition): each
                for (policy, device), of_device in rounds.items()
                for partition, each in of_device.items()
                if not each or each.pending}

    def play(self) -> dict[_Local, dict[str, Any]]:
        """Play the rounds.

        :returns: all of them, by policy and device, and partition; None for
            a partition whose fingerprint could not be taken
        """
        groups: dict[_Local, list[Job]] = defaultdict(list)
        for job in self.jobs:
            groups[job['policy'], job['device']].append(job)
        rounds = {local: self._start(*local, jobs)
                  for local, jobs in groups.items()}
        waiting = [each for of_device in rounds.values()
                   for each in of_device.values() if each]
        exchanges = ExchangeBatch(self.daemon)
        drive(self.playing(
            self.daemon.neighbours, waiting,
            self.daemon.sync_batch_partitions, exchanges.exchanging),
            lambda action: self._list_anew(action.rounds)
            if isinstance(action, ListAnew) else exchanges.perform(action),
            self.daemon.logger)
        return rounds

    def _start(self, policy: StoragePolicy, device: str, jobs: Sequence[Job]
               ) -> dict[str, Any]:
        """Return the round of each partition, or None for one without."""
        rounds: dict[str, Any] = {}
        for portion in in_portions(jobs):
            found = self._fingerprints(policy, device, portion)
            for job in portion:
                rounds[job['partition']] = self._round(
                    job, found.get(job['partition'], ABSENT))
            sleep()
        return rounds

    def _round(self, job: Job, fingerprint: Fingerprint) -> Any:
        if fingerprint is ABSENT:
            return None
        try:
            return self.make(self.daemon, job, fingerprint)
        except Exception:
            self.daemon.logger.exception(
                'Error in the sync round of partition %s on %s',
                job['partition'], job['device'])
            return None

    def _fingerprints(self, policy: StoragePolicy, device: str,
                      jobs: Iterable[Job]) -> dict[str, Fingerprint]:
        found: dict[str, Fingerprint]
        try:
            hashed, found = tpool.execute(
                self.daemon.fingerprints(policy).get_many, device,
                [job['partition'] for job in jobs], anew=self.anew)
        except (OSError, DiskFileDeviceUnavailable) as err:
            self.daemon.logger.error(
                'Unable to take fingerprints on %s: %s', device, err)
            return {}
        self.daemon.count_hashed(device, hashed)
        return found

    def _list_anew(self, rounds: Iterable[Any]) -> None:
        """List the partitions anew whose full comparison is due."""
        due: dict[_Local, list[PartitionRound]] = defaultdict(list)
        for each in rounds:
            due[each.policy, each.device].append(each)
        for (_, device), rounds in due.items():
            for portion in in_portions(rounds):
                hashed, done = tpool.execute(self._relist_all, portion)
                self.daemon.count_hashed(device, hashed)
                for each, found in done:
                    each.relisted(found.root, found.suffixes)

    def _relist_all(self, portion: Iterable[PartitionRound]
                    ) -> tuple[int, list[tuple[PartitionRound, Fingerprint]]]:
        hashed = 0
        done: list[tuple[PartitionRound, Fingerprint]] = []
        for each in portion:
            try:
                more, found = each.relist()
            except (Exception, Timeout) as err:
                self.daemon.logger.error(
                    'Unable to list partition %s on %s: %s: %s',
                    each.partition, each.device, type(err).__name__, err)
            else:
                hashed += more
                done.append((each, found))
        return hashed, done

    def _count(self, rounds: Mapping[_Local, Mapping[
            str, PartitionRound | None]], begin: float) -> None:
        """Count the partitions that are done."""
        total = sum(map(len, rounds.values()))
        share = (time.time() - begin) / max(total, 1)
        for (_, device), of_device in rounds.items():
            done = [each for each in of_device.values()
                    if each and not each.pending]
            if not done:
                continue
            for each in done:
                each.count_matched()
                self.daemon.partition_times.append(share)
            self.daemon.logger.update_stats(
                'partition.update.count.%s' % device, len(done))
