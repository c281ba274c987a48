# SPDX-License-Identifier: Apache-2.0
"""The devices of one object, in the form in which Swift's controllers ask.

Stock controllers ask their application for a ring, and the ring for nodes.
Here they get a ring that has only some of the object's roles: so they work
unchanged, with fewer devices.
PROTOCOL.md, "The primary role hash ring".
"""

from dataclasses import dataclass
from typing import Any

from swift.common.ring import Ring
from swift.common.utils import hash_path
from swift.proxy.controllers.base import NodeIter

from swift_lightsync.proar.names import RING_HEADER, SLOT_HEADER
from swift_lightsync.proar.vouching.places import rows_of, version_of


class RoleRing:
    """A ring that has some roles of one object.

    :param ring: the Ring of its storage policy
    :param partition: of the object
    :param nodes: the devices that count as primaries, in their order
    """

    def __init__(self, ring, partition, nodes):
        self._ring = ring
        self._partition = partition
        self._nodes = list(nodes)

    @property
    def replica_count(self):
        return len(self._nodes)

    @property
    def next_part_power(self):
        return self._ring.next_part_power

    def get_part(self, *_name):
        return self._partition

    def get_nodes(self, *_name):
        return self._partition, list(self._nodes)

    def get_part_nodes(self, _partition):
        return list(self._nodes)

    def get_more_nodes(self, _partition):
        return iter(())


@dataclass(frozen=True)
class Roles:
    """The devices of an object, in the order of their roles.

    :param ring: the Ring of its storage policy
    :param partition: its partition
    :param version: the number of the epoch
    :param slot: its slot
    :param nodes: its devices, a tuple of node dicts; the primary role first
    """
    ring: Ring
    partition: int
    version: int
    slot: int
    nodes: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, ring, policy, account, container, obj):
        """Return the roles of an object.

        :param ring: a Ring
        :param policy: its storage policy
        :param account, container, obj: the object's name
        """
        partition = ring.get_part(account, container, obj)
        devices = ring.devs
        rows = rows_of(ring, policy, partition)
        slot = rows.slot(hash_path(account, container, obj, raw_digest=True))
        return cls(ring, partition, version_of(ring, policy), slot, tuple(
            dict(devices[each], index=index)
            for index, each in enumerate(rows.roles(slot))))

    @property
    def ids(self):
        """The ids of the devices."""
        return frozenset(node['id'] for node in self.nodes)

    @property
    def headers(self):
        """The headers by which a device knows what its role is."""
        return {SLOT_HEADER: str(self.slot),
                RING_HEADER: str(self.version)}

    def some(self, first, end):
        """Return a RoleRing of the roles from first to before end."""
        return RoleRing(self.ring, self.partition, self.nodes[first:end])


class RoleNodeIter(NodeIter):
    """Yields the primary role, and the other devices when iterated again.

    Swift iterates again to resume a body.

    :param others_from: is called before the other devices are asked
    """

    primary_nodes: list[dict[str, Any]]

    def __init__(self, *args, others_from=lambda: None, **kwargs):
        super().__init__(*args, **kwargs)
        self._others_from = others_from

    def _node_gen(self):
        nodes = self.primary_nodes
        if not nodes:
            self._others_from()
            nodes = self.handoff_iter
        self.primary_nodes = []
        for node in nodes:
            if not self.app.error_limited(node):
                yield node


