# SPDX-License-Identifier: Apache-2.0
"""How far the peers of a node's devices are behind, and how these stand.

The converger records it, the recon filter answers it, and swift-proar-lag
reads the answers. OPERATING.md.
"""

import json
import os
from dataclasses import dataclass, field
from types import MappingProxyType

from swift.common.utils import dump_recon_cache

from swift_lightsync.common.nodes import MAX_BYTES
from swift_lightsync.common.records import Record
from swift_lightsync.proar.troubles import (
    FILE,
    Count,
    Number,
    Troubles,
    together,
)

KEY = 'object_convergence'
#: stands for the devices of a node that has none
NONE = '-'
PATH = '/recon/proar'


@dataclass(frozen=True)
class DeviceLag(Record):
    """How far the peers of one device are behind, in one policy.

    :param device: its name
    :param policy: the index of a policy
    :param entries: of its logs, those that some peer lacks
    :param exposed: those that no other device is known to hold
    :param oldest_seconds: how long ago the oldest that some peer lacks was
        written; 0 if all hold all
    :param peers: device id -> how many entries it lacks, if any
    :param damaged: segments of the device's log that cannot be read, wholly or
        in part, or that are gone
    :param aside: entries that no device takes, though it is well, or whose
        objects cannot be read here
    """
    device: str
    policy: Count
    entries: Count
    exposed: Count
    oldest_seconds: Number
    peers: dict[int, Count]
    damaged: Count
    aside: Count


@dataclass(frozen=True)
class DeviceStanding(Record):
    """How one device stands with its peers, in one policy.

    :param device: its name
    :param policy: the index of the policy
    :param ring: the epoch that it has
    :param silent: ids of devices that do not vouch for it: reads of the
        partitions that it shares with one of them ask all devices
    :param silent_since: since when there has been one, Unix time; None:
        there is none
    :param older: ids of devices that know its log to have been newer
    :param held: places of which another device holds what it lacks
    :param others: id of each device with another epoch -> that
    :param unsure_seconds: how long it was in service since it may have lost
        objects, whole minutes; None: it has all, or is in volumes
    :param awaited: ids of the devices whose object-replicators have not ended
        a pass since
    """
    device: str
    policy: Count
    ring: Count
    silent: tuple[int, ...]
    silent_since: Number | None
    older: tuple[int, ...]
    held: Count
    others: dict[int, Count]
    unsure_seconds: Number | None = None
    awaited: tuple[int, ...] = ()


@dataclass(frozen=True)
class Recorded(Record):
    """What a converger records of one device.

    :param updated: when it did, Unix time
    :param policies: one for each policy of the device
    :param roles: the same, once it has asked
    """
    updated: Number
    policies: tuple[DeviceLag, ...]
    roles: tuple[DeviceStanding, ...] = ()


@dataclass(frozen=True)
class ReconFile(Record):
    """The convergers' recon file, which may have other keys too.

    :param object_convergence: device -> what is recorded of it
    :param object_troubles: device/process -> what the process counted
    """
    object_convergence: dict[str, Recorded] | None = None
    object_troubles: dict[str, Troubles] | None = None


@dataclass(frozen=True)
class NodeLag(Record):
    """What a node answers to ``GET /recon/proar``.

    :param time: the node's clock, Unix time
    :param source: the directory of its recon file
    :param updated: when its convergers had all written it; 0: never
    :param devices: one for each device and policy
    :param roles: the same, of those that have asked
    :param troubles: device -> what its object-servers counted
    """
    time: Number
    source: str
    updated: Number
    devices: tuple[DeviceLag, ...]
    roles: tuple[DeviceStanding, ...] = ()
    troubles: dict[str, Troubles] = field(default_factory=dict)


def recorded(devices, updated, roles=MappingProxyType({})):
    """Return what a converger records, which leaves that of others alone.

    :param devices: a dict of name -> DeviceLags
    :param updated: Unix time
    :param roles: a dict of name -> DeviceStandings
    :returns: a dict for dump_recon_cache
    """
    return {KEY: {name: Recorded(
        updated, tuple(lags), tuple(roles.get(name, ()))).to_json()
        for name, lags in (devices or {NONE: ()}).items()}}


def forget(path, devices, logger):
    """Remove what is recorded of devices that are not this node's.

    :param path: of the recon file
    :param devices: names of those that are
    :param logger: Swift's
    """
    try:
        with open(path, 'rb') as recon:
            known = json.loads(recon.read(MAX_BYTES))[KEY]
        gone: dict[str, dict] = {name: {} for name in known
                                 if name not in devices}
    except (OSError, ValueError, KeyError, TypeError):
        return
    if gone:
        dump_recon_cache({KEY: gone}, path, logger)


def decode(data):
    """Read a node's answer.

    :param data: bytes, as of NodeLag.encode
    :returns: a :class:`NodeLag`
    :raises RecordError: if they are none
    """
    return NodeLag.parse(data, MAX_BYTES)


def read(directory, now):
    """Read what the converger has recorded.

    :param directory: recon_cache_path
    :param now: Unix time
    :returns: a :class:`NodeLag`
    :raises RecordError: if it is not as it should be
    :raises OSError: if it cannot be read
    """
    try:
        with open(os.path.join(directory, FILE), 'rb') as recon:
            # Swift makes it empty, and then writes it.
            document = recon.read(MAX_BYTES) or b'{}'
    except FileNotFoundError:
        document = b'{}'
    known = ReconFile.parse(document, MAX_BYTES, FILE)
    found = known.object_convergence or {}
    return NodeLag(
        now, directory,
        min((each.updated for each in found.values()), default=0),
        tuple(lag for _, each in sorted(found.items())
              for lag in each.policies),
        tuple(role for _, each in sorted(found.items())
              for role in each.roles),
        together(known.object_troubles or {}))
