# SPDX-License-Identifier: Apache-2.0
"""The ways in which a read can be run: stock verbs with few overrides.

Each is a controller of Swift. If it cannot decide a request, it raises
Undecided, and the whole request is run in another way. PROTOCOL.md, "Reads".
"""

from operator import itemgetter

from swift.common.concurrency import GreenPile
from swift.common.header_key_dict import HeaderKeyDict
from swift.common.http import HTTP_NOT_FOUND, is_server_error, is_success
from swift.common.utils import Timestamp, quorum_size
from swift.proxy.controllers.obj import ReplicatedObjectController

from swift_lightsync.proar.names import DOUBTERS_HEADER, REFUSED_HEADER
from swift_lightsync.proar.proxy.role_nodes import RoleNodeIter, RoleRing

TIMESTAMP = 'X-Backend-Timestamp'


class Undecided(Exception):
    """The devices that were asked did not answer, or cannot know.

    :param answer: a Response to give if no other way decides, or None
    :param is_refused: whether the primary role answers, but has others asked
    """

    def __init__(self, answer=None, is_refused=False):
        super().__init__()
        self.answer = answer
        self.is_refused = is_refused


class Read(ReplicatedObjectController):
    """GET or HEAD.

    A 404 without a tombstone is undecided: the device that gives it has never
    heard of the object, and may be new at its place in the ring.

    :param roles: the Roles of the object
    """

    def __init__(self, app, roles, **path):
        super().__init__(app, **path)
        self._roles = roles

    def _doubt(self, not_found):
        raise Undecided(not_found)

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
            self._doubt(resp)
        return resp


class RoleRead(Read):
    """Asks the primary role, and resumes a body from the others.

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

    def _doubt(self, not_found):
        if DOUBTERS_HEADER in not_found.headers:
            raise Undecided(not_found)
        # It may have lost the object.
        raise Undecided(is_refused=True)

    def _resuming(self):
        for name in self._roles.headers:
            self._asked.pop(name, None)

    def _get_or_head_response(self, req, _node_iter, partition, policy):
        return self._read_from(req, self._roles.nodes, partition, policy)


class NewestRead(Read):
    """Asks all devices, and reads from the one with the newest version.

    That is the newest data and, of that, the newest metadata, which Swift's
    X-Newest does not look for.

    :param rings: OtherRings, whose devices are asked, too
    :param without: the node that does not answer, or None
    :param backups: ids of roles that may have taken a write, and nobody else
    """

    def __init__(self, app, roles, rings, without, backups=frozenset(),
                 **path):
        super().__init__(app, roles, **path)
        self._rings = rings
        self._without = without
        self._backups = set(map(str, backups))
        self._asked_for = {}

    def generate_request_headers(self, *args, **kwargs):
        headers = super().generate_request_headers(*args, **kwargs)
        headers.update(self._rings.headers)
        headers.update(self._asked_for)
        return headers

    def _get_or_head_response(self, req, node_iter, partition, policy):
        self.logger.increment('proar.asked_all.%s' % req.method)
        answers = self._ask_all(req, node_iter, partition)
        known = sorted(((_age(resp), node) for resp, node in answers
                        if _age(resp)), key=itemgetter(0))
        if known:
            return self._read_from(req, [
                node for _, node in reversed(known)], partition, policy)
        without = {node['id'] for resp, node in answers
                   if resp.status == HTTP_NOT_FOUND}
        if not without.issuperset(self._roles.ids | {
                node['id'] for node in self._rings.nodes}) \
                and not self._is_known_by_primary(req, partition, without):
            # One of those that might know does not answer.
            raise Undecided()
        return self._read_from(req, list(self._roles.nodes), partition,
                               policy)

    def _is_known_by_primary(self, req, partition, without):
        """Return whether the primary role's 404 is that of one who knows.

        It is asked only now, for it may have to ask others itself.
        """
        primary = self._roles.nodes[0]
        if primary['id'] not in without or self._rings.nodes:
            return False
        self._asked_for = {DOUBTERS_HEADER: 'true'}
        resp, _ = self.ask(primary, req, partition, self.logger.thread_locals)
        self._asked_for = {}
        doubters = resp and resp.getheader(DOUBTERS_HEADER)
        if doubters is None or self._rings.nodes:
            return False
        ids = set(filter(None, doubters.split(',')))
        return len(ids) < quorum_size(len(self._roles.nodes)) and not (
            self._backups and self._backups <= ids)

    def _ask_all(self, req, nodes, partition):
        """Ask devices, and those that they name, what they have.

        :returns: a list of (response, node)
        """
        answers = []
        asked = set() if self._without is None else {self._without['id']}
        todo = [*nodes, *self._rings.nodes]
        while todo := [node for node in todo if node['id'] not in asked]:
            asked.update(node['id'] for node in todo)
            pile = GreenPile(len(todo))
            for node in todo:
                pile.spawn(self.ask, node, req, partition,
                           self.logger.thread_locals)
            answers += [(resp, node) for resp, node in pile if resp]
            todo = self._rings.nodes
        return answers

    def ask(self, node, req, partition, thread_locals):
        """Ask a device what it has, and take in which rings it names.

        :returns: (response or None, node)
        """
        resp, _body, _node = self._make_request(
            iter([node]), partition, 'HEAD', req.swift_entity_path,
            self.generate_request_headers(req), '', None, thread_locals)
        if resp:
            self._rings.learn(resp)
        return resp, node


def _age(resp):
    """Return timestamps of data and metadata; None if there are none."""
    if resp.status != HTTP_NOT_FOUND and not is_success(resp.status):
        return None
    latest = resp.getheader(TIMESTAMP)
    data = resp.getheader('X-Backend-Data-Timestamp', latest)
    return latest and (Timestamp(data), Timestamp(latest))
