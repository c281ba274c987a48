# SPDX-License-Identifier: Apache-2.0
"""Answers what a peer asks about all devices that two nodes share.

What nobody changed since it was read is not read again. The devices are read
side by side, and one that hangs is told apart: the peer shall hear of the
others. PROTOCOL.md, "A conversation".
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from swift.common.concurrency import Timeout, spawn, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import POLICIES, StoragePolicy

from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.core.conversation import (
    Condition,
    DeviceState,
    differing_slices,
)
from swift_lightsync.sync.core.shared_set import SharedItem, SharedSet
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.ownership import Owns
from swift_lightsync.sync.patient_reads import PatientReads
from swift_lightsync.sync.standing_trees import StandingTrees
from swift_lightsync.sync.wire.sync_message import Roots, Verdict

#: Of the patience with a device: how much later it hangs if it has not
#: answered.
GRACE = 0.5

_Answer = tuple[Verdict, Sequence[int], Sequence[DeviceState]]


class SharedReads:
    """Compares the roots of partitions of many devices.

    :param reads: reads for a peer that waits
    :param prints: returns the fingerprints of a policy
    :param mounted: returns whether a device is mounted
    :param activity: when the rounds of the devices were played
    :param trees: the roots that are kept
    """

    def __init__(self, reads: PatientReads,
                 prints: Callable[[StoragePolicy], Fingerprints],
                 mounted: Callable[[str], bool], activity: Activity,
                 trees: StandingTrees) -> None:
        self._trees = trees
        self._reads = reads
        self._prints = prints
        self._mounted = mounted
        self._activity = activity
        #: Devices that did not answer in time, and have not since.
        self._hanging: set[str] = set()

    def kept(self, message: Roots, patience: float) -> _Answer | None:
        """Answer a question by the roots that are kept.

        :param message: the question
        :param patience: of the peer, seconds
        :returns: verdict, slices that differ, and states of the devices; None
            if partitions have to be read
        """
        items = message.partitions
        digest = items.digest if items is not None else message.digest
        devices = self._trees.devices(digest or b'', message.count)
        compare = partial(self._trees.differing, digest or b'')
        if not devices and isinstance(items, SharedSet):
            devices = items.devices
            compare = partial(self._trees.differing_items, items)
        if not devices or self._hanging.intersection(devices):
            return None
        with Timeout(patience, False):
            differing = tpool.execute(compare, message.roots)
            if differing is not None:
                return Verdict.COMPARED, differing, [
                    self._ready(device) for device in devices]
        return None

    def answer(self, items: SharedSet, theirs: Sequence[str],
               patience: float, owns: Owns | None = None) -> _Answer:
        """Answer a question by reading partitions; as :meth:`kept`.

        :param items: the partitions
        :param theirs: the roots of their slices
        :param patience: of the peer, seconds
        :param owns: returns whether a partition belongs to a device here;
            others count as unread. None: that does not matter
        """
        tree = None
        if owns is None and not self._hanging.intersection(items.devices):
            with Timeout(patience, False):
                tree = tpool.execute(self._trees.begin, items)
        roots, states = self.roots(items, patience, owns is not None)
        if any(state.condition is not Condition.READY for state in states):
            return Verdict.NOT_YET, (), states
        if owns is not None:
            roots = tpool.execute(lambda: {
                item: root for item, root in roots.items() if owns(*item)})
        if tree:
            tpool.execute(self._trees.keep, tree, items, roots)
        return Verdict.COMPARED, tpool.execute(
            differing_slices, items, theirs, roots), states

    def _ready(self, device: str) -> DeviceState:
        return DeviceState(Condition.READY,
                           self._activity.idle_seconds(device))

    def roots(self, items: SharedSet, patience: float, anew: bool = False
              ) -> tuple[dict[SharedItem, str], list[DeviceState]]:
        """Return what can be read within the time that a peer waits.

        :param items: the partitions
        :param patience: of the peer, seconds
        :param anew: whether to hash all that is on the disks
        :returns: the root of each partition that could be read, and how each
            device is, in the order of the set
        """
        wanted: dict[str, dict[int, list[int]]] = {
            device: defaultdict(list) for device in items.devices}
        for policy, device, partition in items:
            wanted[device][policy].append(partition)
        roots: dict[SharedItem, str] = {}
        states: dict[str, DeviceState] = {}
        threads = {device: spawn(self._read, device, by_policy, patience,
                                 anew, roots, states)
                   for device, by_policy in wanted.items()
                   if device not in self._hanging}
        with Timeout(patience * (1 + GRACE), False):
            for thread in threads.values():
                thread.wait()
        # One that has failed just now hangs no more.
        self._hanging.update(device for device, thread in threads.items()
                             if not thread.dead)
        hanging = DeviceState(Condition.NOT_YET, math.ceil(patience))
        return roots, [states.get(device, hanging)
                       for device in items.devices]

    def _read(self, device: str, by_policy: dict[int, list[int]],
              patience: float, anew: bool, roots: dict[SharedItem, str],
              states: dict[str, DeviceState]) -> None:
        """Read one device, into dicts that all devices share."""
        try:
            state, found = self._device(device, by_policy, patience, anew)
            roots.update(found)
            states[device] = state
        finally:
            self._hanging.discard(device)

    def _device(self, device: str, by_policy: dict[int, list[int]],
                patience: float, anew: bool
                ) -> tuple[DeviceState, dict[SharedItem, str]]:
        deadline = time.monotonic() + patience
        found: dict[SharedItem, str] = {}
        wait: int | None = None
        unmounted = DeviceState(Condition.UNMOUNTED), found
        if not tpool.execute(self._mounted, device):
            return unmounted
        for index, partitions in by_policy.items():
            policy = POLICIES.get_by_index(index)
            if policy is None:
                # Its partitions cannot be read here.
                continue
            read = partial(self._prints(policy).roots, anew=anew)
            try:
                roots, left = self._reads.in_time(read, device, partitions,
                                                  deadline)
            except DiskFileDeviceUnavailable:
                return unmounted
            found.update(((index, device, partition), root)
                         for partition, root in roots.items())
            if left:
                wait = max(wait or 0, self._reads.read_on(
                    read, device, left, len(roots) / patience))
        if wait is not None:
            return DeviceState(Condition.NOT_YET, wait), found
        return self._ready(device), found
