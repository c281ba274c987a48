# SPDX-License-Identifier: Apache-2.0
"""Whose word the reads of a device need: marked by its object-servers, taken
by its converger, which asks those. PROTOCOL.md, "Vouching".

The file has a byte for all devices together, and one for each device by its
id; one that is not zero was marked since it was last taken.
"""

import os
import time

from swift_lightsync.proar.names import USES, roles_path
from swift_lightsync.proar.vouching.stamps import opened

_ALL = 0
_FIRST = 1
MOST = 1 << 17


class Uses:
    """The marks of one device, in one policy.

    :param device_path: of the device
    :param policy: the storage policy
    """

    def __init__(self, device_path, policy):
        self.path = roles_path(device_path, policy, USES)
        #: index -> when this process has marked it, in seconds
        self._marked: dict[int, float] = {}

    def mark(self, peers, seconds):
        """Have the converger ask peers soon.

        :param peers: ids of devices
        :param seconds: for which a mark is good enough
        :raises OSError: if it cannot be written
        """
        self._mark([_FIRST + peer for peer in peers], seconds)

    def mark_all(self, seconds):
        """Have the converger ask all devices soon, likewise."""
        self._mark([_ALL], seconds)

    def _mark(self, indexes, seconds):
        now = time.monotonic()
        late = [index for index in indexes
                if now - self._marked.get(index, -seconds) >= seconds]
        if not late:
            return
        with opened(self.path, os.O_WRONLY | os.O_CREAT) as file:
            for index in late:
                os.pwrite(file, b'\1', index)
                self._marked[index] = now

    def take(self) -> tuple[frozenset[int], bool]:
        """Return what was marked since it was last taken.

        :returns: ids of devices, and whether all are to be asked
        :raises OSError: if it cannot be read
        """
        try:
            with opened(self.path, os.O_RDWR) as file:
                content = os.pread(file, MOST, 0)
                marked = [index for index, each in enumerate(content)
                          if each] if any(content) else []
                for index in marked:
                    os.pwrite(file, b'\0', index)
        except FileNotFoundError:
            return frozenset(), False
        return (frozenset(index - _FIRST for index in marked
                          if index >= _FIRST), _ALL in marked)
