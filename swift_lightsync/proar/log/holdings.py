# SPDX-License-Identifier: Apache-2.0
"""
What a device holds that another device is not known to have.

It is asked before a device vouches for a primary role: what is not told here
may be missed by a reader. So an operation counts from its intent on, and what
cannot be read is an error. PROTOCOL.md, "Vouching".
"""

import os
from typing import Optional, Set, Tuple

from swift_lightsync.proar.core.oplog import State, start_of
from swift_lightsync.proar.log.cursor_file import read_cursors
from swift_lightsync.proar.log.oplog_file import Oplog
from swift_lightsync.proar.names import (
    LOG_SUFFIX,
    cursors_path,
    log_path,
    logs_path,
)

#: partition and slot
Place = Tuple[int, int]


def holdings(device_path: str, policy: object,
             peer: Optional[int] = None) -> Set[Place]:
    """
    Return where a device holds operations that have not converged.

    :param device_path: of the device
    :param policy: the storage policy, or its index
    :param peer: id of the device that lacks them, which may be new in the
        ring; None: any device
    :returns: a set of (partition, slot)
    :raises OSError: if a log cannot be read
    :raises FormatError: if a log is damaged as a whole
    """
    try:
        names = os.listdir(logs_path(device_path, policy))
    except FileNotFoundError:
        return set()
    partitions = (name[:-len(LOG_SUFFIX)] for name in names
                  if name.endswith(LOG_SUFFIX))
    return {place for partition in partitions if partition.isdigit()
            for place in _of_partition(device_path, policy, int(partition),
                                       peer)}


def is_held(device_path: str, policy: object, partition: int, slot: int,
            peer: Optional[int] = None) -> bool:
    """Return whether :func:`holdings` has a place; it reads one log only."""
    return (partition, slot) in _of_partition(device_path, policy, partition,
                                              peer)


def _of_partition(device_path: str, policy: object, partition: int,
                  peer: Optional[int]) -> Set[Place]:
    path = cursors_path(device_path, policy, partition)
    oplog = Oplog(log_path(device_path, policy, partition), path)
    # In this order: the first writer after a power cut removes cursors that
    # are beyond the end of the log.
    view = oplog.read()
    cursors = read_cursors(path)
    known = [cursors.get(peer)] if peer is not None else \
        list(cursors.values()) or [None]
    after = min(start_of(cursor, view.base, view.last_update)
                for cursor in known)
    return {(partition, entry.slot) for entry in view.entries
            if entry.eversion > after and entry.state is not State.ABORTED}
