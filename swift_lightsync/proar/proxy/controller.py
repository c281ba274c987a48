# SPDX-License-Identifier: Apache-2.0
"""Primary-role writes and reads: a request is tried in one way after another.

The first attempt that decides it answers. PROTOCOL.md.
"""

from contextlib import suppress
from functools import cache

from swift.common.concurrency import sleep
from swift.common.http import HTTP_NOT_FOUND, is_success
from swift.common.swob import (
    HTTPNotFound,
    HTTPPreconditionFailed,
    HTTPServiceUnavailable,
)
from swift.common.utils import config_true_value, public, quorum_size
from swift.common.wsgi import make_pre_authed_request
from swift.proxy.controllers.base import cors_validation, delay_denial
from swift.proxy.controllers.obj import ReplicatedObjectController

from swift_lightsync.common.cached import cached_property
from swift_lightsync.proar.proxy.other_rings import OtherRings
from swift_lightsync.proar.proxy.policy_options import OnPrimaryFailure
from swift_lightsync.proar.proxy.reads import NewestRead, RoleRead, Undecided
from swift_lightsync.proar.proxy.role_nodes import Roles
from swift_lightsync.proar.proxy.writes import QuorumWrite, RoleWrite

#: Seconds from one try to the next of a POST that some roles have taken, while
#: others lack the object.
PAUSES = 0.3, 0.6, 1.2


@cache
def _allowed_methods():
    return frozenset(
        name for name in dir(PrimaryRoleController) if getattr(getattr(
            PrimaryRoleController, name), 'publicly_accessible', False))


