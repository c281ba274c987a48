# SPDX-License-Identifier: Apache-2.0
"""
Reads what a peer asks about all devices that two nodes share.

The devices are read side by side, and one that hangs is told apart: the peer
shall hear of the others. PROTOCOL.md, "A conversation".
"""

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Optional

from swift.common.concurrency import Timeout, spawn, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import POLICIES, StoragePolicy

from swift_lightsync.sync.activity import Activity
from swift_lightsync.sync.core.conversation import Condition, DeviceState
from swift_lightsync.sync.core.shared_set import SharedItem, SharedSet
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.patient_reads import PATIENCE, PatientReads

#: Seconds after PATIENCE at which a device that has not answered hangs.
GRACE = 5


class SharedReads:
    """
    The roots of partitions of many devices.

    :param reads: reads for a peer that waits
    :param prints: returns the fingerprints of a policy
    :param mounted: returns whether a device is mounted
    :param activity: when the rounds of the devices were played
    """

    def __init__(self, reads: PatientReads,
                 prints: Callable[[StoragePolicy], Fingerprints],
                 mounted: Callable[[str], bool], activity: Activity) -> None:
        self._reads = reads
        self._prints = prints
        self._mounted = mounted
        self._activity = activity
        #: Devices that did not answer in time, and have not since.
        self._hanging: set[str] = set()

    def roots(self, items: SharedSet
              ) -> tuple[dict[SharedItem, str], list[DeviceState]]:
        """
        Return what can be read within the time that a peer waits.

        :param items: the partitions
        :returns: the root of each partition that could be read, and how each
            device is, in the order of the set
        """
        wanted: dict[str, dict[int, list[int]]] = {
            device: defaultdict(list) for device in items.devices}
        for policy, device, partition in items:
            wanted[device][policy].append(partition)
        roots: dict[SharedItem, str] = {}
        states: dict[str, DeviceState] = {}
        threads = [spawn(self._read, device, by_policy, roots, states)
                   for device, by_policy in wanted.items()
                   if device not in self._hanging]
        with Timeout(PATIENCE + GRACE, False):
            for thread in threads:
                thread.wait()
        self._hanging.update(set(wanted) - set(states))
        return roots, [states.get(device, DeviceState(
            Condition.NOT_YET, PATIENCE)) for device in items.devices]

    def _read(self, device: str, by_policy: dict[int, list[int]],
              roots: dict[SharedItem, str],
              states: dict[str, DeviceState]) -> None:
        """Read one device, into dicts that all devices share."""
        try:
            state, found = self._device(device, by_policy)
            roots.update(found)
            states[device] = state
        finally:
            self._hanging.discard(device)

    def _device(self, device: str, by_policy: dict[int, list[int]]
                ) -> tuple[DeviceState, dict[SharedItem, str]]:
        deadline = time.monotonic() + PATIENCE
        found: dict[SharedItem, str] = {}
        wait: Optional[int] = None
        unmounted = DeviceState(Condition.UNMOUNTED), found
        if not tpool.execute(self._mounted, device):
            return unmounted
        for index, partitions in by_policy.items():
            policy = POLICIES.get_by_index(index)
            if policy is None:
                # Its partitions cannot be read here.
                continue
            read = self._prints(policy).roots
            try:
                roots, left = self._reads.in_time(read, device, partitions,
                                                  deadline)
            except DiskFileDeviceUnavailable:
                return unmounted
            found.update(((index, device, partition), root)
                         for partition, root in roots.items())
            if left:
                wait = max(wait or 0, self._reads.read_on(
                    read, device, left, len(roots)))
        if wait is not None:
            return DeviceState(Condition.NOT_YET, wait), found
        return DeviceState(Condition.READY,
                           self._activity.idle_seconds(device)), found
