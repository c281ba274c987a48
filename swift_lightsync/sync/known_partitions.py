# SPDX-License-Identifier: Apache-2.0
"""The partitions here whose roots the replicator keeps between passes.

PROTOCOL.md, "What is kept between passes".
"""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from swift.common.concurrency import sleep, tpool
from swift.common.storage_policy import EC_POLICY, POLICIES, StoragePolicy
from swift.obj.diskfile import get_data_dir

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.root_tree import SIZE
from swift_lightsync.sync.core.shared_set import leaf_of
from swift_lightsync.sync.core.sync_round import TURNS, phase_of, turn
from swift_lightsync.sync.fingerprints import in_portions
from swift_lightsync.sync.keys import Job, device_key
from swift_lightsync.sync.standing_sets import (
    NOWHERE,
    Local,
    Partitions,
    Standing,
    standing_sets,
)

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator


@dataclass
class KnownDevice:
    """A device whose partitions were all looked at.

    :param hand_offs: the jobs of partitions that do not belong here
    :param loose: policies and partitions that are in no standing set
    :param suffixes: how many suffixes its partitions have
    :param count: how many partitions are in standing sets
    """
    hand_offs: list[Job] = field(default_factory=list)
    loose: set[tuple[StoragePolicy, int]] = field(default_factory=set)
    suffixes: int = 0
    count: int = 0


class KnownPartitions:
    """The known devices, their partitions, and the standing sets.

    :param daemon: the replicator
    """

    def __init__(self, daemon: 'LightSyncReplicator') -> None:
        self.daemon = daemon
        self.forget()

    def forget(self) -> None:
        """Know nothing any more."""
        self.devices: dict[str, KnownDevice] = {}
        self.partitions: dict[Local, Partitions] = {}
        self.sets: list[Standing] = []
        #: The devices that share partitions with us.
        self.sharing: dict[DeviceTuple, RingDevice] = {}

    def policies(self) -> list[StoragePolicy]:
        """Return the policies whose partitions are replicated."""
        return [policy for policy in self.daemon.policies
                if policy.policy_type != EC_POLICY]

    def hand_offs(self) -> Iterator[Job]:
        """Yield the jobs of the known devices' hand-off partitions."""
        for each in self.devices.values():
            yield from (dict(job) for job in each.hand_offs)

    def shared(self) -> list[Job]:
        """Return what stands for the jobs of the known devices."""
        return [{'nodes': list(self.sharing.values())}]

    def renew(self, device: str, changed: Collection[tuple[int, int]]
              ) -> list[tuple[int, int]]:
        """Look at partitions again.

        :returns: those whose roots are not what they were
        """
        by_policy: dict[int, list[int]] = defaultdict(list)
        for index, partition in changed:
            by_policy[index].append(partition)
        found: list[tuple[int, int]] = []
        for index, partitions in by_policy.items():
            policy = POLICIES.get_by_index(index)
            if (policy, device) not in self.partitions:
                continue
            prints = self.daemon.fingerprints(policy)
            for portion in in_portions(partitions):
                hashed, known = tpool.execute(prints.get_many, device,
                                              portion)
                self.daemon.count_hashed(device, hashed)
                for partition in portion:
                    if partition not in known:
                        self.devices[device].loose.add((policy, partition))
                    elif self._replace((policy, device), partition,
                                       known[partition].root):
                        found.append((index, partition))
                sleep()
        return found

    def _replace(self, local: Local, partition: int, root: str) -> bool:
        """Put a root into the trees; return False if it was there."""
        policy, device = local
        each = self.partitions[local]
        at = each.at(partition)
        if at is None:
            self.devices[device].loose.add((policy, partition))
            return True
        if each.root(at) == root:
            return False
        each.roots[at * SIZE:(at + 1) * SIZE] = bytes.fromhex(root)
        if each.sets[at] != NOWHERE:
            standing = self.sets[each.sets[at]]
            place = each.places[at]
            standing.tree.replace(place, leaf_of(
                standing.items.item(place), root))
        return True

    def due(self, device: str, since: float, now: float
            ) -> Iterator[tuple[StoragePolicy, int]]:
        """Yield the partitions of a device whose full exchange has its turn.

        :param device: its name
        :param since: when that was last asked, seconds
        :param now: the time
        """
        interval = self.daemon.full_exchange_interval
        phases = {phase for phase in range(TURNS) if not interval or turn(
            phase, now, interval) != turn(phase, since, interval)}
        if not phases:
            return
        for (policy, name), each in self.partitions.items():
            if name == device:
                yield from ((policy, partition) for partition in each.numbers
                            if phase_of(partition) in phases)

    def job(self, device: str, policy: StoragePolicy,
            partition: int) -> Job:
        """Return a partition's job, as stock Swift would make it."""
        own = self.daemon.neighbours.local.find(policy, device)
        objects = os.path.join(self.daemon.devices_dir, device,
                               get_data_dir(policy))
        return {'path': os.path.join(objects, str(partition)),
                'device': device, 'obj_path': objects, 'delete': False,
                'nodes': self.daemon.neighbours.local.shared(policy, (
                    node for node in
                    policy.object_ring.get_part_nodes(partition)
                    if not own or node['id'] != own['id'])),
                'policy': policy, 'partition': str(partition),
                'region': own['region'] if own else None}

    def keep(self, devices: Collection[str], jobs: Iterable[Job]) -> None:
        """Keep what a pass has found about devices.

        :param devices: their names
        :param jobs: all jobs of these devices
        """
        of_device: dict[str, list[Job]] = defaultdict(list)
        for job in jobs:
            of_device[job['device']].append(job)
        if not self.devices:
            self.sharing = {}
        for device in devices:
            self._keep(device, of_device[device])
        self.sets = standing_sets({
            local: each for local, each in self.partitions.items()
            if local[1] in self.devices}, self.daemon.sync_batch_partitions)

    def _keep(self, device: str, jobs: Sequence[Job]) -> None:
        kept = self.devices[device] = KnownDevice(
            [job for job in jobs if job['delete']])
        for policy in self.policies():
            jobs_here = sorted((
                job for job in jobs if not job['delete']
                and job['policy'] is policy),
                key=lambda job: int(job['partition']))
            self.partitions[policy, device] = Partitions(
                self._seen(kept, policy, jobs_here))
            sleep()

    def _seen(self, kept: KnownDevice, policy: StoragePolicy,
              jobs: Iterable[Job]
              ) -> Iterator[tuple[int, str, RingDevice | None]]:
        """Yield what a pass has seen of partitions, for ``Partitions``."""
        for job in jobs:
            for node in job['nodes']:
                self.sharing[device_key(node)] = node
            partition = int(job['partition'])
            seen = self.daemon.fingerprints(policy).seen(job['device'],
                                                         partition)
            others = self.daemon.neighbours.local.clockwise(job)
            if seen is None or others is None:
                kept.loose.add((policy, partition))
                continue
            kept.suffixes += seen.suffixes
            kept.count += bool(others)
            yield partition, seen.root, others[0] if others else None

    def forget_fingerprints(self) -> None:
        """Forget what passes have seen of known devices, one by one."""
        for policy, device in self.partitions:
            self.daemon.fingerprints(policy).forget(device)
