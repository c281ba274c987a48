# SPDX-License-Identifier: Apache-2.0
"""How far the other sites are behind: the propagator of a node records it,
swift-version-sync-report reads it.
"""

import os
from dataclasses import dataclass
from typing import Annotated

from swift_lightsync.common.nodes import MAX_BYTES
from swift_lightsync.common.records import (
    Between,
    Record,
    RecordError,
    load_json,
)

#: in recon_cache_path
FILE = 'versioning.recon'
KEY = 'container_versions'


Count = Annotated[int, Between(0, 10 ** 15 - 1)]
Number = Annotated[float, Between(0, 1e15)]


@dataclass(frozen=True)
class PeerLag(Record):
    """How far one other site is behind.

    :param site: its name
    :param rows: how many of the rows that were looked at it is not known to
        have
    :param oldest: when the oldest of these rows was made, Unix time; None:
        there are none
    :param shipped: changes shipped since the propagator was started ...
    :param shipped_bytes: ... and bytes of their data
    :param failures: how often in a row the site has not answered
    :param next_try: when it is asked again, Unix time
    :param error: the last error, if it lacks rows or does not answer; else
        why it was not compared again, or empty
    :param compared: when the last comparison of everything began, Unix time;
        None: there was none
    :param differing: containers that differ, by the last comparisons
    :param since: when the first one of these was seen to, Unix time; None:
        there are none
    """
    site: str
    rows: Count
    oldest: Number | None
    shipped: Count
    shipped_bytes: Count
    failures: Count
    next_try: Number
    error: str
    compared: Number | None
    differing: Count
    since: Number | None


@dataclass(frozen=True)
class SyncState(Record):
    """The state that a propagator records.

    :param site: the name of this site
    :param updated: when it was recorded, Unix time
    :param databases: how many are followed
    :param repaired: listing rows that were repaired since the propagator was
        started
    :param purged: purge records that were removed since then
    :param peers: a tuple of ``PeerLag``
    """
    site: str
    updated: Number
    databases: Count
    repaired: Count
    purged: Count
    peers: tuple[PeerLag, ...]


def read(directory):
    """Read the record of a node's propagator.

    :param directory: recon_cache_path
    :returns: a ``SyncState``, or None if there is none
    :raises RecordError: if the record has an error
    :raises OSError: if it cannot be read
    """
    try:
        with open(os.path.join(directory, FILE), 'rb') as recon:
            data = recon.read(MAX_BYTES)
    except FileNotFoundError:
        return None
    values = load_json(data or b'{}', MAX_BYTES, FILE)
    if not isinstance(values, dict):
        raise RecordError('%.80r must be an object' % (values,), FILE)
    return SyncState.from_json(values[KEY], KEY) if values.get(KEY) else None
