# SPDX-License-Identifier: Apache-2.0
"""
How a node's devices stand with their peers, for those who watch it.

The converger records it, the recon filter answers it. OPERATING.md.
"""

import json
import os
from dataclasses import dataclass
from typing import Dict, Optional, Tuple

from swift_lightsync.common.records import Record

#: in recon_cache_path
FILE = 'proar_roles.recon'
KEY = 'role_standings'
PATH = '/recon/proar-roles'
MAX_BYTES = 64 << 20


@dataclass(frozen=True)
class DeviceStanding(Record):
    """
    How one device stands, in one policy.

    :param device: its name
    :param policy: the index of the policy
    :param ring: the version of its ring
    :param silent: ids of devices that do not vouch for it: reads of the
        partitions that it shares with one of them ask all devices
    :param silent_since: since when there has been one, Unix time; None:
        there is none
    :param held: places of which another device holds what it lacks
    :param others: id of each device with another ring -> its version
    """
    device: str
    policy: int
    ring: int
    silent: Tuple[int, ...]
    silent_since: Optional[float]
    held: int
    others: Dict[int, int]


@dataclass(frozen=True)
class Recorded(Record):
    """
    What a converger records of a device.

    :param updated: when it did, Unix time
    :param devices: one for each policy of the device
    """
    updated: float
    devices: Tuple[DeviceStanding, ...]


@dataclass(frozen=True)
class ReconFile(Record):
    """
    The convergers' recon file, which may have other keys too.

    :param role_standings: device -> what is recorded of it
    """
    role_standings: Optional[Dict[str, Recorded]] = None


@dataclass(frozen=True)
class NodeStanding(Record):
    """
    What a node answers.

    :param time: its clock, Unix time
    :param updated: when its convergers had all written it; 0: never
    :param devices: one for each device and policy
    """
    time: float
    updated: float
    devices: Tuple[DeviceStanding, ...]

    def encode(self):
        """Return the bytes of the answer."""
        return json.dumps(self.to_json()).encode('ascii')


def read(directory, now):
    """
    Read what the converger has recorded.

    :param directory: recon_cache_path
    :param now: Unix time
    :returns: a :class:`NodeStanding`
    :raises RecordError: if it is not as it should be
    :raises OSError: if it cannot be read
    """
    try:
        with open(os.path.join(directory, FILE), 'rb') as recon:
            document = recon.read(MAX_BYTES) or b'{}'
    except FileNotFoundError:
        document = b'{}'
    found = (ReconFile.parse(document, MAX_BYTES, FILE).role_standings
             or {}).values()
    return NodeStanding(
        now, min((each.updated for each in found), default=0),
        tuple(device for each in found for device in each.devices))
