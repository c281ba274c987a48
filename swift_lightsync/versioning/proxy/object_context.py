# SPDX-License-Identifier: Apache-2.0
"""Requests to an object, which concern its latest version: PUT, POST, DELETE,
GET and HEAD (VERSIONING.md §4).

An object of the user's container itself is older than versioning. Reads get it
there; a write first makes a null version of it.
"""

from functools import partial

from swift.common.concurrency import Timeout, spawn_n
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

from swift_lightsync.versioning.core.row_data import DELETE_MARKER, ROOM
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.data.container import authorize
from swift_lightsync.versioning.data.object_data import (
    has_expired,
    hide_expiry,
    put_from_client,
    show_expiry,
)
from swift_lightsync.versioning.data.object_writes import ObjectWrites

VERSION_ID = 'X-Object-Version-Id'
#: What a client asks with for the versions that were made at the same time as
#: the latest, and what it is answered with.
ASK_SIBLINGS = 'X-Versions-Siblings'
SIBLINGS = 'X-Object-Version-Siblings'
NULL = 'null'
#: The longest name of an object that has versions, in bytes.
MAX_NAME = MAX_OBJECT_NAME_LENGTH - ROOM


def _is_deleted(entry):
    return entry is not None and entry.version.deleted


def _drop(resp):
    """Close an unused speculative response; ignore how it ended."""
    try:
        friendly_close(resp)
    except (Exception, Timeout):
        pass


def version_id(entry):
    """Return the id that clients use for a version."""
    return NULL if entry is None or entry.null else str(entry.version.id)


