# SPDX-License-Identifier: Apache-2.0
"""
How far the other sites are behind: recorded by the propagator of a node, read
by swift-version-sync-report.
"""

import json
import os
from dataclasses import dataclass
from typing import Optional, Tuple

from swift_lightsync.common.recon_record import (
    MAX_BYTES,
    ReconError,
    Record,
    count,
    number,
    parsed_by,
    text,
)

#: in recon_cache_path
FILE = 'versioning.recon'
KEY = 'container_versions'


def _optional(value):
    return None if value is None else number(value)


@dataclass(frozen=True)
class PeerLag(Record):
    """
    :param site: its name
    :param rows: that it is not known to have, of those that were looked at
    :param oldest: when the oldest of these was made, Unix time; None: none
    :param shipped: versions since the propagator was started ...
    :param shipped_bytes: ... and bytes of their data
    :param failures: how often in a row it has not answered
    :param next_try: when it is asked again, Unix time
    :param error: what was wrong last, if it lacks rows or does not answer
    """
    site: str = parsed_by(text)
    rows: int = parsed_by(count)
    oldest: Optional[float] = parsed_by(_optional)
    shipped: int = parsed_by(count)
    shipped_bytes: int = parsed_by(count)
    failures: int = parsed_by(count)
    next_try: float = parsed_by(number)
    error: str = parsed_by(text)


def _peers(value):
    if not isinstance(value, list):
        raise ReconError('%.80r must be a list' % (value,))
    return tuple(map(PeerLag.of_fields, value))


@dataclass(frozen=True)
class SyncState(Record):
    """
    :param site: the name of this site
    :param updated: when it was recorded, Unix time
    :param databases: that are followed
    :param repaired: pointers since the propagator was started
    :param purged: purge markers that were removed since
    :param peers: a tuple of ``PeerLag``
    """
    site: str = parsed_by(text)
    updated: float = parsed_by(number)
    databases: int = parsed_by(count)
    repaired: int = parsed_by(count)
    purged: int = parsed_by(count)
    peers: Tuple[PeerLag, ...] = parsed_by(_peers)


def read(directory):
    """
    :param directory: recon_cache_path
    :returns: a ``SyncState``, or None if there is none
    :raises ReconError: if it is not as it should be
    :raises OSError: if it cannot be read
    """
    try:
        with open(os.path.join(directory, FILE), 'rb') as recon:
            data = recon.read(MAX_BYTES)
    except FileNotFoundError:
        return None
    try:
        values = json.loads(data or b'{}')
    except (ValueError, RecursionError) as err:
        raise ReconError('%s: no JSON: %s' % (FILE, err))
    if not isinstance(values, dict):
        raise ReconError('%s: %.80r must be an object' % (FILE, values))
    return SyncState.of_fields(values[KEY]) if values.get(KEY) else None
