# SPDX-License-Identifier: Apache-2.0
"""What a device holds that another device is not known to have.

It is asked before a device vouches for a primary role: what is not told here
may be missed by a reader. So an operation counts from its intent on, and what
cannot be read is an error. As long as there is a segment that was set aside,
the device vouches for nobody. PROTOCOL.md, "Vouching" and "The log".
"""

import os
from contextlib import suppress

from swift_lightsync.proar.core.oplog import Entry, FormatError, Op, position
from swift_lightsync.proar.core.remembered import NEWEST, LogPosition
from swift_lightsync.proar.log.segment import (
    LOG_SUFFIX,
    logs_path,
    numbers,
    open_segment,
    segment_path,
)

#: Its header is damaged; it stays until an operator removes it.
DAMAGED = '.damaged'
#: The log was too long; it stays until the object-replicator has brought
#: others what it names.
CUT = '.cut'


def held_entries(device_path: str, policy: int,
                 ring_version: int) -> list[Entry]:
    """Return the operations on objects that some device may lack.

    :param device_path: of the device
    :param policy: the storage policy, or its index
    :param ring_version: of the present object ring
    :raises OSError: if a segment of the log cannot be read
    :raises FormatError: if a segment, or such an operation, is damaged
    """
    directory = logs_path(device_path)
    while True:
        try:
            return [entry for number in numbers(directory)
                    for entry in _held(segment_path(directory, number),
                                       ring_version)
                    if entry.policy == int(policy)
                    and entry.op is not Op.ROW]
        except FileNotFoundError:
            # What it had may have been carried to one that is newer than the
            # list.
            pass


def _held(path: str, ring_version: int) -> list[Entry]:
    segment = open_segment(path, os.O_RDONLY)
    if segment is None:
        os.stat(path)  # It is gone, or has no header yet.
        return []
    try:
        return list(segment.not_over(ring_version))
    finally:
        segment.close()


def log_position(device_path: str) -> LogPosition | None:
    """Return how far the log of a device is; None if it has none.

    A segment that cannot be read is left out.

    :raises OSError: if the log cannot be read
    """
    directory = logs_path(device_path)
    identity, found = b'', []
    for number in numbers(directory)[-NEWEST:]:
        with suppress(FormatError):
            segment = open_segment(segment_path(directory, number),
                                   os.O_RDONLY)
            if segment:
                with segment.file:
                    identity = segment.header.identity
                    found.append((number, *position(segment.content())))
    return LogPosition(identity.hex(), tuple(found)) if found else None


def set_aside(directory, reason):
    """Return the paths of the segments of a log that were set aside.

    :param reason: DAMAGED or CUT
    :raises OSError: if it cannot be told
    """
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory)
                if name.endswith(LOG_SUFFIX + reason)]
    except FileNotFoundError:
        return []


def tells_all(device_path, has_replicated):
    """Return whether a log tells all that other devices may lack.

    :param device_path: of the device
    :param has_replicated: returns whether the object-replicator has ended a
        pass without a failure that began after a Unix time
    :raises OSError: if it cannot be told
    """
    directory = logs_path(device_path)
    for path in set_aside(directory, CUT):
        with suppress(FileNotFoundError):
            if not has_replicated(os.stat(path).st_mtime):
                return False
            os.unlink(path)
    return not set_aside(directory, DAMAGED)
