# SPDX-License-Identifier: Apache-2.0
"""
What a node answers to those that ask whether its devices hold something.

PROTOCOL.md, "Vouching".
"""

from swift_lightsync.proar.core.oplog import FormatError
from swift_lightsync.proar.log.holdings import holdings
from swift_lightsync.proar.names import PROMISES, roles_path
from swift_lightsync.proar.vouching.places import Rows, version_of
from swift_lightsync.proar.vouching.promises import Promises
from swift_lightsync.proar.wire.messages import MOST_HELD, Answer


def answer(ask, policy, ring, manager, logger):
    """
    Answer a question; it blocks.

    :param ask: the Ask
    :param policy: its storage policy
    :param ring: the Ring of the policy
    :param manager: the DiskFileManager of the policy
    :param logger: is told of what cannot be read
    :returns: the Answer
    """
    version = version_of(ring)
    peers = {}
    if ask.ring == version:
        for number, name in ask.peers.items():
            path = _path(ring, number, name, manager)
            if path is None:
                continue
            try:
                peers[number] = _of_device(ask, policy, ring, path)
            except (OSError, FormatError) as err:
                logger.warning('Unable to tell what %s holds: %s', path, err)
    return Answer(version, {number: told for number, told in peers.items()
                            if told is not None})


def _path(ring, number, name, manager):
    """Return the path of a device, if it can be used."""
    device = ring.devs[number] if number < len(ring.devs) else None
    if not device or device['device'] != name:
        return None
    return manager.get_dev_path(name)


def _of_device(ask, policy, ring, path):
    """Return asker -> places; None if the device must not vouch yet."""
    # In this order: a write that is fenced between the two finds the promise.
    if not Promises(roles_path(path, policy, PROMISES)).give(
            ask.askers, version_of(ring), ask.seconds):
        return None
    told = {}
    for asker in ask.askers:
        places = tuple(sorted(
            place for place in holdings(path, policy, asker)
            if _concerns(ring, place, asker)))
        if len(places) > MOST_HELD:
            return None
        if places:
            told[asker] = places
    return told


def _concerns(ring, place, asker):
    """
    Return whether a device is the primary role of a place.

    A slot that the partition has not got is of another ring: it may be any
    device's.
    """
    partition, slot = place
    ids = Rows.of(ring, partition).ids
    return ids[slot] == asker if slot < len(ids) else True
