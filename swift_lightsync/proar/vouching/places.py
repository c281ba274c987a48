# SPDX-License-Identifier: Apache-2.0
"""Where a ring that an object-server or a converger has puts an object."""

from dataclasses import dataclass
from typing import Tuple

from swift.common.exceptions import RingLoadError

from swift_lightsync.proar.core import role_ring
from swift_lightsync.proar.core.epochs import epoch_number
from swift_lightsync.proar.core.ring_history import Epoch
from swift_lightsync.proar.regions import regions_of


def ring_of(policy, swift_dir):
    """Return the object ring of a policy; None if there is none here."""
    try:
        policy.load_ring(swift_dir)
    except (RingLoadError, OSError):
        return None
    ring = policy.object_ring
    ring.devs  # which looks for a newer file, if it is time
    return ring


def epoch_of(ring, policy):
    """Return a policy's Ring as an Epoch."""
    return Epoch(version_of(ring, policy), ring._replica2part2dev_id,
                 ring.devs, ring._part_shift, regions_of(policy))


def version_of(ring, policy):
    """Return the number of the epoch that a policy's Ring makes.

    A ring from before rings had versions has 0.
    """
    return epoch_number(ring.version or 0, regions_of(policy))


@dataclass(frozen=True)
class Rows:
    """The devices of a partition.

    :param partition: the partition
    :param ids: the device id of each row
    :param primary: the rows that may be slots
    """
    partition: int
    ids: Tuple[int, ...]
    primary: Tuple[int, ...]

    @classmethod
    def of(cls, ring, policy, partition):
        """Return the Rows of a partition; without ids if it has none."""
        ids = tuple(row[partition] for row in ring._replica2part2dev_id
                    if partition < len(row))
        devices = [ring.devs[each] for each in ids]
        return cls(partition, ids, tuple(role_ring.primary_rows(
            [device['region'] if device else -1 for device in devices],
            regions_of(policy))))

    def slot(self, path_hash):
        """Return the slot of an object."""
        return role_ring.slot_in(path_hash, self.primary)

    def roles(self, slot):
        """Return the ids of an object's devices, the primary role first."""
        return role_ring.roles(self.ids, slot, self.primary)

    def others(self, device):
        """Return the ids of the other devices."""
        return frozenset(self.ids) - {device}
