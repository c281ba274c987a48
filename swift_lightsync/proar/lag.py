# SPDX-License-Identifier: Apache-2.0
"""
How far the peers of a node's devices are behind: recorded by the converger,
answered by the recon filter, read by swift-proar-lag. OPERATING.md.
"""

import json
import os
from dataclasses import dataclass

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
FILE = 'proar.recon'
KEY = 'object_convergence'
PATH = '/recon/proar'


def _peers(value):
    if not isinstance(value, dict):
        raise ReconError('%.80r must be an object' % (value,))
    return {count(int(peer)): count(behind)
            for peer, behind in value.items()}


@dataclass(frozen=True)
class DeviceLag(Record):
    """
    :param device: its name
    :param policy: the index of a policy
    :param entries: of its logs, those that some peer lacks
    :param exposed: those that no other device is known to hold
    :param oldest_seconds: how long ago the oldest that some peer lacks was
        written; 0 if all hold all
    :param peers: device id -> how many entries it lacks, if any
    :param unreadable: logs that cannot be read, and are not counted
    """
    device: str = parsed_by(text)
    policy: int = parsed_by(count)
    entries: int = parsed_by(count)
    exposed: int = parsed_by(count)
    oldest_seconds: float = parsed_by(number)
    peers: dict = parsed_by(_peers)
    unreadable: int = parsed_by(count)


def lag_of(device, policy, followers, unreadable, now):
    """
    :param followers: Followers of the logs of a device and policy
    :param unreadable: how many logs of it cannot be read
    :param now: Unix time in seconds
    :returns: its DeviceLag
    """
    peers = {}
    for follower in followers:
        for peer, cursor in follower.cursors().items():
            if cursor < follower.last_update:
                peers[peer] = peers.get(peer, 0) \
                    + follower.last_update - cursor
    oldest = min((follower.oldest.logged for follower in followers
                  if follower.oldest), default=None)
    return DeviceLag(
        device, policy,
        sum(each.last_update - each.last_commit for each in followers),
        sum(each.exposed for each in followers),
        0 if oldest is None else max(0, now - oldest / 1e6), peers,
        unreadable)


@dataclass(frozen=True)
class NodeLag:
    """
    What a node answers to ``GET /recon/proar``.

    :param time: the node's clock, Unix time
    :param source: the directory of its recon file
    :param updated: when its converger wrote the file; 0: never
    :param devices: a tuple of DeviceLags
    """
    time: float
    source: str
    updated: float
    devices: tuple

    def encode(self):
        """:returns: the bytes of the answer"""
        return json.dumps({
            'time': self.time, 'source': self.source,
            **recorded(self.devices, self.updated)}).encode('ascii')


def recorded(devices, updated):
    """
    :param devices: DeviceLags
    :param updated: Unix time
    :returns: a dict, what the converger records
    """
    return {'updated': updated,
            'devices': [each.to_fields() for each in devices]}


def decode(data):
    """
    :param data: bytes, as of NodeLag.encode
    :returns: a :class:`NodeLag`
    :raises ReconError: if they are none
    """
    values = _object(data)
    try:
        return NodeLag(number(values['time']), text(values['source']),
                       *_parsed(values))
    except KeyError as err:
        raise ReconError('%s is missing' % err)


def read(directory, now):
    """
    :param directory: recon_cache_path
    :param now: Unix time
    :returns: a :class:`NodeLag`, of what the converger has recorded there
    :raises ReconError: if that is not as it should be
    :raises OSError: if it cannot be read
    """
    try:
        with open(os.path.join(directory, FILE), 'rb') as recon:
            values = _object(recon.read(MAX_BYTES) or b'{}').get(KEY)
    except FileNotFoundError:
        values = None
    try:
        return NodeLag(now, directory, *(
            _parsed(values) if values else (0, ())))
    except KeyError as err:
        raise ReconError('%s: %s is missing' % (FILE, err))


def _object(data):
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as err:
        raise ReconError('no JSON: %s' % err)
    if not isinstance(values, dict):
        raise ReconError('%.80r must be an object' % (values,))
    return values


def _parsed(values):
    try:
        return number(values['updated']), tuple(
            map(DeviceLag.of_fields, values['devices']))
    except TypeError as err:
        raise ReconError('no list of records: %s' % err)
