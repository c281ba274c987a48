# SPDX-License-Identifier: Apache-2.0
"""
Requests to one version of an object, ``?version-id=``: GET, HEAD, DELETE
(a purge) and PUT (its data becomes a new version, the latest).
"""

from swift.common.exceptions import InvalidTimestamp
from swift.common.swob import (
    HTTPBadRequest,
    HTTPLengthRequired,
    HTTPNoContent,
    HTTPNotFound,
    HTTPOk,
)
from swift.common.utils import Timestamp, drain_and_close

from swift_lightsync.versioning.core.row_data import DELETE_MARKER
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.proxy.container import authorize
from swift_lightsync.versioning.proxy.expiry import show_expiry
from swift_lightsync.versioning.proxy.object_context import (
    NULL,
    VERSION_ID,
    ObjectContext,
    version_id,
)
from swift_lightsync.versioning.proxy.object_data import copy_data, delete_data

CURRENT_ID = 'X-Object-Current-Version-Id'
#: Statuses that tell something of a version that is there.
_OF_VERSION = (304, 412, 416)


def parse_id(req, text):
    """
    Read the id of a version.

    :param text: what a client calls a version, but not ``null``
    :returns: a ``Stamp``
    :raises HTTPBadRequest: if it cannot be one
    """
    try:
        return Stamp.parse(Timestamp(text).internal)
    except (InvalidTimestamp, ValueError, OverflowError):
        raise HTTPBadRequest('Invalid version parameter', request=req)


class VersionContext(ObjectContext):
    """
    Answers a request to one version of an object.

    :param wanted: the value of ``version-id``
    """

    def __init__(self, wanted, *args):
        super().__init__(*args)
        self.wanted = wanted

    def _entry(self, req, stamp):
        """
        Return the ``Entry`` of a version, unless it is purged or unknown.
        """
        entry = self.strategy.get(self.obj, stamp)
        if entry is None or entry.purged:
            raise HTTPNotFound(
                request=req, content_type='text/plain',
                body=b'The specified version does not exist')
        return entry

    def get(self, req):
        if self.wanted == NULL:
            return self._get_null(req)
        stamp = parse_id(req, self.wanted)
        # Old versions are for who owns the account, as in Swift.
        authorize(req, None)
        name = self.strategy.name_of(self.obj, stamp)
        if name is None:
            raise HTTPNotFound(request=req)
        resp = self.versioned.forward(
            req, self.versioned.version_path(name)).get_response(
                self.versioned.app)
        if resp.status_int == 404:
            drain_and_close(resp)
            resp = self._get_other(req, stamp)
        if resp.is_success or resp.status_int in _OF_VERSION:
            resp.headers[VERSION_ID] = self.wanted
        show_expiry(resp)
        return resp

    def _get_other(self, req, stamp):
        """
        Read a version that has no data under its own name: a null version has
        its data elsewhere, a delete marker has none (404).
        """
        entry = self._entry(req, stamp)
        if entry.version.deleted:
            raise HTTPNotFound(request=req, headers={
                VERSION_ID: self.wanted, 'Content-Type': DELETE_MARKER})
        return self.versioned.forward(
            req, self.data_path(entry)).get_response(self.versioned.app)

    def _get_null(self, req):
        self.authorize(req, 'read_acl')
        resp = self._send(req).get_response(self.versioned.app)
        if resp.is_success:
            resp.headers[VERSION_ID] = NULL
        return resp

    def delete(self, req):
        if self.wanted == NULL:
            return self._delete_null(req)
        stamp = parse_id(req, self.wanted)
        authorize(req, None)
        entry = self.strategy.get(self.obj, stamp)
        if entry and entry.purged:
            # Who purged it may have failed to delete the data.
            delete_data(self.versioned, req, self.versioned.version_path(
                self.strategy.data_name(entry)), self.clock.tick(self.now()))
        entry = self._entry(req, stamp)
        self.strategy.purge(self.obj, stamp)
        if not entry.version.deleted:
            delete_data(self.versioned, req, self.data_path(entry),
                        self.clock.tick(self.now()))
        return HTTPNoContent(request=req, headers={
            VERSION_ID: self.wanted, CURRENT_ID: self._current_id()})

    def _current_id(self):
        latest = self.strategy.latest(self.obj)
        self.versioned.latest.keep(self.obj, latest)
        if latest is None or latest.version.deleted:
            return NULL
        return version_id(latest)

    def _delete_null(self, req):
        """
        Purge the null version. If there is none, hide the object, like a
        deletion while versioning is suspended: Swift does the same, since its
        null version is the link to the latest.
        """
        self.authorize(req)
        null = [entry for entry in self.strategy.history(self.obj)
                if entry.plain and not entry.version.deleted]
        if not null:
            return self.delete_suspended(req)
        for entry in null:
            self.strategy.purge(self.obj, entry.version.id)
        delete_data(self.versioned, req, self.plain_path,
                    self.clock.tick(self.now()))
        return HTTPNoContent(request=req, headers={
            VERSION_ID: NULL, CURRENT_ID: self._current_id()})

    def put(self, req):
        stamp = parse_id(req, self.wanted)
        self.authorize(req)
        self._refuse_body(req)
        entry = self._entry(req, stamp)
        if entry.version.deleted:
            raise HTTPNotFound(request=req)
        latest = self.strategy.latest(self.obj)
        if latest and latest.version.id == stamp:
            return HTTPOk(request=req, headers={
                'Etag': entry.etag, VERSION_ID: self.wanted})
        basis = self.strategy.begin(self.obj)
        version = self.strategy.new_version(basis)
        resp, restored = copy_data(
            self.versioned, req, self.data_path(entry),
            self.versioned.version_path(
                self.strategy.name_of(self.obj, version.id)),
            version, entry)
        self._commit(basis, restored)
        resp.headers[VERSION_ID] = version_id(restored)
        return resp

    @staticmethod
    def _refuse_body(req):
        if req.is_chunked:
            has_body = req.body_file.read(1) != b''
        elif req.content_length is None:
            raise HTTPLengthRequired(request=req)
        else:
            has_body = req.content_length != 0
        if has_body:
            raise HTTPBadRequest(
                body='PUT version-id requests require a zero byte body',
                request=req, content_type='text/plain')

    def post(self, req):
        raise HTTPBadRequest('POST to a specific version is not allowed',
                             request=req)
