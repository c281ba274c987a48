# SPDX-License-Identifier: Apache-2.0
"""Which devices a device of a partition checks: a ring, and the topologies
that §6.4 compares it with.

Each function returns lists of devices; on each list a sync round is played, so
that a device that has failed is passed over in all of them. Star and chain
take the devices in the order of the object ring's rows.
"""

from swift_lightsync.sync.core import replica_ring


def ring(part_nodes, partition, device_id, has_failed):
    """Circular Hash Checking: the clockwise neighbour."""
    return [replica_ring.clockwise(part_nodes, partition, device_id)]


def star(part_nodes, partition, device_id, has_failed):
    """Primary and backups: all backups check the primary, and it checks them
    all. The first device that has not failed is the primary.
    """
    others = [device for device in part_nodes if device['id'] != device_id]
    primary = next(device for device in part_nodes
                   if device['id'] == device_id or not has_failed(device))
    if primary['id'] == device_id:
        return [[device] for device in others]
    return [[primary]]


def chain(part_nodes, partition, device_id, has_failed):
    """A chain without a head: a device checks the next one and the one before.
    """
    here = [device['id'] for device in part_nodes].index(device_id)
    ways = [part_nodes[here + 1:], part_nodes[:here][::-1]]
    return [way for way in ways if way]
