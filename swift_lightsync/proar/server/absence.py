# SPDX-License-Identifier: Apache-2.0
"""Whether the primary role knows that an object does not exist, though one of
its other roles is silent. PROTOCOL.md, "A 404 while a role is silent".
"""

from itertools import islice
from math import ceil

from swift.common.concurrency import Semaphore, sleep
from swift.common.http import HTTP_NOT_FOUND
from swift.common.utils import get_partition_for_hash, quorum_size

from swift_lightsync.common.admission import Admission, NotAdmitted
from swift_lightsync.proar.names import DOUBTERS_HEADER, SLOT_HEADER
from swift_lightsync.proar.vouching.losses import has_all, others_of
from swift_lightsync.proar.vouching.places import rows_of, version_of

#: How often it is looked whether a round of questions is over, within what
#: part of the time for which an answer counts, and how many seconds at most
LOOKS, LOOKS_FOR, LONGEST_LOOK = 8, 0.7, 3.0
#: The requests of this process that wait for it: a quarter of Swift's
#: max_clients, so that there is room for others while a converger is dead.
WAITING = Admission(256, 0.0, Semaphore, 'wait for the words of others')


def doubters_for(request, manager, device_path, policy, ring, path_hash,
                 standings, ask_all):
    """Return what a read is told with a 404, as doubters() does.

    One that is answered alone is vouched for: only what the device or a role
    has lost is missing. Another one has to ask for it, for that may take its
    time.

    :param request: a Request
    """
    if SLOT_HEADER in request.headers:
        standing = standings.read()
        place, takers = _place(ring, policy, path_hash, standing)
        return () if place and not standing.unsure(takers) and has_all(
            manager, device_path, policy, ring, standing) else None
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
        place, takers = _place(ring, policy, path_hash, standing)
        if not place or not has_all(manager, device_path, policy, ring,
                                    standing):
            return None
        others = others_of(ring, standing.device)
        found = standings.doubters(standing, place, others, takers)
        hopeless = {*standing.unheard(others), *standing.unsure(takers)}
        if found is None or len(hopeless) >= quorum_size(
                ceil(ring.replica_count)):
            return None
        if len(found) <= len(hopeless):
            break
        ask_all()
        try:
            with WAITING.admitted():
                sleep(min(LOOKS_FOR * standing.seconds, LONGEST_LOOK) / LOOKS)
        except NotAdmitted:
            break
    return found


def is_unheard_of(response):
    """Return whether an answer is a 404 without a tombstone."""
    return response.status_int == HTTP_NOT_FOUND and \
        'X-Backend-Timestamp' not in response.headers


def _place(ring, policy, path_hash, standing):
    """Return the place of an object, if a device is its primary role.

    :returns: partition and slot, or None; and the ids of the other roles and
        of as many hand-offs as a proxy asks besides roles to take a write
    """
    if not ring or not standing or standing.ring != version_of(ring, policy):
        return None, ()
    partition = get_partition_for_hash(path_hash.hex(), ring.part_power)
    rows = rows_of(ring, policy, partition)
    slot = rows.slot(path_hash)
    if rows.ids[slot] != standing.device:
        return None, ()
    takers = rows.others(standing.device)
    if standing.unsure(standing.told):
        takers |= {node['id'] for node in islice(
            ring.get_more_nodes(partition), len(rows.ids))}
    return (partition, slot), takers
