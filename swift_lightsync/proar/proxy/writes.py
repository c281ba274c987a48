# SPDX-License-Identifier: Apache-2.0
"""The ways in which a write can be run: stock verbs with few overrides.

Each is a controller of Swift. If it cannot decide a request, it raises
Undecided, and the whole request is run in another way: no byte of its body has
been taken from the client. PROTOCOL.md, "Writes".
"""


from swift.common.header_key_dict import HeaderKeyDict
from swift.common.http import (
    HTTP_ACCEPTED,
    HTTP_CONFLICT,
    HTTP_NOT_FOUND,
    HTTP_SERVICE_UNAVAILABLE,
    is_server_error,
    is_success,
)
from swift.common.swob import HTTPNoContent, HTTPServiceUnavailable
from swift.proxy.controllers.obj import (
    PutterConnectError,
    ReplicatedObjectController,
)

from swift_lightsync.proar.names import (
    ALONE,
    DELETED_HEADER,
    FAILOVER_HEADER,
    QUORUM,
)
from swift_lightsync.proar.proxy.reads import TIMESTAMP, NewestRead, Undecided


class Write(ReplicatedObjectController):
    """PUT, POST or DELETE.

    :param app: its rings tell the devices
    :param roles: the Roles of the object
    :param failover: whether others than the primary role take it
    """

    _failover_kind = QUORUM
    #: replaces the header that names the ring
    _ring_headers: dict[str, str] = {}

    def __init__(self, app, roles, failover, **path):
        super().__init__(app, **path)
        self._roles = roles
        self._failover = failover

    def _backend_requests(self, *args, **kwargs):
        requests = super()._backend_requests(*args, **kwargs)
        # The primary role alone logs; in a fail-over each who takes it does.
        for headers in requests if self._failover else requests[:1]:
            headers.update({**self._roles.headers, **self._ring_headers})
            if self._failover:
                headers[FAILOVER_HEADER] = self._failover_kind
        return requests

    def best_response(self, req, statuses, *args, **kwargs):
        resp = super().best_response(req, statuses, *args, **kwargs)
        if resp.status_int != HTTP_NOT_FOUND or \
                DELETED_HEADER in resp.headers:
            return resp
        raise Undecided(self._answer_to(req, resp))

    def _answer_to(self, req, not_found):
        if not self._failover:
            return not_found
        if req.method == 'DELETE' and TIMESTAMP in not_found.headers:
            # Its tombstones stand; only whether there was an object is open.
            return HTTPNoContent(request=req)
        return None


class RoleWrite(Write):
    """
    Sends to all roles of the application's ring; all have to take the write.

    :param refuse_existing: takes a conditional PUT, and returns a Response, or
        None if the object does not exist
    """

    _failover_kind = ALONE

    def __init__(self, app, roles, failover, refuse_existing, **path):
        super().__init__(app, roles, failover, **path)
        self._refuse_existing = refuse_existing

    def _quorum_size(self, n):
        return n

    def iter_nodes_local_first(self, ring, partition, request, policy=None,
                               **kwargs):
        # PUT takes the ring of the policy.
        return super().iter_nodes_local_first(
            self.app.get_object_ring(policy), partition, request,
            policy=policy, **kwargs)

    def _store_object(self, req, *args):
        refusal = self._refuse_existing(req) if req.if_none_match else None
        return super()._store_object(req, *args) if refusal is None \
            else refusal

    def _get_put_connections(self, req, nodes, *args):
        putters = super()._get_put_connections(req, nodes, *args)
        if len(putters) < len(nodes):
            for putter in putters:
                putter.close()
            raise Undecided()
        return putters

    def best_response(self, req, statuses, *args, **kwargs):
        # The body of a PUT is gone: there is no other way to run it.
        if req.method == 'PUT':
            return super().best_response(req, statuses, *args, **kwargs)
        if not any(map(is_server_error, statuses)):
            resp = super().best_response(req, statuses, *args, **kwargs)
            if not is_server_error(resp.status_int):
                return resp
        raise Undecided()


