# SPDX-License-Identifier: Apache-2.0
"""The object ring as it is and as it was: who has a role in either.

PROTOCOL.md, "Ring epochs".
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from swift_lightsync.common.records import Between, Length, Record
from swift_lightsync.proar.core.role_ring import Rows

#: Devices of one object, and rings, that a header may name.
MOST_NODES = 32
MOST_RINGS = 4
MAX_BYTES = 16384

_Port = Annotated[int, Between(1, 65535)]
_Name = Annotated[str, Length(255)]


@dataclass(frozen=True)
class RoleNode(Record):
    """A device of a ring that the asker may not have.

    :param id: in the ring
    :param ip, port: of its object-server
    :param replication_ip, replication_port: of its replication server
    :param device: its name
    """
    id: Annotated[int, Between(0, 65535)]
    ip: _Name
    port: _Port
    replication_ip: _Name
    replication_port: _Port
    device: _Name


@dataclass(frozen=True)
class OtherRoles(Record):
    """The roles of an object in rings that a request did not name.

    :param partition: of the object
    :param rings: version -> the devices, the primary role first
    """
    partition: Annotated[int, Between(0, (1 << 32) - 1)]
    rings: Annotated[dict[int, Annotated[
        tuple[RoleNode, ...], Length(MOST_NODES)]], Length(MOST_RINGS)]

    def header(self) -> str:
        """Return the value of a header."""
        return json.dumps(self.to_json(), separators=(',', ':'))


@dataclass(frozen=True)
class Epoch:
    """A ring as it was loaded once.

    :param version: the number of the epoch
    :param rows: for each row the device id of each partition
    :param devices: by their ids
    :param part_shift: of the hash's first 32 bits, for the partition
    :param regions: in which primary roles live; none: in all
    """
    version: int
    rows: Sequence[Sequence[int]]
    devices: Sequence[Mapping[str, Any] | None]
    part_shift: int
    regions: frozenset[int] = frozenset()

    def partition(self, path_hash: bytes) -> int:
        """Return the partition of an object."""
        top: int
        top, = struct.unpack('>L', path_hash[:4])
        return top >> self.part_shift

    def roles(self, path_hash: bytes) -> list[Mapping[str, Any]]:
        """Return the devices of an object, the primary role first."""
        rows = Rows.of(self.rows, self.devices, self.regions,
                       self.partition(path_hash))
        return [device for device in map(
            self.devices.__getitem__, rows.roles(rows.slot(path_hash)))
            if device]

    def role_nodes(self, path_hash: bytes) -> 'tuple[RoleNode, ...]':
        """Return the same as records."""
        return tuple(RoleNode(
            each['id'], each['ip'], each['port'], each['replication_ip'],
            each['replication_port'], each['device'])
            for each in self.roles(path_hash))


class RingHistory:
    """Keeps the ring before the present one, for as long as it runs."""

    def __init__(self) -> None:
        self._now: dict[int, Epoch] = {}
        self._before: dict[int, Epoch] = {}

    def is_known(self, policy: int, version: int) -> bool:
        """Return whether a policy's ring of now was seen before.

        :param version: the number of its epoch
        """
        return policy in self._now and self._now[policy].version == version

    def epochs(self, policy: int, now: Epoch) -> list[Epoch]:
        """Return the ring of a policy, and the one before if it has changed.

        :param policy: index of the policy
        :param now: its ring as it is loaded now
        """
        known = self._now.get(policy)
        if known is not None and known.version != now.version:
            self._before[policy] = known
        self._now[policy] = now
        before = self._before.get(policy)
        return [now] if before is None else [now, before]


def versions_of(header: str | None) -> 'frozenset[int]':
    """Return the versions that a header names; none if it is none."""
    parts = (header or '').split(',')
    return frozenset(int(part) for part in parts[:MOST_RINGS]
                     if part.isascii() and part.isdigit() and len(part) < 20)


def unknown_roles(epochs: Sequence[Epoch], versions: 'frozenset[int]',
                  path_hash: bytes) -> OtherRoles | None:
    """
    Return the roles of rings that a request does not name, if there are any.

    :param epochs: the rings that are known here, the present one first
    :param versions: those that the request names
    :param path_hash: of the object, 16 bytes
    """
    partition = epochs[0].partition(path_hash)
    rings = {epoch.version: epoch.role_nodes(path_hash) for epoch in epochs
             if epoch.version not in versions
             and epoch.partition(path_hash) == partition}
    return OtherRoles(partition, rings) if rings else None
