# SPDX-License-Identifier: Apache-2.0
"""
The records of the file ``lightsync.recon``, which RECON.md describes.

They are read from files and from other nodes: whatever is not as described
is refused, with the reason.
"""

import json
from dataclasses import dataclass
from typing import Optional

from swift_lightsync.common import places
from swift_lightsync.common.recon_record import (
    MAX_BYTES,
    ReconError,
    Record,
    count,
    number,
    parsed_by,
    place_name,
)
from swift_lightsync.sync.core.sync_round import Answer

FILE = 'lightsync.recon'
VERSION = 1


@dataclass(frozen=True)
class PairRecord(Record):
    """What is known of a device and a neighbour. See RECON.md."""
    policy: int = parsed_by(count)
    device: tuple = parsed_by(places.device)
    neighbour: tuple = parsed_by(places.device)
    since: float = parsed_by(number)
    checked: float = parsed_by(number)
    agreed: Optional[float] = parsed_by(
        lambda value: None if value is None else number(value))
    partitions: int = parsed_by(count)
    differed: int = parsed_by(count)
    differing: int = parsed_by(count)
    answer: Answer = parsed_by(Answer)

    @property
    def name(self):
        return '%d %s %s' % (self.policy, place_name(self.device),
                             place_name(self.neighbour))


@dataclass(frozen=True)
class PassRecord(Record):
    """The last pass over a device. See RECON.md."""
    device: tuple = parsed_by(places.device)
    ended: float = parsed_by(number)
    duration: float = parsed_by(number)
    partitions: int = parsed_by(count)
    exchanges: int = parsed_by(count)
    full_exchanges: int = parsed_by(count)

    @property
    def name(self):
        return place_name(self.device)


def read(path):
    """
    :param path: of a lightsync.recon
    :returns: a tuple of two dicts: of PairRecords and of PassRecords, by
        their names; both are empty if there is no file
    :raises ReconError: if it is no such file
    :raises OSError: if it cannot be read
    """
    try:
        with open(path, 'rb') as recon:
            data = recon.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return {}, {}
    try:
        if len(data) > MAX_BYTES:
            raise ReconError('longer than %d bytes' % MAX_BYTES)
        # Made, but not written yet.
        state = json.loads(data) if data else {'version': VERSION}
        if not isinstance(state, dict) or state.get('version') != VERSION:
            raise ReconError('must be an object of version %d' % VERSION)
        return tuple(_records(kind, state.get(key, {})) for kind, key in (
            (PairRecord, 'pairs'), (PassRecord, 'devices')))
    except (ValueError, RecursionError) as err:
        raise ReconError('%s: %s' % (path, err))


def _records(kind, entries):
    if not isinstance(entries, dict):
        raise ReconError('%.80r must be an object' % (entries,))
    records = [kind.of_fields(values) for values in entries.values()]
    return {record.name: record for record in records}
