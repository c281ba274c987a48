# SPDX-License-Identifier: Apache-2.0
"""Whether a device may have lost what it once held.

PROTOCOL.md, "What a device may have lost".
"""

import os
from contextlib import suppress

from swift.obj.diskfile import BaseDiskFileManager, get_data_dir

from swift_lightsync.proar.vouching.places import version_of


def last_loss(device_path, policy):
    """Return what tells the last loss of a device from all others.

    It is when its quarantine was last changed, so that it differs after one
    was emptied, too.

    :param device_path: of the device
    :param policy: the storage policy
    :returns: a number; 0 if it cannot be told
    """
    try:
        return os.stat(_quarantine(device_path, policy)).st_ctime_ns
    except OSError:
        return 0


def make_quarantine(device_path, policy):
    """Make the quarantine of a device if it is missing: it tells of losses.

    :param device_path: of the device, which is not made
    """
    path = _quarantine(device_path, policy)
    for each in os.path.dirname(path), path:
        with suppress(OSError):
            os.mkdir(each)


def _quarantine(device_path, policy):
    return os.path.join(device_path, 'quarantined', get_data_dir(policy))


def has_all(manager, device_path, policy, ring, standing):
    """Return whether a device has all that was ever brought to it.

    :param manager: the DiskFileManager of the policy
    :param ring: its Ring, or None
    :param standing: of the device, or None
    """
    if not ring or not standing or \
            standing.ring != version_of(ring, policy) or \
            not _tells_losses(manager):
        return False
    return standing.has_all(
        others_of(ring, standing.device), last_loss(device_path, policy),
        manager.reclaim_age)


def unfilled(manager, ring, standing):
    """Return since when a device may have lost objects, and what it awaits.

    It touches no disk: what was lost is told when others were asked since.

    :param manager: the DiskFileManager of the policy
    :param ring: its Ring
    :param standing: of the device
    :returns: how many seconds it was in service since, whole minutes, or None
        if it has all or is in volumes; ids of the devices whose
        object-replicators have not ended a pass since
    """
    filling, others = standing.filling, others_of(ring, standing.device)
    if not filling or not _tells_losses(manager) or standing.has_all(
            others, filling.loss, manager.reclaim_age):
        return None, ()
    return int(filling.served) // 60 * 60, tuple(
        peer for peer in others if filling.awaited.get(peer) != 0.0)


def _tells_losses(manager):
    """Return whether a device's quarantine is where losses are looked for."""
    return type(manager).quarantine_renamer is \
        BaseDiskFileManager.quarantine_renamer


def others_of(ring, device):
    """Return the ids of all other devices of a ring."""
    return [node['id'] for node in ring.devs
            if node and node['id'] != device]
