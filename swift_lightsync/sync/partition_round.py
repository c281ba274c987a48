# SPDX-License-Identifier: Apache-2.0
"""One partition in a replication pass: the shell around the engine's rounds.

It knows the replica ring, the fingerprint and the statistics of its
partition; the daemon knows the other nodes.
"""

import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from swift.common.concurrency import tpool

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.changed_file import Fingerprint
from swift_lightsync.sync.core.engine.playing import (
    ExchangeAlone,
    ListAnew,
    playing_alone,
)
from swift_lightsync.sync.core.engine.rounds import (
    Actions,
    Round,
    exchange_with_all,
    full_comparison,
)
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import sync_round
from swift_lightsync.sync.driving import drive
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.full_exchange import Turn
from swift_lightsync.sync.keys import Job

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator


class PartitionRound(Round):
    """One partition's part in a replication pass.

    :param daemon: the replicator
    :param job: the job of the partition
    :param fingerprint: the partition's fingerprint
    """

    __slots__ = ('daemon', 'job', 'begun', 'exchanges')

    def __init__(self, daemon: 'LightSyncReplicator', job: Job,
                 fingerprint: Fingerprint) -> None:
        super().__init__(daemon, job['policy'], job['device'], job['region'],
                         int(job['partition']), fingerprint.root,
                         fingerprint.suffixes)
        self.daemon = daemon
        self.job = job
        self.begun = time.time()
        #: How many exchanges stock Swift has done for this round.
        self.exchanges = 0
        daemon.neighbours.idleness.note_round(self.device)
        self.begin(self._plan(fingerprint))

    @property
    def stats(self) -> Any:
        """Swift's statistics of the device."""
        return self.daemon.stats_for_dev[self.device]

    def _plan(self, fingerprint: Fingerprint) -> Actions:
        """Return a generator of actions, like ``sync_round``."""
        turn = self.daemon.full_exchanges.turn(
            self.job, fingerprint.exchanged, self.begun)
        if turn:
            return self._full_exchange(turn)
        clockwise = self.daemon.neighbours.local.clockwise(self.job)
        if clockwise is None:
            return exchange_with_all(self.job['nodes'], self.has_failed)
        return sync_round(
            clockwise, self.has_failed,
            partial(self.daemon.neighbours.is_cut, self.device),
            self._hand_offs(len(clockwise)), self.region)

    def _full_exchange(self, turn: Turn) -> Actions:
        skipped = yield from full_comparison(turn.nodes, self.has_failed)
        self.daemon.full_exchanges.played(self.job, turn, skipped,
                                          self.complete)

    def _hand_offs(self, mounted: int) -> Iterator[RingDevice]:
        """Yield the devices that can replace one that is not mounted.

        There are none if the operator is content with fewer replicas
        (handoff_delete).
        """
        if 0 < self.daemon.handoff_delete <= mounted:
            return
        yield from self.policy.object_ring.get_more_nodes(self.partition)

    def relist(self) -> tuple[int, Fingerprint]:
        """List the suffixes of the partition anew.

        :returns: how many had to be hashed, and the fingerprint then
        """
        return self.daemon.fingerprints(self.policy).relist(
            self.device, self.job['partition'])

    def exchanged(self, key: DeviceTuple, pushed: int, suffixes: int) -> int:
        """Take the success of an Exchange, and count it."""
        stats = self.stats
        stats.success += 1
        stats.rsync += bool(pushed)
        stats.hashmatch += not pushed
        stats.suffix_sync += pushed
        self.daemon.logger.update_stats('suffix.syncs', pushed)
        spared = super().exchanged(key, pushed, suffixes)
        stats.success += spared
        return spared

    def note_exchanged(self) -> None:
        """Record the devices with which the Exchange was done."""
        if self._done:
            self.daemon.recon.note_exchange(self.job, self._done, True)

    def run(self) -> None:
        """Perform the actions that are left, and count the outcome."""
        exchanges = ExchangeBatch(self.daemon)
        drive(playing_alone(self.daemon.neighbours, self,
                            exchanges.exchanging),
              partial(self._perform, exchanges), self.daemon.logger)
        if self.exchanges:
            self._count_devices()
            return
        # No exchange of stock Swift has counted the partition.
        self.count_matched()
        self.daemon.logger.increment('partition.update.count.%s'
                                     % self.device)
        self.daemon.partition_times.append(time.time() - self.begun)
        self.daemon.logger.timing_since('partition.update.timing',
                                        self.begun)

    def _perform(self, exchanges: ExchangeBatch, action: object) -> Any:
        """Perform an action of the engine."""
        if isinstance(action, ListAnew):
            hashed, found = tpool.execute(self.relist)
            self.daemon.count_hashed(self.device, hashed)
            self.relisted(found.root, found.suffixes)
            return None
        if isinstance(action, ExchangeAlone):
            return self._exchange_alone(action.nodes)
        return exchanges.perform(action)

    def _exchange_alone(self, nodes: Iterable[RingDevice]) -> bool:
        """Have stock Swift exchange with devices."""
        if self.exchanges:
            # Each exchange counts the partition, which is only one.
            self.stats.attempted -= 1
        self.exchanges += 1
        return self.daemon.exchange(self.job, nodes)

    def count_matched(self) -> None:
        """Count a partition that stock Swift has not counted."""
        self.stats.attempted += 1
        self.stats.suffix_count += self.suffixes
        self._count_devices()

    def _count_devices(self) -> None:
        stats = self.stats
        stats.hashmatch += self.matched
        stats.success += self.matched
        stats.add_failure_stats({(ip, device) for ip, _, device
                                 in self.passed_over})
