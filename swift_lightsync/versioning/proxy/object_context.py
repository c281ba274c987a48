# SPDX-License-Identifier: Apache-2.0
"""
Requests to an object, which concern its latest version: PUT, POST, DELETE, GET
and HEAD (VERSIONING.md §4).
"""

from swift.common.concurrency import Timeout, spawn, spawn_n
from swift.common.constraints import MAX_OBJECT_NAME_LENGTH
from swift.common.swob import (
    HTTPBadRequest,
    HTTPNoContent,
    HTTPNotFound,
    HTTPPreconditionFailed,
    str_to_wsgi,
    wsgi_quote,
    wsgi_to_str,
)
from swift.common.utils import (
    config_true_value,
    drain_and_close,
    friendly_close,
)
from swift.proxy.controllers.base import cors_validation
from swift.proxy.controllers.obj import check_content_type

from swift_lightsync.versioning.core.keys import room_for_versions
from swift_lightsync.versioning.core.row_data import DELETE_MARKER
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.proxy.container import authorize
from swift_lightsync.versioning.proxy.expiry import (
    has_expired,
    hide_expiry,
    show_expiry,
)
from swift_lightsync.versioning.proxy.filter_options import Mode
from swift_lightsync.versioning.proxy.object_data import (
    delete_data,
    delete_marker,
    put_from_client,
)

VERSION_ID = 'X-Object-Version-Id'
NULL = 'null'


def _is_deleted(entry):
    return entry is not None and entry.version.deleted


def _drop(data):
    """Close an unused speculative response; ignore how it ended."""
    try:
        friendly_close(data.wait())
    except (Exception, Timeout):
        pass


def version_id(entry):
    """Return the id that clients use for a version."""
    return NULL if entry is None or entry.plain else str(entry.version.id)


