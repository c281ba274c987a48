# SPDX-License-Identifier: Apache-2.0
"""Where a ring that an object-server or a converger has puts an object."""

from swift.common.exceptions import RingLoadError

from swift_lightsync.proar.core.epochs import epoch_number
from swift_lightsync.proar.core.ring_history import Epoch
from swift_lightsync.proar.core.role_ring import Rows
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


def rows_of(ring, policy, partition):
    """Return the Rows of a partition of a policy's Ring."""
    return Rows.of(ring._replica2part2dev_id, ring.devs, regions_of(policy),
                   partition)
