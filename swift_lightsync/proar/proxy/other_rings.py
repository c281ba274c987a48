# SPDX-License-Identifier: Apache-2.0
"""The roles of an object in rings that this proxy does not have.

While a ring is rolled out, devices of the old and of the new one take writes:
reads ask both, fail-over writes go to both. PROTOCOL.md, "Ring epochs".
"""

from typing import Any

from swift.common.utils import quorum_size

from swift_lightsync.common.records import RecordError
from swift_lightsync.proar.core.ring_history import (
    MAX_BYTES,
    MOST_RINGS,
    OtherRoles,
)
from swift_lightsync.proar.names import RING_HEADER, ROLES_HEADER
from swift_lightsync.proar.proxy.role_nodes import RoleRing


class OtherRings:
    """What is known of other rings' roles of one object.

    :param roles: the Roles of the object in the present ring
    """

    def __init__(self, roles):
        self._roles = roles
        #: version -> node dicts, without those of the present ring
        self._rings: dict[int, list[dict[str, Any]]] = {}

    def learn(self, response):
        """Take in what an answer says.

        :param response: of an object-server
        """
        header = response.getheader(ROLES_HEADER)
        if not header:
            return
        try:
            found = OtherRoles.parse(header.encode(), MAX_BYTES)
        except RecordError:
            return
        self._look_for_a_newer_ring(found)
        self._add(found)

    def _add(self, found):
        if found.partition == self._roles.partition:
            own = self._roles.ids
            for version, nodes in found.rings.items():
                if version != self._roles.version and \
                        len(self._rings) < MOST_RINGS - 1:
                    self._rings.setdefault(version, [
                        dict(node.to_json(), index=None)
                        for node in nodes if node.id not in own])

    def _look_for_a_newer_ring(self, found):
        ring = self._roles.ring
        if max(found.rings, default=0) > self._roles.version and \
                ring.has_changed():
            # For the requests to come.
            ring._reload(force=True)

    @property
    def nodes(self):
        """The devices that have a role in another ring only."""
        return list({node['id']: node for nodes in self._rings.values()
                     for node in nodes}.values())

    @property
    def headers(self):
        """The header that names all rings whose roles are asked."""
        return {RING_HEADER: ','.join(
            str(version) for version in (self._roles.version, *self._rings))}

    def ring(self):
        """Return a ring that has the roles of all rings; its hand-offs are
        those of the present one.
        """
        return MixedRing(self._roles.ring, self._roles.partition,
                         [*self._roles.nodes, *self.nodes])

    @property
    def quorum(self):
        """How many of all roles make a quorum in each of the rings."""
        count = len(self._roles.nodes)
        return count + len(self.nodes) - (count - quorum_size(count))


class MixedRing(RoleRing):
    """A ring that has the roles of several, and hand-offs."""

    def get_more_nodes(self, partition):
        ids = {node['id'] for node in self._nodes}
        return (node for node in self._ring.get_more_nodes(partition)
                if node['id'] not in ids)
