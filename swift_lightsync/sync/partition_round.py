# SPDX-License-Identifier: Apache-2.0
"""
One partition in a replication pass: the shell around ``sync_round``.

It knows the replica ring, the fingerprint and the statistics of its
partition; the daemon knows the other nodes. ``pending`` is the action that
the round wants next. A Check may be answered, and an Exchange done, alone or
together with those of other partitions.
"""

import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Optional, Union

from swift.common.concurrency import tpool
from swift.common.storage_policy import StoragePolicy

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.changed_file import Fingerprint
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import (
    NEXT,
    Action,
    Answer,
    Check,
    Exchange,
    Next,
    sync_round,
)
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from swift_lightsync.sync.full_exchange import Turn
from swift_lightsync.sync.keys import Job, device_key

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator


@dataclass(frozen=True)
class Relist:
    """Lists the suffixes of the partition anew; its outcome is True."""
    __slots__ = ()


_Actions = Generator[Union[Action, Relist], Any, Any]


def _stats_key(node: RingDevice) -> tuple[str, str]:
    return node['replication_ip'], node['device']


class PartitionRound:
    """
    One partition's part in a replication pass.

    All partitions of a device have one at the same time, so it is kept small.

    :param daemon: the replicator
    :param job: the job of the partition
    :param fingerprint: the partition's fingerprint
    """

    __slots__ = ('daemon', 'job', 'partition', 'root', 'suffixes', 'begin',
                 'pending', 'exchanges', 'matched', 'passed_over', '_tried',
                 '_done', '_actions', '_complete')

    def __init__(self, daemon: 'LightSyncReplicator', job: Job,
                 fingerprint: Fingerprint) -> None:
        self.daemon = daemon
        self.job = job
        self.partition = int(job['partition'])
        self.root = fingerprint.root
        self.suffixes = fingerprint.suffixes
        self.begin = time.time()
        #: How many exchanges stock Swift has done for this round.
        self.exchanges = 0
        #: How many devices answered that they hold the same.
        self.matched = 0
        #: Replication IP and name of each device that was passed over.
        self.passed_over: frozenset[tuple[str, str]] = frozenset()
        self.pending: Union[Action, Relist, None] = None
        #: The devices with which the pending Exchange was tried, and done.
        self._tried: tuple[DeviceTuple, ...] = ()
        self._done: tuple[RingDevice, ...] = ()
        #: Whether all exchanges so far were with all and went well.
        self._complete = True
        daemon.neighbours.idleness.note_round(job['device'])
        self._actions: Optional[_Actions] = self._plan(fingerprint)
        self._go_on(None)

    @property
    def policy(self) -> StoragePolicy:
        """The partition's StoragePolicy."""
        return self.job['policy']

    @property
    def stats(self) -> Any:
        """Swift's statistics of the device."""
        return self.daemon.stats_for_dev[self.job['device']]

    def _plan(self, fingerprint: Fingerprint) -> _Actions:
        """Return a generator of actions, like ``sync_round``."""
        turn = self.daemon.full_exchanges.turn(
            self.job, fingerprint.exchanged, self.begin)
        if turn:
            return self._full_exchange(turn)
        clockwise = self.daemon.neighbours.local.clockwise(self.job)
        if clockwise is None:
            return self._exchange_with_all(self.job['nodes'])
        return sync_round(
            clockwise, self._has_failed,
            partial(self.daemon.neighbours.is_cut, self.job['device']),
            self._hand_offs(len(clockwise)))

    def _exchange_with_all(self, nodes: Iterable[RingDevice]
                           ) -> Generator[Union[Action, Relist], Any,
                                          list[DeviceTuple]]:
        """Exchange with devices, and return those that have failed."""
        failed = [node for node in nodes if self._has_failed(node)]
        able = tuple(node for node in nodes if node not in failed)
        if able:
            yield Exchange(able)
        return [device_key(node) for node in failed]

    def _full_exchange(self, turn: Turn) -> _Actions:
        yield Relist()
        skipped = yield from self._exchange_with_all(turn.nodes)
        self.daemon.full_exchanges.played(self.job, turn, skipped,
                                          self._complete)

    def _hand_offs(self, mounted: int) -> Iterator[RingDevice]:
        """
        Yield the devices that can replace one that is not mounted.

        There are none if the operator is content with fewer replicas
        (handoff_delete).
        """
        if 0 < self.daemon.handoff_delete <= mounted:
            return
        yield from self.policy.object_ring.get_more_nodes(self.partition)

    def _has_failed(self, node: RingDevice) -> bool:
        failed = self.daemon.neighbours.has_failed(node)
        if failed:
            self._pass_over(node)
        return failed

    def _cannot_push(self, node: RingDevice) -> bool:
        cannot = self.daemon.cannot_push(node)
        if cannot:
            self._pass_over(node)
        return cannot

    def _pass_over(self, node: RingDevice) -> None:
        self.passed_over |= {_stats_key(node)}

    def _go_on(self, outcome: Union[Answer, bool, None]) -> None:
        if self._actions is None:
            raise ValueError('the round of partition %d is over'
                             % self.partition)
        self._tried = self._done = ()
        try:
            self.pending = self._actions.send(outcome)
        except StopIteration:
            self.pending = self._actions = None

    def answer(self, answer: Answer) -> None:
        """
        Take the answer to the pending Check.

        :param answer: the neighbour's answer
        """
        if answer is Answer.MATCH:
            self.matched += 1
        elif isinstance(self.pending, Check) and NEXT[answer] in (
                Next.PASS_OVER, Next.REPLACE, Next.POSTPONE):
            self._pass_over(self.pending.device)
        self._go_on(answer)

    def relisted(self) -> None:
        """Take the success of the pending Relist."""
        self._go_on(True)

    def exchangeable(self) -> list[RingDevice]:
        """
        Return the devices that the pending Exchange can be tried with now,
        together with other partitions.

        There is only one of each other region, so that data travels there
        once.
        """
        if not isinstance(self.pending, Exchange):
            return []
        neighbours = self.daemon.neighbours
        found: list[RingDevice] = []
        regions: set[int] = set()
        for node in self.pending.devices:
            region = node['region']
            if device_key(node) in self._tried or region in regions \
                    or not neighbours.has_verb(node) \
                    or neighbours.has_failed(node) \
                    or self.daemon.cannot_push(node):
                continue
            found.append(node)
            if region != self.job['region']:
                regions.add(region)
        return found

    def trying(self, key: DeviceTuple) -> None:
        """
        Note that the pending Exchange is being tried with a device.

        :param key: its ``device_key``
        """
        self._tried += (key,)

    def exchanged(self, key: DeviceTuple, pushed: int,
                  suffixes: int) -> None:
        """
        Take the success of the pending Exchange with one of its devices.

        :param key: the device's ``device_key``
        :param pushed: to how many suffixes something was pushed
        :param suffixes: how many suffixes the partition has
        """
        if not isinstance(self.pending, Exchange):
            raise ValueError('partition %d has no exchange pending'
                             % self.partition)
        self.suffixes = suffixes
        node, left = self._without(self.pending, key)
        stats = self.stats
        stats.success += 1
        stats.rsync += bool(pushed)
        stats.hashmatch += not pushed
        stats.suffix_sync += pushed
        self.daemon.logger.update_stats('suffix.syncs', pushed)
        if pushed and node['region'] != self.job['region']:
            # As in stock Swift, the others there get it from this one.
            spared = [each for each in left
                      if each['region'] == node['region']]
            stats.success += len(spared)
            left = [each for each in left if each not in spared]
        self._done += (node,)
        if left:
            self.pending = replace(self.pending, devices=tuple(left))
            return
        self.daemon.recon.note_exchange(self.job, self._done, True)
        self._go_on(True)

    def put_off(self, key: DeviceTuple) -> None:
        """
        Leave the pending Exchange with one of its devices to a later pass.

        :param key: the device's ``device_key``
        """
        if not isinstance(self.pending, Exchange):
            return
        node, left = self._without(self.pending, key)
        self._pass_over(node)
        self._complete = False
        if left:
            self.pending = replace(self.pending, devices=tuple(left))
        else:
            self._go_on(True)

    @staticmethod
    def _without(pending: Exchange, key: DeviceTuple
                 ) -> tuple[RingDevice, list[RingDevice]]:
        """Return one of the devices of an Exchange, and the others."""
        node, = (each for each in pending.devices if device_key(each) == key)
        return node, [each for each in pending.devices if each is not node]

    def run(self) -> None:
        """Perform the actions that are left, and count the outcome."""
        while self.pending:
            if isinstance(self.pending, Check):
                told = self.daemon.neighbours.ask(
                    self.job['device'], self.pending.device, self.policy,
                    {self.partition: self.root})
                self.answer(told.about(self.partition))
            elif isinstance(self.pending, Relist):
                self.daemon.count_hashed(self.job['device'], tpool.execute(
                    self.daemon.fingerprints(self.policy).relist,
                    self.job['device'], self.job['partition']))
                self.relisted()
            else:
                before = self.pending
                ExchangeBatch(self.daemon, [self]).run()
                if self.pending is before:
                    self._go_on(self._exchange_alone(before))
        if self.exchanges:
            self._count_devices()
            return
        # No exchange of stock Swift has counted the partition.
        self.count_matched()
        self.daemon.logger.increment('partition.update.count.%s'
                                     % self.job['device'])
        self.daemon.partition_times.append(time.time() - self.begin)
        self.daemon.logger.timing_since('partition.update.timing',
                                        self.begin)

    def _exchange_alone(self, pending: Exchange) -> bool:
        """Have stock Swift exchange with the devices that are left."""
        if self._done:
            self.daemon.recon.note_exchange(self.job, self._done, True)
        nodes = [node for node in pending.devices
                 if not self._has_failed(node)
                 and not self._cannot_push(node)]
        self._complete &= len(nodes) == len(pending.devices)
        if not nodes:
            return False
        if self.exchanges:
            # Each exchange counts the partition, which is only one.
            self.stats.attempted -= 1
        self.exchanges += 1
        done = self.daemon.exchange(self.job, nodes)
        self._complete &= done
        return done

    def count_matched(self) -> None:
        """Count a partition that stock Swift has not counted."""
        self.stats.attempted += 1
        self.stats.suffix_count += self.suffixes
        self._count_devices()

    def _count_devices(self) -> None:
        stats = self.stats
        stats.hashmatch += self.matched
        stats.success += self.matched
        stats.add_failure_stats(self.passed_over)
