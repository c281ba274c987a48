# SPDX-License-Identifier: Apache-2.0
"""
Tells which partitions of the devices here changed since they were looked at.

PROTOCOL.md, "What is kept between passes". The methods block on disks.
"""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from swift.common.storage_policy import StoragePolicy
from swift.obj.diskfile import get_data_dir, get_tmp_dir

from swift_lightsync.sync import journal
from swift_lightsync.sync.journal import Place, Writers

#: Seconds for which a directory's mtime may stay the same though it changes.
TICK = 2


@dataclass(frozen=True)
class _Known:
    """Since when a device is watched.

    :param place: how far its journal was read
    :param writers: the mark of the writers
    :param directories: of each policy the identity of its partitions'
        directory
    """
    place: Place
    writers: tuple[int, int, int] | None
    directories: dict[StoragePolicy, Any]


class DeviceWatch:
    """The devices that a process watches.

    :param manager: any diskfile manager: knows where devices are
    :param writers: the mark of the writers
    """

    def __init__(self, manager: Any, writers: Writers) -> None:
        self.manager = manager
        self.writers = writers
        self._known: dict[str, _Known] = {}

    def begin(self, device: str, policies: Iterable[StoragePolicy]) -> bool:
        """Begin to watch a device, before its partitions are looked at.

        :param device: its name
        :param policies: whose partitions are looked at
        :returns: False if it cannot be watched
        """
        self.forget(device)
        path = self.manager.get_dev_path(device)
        policies = list(policies)
        if not path or not policies:
            return False
        try:
            # The mark comes first: who touches it has lost entries before.
            writers = self.writers.mark()
            place = journal.begin(path, os.path.join(
                path, get_tmp_dir(policies[0])))
            self._known[device] = _Known(place, writers, {
                policy: _identity(path, policy) for policy in policies})
        except OSError:
            # There is no space for it, say: everything is looked at.
            return False
        return True

    def is_watched(self, device: str,
                   policies: Iterable[StoragePolicy]) -> bool:
        """Return whether a device is watched, and all these policies."""
        known = self._known.get(device)
        return known is not None and set(policies) <= set(known.directories)

    def forget(self, device: str) -> None:
        """Watch a device no longer."""
        self._known.pop(device, None)

    def changes(self, device: str) -> set[tuple[int, int]] | None:
        """Return what changed on a device since this was last called.

        :param device: its name
        :returns: the index of the policy and the number of each partition;
            None if that is not known, and the device watched no longer
        """
        known = self._known.pop(device, None)
        path = self.manager.get_dev_path(device)
        if known is None or not path \
                or known.writers is None \
                or self.writers.mark() != known.writers:
            return None
        found = journal.read_on(path, known.place)
        if found is None or any(
                identity is None or _identity(path, policy) != identity
                for policy, identity in known.directories.items()):
            return None
        place, changed = found
        self._known[device] = _Known(place, known.writers, known.directories)
        return changed


def _identity(device_path: str, policy: StoragePolicy) -> Any:
    """Return what changes with the partitions; None if that is not sure."""
    try:
        stat = os.stat(os.path.join(device_path, get_data_dir(policy)))
    except FileNotFoundError:
        return ()
    if abs(time.time() - stat.st_mtime) < TICK:
        return None
    return stat.st_ino, stat.st_mtime_ns
