# SPDX-License-Identifier: Apache-2.0
"""What a node answers to those that ask whether its devices hold something.

PROTOCOL.md, "Vouching".
"""

import time
from collections import defaultdict
from functools import lru_cache, partial

from swift.common.utils import get_partition_for_hash

from swift_lightsync.proar.core.oplog import FormatError
from swift_lightsync.proar.log.holdings import held_entries, tells_all
from swift_lightsync.proar.names import PROMISES, roles_path
from swift_lightsync.proar.vouching.losses import has_all
from swift_lightsync.proar.vouching.memory import (
    Memory,
    has_replicated,
    last_pass,
)
from swift_lightsync.proar.vouching.places import rows_of, version_of
from swift_lightsync.proar.vouching.promises import Promises
from swift_lightsync.proar.vouching.uses import Uses
from swift_lightsync.proar.wire.messages import MOST_HELD, Answer


def answer(ask, policy, ring, manager, logger, recon_cache_path, standings):
    """Answer a question; it blocks.

    :param ask: the Ask
    :param policy: its storage policy
    :param ring: the Ring of the policy
    :param manager: the DiskFileManager of the policy
    :param logger: a QuietLogger, told of what cannot be read
    :param recon_cache_path: where the node's object-replicator tells of its
        passes
    :param standings: returns the Standings of a device's path and a policy
    :returns: the Answer
    """
    version = version_of(ring, policy)
    peers, older, unsure = {}, {}, []
    for number, path in _usable(ask.peers, ring, manager):
        try:
            if ask.ring != version:
                Uses(path, policy).mark_all(0)
                continue
            found = Memory(path, policy, recon_cache_path).older(
                ask.askers, ask.logs)
            if found:
                older[number] = found
            told = _of_device(ask, policy, ring, path)
            # In this order: what is lost, or cut off the log, meanwhile is
            # noticed.
            if not has_all(manager, path, policy, ring,
                           standings(path, policy).read()):
                unsure.append(number)
            if tells_all(path, partial(has_replicated, recon_cache_path)):
                peers[number] = told
        except (OSError, FormatError) as err:
            logger.warning_of(path, 'Unable to tell what %s holds: %s', path,
                              err)
    return Answer(version, {number: told for number, told in peers.items()
                            if told is not None}, older,
                  last_pass(recon_cache_path), time.time(),
                  tuple(unsure))


def _usable(peers, ring, manager):
    """Yield the number and the path of each device that can be used."""
    for number, name in peers.items():
        device = ring.devs[number] if number < len(ring.devs) else None
        if device and device['device'] == name:
            path = manager.get_dev_path(name)
            if path is not None:
                yield number, path


def _of_device(ask, policy, ring, path):
    """Return asker -> places; None if the device must not vouch yet."""
    # In this order: a write that is fenced between the two finds the promise.
    if not Promises(roles_path(path, policy, PROMISES)).give(
            ask.askers, version_of(ring, policy), ask.seconds):
        return None
    told = {}
    version = version_of(ring, policy)
    held = defaultdict(list)
    place_of = lru_cache(None)(partial(_place_of, ring, policy))
    for entry in held_entries(path, policy, version):
        primary, place = place_of(entry.path_hash)
        held[primary].append((place, entry))
    for asker in ask.askers:
        places = tuple(sorted({
            place for place, entry in held[asker]
            if entry.is_lacked_by(asker, version)}))
        if len(places) > MOST_HELD:
            return None
        if places:
            told[asker] = places
    return told


def _place_of(ring, policy, path_hash):
    """Return the primary role of an object, and its partition and slot.

    They are those of the present ring, whatever ring its writer had.
    """
    partition = get_partition_for_hash(path_hash.hex(), ring.part_power)
    rows = rows_of(ring, policy, partition)
    slot = rows.slot(path_hash)
    return rows.ids[slot], (partition, slot)
