# SPDX-License-Identifier: Apache-2.0
"""
Plays the rounds of many partitions together.

The next messages of all partitions of a local device that go to the same
neighbour become one message. PROTOCOL.md, "Batches".
"""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Optional, Union

from swift.common.concurrency import GreenPool, Timeout, sleep, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import node_to_string

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.changed_file import ABSENT, Fingerprint
from swift_lightsync.sync.core.conversation import (
    SharedTold,
    Told,
    told_of,
)
from swift_lightsync.sync.core.sync_round import Answer, Check
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.fingerprints import in_portions
from swift_lightsync.sync.keys import Job, JobKey, endpoint
from swift_lightsync.sync.partition_round import PartitionRound, Relist
from swift_lightsync.sync.sync_pairs import Pair, messages_of, pairs_of

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: A policy, and the name of a local device.
_Local = tuple[StoragePolicy, str]
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
        groups: dict[_Local, list[Job]] = defaultdict(list)
        for job in self.jobs:
            groups[job['policy'], job['device']].append(job)
        rounds = {local: self._start(*local, jobs)
                  for local, jobs in groups.items()}
        waiting = [each for of_device in rounds.values()
                   for each in of_device.values() if each]
        while waiting:
            self._ask(waiting)
            self._relist(waiting)
            ExchangeBatch(self.daemon, waiting).run()
            waiting = [each for each in waiting
                       if isinstance(each.pending, Check)]
        if self.counted:
            self._count(rounds, begin)
            self.daemon.logger.timing_since('partition.batch.timing', begin)
        return {(device, int(policy), partition): each
                for (policy, device), of_device in rounds.items()
                for partition, each in of_device.items()
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

    def _relist(self, waiting: Iterable[PartitionRound]) -> None:
        """List anew the partitions whose full exchange is due."""
        due: dict[_Local, list[PartitionRound]] = defaultdict(list)
        for each in waiting:
            if isinstance(each.pending, Relist):
                due[each.policy, each.job['device']].append(each)
        for (_, device), rounds in due.items():
            for portion in in_portions(rounds):
                hashed, done = tpool.execute(self._relist_all, portion)
                self.daemon.count_hashed(device, hashed)
                for each in done:
                    each.relisted()

    def _relist_all(self, portion: Iterable[PartitionRound]
                    ) -> tuple[int, list[PartitionRound]]:
        hashed = 0
        done: list[PartitionRound] = []
        for each in portion:
            try:
                hashed += self.daemon.fingerprints(each.policy).relist(
                    each.job['device'], each.job['partition'])
                done.append(each)
            except (Exception, Timeout) as err:
                self.daemon.logger.error(
                    'Unable to list partition %s on %s: %s: %s',
                    each.partition, each.job['device'], type(err).__name__,
                    err)
        return hashed, done

    def _ask(self, waiting: Collection[PartitionRound]) -> None:
        """Answer the Checks of rounds, until none is pending."""
        while True:
            nodes: dict[NodeTuple, list[Pair]] = defaultdict(list)
            for pair in pairs_of(waiting):
                nodes[endpoint(pair.node)].append(pair)
            if not nodes:
                return
            limit = self.daemon.sync_batch_partitions
            pool = GreenPool(MESSAGES)
            for where, pairs in nodes.items():
                if self.daemon.neighbours.converses(where):
                    for message in messages_of(pairs, limit):
                        pool.spawn_n(self._ask_node, message)
                else:
                    for pair in pairs:
                        for part in pair.parts(limit):
                            pool.spawn_n(self._ask_pair, part)
            pool.waitall()

    def _ask_pair(self, pair: Pair) -> None:
        """Ask a neighbour about the partitions of one device."""
        try:
            if self.daemon.neighbours.has_failed(pair.node):
                # It has failed since the round chose it.
                told = Told(Answer.REFUSED)
            else:
                told = self.daemon.neighbours.ask(
                    pair.device, pair.node, pair.policy,
                    {each.partition: each.root for each in pair.rounds})
        except (Exception, Timeout):
            told = self._unusable([pair])
        pair.answer(told)

    def _unusable(self, pairs: Sequence[Pair]) -> Told:
        self.daemon.logger.exception(
            'Error in a sync message about %d partitions to %s; comparing '
            'them by suffixes', sum(len(pair.rounds) for pair in pairs),
            node_to_string(pairs[0].node, replication=True))
        return Told(Answer.INVALID)

    def _ask_node(self, pairs: Sequence[Pair]) -> None:
        """Ask a node about all that its devices share with ours."""
        neighbours = self.daemon.neighbours
        failed = [pair for pair in pairs if neighbours.has_failed(pair.node)]
        for pair in failed:
            pair.answer(Told(Answer.REFUSED))
        pairs = [pair for pair in pairs if pair not in failed]
        if not pairs:
            return
        found: Union[SharedTold, Told]
        try:
            first = pairs[0]
            found = neighbours.ask_node(
                neighbours.local.endpoint(first.policy, first.device),
                first.node, {item: each.root for pair in pairs
                             for item, each in pair.items()})
        except (Exception, Timeout):
            found = self._unusable(pairs)
        if not neighbours.converses(endpoint(pairs[0].node)):
            # The rounds still wait, and are asked device by device.
            return
        for pair in pairs:
            told = found if isinstance(found, Told) else told_of(
                found, int(pair.policy), pair.node['device'],
                [each.partition for each in pair.rounds])
            neighbours.note(pair.device, pair.node, pair.policy,
                            [each.partition for each in pair.rounds], told)
            pair.answer(told)

    def _count(self, rounds: Mapping[_Local, Mapping[
            str, Optional[PartitionRound]]], begin: float) -> None:
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