class ObjectContext:
    """
    Answers a request to an object.

    :param versioned: the ``VersionedContainer``
    :param obj: the object's name, text
    :param clock: ``HybridClock``
    :param now: returns the wall time in seconds
    :param proxy: the app at the end of the pipeline
    """

    #: Which method answers a request, by the request's method.
    VERBS = {'GET': 'get', 'HEAD': 'get', 'PUT': 'put', 'POST': 'post',
             'DELETE': 'delete'}

    def __init__(self, versioned, obj, clock, now, proxy):
        self.versioned = versioned
        self.obj = obj
        self.clock = clock
        self.now = now
        # What cors_validation asks a controller for.
        self.app = proxy
        self.account_name = versioned.account
        self.container_name = versioned.name

    def container_info(self, _account, _container, _req):
        return self.versioned.info

    def is_origin_allowed(self, cors_info, origin):
        """Check whether CORS allows an origin, as Swift's controllers do."""
        allowed = set((cors_info['allow_origin'] or '').split(' '))
        allowed.update(self.app.cors_allow_origin)
        return bool({origin, '*'} & allowed)

    @property
    def strategy(self):
        return self.versioned.strategy

    @property
    def plain_path(self):
        return self.versioned.plain_path(self.obj)

    @cors_validation
    def respond(self, req):
        """
        Answer a client's request.

        :param req: the client's ``Request``
        :returns: a ``Response``
        :raises HTTPException: if the request is refused
        :raises RowsUnavailable: if too few replicas give the rows
        """
        answer = getattr(self, self.VERBS[req.method])
        return answer(req)

    def authorize(self, req, acl='write_acl'):
        authorize(req, self.versioned.info.get(acl))

    def data_path(self, entry):
        """Return the path of a version's data, as WSGI has it."""
        return self.plain_path if entry.plain else \
            self.versioned.version_path(self.strategy.data_name(entry))

    def _send(self, req, entry=None, stamp=None, rows=False):
        """Return a client's request, redirected to the data of a version."""
        path = self.data_path(entry) if entry else self.plain_path
        return self.versioned.forward(req, path, stamp, rows)

    def _data(self, req, entry):
        """Forward a read to a version's data; return the response."""
        return self._send(req, entry).get_response(self.versioned.app)

    def get(self, req):
        self.authorize(req, 'read_acl')
        entry, resp = self._latest_to_read(req)
        if _is_deleted(entry):
            raise HTTPNotFound(request=req)
        if resp is None:
            resp = self._data(req, entry)
        if entry and not entry.plain and has_expired(resp, self.now()):
            drain_and_close(resp)
            raise HTTPNotFound(request=req)
        show_expiry(resp)
        self.describe(resp, entry)
        return resp

    def _latest_to_read(self, req):
        """
        Find the latest version, and perhaps read its data on the way.

        :returns: (the latest ``Entry`` or None, the response with its data or
            None if nobody has asked for it yet)
        """
        hint = self.versioned.latest.hint(self.obj)
        if hint.is_sure and \
                not config_true_value(req.headers.get('X-Newest')):
            return hint.entry, None
        if hint.known and not _is_deleted(hint.entry):
            return self._read_ahead(req, hint)
        entry = self.strategy.latest(self.obj)
        self.versioned.latest.keep(self.obj, entry, hint)
        return entry, None

    def _read_ahead(self, req, hint):
        """
        Ask for the data that the hint names while the rows are read.

        :returns: the same as ``_latest_to_read``
        """
        data, is_right = spawn(self._data, req, hint.entry), False
        try:
            entry = self.strategy.latest(self.obj)
            is_right = hint.is_right(entry)
        finally:
            if not is_right:
                spawn_n(_drop, data)
        self.versioned.latest.keep(self.obj, entry, hint)
        return entry, data.wait() if is_right else None

    def describe(self, resp, entry):
        """Tell the client which version answers its GET or HEAD."""
        resp.headers[VERSION_ID] = version_id(entry)
        if resp.is_success and entry and not entry.plain:
            resp.headers['Content-Location'] = '%s?version-id=%s' % (
                wsgi_quote(self.plain_path), version_id(entry))

    def post(self, req):
        self.authorize(req)
        entry = self.strategy.latest(self.obj)
        if entry is None:
            return self._send(req, rows=True).get_response(
                self.versioned.app)
        if entry.version.deleted:
            raise HTTPNotFound(request=req)
        # The offset of a tick is for versions.
        changed = Stamp(self.clock.tick(self.now()).ticks)
        sent = self._send(req, entry, changed)
        refused = check_content_type(req)
        if refused:
            raise refused
        if not entry.plain:
            hide_expiry(sent)
        resp = sent.get_response(self.versioned.app)
        if resp.is_success:
            self.strategy.amend(
                entry, wsgi_to_str(req.headers.get('Content-Type') or '') or
                entry.content_type, changed)
        return resp

    def _known_latest(self, basis):
        if self.versioned.mode is Mode.WRITE_REPAIR:
            return basis.latest
        return self.strategy.latest(self.obj)

    def _is_there(self, req, entry):
        """
        Check whether clients see an object whose latest version is ``entry``.
        """
        if entry is None:
            return self.versioned.head(req, self.plain_path) is not None
        return not entry.version.deleted

    def _check_name(self, req):
        """Raise HTTPBadRequest if the name is too long for some site."""
        length = len(str_to_wsgi(self.obj))
        most = MAX_OBJECT_NAME_LENGTH - room_for_versions(
            self.strategy.sites)
        if length > most:
            raise HTTPBadRequest(
                'Object name length of %d longer than %d, which is the most '
                'where objects have versions' % (length, most), request=req)

    def _commit(self, basis, entry):
        self.strategy.commit(basis, entry)
        self.versioned.latest.keep(self.obj, entry)

    def put(self, req):
        self.authorize(req)
        if not self.versioned.enabled:
            return self._put_null(req)
        self._check_name(req)
        basis = self.strategy.begin(self.obj)
        if req.if_none_match is not None and '*' in req.if_none_match and \
                self._is_there(req, self._known_latest(basis)):
            raise HTTPPreconditionFailed(request=req)
        version = self.strategy.new_version(basis)
        resp, entry = put_from_client(
            self.versioned, req, self.versioned.version_path(
                self.strategy.name_of(self.obj, version.id)),
            version, self.obj)
        self._commit(basis, entry)
        resp.headers[VERSION_ID] = version_id(entry)
        return resp

    def _put_null(self, req):
        """Overwrite the null version, as versioning is suspended."""
        if self.strategy.latest(self.obj) is None:
            return self._send(req, rows=True).get_response(
                self.versioned.app)
        basis = self.strategy.begin(self.obj)
        resp, entry = put_from_client(
            self.versioned, req, self.plain_path,
            self.strategy.new_version(basis), self.obj, plain=True)
        self._commit(basis, entry)
        return resp

    def delete(self, req):
        self.authorize(req)
        if not self.versioned.enabled:
            return self.delete_suspended(req)
        basis = self.strategy.begin(self.obj)
        was_there = self._is_there(req, self._known_latest(basis))
        marker = delete_marker(self.obj, self.strategy.new_version(
            basis, deleted=True))
        self._commit(basis, marker)
        answer = HTTPNoContent if was_there else HTTPNotFound
        return answer(request=req, headers={
            VERSION_ID: version_id(marker),
            'X-Backend-Content-Type': DELETE_MARKER})

    def delete_suspended(self, req):
        """
        Delete an object while versioning is suspended: the deletion becomes a
        null version, too.
        """
        latest = self.strategy.latest(self.obj)
        if latest is None:
            return self._send(req, rows=True).get_response(
                self.versioned.app)
        if latest.version.deleted:
            raise HTTPNotFound(request=req)
        basis = self.strategy.begin(self.obj)
        marker = delete_marker(self.obj, self.strategy.new_version(
            basis, deleted=True), plain=True)
        self._commit(basis, marker)
        delete_data(self.versioned, req, self.plain_path, marker.version.id)
        return HTTPNoContent(request=req)
