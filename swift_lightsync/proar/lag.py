# SPDX-License-Identifier: Apache-2.0
"""
How far the peers of a node's devices are behind.

The converger records it, the recon filter answers it, and swift-proar-lag
reads the answers. OPERATING.md.
"""

import json
import os
from dataclasses import dataclass
from typing import Annotated, Dict, Optional, Tuple

from swift_lightsync.common.nodes import MAX_BYTES
from swift_lightsync.common.records import Between, Record

#: in recon_cache_path
FILE = 'proar.recon'
KEY = 'object_convergence'
PATH = '/recon/proar'

Count = Annotated[int, Between(0, 10 ** 15 - 1)]
Number = Annotated[float, Between(0, 1e15)]


@dataclass(frozen=True)
class DeviceLag(Record):
    """
    How far the peers of one device are behind, in one policy.

    :param device: its name
    :param policy: the index of a policy
    :param entries: of its logs, those that some peer lacks
    :param exposed: those that no other device is known to hold
    :param oldest_seconds: how long ago the oldest that some peer lacks was
        written; 0 if all hold all
    :param peers: device id -> how many entries it lacks, if any
    :param damaged: segments of the device's log that cannot be read, wholly or
        in part
    :param aside: entries that no device takes, though it is well, or whose
        objects cannot be read here
    """
    device: str
    policy: Count
    entries: Count
    exposed: Count
    oldest_seconds: Number
    peers: Dict[int, Count]
    damaged: Count
    aside: Count


@dataclass(frozen=True)
class Recorded(Record):
    """
    What a converger records.

    :param updated: when it did, Unix time; 0: never
    :param devices: one for each device and policy that has logs
    """
    updated: Number
    devices: Tuple[DeviceLag, ...]


@dataclass(frozen=True)
class ReconFile(Record):
    """The converger's recon file, which may have other keys too."""
    object_convergence: Optional[Recorded] = None


@dataclass(frozen=True)
class NodeLag(Record):
    """
    What a node answers to ``GET /recon/proar``.

    :param time: the node's clock, Unix time
    :param source: the directory of its recon file
    :param updated: when its converger wrote the file; 0: never
    :param devices: one for each device and policy that has logs
    """
    time: Number
    source: str
    updated: Number
    devices: Tuple[DeviceLag, ...]

    def encode(self):
        """Return the bytes of the answer."""
        return json.dumps(self.to_json()).encode('ascii')


def recorded(devices, updated):
    """
    Return what the converger records, as an object of JSON.

    :param devices: DeviceLags
    :param updated: Unix time
    """
    return Recorded(updated, tuple(devices)).to_json()


def decode(data):
    """
    Read a node's answer.

    :param data: bytes, as of NodeLag.encode
    :returns: a :class:`NodeLag`
    :raises RecordError: if they are none
    """
    return NodeLag.parse(data, MAX_BYTES)


def read(directory, now):
    """
    Read what the converger has recorded.

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
    found = ReconFile.parse(document, MAX_BYTES, FILE).object_convergence \
        or Recorded(0, ())
    return NodeLag(now, directory, found.updated, found.devices)
