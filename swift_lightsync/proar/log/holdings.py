# SPDX-License-Identifier: Apache-2.0
"""
What a device holds that another device is not known to have.

It is asked before a device vouches for a primary role: what is not told here
may be missed by a reader. So an operation counts from its intent on, and what
cannot be read is an error. PROTOCOL.md, "Vouching".
"""

import os
import time
from functools import lru_cache
from typing import FrozenSet, Optional, Set, Tuple

from swift_lightsync.proar.core.oplog import OVER
from swift_lightsync.proar.log.segment import (
    logs_path,
    numbers,
    open_segment,
    segment_path,
)

#: partition and slot
Place = Tuple[int, int]
#: index of the policy, the place, and who holds the operation
_Open = Tuple[int, Place, FrozenSet[int]]

#: A file's time tells of changes so many nanoseconds later for sure.
TICK = 50 * 10 ** 6
#: Segments of which the open operations are kept in memory.
REMEMBERED = 4096


def holdings(device_path: str, policy: int,
             peer: Optional[int] = None) -> Set[Place]:
    """
    Return where a device holds operations that have not converged.

    :param device_path: of the device
    :param policy: the storage policy, or its index
    :param peer: id of the device that lacks them, which may be new in the
        ring; None: any device
    :returns: a set of (partition, slot)
    :raises OSError: if a segment of the log cannot be read
    :raises FormatError: if a segment is damaged as a whole
    """
    directory = logs_path(device_path)
    while True:
        try:
            return {place for number in numbers(directory)
                    for index, place, holders in _open_in(
                        segment_path(directory, number))
                    if index == int(policy) and peer not in holders}
        except FileNotFoundError:
            # What it had may have been carried to one that is newer than the
            # list.
            pass


def _open_in(path: str) -> FrozenSet[_Open]:
    changed = os.stat(path).st_mtime_ns
    if time.time_ns() - changed < TICK:
        # It may change again at what is the same time.
        return _read(path)
    return _remembered(path, changed)


def _read(path: str) -> FrozenSet[_Open]:
    segment = open_segment(path, os.O_RDONLY)
    if segment is None:
        os.stat(path)  # It is gone, or has no header yet.
        return frozenset()
    try:
        return frozenset(
            (entry.policy, (entry.partition, entry.slot), entry.holders)
            for _, entry in segment.entries()
            if entry and entry.state not in OVER)
    finally:
        segment.close()


@lru_cache(REMEMBERED)
def _remembered(path: str, changed: int) -> FrozenSet[_Open]:
    return _read(path)
