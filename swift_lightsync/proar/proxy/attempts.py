# SPDX-License-Identifier: Apache-2.0
"""
The ways in which a request can be run: stock verbs with few overrides.

Each is a controller of Swift. If it cannot decide a request, it raises
Undecided, and the whole request is run in another way: no byte of its body has
been taken from the client. PROTOCOL.md, "Writes", "Reads".
"""

from operator import itemgetter

from swift.common.concurrency import GreenPile
from swift.common.header_key_dict import HeaderKeyDict
from swift.common.http import (
    HTTP_ACCEPTED,
    HTTP_CONFLICT,
    HTTP_NOT_FOUND,
    is_server_error,
    is_success,
)
from swift.common.swob import HTTPNoContent, HTTPServiceUnavailable
from swift.common.utils import Timestamp
from swift.proxy.controllers.obj import ReplicatedObjectController

from swift_lightsync.proar.names import (
    ALONE,
    FAILOVER_HEADER,
    QUORUM,
    REFUSED_HEADER,
)
from swift_lightsync.proar.proxy.role_nodes import RoleNodeIter, RoleRing

TIMESTAMP = 'X-Backend-Timestamp'


class Undecided(Exception):
    """
    The devices that were asked did not answer, or cannot know.

    :param answer: a Response to give if no other way decides, or None
    :param is_refused: whether the primary role answers, but has others asked
    """

    def __init__(self, answer=None, is_refused=False):
        super().__init__()
        self.answer = answer
        self.is_refused = is_refused


class Read(ReplicatedObjectController):
    """
    GET or HEAD.

    A 404 without a tombstone is undecided: the device that gives it has never
    heard of the object, and may be new at its place in the ring.

    :param roles: the Roles of the object
    """

    def __init__(self, app, roles, **path):
        super().__init__(app, **path)
        self._roles = roles

    def _answer_to(self, not_found):
        return not_found

    def _resuming(self):
        """Prepare for asking others for the rest of a body."""

    def _read_from(self, req, nodes, partition, policy):
        """Ask the first of nodes, and resume a body from the others."""
        ring = RoleRing(self.app.get_object_ring(policy.idx), partition,
                        nodes[:1])
        return super()._get_or_head_response(
            req, RoleNodeIter('object', self.app, ring, partition,
                              self.logger, req, node_iter=iter(nodes),
                              policy=policy, others_from=self._resuming),
            partition, policy)

    def best_response(self, req, statuses, reasons, bodies, server_type,
                      headers=(), **kwargs):
        if any(REFUSED_HEADER in HeaderKeyDict(each) for each in headers):
            raise Undecided(is_refused=True)
        if all(map(is_server_error, statuses)):
            raise Undecided()
        resp = super().best_response(req, statuses, reasons, bodies,
                                     server_type, headers=headers, **kwargs)
        if resp.status_int == HTTP_NOT_FOUND and \
                TIMESTAMP not in resp.headers:
            raise Undecided(self._answer_to(resp))
        return resp


class RoleRead(Read):
    """
    Asks the primary role, and resumes a body from the others.

    The headers have it refuse if it may miss a write; the others may be asked
    for the rest of the same version.
    """

    def __init__(self, app, roles, **path):
        super().__init__(app, roles, **path)
        self._asked = {}

    def generate_request_headers(self, *args, **kwargs):
        self._asked = super().generate_request_headers(*args, **kwargs)
        self._asked.update(self._roles.headers)
        return self._asked

    def _resuming(self):
        for name in self._roles.headers:
            self._asked.pop(name, None)

    def _get_or_head_response(self, req, _node_iter, partition, policy):
        return self._read_from(req, self._roles.nodes, partition, policy)


class NewestRead(Read):
    """
    Asks all devices, and reads from the one with the newest version.

    That is the newest data and, of that, the newest metadata, which Swift's
    X-Newest does not look for.

    :param without: the node that does not answer, or None
    """

    def __init__(self, app, roles, without, **path):
        super().__init__(app, roles, **path)
        self._without = without

    def _get_or_head_response(self, req, node_iter, partition, policy):
        self.logger.increment('proar.asked_all.%s' % req.method)
        nodes = [node for node in node_iter if self._without is None
                 or node['id'] != self._without['id']]
        pile = GreenPile(len(nodes) or 1)
        for node in nodes:
            pile.spawn(self._make_request, iter([node]), partition, 'HEAD',
                       req.swift_entity_path,
                       self.generate_request_headers(req), '', None,
                       self.logger.thread_locals)
        answers = [(resp, node) for resp, _body, node in pile if resp]
        known = sorted(((_age(resp), node) for resp, node in answers
                        if _age(resp)), key=itemgetter(0))
        if not known:
            without = {node['id'] for resp, node in answers
                       if resp.status == HTTP_NOT_FOUND}
            if not without.issuperset(self._roles.ids):
                # One of those that might know does not answer.
                raise Undecided()
            return self._read_from(req, list(self._roles.nodes), partition,
                                   policy)
        return self._read_from(req, [node for _, node in reversed(known)],
                               partition, policy)


def _age(resp):
    """Return timestamps of data and metadata; None if there are none."""
    if resp.status != HTTP_NOT_FOUND and not is_success(resp.status):
        return None
    latest = resp.getheader(TIMESTAMP)
    data = resp.getheader('X-Backend-Data-Timestamp', latest)
    return latest and (Timestamp(data), Timestamp(latest))


class Write(ReplicatedObjectController):
    """
    PUT, POST or DELETE.

    :param app: its rings tell the devices
    :param roles: the Roles of the object
    :param failover: whether others than the primary role take it
    """

    _failover_kind = QUORUM

    def __init__(self, app, roles, failover, **path):
        super().__init__(app, **path)
        self._roles = roles
        self._failover = failover

    def _backend_requests(self, *args, **kwargs):
        requests = super()._backend_requests(*args, **kwargs)
        # The primary role alone logs; in a fail-over each who takes it does.
        for headers in requests if self._failover else requests[:1]:
            headers.update(self._roles.headers)
            if self._failover:
                headers[FAILOVER_HEADER] = self._failover_kind
        return requests

    def best_response(self, req, statuses, *args, **kwargs):
        resp = super().best_response(req, statuses, *args, **kwargs)
        if resp.status_int != HTTP_NOT_FOUND:
            return resp
        if req.method == 'POST' and any(map(is_success, statuses)):
            # A device has the object.
            return HTTPServiceUnavailable(request=req)
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
    """
    Stock Swift's write, logged by all devices that take it.

    The 404 of the primary role, which may be among them, holds.
    """

    def __init__(self, app, roles, **path):
        super().__init__(app, roles, failover=True, **path)
        self._primary_said_404 = False

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
        return super().best_response(req, statuses, reasons, bodies,
                                     server_type, headers=headers, **kwargs)

    @staticmethod
    def _taken_before(req, status, reason, body, headers):
        """Count a role's 409 to our own timestamp as taken before."""
        mine = HeaderKeyDict(headers).get(TIMESTAMP) == req.timestamp.internal
        if status == HTTP_CONFLICT and mine:
            return HTTP_ACCEPTED, 'Accepted', None, ()
        return status, reason, body, headers