class PrimaryRoleController(ReplicatedObjectController):
    """The object controller of a storage policy with primary-role writes.

    :param app: a RoleApplication
    :param policy: the storage policy
    :param options: its PolicyOptions
    :param path: the names that the application found in the path
    """

    def __init__(self, app, policy, options, **path):
        super().__init__(app, **path)
        self._policy = policy
        self._options = options
        self._path = path

    @property
    def allowed_methods(self):
        """The verbs of clients, for which Swift looks through each object."""
        return _allowed_methods()

    @cached_property
    def _roles(self):
        return Roles.of(self.app.get_object_ring(self._policy.idx),
                        self._policy, self.account_name, self.container_name,
                        self.object_name)

    @cached_property
    def _rings(self):
        return OtherRings(self._roles)

    @property
    def _backups(self):
        """The ids of roles that may have taken a write, and nobody else."""
        copies = self._options.min_sync_copies
        return frozenset(
            node['id'] for node in self._roles.nodes[1:1 + copies]
            if self._options.on_primary_failure is OnPrimaryFailure.BACKUP)

    def _attempt(self, cls, *args):
        attempt = cls(*args, **self._path)
        attempt.trans_id = self.trans_id
        return attempt

    def GETorHEAD(self, req):
        """Ask the primary role, or all if it may have missed a write."""
        without, answer = None, None
        if not config_true_value(req.headers.get('X-Newest', 'f')):
            try:
                return self._read(RoleRead, req)
            except Undecided as undecided:
                answer = undecided.answer
                without = None if undecided.is_refused \
                    else self._roles.nodes[0]
        try:
            return self._read(NewestRead, req, self._rings, without,
                              self._backups)
        except Undecided as undecided:
            answer = answer or undecided.answer
        return answer or self._unavailable(req)

    def _read(self, cls, req, *args):
        return self._attempt(cls, self.app, self._roles,
                             *args).GETorHEAD(req)

    @public
    @cors_validation
    @delay_denial
    def PUT(self, req):
        """Handler for HTTP PUT requests."""
        return self._write(req)

    @public
    @cors_validation
    @delay_denial
    def POST(self, req):
        """Handler for HTTP POST requests."""
        return self._write(req)

    @public
    @cors_validation
    @delay_denial
    def DELETE(self, req):
        """Handler for HTTP DELETE requests."""
        return self._write(req)

    def _write(self, req):
        try:
            return self._at_roles(req, 0)
        except Undecided as undecided:
            return self._fail_over(req, undecided.answer)

    def _at_roles(self, req, first):
        """Write to as many roles as have to take the write.

        :param first: 0 for the primary role, 1 for the role that replaces it
        :raises Undecided: if one of them does not take it
        """
        copies = self._options.min_sync_copies
        ring = self._roles.some(first, first + copies)
        if ring.replica_count < copies:
            raise Undecided()
        attempt = self._attempt(
            RoleWrite, self.app.with_roles(ring),
            self._roles, first > 0, self._refuse_existing)
        return getattr(attempt, req.method)(req)

    def _at_quorum(self, req):
        """Write to all roles, again as long as one of them names other rings.

        While a ring is rolled out, devices know roles that this proxy does
        not, and take only what is sent to those, too.
        """
        rings = self._rings
        while True:
            known = rings.headers
            app = self.app.with_roles(
                rings.ring() if rings.nodes else None, rings)
            attempt = self._attempt(QuorumWrite, app, self._roles, rings)
            try:
                response = getattr(attempt, req.method)(req)
            except Undecided:
                if rings.headers == known:
                    raise
            else:
                if rings.headers == known:
                    return response

    def _fail_over(self, req, answer):
        """Have a write taken by others than the primary role, or refuse it.

        :param answer: of the primary role: 404, if it has never heard of the
            object; None if it does not answer
        """
        if answer:
            return self._ask_all(req, answer)
        reaction = self._options.on_primary_failure
        if reaction is OnPrimaryFailure.FAIL:
            return self._unavailable(req)
        if req.method == 'PUT' and req.if_none_match:
            # It can be decided if the primary role only refuses to write.
            refusal = self._refuse_existing(req)
            if refusal is not None:
                return refusal
        self.logger.increment('proar.failover.%s' % req.method)
        try:
            if reaction is OnPrimaryFailure.BACKUP:
                try:
                    return self._at_roles(req, 1)
                except Undecided:
                    if quorum_size(len(self._roles.nodes)) < \
                            self._options.min_sync_copies:
                        raise
            return self._post_to_quorum(req) if req.method == 'POST' \
                else self._at_quorum(req)
        except Undecided as undecided:
            return undecided.answer or self._unavailable(req)

    def _post_to_quorum(self, req):
        """Write a POST to all roles, again while some lack the object.

        Who takes it brings both to the others.
        """
        for pause in (*PAUSES, None):
            try:
                return self._at_quorum(req)
            except Undecided:
                status = self._head(req)
                if status == HTTP_NOT_FOUND:
                    return HTTPNotFound(request=req)
                if pause is None or not is_success(status):
                    raise
                sleep(pause)

    def _ask_all(self, req, answer):
        """Ask all: if the primary role is new, others may have the object."""
        self.logger.increment('proar.asked_all.%s' % req.method)
        try:
            if req.method == 'POST':
                # Those that lag would take it to what has been deleted.
                if self._head(req) == HTTP_NOT_FOUND:
                    return answer
                # Who is not new at its place may have the object since.
                with suppress(Undecided):
                    return self._at_roles(req, 0)
                return self._post_to_quorum(req)
            return self._at_quorum(req)
        except Undecided:
            if req.method != 'POST':
                return answer
            # The HEAD did not say 404: only what has no object did.
            return self._unavailable(req)

    def _refuse_existing(self, req):
        """Answer ``If-None-Match: *`` of a PUT by a HEAD.

        The HEAD asks all if the primary role has never heard of the object.

        :returns: a Response, or None if the object does not exist
        """
        status = self._head(req)
        if is_success(status):
            return HTTPPreconditionFailed(request=req)
        return None if status == HTTP_NOT_FOUND else \
            HTTPServiceUnavailable(request=req)

    def _head(self, req):
        """Return the status of a HEAD of the object."""
        head = make_pre_authed_request(
            req.environ, 'HEAD', req.path, swift_source='PROAR', headers={
                'X-Backend-Storage-Policy-Index': self._policy.idx})
        return self.GETorHEAD(head).status_int

    def _unavailable(self, req):
        self.logger.increment('proar.unavailable.%s' % req.method)
        self.logger.error(
            'Object %s returning 503: the primary role of %s does not answer '
            'and nobody else can', req.method, req.path)
        return HTTPServiceUnavailable(request=req)
