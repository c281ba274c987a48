# SPDX-License-Identifier: Apache-2.0
"""The primary role hash ring, which chooses an object's primary role.

PROTOCOL.md, "The primary role hash ring"; PROAR §IV-A, Algorithm 1.
"""

import struct
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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


def points(slots: int) -> list[int]:
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


def roles(devices: Sequence[_Device], slot: int,
          first: Collection[int] = ()) -> list[_Device]:
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


@dataclass(frozen=True)
class Rows:
    """The devices of a partition.

    :param ids: the device id of each row
    :param primary: the rows that may be slots: those whose devices are in the
        regions of primary roles, if there are any, or all
    """
    ids: tuple[int, ...]
    primary: tuple[int, ...]

    @classmethod
    def of(cls, table: Sequence[Sequence[int]],
           devices: Sequence[Mapping[str, Any] | None],
           regions: Collection[int], partition: int) -> 'Rows':
        """Return the Rows of a partition; without ids if it has none.

        :param table: for each row the device id of each partition
        :param devices: by their ids
        :param regions: in which primary roles live; none: in all
        """
        ids = tuple(row[partition] for row in table if partition < len(row))
        found = [row for row, device in enumerate(map(
            devices.__getitem__, ids)) if device
            and device['region'] in regions]
        return cls(ids, tuple(found or range(len(ids))))

    def slot(self, path_hash: bytes) -> int:
        """Return the slot of an object."""
        return self.primary[slot_of(path_hash, len(self.primary))]

    def roles(self, slot: int) -> list[int]:
        """Return the ids of an object's devices, the primary role first."""
        return roles(self.ids, slot, self.primary)

    def others(self, device: int) -> frozenset[int]:
        """Return the ids of the other devices."""
        return frozenset(self.ids) - {device}
