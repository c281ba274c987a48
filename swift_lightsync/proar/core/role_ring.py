# SPDX-License-Identifier: Apache-2.0
"""The primary role hash ring, which chooses an object's primary role.

PROTOCOL.md, "The primary role hash ring"; PROAR §IV-A, Algorithm 1.
"""

import struct
from typing import Collection, List, Sequence, TypeVar

#: the ultimate value of 32 bits
ULTIMATE = 0xffffffff
#: of the path hash that chooses the slot; bytes 0 to 3 chose the partition
HASH_BYTES = slice(4, 8)

_Device = TypeVar('_Device')


def unit(slots: int) -> int:
    """Return the distance between two points of a ring.

    :param slots: how many points the ring has, 1 or more
    :raises ValueError: if there is no point
    """
    if slots < 1:
        raise ValueError('slots: %r, but a ring has 1 or more' % slots)
    return ULTIMATE // slots


def points(slots: int) -> List[int]:
    """Return the points of a ring; Algorithm 1's HashArray."""
    return [index * unit(slots) for index in range(slots)]


def slot_of(path_hash: bytes, slots: int) -> int:
    """Return the slot that is an object's primary role.

    :param path_hash: the object's, 16 bytes
    :param slots: how many slots its partition has
    :raises ValueError: if there is no slot, or the hash is none
    """
    if len(path_hash) != 16:
        raise ValueError('path hash: %d bytes, not 16' % len(path_hash))
    point: int
    point, = struct.unpack('>L', path_hash[HASH_BYTES])
    return min(point // unit(slots), slots - 1)


def primary_rows(row_regions: Sequence[int],
                 regions: Collection[int] = ()) -> List[int]:
    """Return the rows of a partition that may be slots.

    :param row_regions: the region of each row's device
    :param regions: in which primary roles live; none: in all
    :returns: the rows in these regions; all rows, if none is
    """
    found = [row for row, region in enumerate(row_regions)
             if region in regions]
    return found or list(range(len(row_regions)))


def slot_in(path_hash: bytes, rows: Sequence[int]) -> int:
    """Return the slot that is an object's primary role, one of some rows.

    :param path_hash: the object's, 16 bytes
    :param rows: those that may be
    :raises ValueError: if there is none
    """
    return rows[slot_of(path_hash, len(rows))]


def roles(devices: Sequence[_Device], slot: int,
          first: Collection[int] = ()) -> List[_Device]:
    """
    Return the devices of an object from its slot on, the primary role first.

    :param devices: of the partition's rows, in the order of the rows; a
        device may stand in several
    :param slot: the primary role's
    :param first: rows that come before the others
    :returns: each device once
    """
    rows = [*range(slot, len(devices)), *range(slot)]
    rows.sort(key=lambda row: row not in first)
    return list(dict.fromkeys(devices[row] for row in rows))
