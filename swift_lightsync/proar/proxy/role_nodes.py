# SPDX-License-Identifier: Apache-2.0
"""
The devices of one object, in the form in which Swift's controllers ask.

Stock controllers ask their application for a ring, and the ring for nodes.
Here they get an application that knows one object only, and a ring that has
only some of the object's roles: so they work unchanged, with fewer devices.
PROTOCOL.md, "The primary role hash ring".
"""

from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from swift.common.ring import Ring
from swift.common.utils import hash_path
from swift.proxy.controllers.base import NodeIter

from swift_lightsync.proar.core import role_ring
from swift_lightsync.proar.names import (
    REFUSED_HEADER,
    RING_HEADER,
    SLOT_HEADER,
)


class RoleRing:
    """
    A ring that has some roles of one object.

    :param ring: the Ring of its storage policy
    :param partition: of the object
    :param nodes: the devices that count as primaries, in their order
    """

    def __init__(self, ring, partition, nodes):
        self._ring = ring
        self._partition = partition
        self._nodes = list(nodes)

    def __getattr__(self, name):
        return getattr(self._ring, name)

    @property
    def replica_count(self):
        return len(self._nodes)

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
    """
    The devices of an object, in the order of their roles.

    :param ring: the Ring of its storage policy
    :param partition: its partition
    :param slot: its slot
    :param nodes: its devices, a tuple of node dicts; the primary role first
    """
    ring: Ring
    partition: int
    slot: int
    nodes: Tuple[Dict[str, Any], ...]

    @classmethod
    def of(cls, ring, account, container, obj):
        """
        Return the roles of an object.

        :param ring: a Ring
        :param account, container, obj: the object's name
        """
        partition = ring.get_part(account, container, obj)
        devices = ring.devs
        ids = [row[partition] for row in ring._replica2part2dev_id
               if partition < len(row)]
        slot = role_ring.slot_of(
            hash_path(account, container, obj, raw_digest=True), len(ids))
        return cls(ring, partition, slot, tuple(
            dict(devices[each], index=index)
            for index, each in enumerate(role_ring.roles(ids, slot))))

    @property
    def ids(self):
        """The ids of the devices."""
        return frozenset(node['id'] for node in self.nodes)

    @property
    def headers(self):
        """The headers by which a device knows what its role is."""
        return {SLOT_HEADER: str(self.slot),
                RING_HEADER: str(self.ring.version or 0)}

    def some(self, first, end):
        """Return a RoleRing of the roles from first to before end."""
        return RoleRing(self.ring, self.partition, self.nodes[first:end])


class RoleNodeIter(NodeIter):
    """
    Yields the primary role, and the other devices when iterated again.

    Swift iterates again to resume a body.

    :param others_from: is called before the other devices are asked
    """

    primary_nodes: List[Dict[str, Any]]

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


class ReadApplication:
    """
    The proxy application, for which a refusal is no error of a device.

    A device that was error-limited for it would not be asked for what it has.

    :param app: Swift's Application
    """

    def __init__(self, app):
        self._app = app

    def __getattr__(self, name):
        return getattr(self._app, name)

    def __call__(self, env, start_response):
        return self._app(env, start_response)

    def check_response(self, node, server_type, response, *args, **kwargs):
        if response.getheader(REFUSED_HEADER):
            return False
        return self._app.check_response(node, server_type, response, *args,
                                        **kwargs)


class RoleApplication(ReadApplication):
    """
    The proxy application as writes of one object see it.

    :param app: Swift's Application
    :param ring: a RoleRing
    """

    def __init__(self, app, ring):
        super().__init__(app)
        self._ring = ring

    def get_object_ring(self, _policy_index):
        return self._ring

    def sort_nodes(self, nodes, policy=None):
        """Return the nodes as they are: headers are made for each role."""
        return nodes

    def error_occurred(self, node, msg):
        """
        Log a 5xx that came instead of 100 Continue.

        Swift's Putter does not pass on its headers: it may be a refusal. If
        it is an error, the write that is then failed over counts it.
        """
        self.logger.warning('%s %s/%s', msg, node['ip'], node['device'])
