# SPDX-License-Identifier: Apache-2.0
"""Circular Hash Checking: the replica ring of a partition.

LightSync §5.3, Fig. 21. Every node derives the same ring from the object
ring alone, so there is nothing to agree upon.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

MASK = (1 << 64) - 1

#: A device as an object ring describes it: a dict with ``id``, ``region``...
RingDevice = Mapping[str, Any]
_Device = TypeVar('_Device', bound=RingDevice)


def _mix(partition: int, device_id: int) -> int:
    """Return a number that looks random, and is the same everywhere."""
    mixed = (partition * 0x9e3779b97f4a7c15
             + device_id * 0xbf58476d1ce4e5b9) & MASK
    mixed = (mixed ^ mixed >> 30) * 0x94d049bb133111eb & MASK
    return mixed ^ mixed >> 31


def replica_ring(part_nodes: Iterable[_Device],
                 partition: int) -> list[_Device]:
    """
    Put the devices that hold a partition into the order of its replica ring.

    The devices of one region stand together: a round crosses each region
    boundary once. Within a region the order is another one for each
    partition, so that a device is the neighbour of many, and many share the
    work when it has to be brought up to date. (The order of the object ring's
    rows would not do: on few devices it is the same for all partitions.)

    :param part_nodes: the devices, in any order
    :param partition: the partition's number
    :returns: the same devices
    """
    return sorted(part_nodes, key=lambda node: (
        node['region'], _mix(partition, node['id'])))


def clockwise(part_nodes: Iterable[_Device], partition: int,
              device_id: int) -> list[_Device]:
    """Return the other devices of a replica ring, nearest neighbour first.

    A device whose clockwise neighbour failed takes the next one: the ring
    closes over the failed (§5.4.2, Fig. 23).

    :param part_nodes: as for :func:`replica_ring`
    :param partition: the partition's number
    :param device_id: the ``id`` of the device that looks round
    :returns: the devices, r - 1 of them
    :raises ValueError: if the device does not hold the partition
    """
    ring = replica_ring(part_nodes, partition)
    here = [node['id'] for node in ring].index(device_id)
    return ring[here + 1:] + ring[:here]
