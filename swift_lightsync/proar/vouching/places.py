# SPDX-License-Identifier: Apache-2.0
"""Where a ring that an object-server or a converger has puts an object."""

from dataclasses import dataclass
from typing import Tuple

from swift.common.exceptions import RingLoadError

from swift_lightsync.proar.core import role_ring


def ring_of(policy, swift_dir):
    """Return the object ring of a policy; None if there is none here."""
    try:
        policy.load_ring(swift_dir)
    except (RingLoadError, OSError):
        return None
    return policy.object_ring


def version_of(ring):
    """Return the version of a ring; 0 if it is from before rings had one."""
    return ring.version or 0


@dataclass(frozen=True)
class Rows:
    """
    The devices of a partition.

    :param partition: the partition
    :param ids: the device id of each row
    """
    partition: int
    ids: Tuple[int, ...]

    @classmethod
    def of(cls, ring, partition):
        """Return the Rows of a partition; without ids if it has none."""
        return cls(partition, tuple(
            row[partition] for row in ring._replica2part2dev_id
            if partition < len(row)))

    def slot(self, path_hash):
        """Return the slot of an object."""
        return role_ring.slot_of(path_hash, len(self.ids))

    def others(self, device):
        """Return the ids of the other devices."""
        return frozenset(self.ids) - {device}
