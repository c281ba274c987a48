# SPDX-License-Identifier: Apache-2.0
"""The proxy application, and copies of it that know the roles of one object.
"""

import copy

from swift.common.http import is_server_error
from swift.proxy import server

from swift_lightsync.proar.names import REFUSED_HEADER
from swift_lightsync.proar.proxy.other_rings import OtherRings
from swift_lightsync.proar.proxy.role_nodes import RoleRing


class RoleApplication(server.Application):
    """Swift's Application, which can be of one object's roles."""

    #: the RoleRing of the object that this copy knows; None: it is no copy
    _role_ring: 'RoleRing | None' = None
    #: the OtherRings that refusals of what this copy sends tell of, or None;
    #: and the header that names those which it knew when it was made
    _other_rings: 'OtherRings | None' = None
    _known: dict[str, str] = {}

    def with_roles(self, ring, other_rings=None):
        """
        Return a copy, for one request, whose object ring may be another one.

        :param ring: a RoleRing; None: that of the policy
        :param other_rings: OtherRings, told of refusals; None: nobody is
        """
        found = copy.copy(self)
        found._role_ring = ring
        if other_rings:
            found._other_rings = other_rings
            found._known = other_rings.headers
        return found

    def get_object_ring(self, policy_idx):
        """Return the ring of a policy, or that of the object."""
        return self._role_ring or super().get_object_ring(policy_idx)

    def sort_nodes(self, nodes, policy=None):
        """Return roles as they are: headers are made for each of them."""
        return nodes if self._role_ring else super().sort_nodes(nodes, policy)

    def check_response(self, node, server_type, response, *args, **kwargs):
        """Judge an answer as Swift does, but for a refusal.

        That is no error of a device: one that was error-limited for it would
        not be asked for what it has.
        """
        if is_server_error(response.status) and \
                response.getheader(REFUSED_HEADER):
            if self._other_rings:
                self._other_rings.learn(response)
            return False
        return super().check_response(node, server_type, response, *args,
                                      **kwargs)

    def error_occurred(self, node, msg):
        """Count an error of a device, or log a 5xx that a role has answered.

        Swift's Putter does not pass on the headers of what comes instead of
        100 Continue: it may be a refusal. If it is an error, the write that
        comes after this attempt counts it.
        """
        has_learnt = self._other_rings is not None \
            and self._other_rings.headers != self._known
        if self._role_ring is None and not has_learnt:
            return super().error_occurred(node, msg)
        self.logger.warning('%s %s/%s', msg, node['ip'], node['device'])
        return None