class QuorumWrite(Write):
    """Stock Swift's write, logged by all devices that take it.

    The 404 of the primary role, which may be among them, holds. A role that
    knows a ring which the request does not name refuses it: what it knows is
    in `rings` when the attempt ends.

    :param rings: OtherRings, in each of which a quorum has to take it
    """

    def __init__(self, app, roles, rings, **path):
        super().__init__(app, roles, failover=True, **path)
        self._rings = rings
        self._ring_headers = rings.headers
        self._quorum = rings.quorum if rings.nodes else 0
        self._primary_said_404 = False

    def iter_nodes_local_first(self, ring, partition, request, policy=None,
                               **kwargs):
        # PUT takes the ring of the policy.
        if self._quorum:
            ring = self.app.get_object_ring(policy)
        return super().iter_nodes_local_first(
            ring, partition, request, policy=policy, **kwargs)

    def _quorum_size(self, n):
        return max(super()._quorum_size(n), self._quorum)

    def _make_putter(self, node, part, req, headers):
        try:
            return super()._make_putter(node, part, req, headers)
        except PutterConnectError as err:
            # Its headers, which may name other rings, are not passed on.
            known = self._rings.headers
            resp, _ = NewestRead(
                self.app, self._roles, self._rings, None,
                account_name=self.account_name,
                container_name=self.container_name,
                object_name=self.object_name).ask(
                    node, req, part, self.logger.thread_locals)
            if not resp or err.status != HTTP_SERVICE_UNAVAILABLE or \
                    self._rings.headers != known:
                raise
            # The rings that it refused for have become one since.
            return super()._make_putter(node, part, req, headers)

    def _get_put_connections(self, req, nodes, *args):
        putters = super()._get_put_connections(req, nodes, *args)
        if len(putters) < self._quorum or \
                self._rings.headers != self._ring_headers:
            for putter in putters:
                putter.close()
            raise Undecided()
        return putters

    def _have_adequate_put_responses(self, statuses, *args, **kwargs):
        return sum(map(is_success, statuses)) >= self._quorum and \
            super()._have_adequate_put_responses(statuses, *args, **kwargs)

    def _make_requests(self, *args, **kwargs):
        results = super()._make_requests(*args, **kwargs)
        self._primary_said_404 |= any(
            node and node['id'] == self._roles.nodes[0]['id']
            and resp.status == HTTP_NOT_FOUND for resp, _body, node in results)
        return results

    def _answer_to(self, req, not_found):
        return not_found if self._primary_said_404 else \
            super()._answer_to(req, not_found)

    def best_response(self, req, statuses, reasons, bodies, server_type,
                      headers=None, **kwargs):
        if req.method == 'POST':
            statuses, reasons, bodies, headers = zip(*sorted(
                (self._taken_before(req, *row) for row in zip(
                    statuses, reasons, bodies, headers)),
                key=lambda row: row[2] is None))
        if self._quorum:
            kwargs['quorum_size'] = self._quorum
        is_taken = req.method == 'POST' and any(map(is_success, statuses))
        resp = None
        try:
            resp = super().best_response(
                req, statuses, reasons, bodies, server_type, headers=headers,
                **kwargs)
        except Undecided:
            if not is_taken:
                raise
        if is_taken and (resp is None or is_server_error(resp.status_int)):
            # A device has the object, and brings it to the others.
            raise Undecided(HTTPServiceUnavailable(request=req))
        return resp

    @staticmethod
    def _taken_before(req, status, reason, body, headers):
        """Count a role's 409 to our own timestamp as taken before."""
        mine = HeaderKeyDict(headers).get(TIMESTAMP) == req.timestamp.internal
        if status == HTTP_CONFLICT and mine:
            return HTTP_ACCEPTED, 'Accepted', None, ()
        return status, reason, body, headers
