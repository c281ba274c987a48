# SPDX-License-Identifier: Apache-2.0
"""
Plays the rounds of many partitions together.

The next messages of all partitions of a local device that go to the same
neighbour become one message. PROTOCOL.md, "Batches".
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Optional

from swift.common.concurrency import GreenPool, Timeout, sleep, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import StoragePolicy

from swift_lightsync.sync.changed_file import ABSENT, Fingerprint
from swift_lightsync.sync.core.sync_round import Answer, Check
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.fingerprints import in_portions
from swift_lightsync.sync.keys import Job, JobKey, device_key
from swift_lightsync.sync.partition_round import PartitionRound, Relist
from swift_lightsync.sync.sync_client import Told

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: Messages under way at once.
MESSAGES = 16


class SyncBatch:
    """
    Plays the rounds of partitions, as far as they can be played together.

    :param daemon: the replicator
    :param jobs: jobs of partitions that belong here, none of a hand-off
    :param counted: whether partitions that are done go into the statistics
    """

    def __init__(self, daemon: 'LightSyncReplicator', jobs: Iterable[Job],
                 counted: bool = True) -> None:
        self.daemon = daemon
        self.jobs = jobs
        self.counted = counted

    def run(self) -> dict[JobKey, Optional[PartitionRound]]:
        """
        Check all partitions with their neighbours, and exchange those that
        differ, as far as that can be done together.

        :returns: the round of each partition that has something left to do;
            None for one whose fingerprint could not be taken
        """
        begin = time.time()
        groups: dict[tuple[StoragePolicy, str], list[Job]] = defaultdict(list)
        for job in self.jobs:
            groups[job['policy'], job['device']].append(job)
        left: dict[JobKey, Optional[PartitionRound]] = {}
        # One device after the other, keeping only what is left of each, to
        # save memory.
        for (policy, device), jobs in groups.items():
            left.update(self._play(policy, device, jobs))
        if self.counted:
            self.daemon.logger.timing_since('partition.batch.timing', begin)
        return left

    def _play(self, policy: StoragePolicy, device: str, jobs: Sequence[Job]
              ) -> dict[JobKey, Optional[PartitionRound]]:
        begin = time.time()
        rounds = self._start(policy, device, jobs)
        playing = waiting = [each for each in rounds.values() if each]
        while waiting:
            self._ask(waiting)
            self._relist(policy, device, waiting)
            ExchangeBatch(self.daemon, waiting).run()
            waiting = [each for each in waiting
                       if isinstance(each.pending, Check)]
        if self.counted:
            self._count(device, [each for each in playing
                                 if not each.pending], begin)
        return {(device, int(policy), partition): each
                for partition, each in rounds.items()
                if not each or each.pending}

    def _start(self, policy: StoragePolicy, device: str, jobs: Sequence[Job]
               ) -> dict[str, Optional[PartitionRound]]:
        """Return the round of each partition, or None for one without."""
        rounds: dict[str, Optional[PartitionRound]] = {}
        for portion in in_portions(jobs):
            found = self._fingerprints(policy, device, portion)
            for job in portion:
                rounds[job['partition']] = self._round(
                    job, found.get(job['partition'], ABSENT))
            sleep()
        return rounds

    def _round(self, job: Job,
               fingerprint: Fingerprint) -> Optional[PartitionRound]:
        if fingerprint is ABSENT:
            return None
        try:
            return PartitionRound(self.daemon, job, fingerprint)
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
                [job['partition'] for job in jobs])
        except (OSError, DiskFileDeviceUnavailable) as err:
            self.daemon.logger.error(
                'Unable to take fingerprints on %s: %s', device, err)
            return {}
        self.daemon.count_hashed(device, hashed)
        return found

    def _relist(self, policy: StoragePolicy, device: str,
                waiting: Iterable[PartitionRound]) -> None:
        """List anew the partitions whose full exchange is due."""
        relist = self.daemon.fingerprints(policy).relist

        def relist_all(portion: Iterable[PartitionRound]
                       ) -> tuple[int, list[PartitionRound]]:
            hashed = 0
            done: list[PartitionRound] = []
            for each in portion:
                try:
                    hashed += relist(device, each.job['partition'])
                    done.append(each)
                except (Exception, Timeout) as err:
                    self.daemon.logger.error(
                        'Unable to list partition %s on %s: %s: %s',
                        each.partition, device, type(err).__name__, err)
            return hashed, done

        for portion in in_portions(each for each in waiting
                                   if isinstance(each.pending, Relist)):
            hashed, done = tpool.execute(relist_all, portion)
            self.daemon.count_hashed(device, hashed)
            for each in done:
                each.relisted()

    def _ask(self, waiting: Collection[PartitionRound]) -> None:
        """Answer the Checks of rounds, until none is pending."""
        groups = self._groups(waiting)
        while groups:
            limit = self.daemon.sync_batch_partitions
            pool = GreenPool(MESSAGES)
            for group in groups:
                for start in range(0, len(group), limit):
                    pool.spawn_n(self._ask_one, group[start:start + limit])
            pool.waitall()
            groups = self._groups(waiting)

    def _groups(self, waiting: Iterable[PartitionRound]
                ) -> list[list[PartitionRound]]:
        groups: dict[Any, list[PartitionRound]] = defaultdict(list)
        for each in waiting:
            if isinstance(each.pending, Check):
                groups[each.policy, each.job['device'],
                       device_key(each.pending.device)].append(each)
        # Sorted, so that a group is cut into the same sets in each pass.
        return [sorted(group, key=attrgetter('partition'))
                for group in groups.values()]

    def _ask_one(self, group: Sequence[PartitionRound]) -> None:
        first = group[0]
        if not isinstance(first.pending, Check):
            raise ValueError('partition %d has no check pending'
                             % first.partition)
        node = first.pending.device
        try:
            if self.daemon.neighbours.has_failed(node):
                # It has failed since the round chose it.
                told = Told(Answer.REFUSED)
            else:
                told = self.daemon.neighbours.ask(
                    first.job['device'], node, first.policy,
                    {each.partition: each.root for each in group})
        except (Exception, Timeout):
            self.daemon.logger.exception(
                'Error in a sync message about %d partitions of %s; comparing '
                'them by suffixes', len(group), first.job['device'])
            told = Told(Answer.INVALID)
        for each in group:
            each.answer(told.about(each.partition))

    def _count(self, device: str, done: Sequence[PartitionRound],
               begin: float) -> None:
        """Count the partitions of a device that are done."""
        if not done:
            return
        share = (time.time() - begin) / len(done)
        for each in done:
            each.count_matched()
            self.daemon.partition_times.append(share)
        self.daemon.logger.update_stats(
            'partition.update.count.%s' % device, len(done))
