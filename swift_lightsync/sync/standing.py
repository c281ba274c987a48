# SPDX-License-Identifier: Apache-2.0
"""What the replicator keeps of one pass for the next.

A device whose partitions were all looked at is *known*: the passes that
follow read its journal, put what changed into the trees, and ask each node
about all of it by one root. Only what differs, what a neighbour cannot be
asked about so, and what has its turn become jobs. PROTOCOL.md, "What is kept
between passes".
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from swift.common.concurrency import GreenPool, Timeout, tpool
from swift.common.storage_policy import POLICIES, StoragePolicy
from swift.common.utils import node_to_string

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync import journal
from swift_lightsync.sync.core.conversation import Condition, SharedTold, Told
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.device_watch import DeviceWatch
from swift_lightsync.sync.journal import Writers
from swift_lightsync.sync.keys import Job, device_key
from swift_lightsync.sync.known_partitions import KnownPartitions
from swift_lightsync.sync.standing_sets import (
    Local,
    Pair,
    Partitions,
    Standing,
)

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: Messages under way at once.
MESSAGES = 16


class StandingSets:
    """The standing sets of a replicator, or of one of its workers.

    :param daemon: the replicator
    :param writers: the mark of the journals' writers
    """

    def __init__(self, daemon: 'LightSyncReplicator',
                 writers: Writers) -> None:
        self.daemon = daemon
        self.writers = writers
        self.known = KnownPartitions(daemon)
        #: Whether passes follow each other, so that keeping things pays.
        self.enabled = False
        self._watch = DeviceWatch(daemon._df_router[POLICIES.default],
                                  writers)
        self.forget()

    def forget(self) -> None:
        """Know nothing any more."""
        self.known.forget()
        self._rings: list[Any] = []
        #: Devices that are looked at in this pass, to be known then.
        self.beginning: set[str] = set()
        #: What this pass found changed, by device.
        self._changed: dict[str, set[tuple[int, int]]] = {}
        #: When turns were last looked at, seconds.
        self._turned = time.time()
        #: Partitions that this pass settled, by local device.
        self.settled: Counter[str] = Counter()

    def begin(self, devices: Collection[str] | None,
              partial: bool) -> set[str] | None:
        """Begin a pass.

        :param devices: names of the local devices that it goes over; None:
            all of them
        :param partial: whether it leaves out some of their partitions
        :returns: the devices whose partitions have to be looked at; None if
            the pass has to look at everything that it is about
        """
        self.settled = Counter()
        self.beginning = set()
        if partial or not self.enabled \
                or self.daemon.sync_batch_partitions < 2:
            self.forget()
            return None
        devices = set(devices or self.daemon.get_local_devices())
        policies = self.known.policies()
        for policy in policies:
            self.daemon.load_object_ring(policy)
        rings = [policy.object_ring.devs for policy in policies]
        if len(rings) != len(self._rings) \
                or any(a is not b for a, b in zip(rings, self._rings)) \
                or set(self.known.devices) - devices \
                or any(getattr(policy.object_ring, 'next_part_power', None)
                       is not None for policy in policies) \
                or self.daemon.handoffs_first and any(self.known.hand_offs()):
            self.forget()
            self._rings = rings
        for device in list(self.known.devices):
            changed = tpool.execute(self._watch.changes, device)
            if changed is None:
                del self.known.devices[device]
            else:
                self._changed[device] = changed
        unknown = devices - set(self.known.devices)
        self.beginning = {device for device in unknown if tpool.execute(
            self._watch.begin, device, policies)}
        return unknown

    def keep(self, jobs: Iterable[Job]) -> None:
        """Keep what the pass has found about the devices that it looked at.

        :param jobs: all jobs of these devices
        """
        if self.beginning:
            self.known.keep(self.beginning, jobs)
        self.known.forget_fingerprints()

    def ask(self) -> list[Job]:
        """Compare what is known with the neighbours.

        :returns: the jobs of the partitions that are left to the pass
        """
        if not self.known.devices:
            return []
        now = time.time()
        left: dict[str, set[tuple[StoragePolicy, int]]] = {
            device: set(each.loose)
            for device, each in self.known.devices.items()}
        for device in self.known.devices:
            self.daemon.neighbours.idleness.note_round(device)
            self.known.renew(device, self._changed.pop(device, set()))
            exchanges = self.daemon.full_exchanges
            exchanges.owe(device, self.known.due(device, self._turned, now))
            due = set(exchanges.waiting(device))
            for policy, partition in self.known.renew(
                    device, {(int(policy), partition)
                             for policy, partition in due}):
                # An object-server here does not know of it either.
                tpool.execute(self._enter, device, policy, partition)
            left[device].update(due)
        self._turned = now
        pool = GreenPool(MESSAGES)
        for index, standing in enumerate(self.known.sets):
            pool.spawn_n(self._ask, index, standing, left)
        pool.waitall()
        self._note_settled(left)
        if self.settled:
            self.daemon.partition_times.append(
                (time.time() - now) / self.settled.total())
        return [self.known.job(device, policy, partition)
                for device, of_device in left.items()
                for policy, partition in sorted(
                    of_device, key=lambda each: (int(each[0]), each[1]))]

    def _enter(self, device: str, policy: int, partition: int) -> None:
        path = self._watch.manager.construct_dev_path(device)
        try:
            journal.enter(path, policy, partition)
        except OSError:
            self.writers.touch()

    def _ask(self, index: int, standing: Standing,
             left: dict[str, set[tuple[StoragePolicy, int]]]) -> None:
        """Compare a standing set; add what is left to do."""
        told = self._told(standing)
        if told is None:
            for local in {pair.local for pair in standing.pairs.values()}:
                each = self.known.partitions[local]
                self._leave(left, local, (
                    number for at, number in enumerate(each.numbers)
                    if each.sets[at] == index))
            return
        neighbours = self.daemon.neighbours
        differing = told.differing | told.unread
        for (local, name), pair in standing.pairs.items():
            key = device_key(pair.node)
            # Its partitions are counted once all are known to be equal.
            neighbours.note(local[1], pair.node, local[0], (), Told(
                Answer.MATCH, idle=told.states[name].seconds))
            each = self.known.partitions[local]
            if neighbours.idleness.is_idle(local[1], key):
                self._leave(left, local, (
                    number for at, number in enumerate(each.numbers)
                    if each.sets[at] == index
                    and each.neighbour(at) is pair.node))
            elif differing:
                self._leave(left, local, (
                    partition for policy, device, partition in differing
                    if device == name and policy == int(local[0])
                    and self._is_in(each, partition, index)))

    @staticmethod
    def _is_in(each: Partitions, partition: int, index: int) -> bool:
        at = each.at(partition)
        return at is not None and each.sets[at] == index

    def _leave(self, left: dict[str, set[tuple[StoragePolicy, int]]],
               local: Local, partitions: Iterable[int]) -> None:
        policy, device = local
        # Devices that are looked at anew have jobs for all they hold.
        if device in left:
            left[device].update((policy, each) for each in partitions)

    def _told(self, standing: Standing) -> SharedTold | None:
        """Ask a node; return None if it cannot be asked so."""
        neighbours = self.daemon.neighbours
        pairs = list(standing.pairs.values())
        if not neighbours.has_verb(pairs[0].node) \
                or any(neighbours.has_failed(pair.node) for pair in pairs) \
                or neighbours.failures.is_reporter(standing.where):
            return None
        try:
            found = neighbours.ask_standing(pairs[0], standing)
        except (Exception, Timeout):
            self.daemon.logger.exception(
                'Error in a sync message about %d partitions to %s',
                len(standing.items),
                node_to_string(pairs[0].node, replication=True))
            return None
        if found and all(
                state.condition is Condition.READY
                for state in found.states.values()):
            return found
        return None

    def _note_settled(self, left: dict[str, set[tuple[StoragePolicy, int]]]
                      ) -> None:
        """Count the partitions that are equal."""
        unsettled: Counter[tuple[Local, DeviceTuple]] = Counter()
        for device, of_device in left.items():
            for policy, partition in of_device:
                held = self.known.partitions.get((policy, device))
                at = held.at(partition) if held else None
                node = held.neighbour(at) if held and at is not None else None
                if node:
                    unsettled[(policy, device), device_key(node)] += 1
        for standing in self.known.sets:
            for (local, _), pair in standing.pairs.items():
                if local[1] in left:
                    self._count(pair, pair.count - min(
                        pair.count, unsettled[local, device_key(pair.node)]))
        for device, settled in self.settled.items():
            each = self.known.devices[device]
            self.daemon.stats_for_dev[device].suffix_count += (
                each.suffixes * settled // max(each.count, 1))

    def _count(self, pair: Pair, count: int) -> None:
        if not count:
            return
        policy, device = pair.local
        self.settled[device] += count
        stats = self.daemon.stats_for_dev[device]
        stats.attempted += count
        stats.hashmatch += count
        stats.success += count
        self.daemon.logger.update_stats('partition.check.match.%s' % device,
                                        count)
        self.daemon.logger.update_stats('partition.update.count.%s' % device,
                                        count)
        self.daemon.recon.note_settled(policy, device, pair.node, count)
