# SPDX-License-Identifier: Apache-2.0
"""Looks at many partitions for a peer, for as long as the peer may wait.

What there was no time for is read on, so that it is known when the peer asks
again. PROTOCOL.md, "Busy neighbours".
"""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from logging import Logger
from typing import Any, TypeVar

from swift.common.concurrency import Timeout, spawn, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable

from swift_lightsync.sync.fingerprints import in_portions

#: Seconds after which no further partition is looked at: many may have to be
#: hashed first, and the peer waits. It is then asked to come back later.
PATIENCE = 10
#: The share of its time that a peer who waits for less is given: it may be
#: taken three and a half times, and half of it to be admitted.
SHARE = 0.2
#: Most digits of the seconds for which a peer waits.
MAX_DIGITS = 4
#: Most seconds that a peer is asked to wait before it comes back.
MAX_WAIT = 3600

_Partition = TypeVar('_Partition')
_Result = TypeVar('_Result')


def patience_of(said: str | None) -> float:
    """Return for how many seconds to look at partitions for a peer.

    :param said: for how many it waits, as it says; None: it does not say
    """
    if said and said.isascii() and said.isdigit() \
            and len(said) <= MAX_DIGITS:
        return min(PATIENCE, SHARE * int(said))
    return PATIENCE


class PatientReads:
    """Reads that a peer waits for.

    :param logger: where devices that cannot be read on are logged
    """

    def __init__(self, logger: Logger) -> None:
        self.logger = logger
        #: Devices that are read on for a peer that will be back.
        self._reading_on: set[str] = set()

    def in_time(self, method: Callable[..., dict[_Partition, _Result]],
                device: str, partitions: Iterable[_Partition],
                deadline: float
                ) -> tuple[dict[_Partition, _Result], list[_Partition]]:
        """Call a method with portions of partitions, off the hub.

        :param method: a method of ``Fingerprints``
        :param device: name of the local device
        :param partitions: the partitions
        :param deadline: ``time.monotonic()`` from which on nothing more is
            begun
        :returns: the results of all portions, and the partitions that there
            was no time for
        """
        found: dict[_Partition, _Result] = {}
        partitions = list(partitions)
        for portion in in_portions(partitions):
            found.update(tpool.execute(method, device, portion, deadline))
            if time.monotonic() >= deadline:
                return found, [each for each in partitions
                               if each not in found]
        return found, []

    def read_on(self, method: Callable[..., Any], device: str,
                partitions: Sequence[int], pace: float) -> int:
        """Call a method with partitions that there was no time for.

        Of each device that is done for one peer at a time.

        :param method: a method of ``Fingerprints``
        :param device: name of the local device
        :param partitions: the partitions
        :param pace: how many were read a second
        :returns: seconds after which it will be done, at that pace
        """
        if device not in self._reading_on:
            self._reading_on.add(device)
            spawn(self._read_all, method, device, partitions)
        return min(MAX_WAIT, max(1, math.ceil(len(partitions) / max(
            pace, 1 / PATIENCE))))

    def _read_all(self, method: Callable[..., Any], device: str,
                  partitions: Sequence[int]) -> None:
        try:
            for portion in in_portions(partitions):
                tpool.execute(method, device, portion)
        except DiskFileDeviceUnavailable:
            # Who asks is told so.
            pass
        except (Exception, Timeout):
            self.logger.exception('Unable to read the partitions of %s for '
                                  'a peer that will ask again', device)
        finally:
            self._reading_on.discard(device)
