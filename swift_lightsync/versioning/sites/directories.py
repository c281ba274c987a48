# SPDX-License-Identifier: Apache-2.0
"""What the times of directories tell of the databases in them."""

import os
import time

from swift.common.concurrency import sleep
from swift.common.utils import ismount, listdir
from swift.container.backend import DATADIR

#: Seconds after which a directory that was made has its database.
MADE = 5.0
#: Of the time, looks for new directories take one part in so many.
SHARE = 100
#: Directories that are looked at without a pause.
YIELD = 500


def state_of(directory):
    """Return a value that changes whenever a database there is written."""
    state = []
    with os.scandir(directory) as files:
        for each in files:
            if each.name.endswith(('.db', '.db.pending')):
                found = each.stat()
                state.append((each.name, found.st_mtime_ns, found.st_size))
    return tuple(sorted(state))


class Above:
    """Finds directories of databases that were made, by the times of those
    above them: of the partitions and the suffixes.

    :param devices: the directory of all devices
    """

    def __init__(self, devices, mount_check):
        self._devices = devices
        self._mount_check = mount_check
        # By path: when it was changed, None: a moment ago; what it has.
        self._seen = {}
        self._next = 0.0

    def forget(self):
        """Take all for changed."""
        self._seen = {}

    def changed(self):
        """Yield (directory, device) of each that may be new, unless it is too
        early for another look.
        """
        begin = time.monotonic()
        if begin < self._next:
            return
        number = 0
        for device in listdir(self._devices):
            top = os.path.join(self._devices, device)
            if self._mount_check and not ismount(top):
                continue
            for partition in self._children(os.path.join(top, DATADIR))[0]:
                for suffix in self._children(partition)[0]:
                    number += 1
                    if number % YIELD == 0:
                        sleep(0)
                    found, is_changed = self._children(suffix)
                    if is_changed:
                        yield from ((each, device) for each in found)
        self._next = begin + SHARE * (time.monotonic() - begin)

    def _children(self, path):
        """Return what a directory has, and whether it may have changed."""
        before, found = self._seen.get(path, (None, []))
        try:
            changed = os.stat(path).st_mtime
            if changed == before:
                return found, False
            found = [os.path.join(path, name) for name in os.listdir(path)]
        except OSError:
            return [], False
        self._seen[path] = changed if changed < time.time() - MADE \
            else None, found
        return found, True
