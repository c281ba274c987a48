# SPDX-License-Identifier: Apache-2.0
"""
The records of the file ``lightsync.recon``, which RECON.md describes.

They are read from files and from other nodes: whatever is not as described
is refused, with the reason.
"""

import json
from dataclasses import asdict, dataclass, field, fields
from enum import Enum
from typing import Optional

from swift_lightsync.sync import place
from swift_lightsync.sync.sync_round import Answer

FILE = 'lightsync.recon'
VERSION = 1
#: Longest file that is read, bytes: some 200,000 pairs of devices.
MAX_BYTES = 64 << 20
#: Beyond any number that we write.
LIMIT = 1e15


class ReconError(ValueError):
    """Recon data that cannot be used, with the reason."""


def number(value):
    """:raises ReconError: if a value of JSON is no finite number from 0"""
    if (isinstance(value, bool) or not isinstance(value, (int, float))
            or not 0 <= value < LIMIT):
        raise ReconError('%.80r must be a number from 0' % (value,))
    return value


def count(value):
    """:raises ReconError: if a value of JSON is no integer from 0"""
    if type(value) is not int or not 0 <= value < LIMIT:
        raise ReconError('%.80r must be an integer from 0' % (value,))
    return value


def text(value):
    """:raises ReconError: if a value of JSON is no string"""
    if not isinstance(value, str):
        raise ReconError('%.80r must be a string' % (value,))
    return value


def place_name(where):
    """
    :returns: ``IP:port/device`` of a device, ``IP:port`` of a node; what
        could upset a terminal is replaced
    """
    name = '/'.join(['%s:%d' % where[:2], *where[2:]])
    return ''.join(each if each.isprintable() else '?' for each in name)


def parsed_by(parse):
    """A dataclass field that comes from JSON by a function."""
    return field(metadata={'parse': parse})


class Record:
    """A dataclass whose fields say how they are parsed: an object of JSON."""

    @classmethod
    def of_fields(cls, values):
        """
        :param values: an object; fields that we do not know are ignored
        :raises ReconError: if it is none, or lacks a field, or has a bad one
        """
        if not isinstance(values, dict):
            raise ReconError('%.80r must be an object' % (values,))
        parsed = {}
        for each in fields(cls):
            if each.name not in values:
                raise ReconError('%s is missing' % each.name)
            try:
                parsed[each.name] = each.metadata['parse'](values[each.name])
            except ValueError as err:
                raise ReconError('%s: %s' % (each.name, err))
        return cls(**parsed)

    def to_fields(self):
        """:returns: the object"""
        return {name: value.value if isinstance(value, Enum) else value
                for name, value in asdict(self).items()}


@dataclass(frozen=True)
class PairRecord(Record):
    """What is known of a device and a neighbour. See RECON.md."""
    policy: int = parsed_by(count)
    device: tuple = parsed_by(place.device)
    neighbour: tuple = parsed_by(place.device)
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
    device: tuple = parsed_by(place.device)
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