class ObjectContext:
    """Answers a request to an object.

    :param versioned: the ``VersionedContainer``
    :param obj: the object's name, text
    :param now: returns the wall time in seconds
    :param proxy: the app at the end of the pipeline
    """

    #: Which method answers a request, by the request's method.
    VERBS = {'GET': 'get', 'HEAD': 'get', 'PUT': 'put', 'POST': 'post',
             'DELETE': 'delete'}

    def __init__(self, versioned, obj, now, proxy):
        self.versioned = versioned
        self.obj = obj
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

    @cors_validation
    def respond(self, req):
        """Answer a client's request.

        :param req: the client's ``Request``
        :returns: a ``Response``
        :raises HTTPException: if the request is refused
        :raises RowsUnavailable: if too few replicas give the rows
        """
        if len(str_to_wsgi(self.obj)) > MAX_NAME:
            return self.without_versions(req)
        return getattr(self, self.VERBS[req.method])(req)

    def without_versions(self, req):
        """Answer a request to an object whose name is too long for versions:
        one that is older than versioning, and stays what it is.
        """
        if req.method == 'PUT':
            self.authorize(req)
            raise HTTPBadRequest(
                'Object name length of %d longer than %d, which is the most '
                'where objects have versions' % (len(str_to_wsgi(self.obj)),
                                                 MAX_NAME), request=req)
        return req.get_response(self.versioned.app)

    def authorize(self, req, acl='write_acl'):
        authorize(req, self.versioned.info.get(acl))

    def read(self, req, entry):
        """Read the data of a version.

        :param entry: its ``Entry``, or None for the object of the user's
            container itself
        :returns: the response
        """
        path = self.versioned.data_path(entry) if entry \
            else self.versioned.own_path(self.obj)
        return self.versioned.forward(req, path).get_response(
            self.versioned.app)

    # Reads

    def get(self, req):
        self.authorize(req, 'read_acl')
        entry, resp = self._read(
            req, partial(self.strategy.latest, self.obj),
            *self._latest_to_read(req))
        if entry and has_expired(resp, self.now()):
            drain_and_close(resp)
            raise HTTPNotFound(request=req)
        show_expiry(resp)
        resp.headers[VERSION_ID] = version_id(entry)
        if resp.is_success and entry and not entry.null:
            resp.headers['Content-Location'] = '%s?version-id=%s' % (
                wsgi_quote(self.versioned.own_path(self.obj)),
                version_id(entry))
        resp.headers.update(self._siblings(req, entry))
        return resp

    def _read(self, req, find, entry, resp=None):
        """Read a version. Where its data has gone the version has, too, since
        the rows were read, or is adopted: they are read once more.

        :param find: a function that reads the rows, and returns the ``Entry``
        :param entry: what it has returned; None: the object of the user's
            container itself
        :param resp: the response with its data, if somebody asked for it
        :returns: (the ``Entry`` or None, the response)
        :raises HTTPNotFound: if it is a delete marker
        """
        while True:
            self._refuse_deleted(req, entry)
            if resp is None:
                resp = self.read(req, entry)
            if resp.status_int != 404 or (
                    entry is None and not self.versioned.has_objects):
                return entry, resp
            newer = find()
            if newer == entry:
                return entry, resp
            drain_and_close(resp)
            entry, resp = newer, None

    def _refuse_deleted(self, req, entry):
        if _is_deleted(entry):
            raise HTTPNotFound(request=req,
                               headers=self._siblings(req, entry))

    def _latest_to_read(self, req):
        """Find the latest version, and perhaps read its data on the way. The
        rows are asked first, unless memcache may be trusted, and meanwhile
        memcache, and then for the data that it names. The answer is what the
        rows say.

        :returns: (the latest ``Entry`` or None, the response with its data or
            None if nobody has asked for it yet)
        """
        cache, latest = self.versioned.latest, None
        if not cache.sure_seconds:
            latest = self.strategy.begin_latest(self.obj)
        hint = cache.hint(self.obj)
        if hint.is_sure and \
                not config_true_value(req.headers.get('X-Newest')):
            return hint.entry, None
        latest = latest or self.strategy.begin_latest(self.obj)
        resp, is_right = None, False
        try:
            if hint.known and not _is_deleted(hint.entry):
                resp = self.read(req, hint.entry)
            entry = latest()
            is_right = hint.is_right(entry)
        finally:
            if resp is not None and not is_right:
                spawn_n(_drop, resp)
        cache.keep(self.obj, entry, hint)
        return entry, resp if is_right else None

    def _siblings(self, req, entry):
        """Return a dict: the header that tells who asks of siblings."""
        if entry is None or not config_true_value(
                req.headers.get(ASK_SIBLINGS)):
            return {}
        others = [version_id(each)
                  for each in self.strategy.siblings(self.obj)
                  if each.version.id != entry.version.id]
        return {SIBLINGS: ','.join(others)} if others else {}

    # Writes

    def writes(self, req):
        """Return the ``ObjectWrites`` of a request."""
        return ObjectWrites(self.versioned, self.obj, req)

    def put(self, req):
        self.authorize(req)
        writes = self.writes(req)
        writes.check_quota()
        writes.adopt_counted()
        if req.if_none_match is not None and '*' in req.if_none_match and \
                self._is_there(req):
            raise HTTPPreconditionFailed(request=req)
        null = not self.versioned.enabled
        resp, entry = put_from_client(
            self.versioned, req, writes.begin(null), self.obj, null)
        committed = writes.commit(entry)
        if not null:
            resp.headers[VERSION_ID] = version_id(committed.entry)
        return resp

    def _is_there(self, req):
        """Check whether clients see the object."""
        entry = self.strategy.latest(self.obj)
        if entry is None:
            return self.versioned.head(
                req, self.versioned.own_path(self.obj)) is not None
        return not entry.version.deleted

    def post(self, req):
        self.authorize(req)
        # The propagator may have adopted it between the two.
        entry = self.strategy.checked(self.obj) or \
            self.writes(req).adopt() or self.strategy.latest(self.obj)
        if entry is None or entry.version.deleted:
            raise HTTPNotFound(request=req)
        # The offset of a tick is for versions.
        changed = Stamp(self.strategy.tick(
            after=entry.changed or entry.version.id).ticks)
        sent = self.versioned.forward(
            req, self.versioned.data_path(entry), changed)
        refused = check_content_type(req)
        if refused:
            raise refused
        hide_expiry(sent)
        resp = sent.get_response(self.versioned.app)
        if resp.is_success and not self.strategy.amend(
                entry, wsgi_to_str(req.headers.get('Content-Type') or '') or
                entry.content_type, changed):
            raise HTTPNotFound(request=req)
        return resp

    def delete(self, req):
        self.authorize(req)
        return self.hide(req, not self.versioned.enabled)

    def hide(self, req, null):
        """Make a delete marker the latest version.

        :param null: whether it is a null version
        :returns: a ``Response``
        """
        committed = self.writes(req).commit_marker(null)
        was_there = committed.before and not _is_deleted(committed.before)
        answer = HTTPNoContent if was_there else HTTPNotFound
        return answer(request=req, headers={} if null else {
            VERSION_ID: version_id(committed.entry),
            'X-Backend-Content-Type': DELETE_MARKER})
