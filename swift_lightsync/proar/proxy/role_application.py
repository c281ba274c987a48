# SPDX-License-Identifier: Apache-2.0
"""
The proxy application, and copies of it that know the roles of one object.
"""

import copy

from swift.proxy import server

from swift_lightsync.proar.names import REFUSED_HEADER
from swift_lightsync.proar.proxy.role_nodes import RoleRing


class RoleApplication(server.Application):
    """Swift's Application, which can be of one object's roles."""

    #: the RoleRing of the object that this copy knows; None: it is no copy
    _role_ring: 'RoleRing | None' = None

    def with_roles(self, ring):
        """
        Return a copy, for one request, whose object ring is another one.

        :param ring: a RoleRing
        """
        found = copy.copy(self)
        found._role_ring = ring
        return found

    def get_object_ring(self, policy_idx):
        """Return the ring of a policy, or that of the object."""
        return self._role_ring or super().get_object_ring(policy_idx)

    def sort_nodes(self, nodes, policy=None):
        """Return roles as they are: headers are made for each of them."""
        return nodes if self._role_ring else super().sort_nodes(nodes, policy)

    def check_response(self, node, server_type, response, *args, **kwargs):
        """
        Judge an answer as Swift does, but for a refusal.

        That is no error of a device: one that was error-limited for it would
        not be asked for what it has.
        """
        if response.getheader(REFUSED_HEADER):
            return False
        return super().check_response(node, server_type, response, *args,
                                      **kwargs)

    def error_occurred(self, node, msg):
        """
        Count an error of a device, or log a 5xx that a role has answered.

        Swift's Putter does not pass on the headers of what comes instead of
        100 Continue: it may be a refusal. If it is an error, the write that
        is then failed over counts it.
        """
        if self._role_ring is None:
            return super().error_occurred(node, msg)
        self.logger.warning('%s %s/%s', msg, node['ip'], node['device'])
        return None
