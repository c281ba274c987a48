# SPDX-License-Identifier: Apache-2.0
"""Whether the primary role knows that an object does not exist, though one of
its other roles is silent. PROTOCOL.md, "A 404 while a role is silent".
"""

import os
import time
from math import ceil

from swift.common.concurrency import sleep
from swift.common.http import HTTP_NOT_FOUND
from swift.common.utils import get_partition_for_hash, quorum_size
from swift.obj.diskfile import BaseDiskFileManager, get_data_dir

from swift_lightsync.proar.names import DOUBTERS_HEADER, SLOT_HEADER
from swift_lightsync.proar.vouching.places import rows_of, version_of

#: How often it is looked whether a round of questions is over, within what
#: part of the time for which an answer counts, and how many seconds at most
LOOKS, LOOKS_FOR, LONGEST_LOOK = 8, 0.7, 3.0


def doubters_for(request, manager, device_path, policy, ring, path_hash,
                 standings, ask_all):
    """Return what a read is told with a 404, as doubters() does.

    One that is answered alone is vouched for: only what the device has lost
    is missing. Another one has to ask for it, for that may take its time.

    :param request: a Request
    """
    if SLOT_HEADER in request.headers:
        return () if _has_all(manager, device_path, policy, ring,
                              standings.read()) else None
    if DOUBTERS_HEADER not in request.headers:
        return None
    return doubters(manager, device_path, policy, ring, path_hash, standings,
                    ask_all)


def doubters(manager, device_path, policy, ring, path_hash, standings,
             ask_all):
    """Return who may know of a write to an object that a device misses.

    If some would say more when they are asked again, that is waited for.

    :param manager: the DiskFileManager of the policy
    :param device_path: of the device, on which there is no such object
    :param policy: the storage policy
    :param ring: its Ring, or None
    :param path_hash: of the object, 16 bytes
    :param standings: the Standings of the device
    :param ask_all: has the converger ask all devices soon
    :returns: ids of devices; None if the device is not the primary role, may
        have lost the object, or a quorum may know
    """
    for _ in range(LOOKS):
        standing = standings.read()
        place = standing and ring and _place(ring, policy, path_hash,
                                             standing)
        if not place or not _has_all(manager, device_path, policy, ring,
                                     standing):
            return None
        others = _others(ring, standing)
        silent = standing.unheard(others)
        found = standings.doubters(standing, place, others)
        if found is None or len(silent) >= quorum_size(
                ceil(ring.replica_count)):
            return None
        if len(found) <= len(silent):
            break
        ask_all()
        sleep(min(LOOKS_FOR * standing.seconds, LONGEST_LOOK) / LOOKS)
    return found


def _has_all(manager, device_path, policy, ring, standing):
    """Return whether a device has all that was ever brought to it.

    :param standing: its Standing, or None
    """
    return bool(standing and ring) and standing.is_filled(
        time.time(), _others(ring, standing), manager.reclaim_age) and \
        not _may_have_lost(manager, device_path, policy)


def _others(ring, standing):
    return [node['id'] for node in ring.devs
            if node and node['id'] != standing.device]


def is_unheard_of(response):
    """Return whether an answer is a 404 without a tombstone."""
    return response.status_int == HTTP_NOT_FOUND and \
        'X-Backend-Timestamp' not in response.headers


def _place(ring, policy, path_hash, standing):
    """Return the place of an object, if a device is its primary role."""
    partition = get_partition_for_hash(path_hash.hex(), ring.part_power)
    rows = rows_of(ring, policy, partition)
    slot = rows.slot(path_hash)
    return (partition, slot) if rows.ids[slot] == standing.device \
        and standing.ring == version_of(ring, policy) else None


def _may_have_lost(manager, device_path, policy):
    """Return whether something of a policy is in quarantine."""
    if type(manager).quarantine_renamer is not \
            BaseDiskFileManager.quarantine_renamer:
        return True  # Its quarantine is elsewhere.
    try:
        return bool(os.listdir(os.path.join(
            device_path, 'quarantined', get_data_dir(policy))))
    except FileNotFoundError:
        return False
    except OSError:
        return True
