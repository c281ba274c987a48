# SPDX-License-Identifier: Apache-2.0
"""Requests to one version of an object, ``?version-id=``: GET, HEAD, DELETE (a
purge) and PUT (its data becomes a new version, the latest).
"""

from dataclasses import replace
from functools import partial

from swift.common.exceptions import InvalidTimestamp
from swift.common.swob import (
    HTTPBadRequest,
    HTTPLengthRequired,
    HTTPNoContent,
    HTTPNotFound,
    HTTPOk,
)
from swift.common.utils import Timestamp, drain_and_close

from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    version_name,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.data.container import authorize
from swift_lightsync.versioning.data.object_data import show_expiry
from swift_lightsync.versioning.proxy.object_context import (
    NULL,
    VERSION_ID,
    ObjectContext,
    version_id,
)

CURRENT_ID = 'X-Object-Current-Version-Id'
#: Statuses that tell something of a version that is there.
_OF_VERSION = (304, 412, 416)


def parse_id(req, text):
    """Read the id of a version.

    :param text: what a client calls a version, but not ``null``
    :returns: a ``Stamp``
    :raises HTTPBadRequest: if it cannot be one
    """
    try:
        return Stamp.parse(Timestamp(text).internal)
    except (InvalidTimestamp, ValueError, OverflowError):
        raise HTTPBadRequest('Invalid version parameter', request=req)


class VersionContext(ObjectContext):
    """Answers a request to one version of an object.

    :param wanted: the value of ``version-id``
    """

    def __init__(self, wanted, *args):
        super().__init__(*args)
        self.wanted = wanted

    def without_versions(self, req):
        if self.wanted != NULL:
            raise HTTPNotFound(request=req)
        return super().without_versions(req)

    def _entry(self, req, stamp):
        """Return the ``Entry`` of a version, unless it is purged or unknown.
        """
        entry = self.strategy.get(self.obj, stamp)
        if entry is None or entry.purged:
            raise HTTPNotFound(
                request=req, content_type='text/plain',
                body=b'The specified version does not exist')
        return entry

    def _null(self, req):
        """Return the ``Entry`` of the null version, or None.

        :raises HTTPException: if it is an old version, and not the client's
        """
        latest, nulls = self.strategy.nulls(self.obj)
        null = next(iter(nulls), None)
        if null and null.version.id != latest.version.id:
            authorize(req, None)
        return null

    def get(self, req):
        if self.wanted == NULL:
            self.authorize(req, 'read_acl')
            find = partial(self._null, req)
            _, resp = self._read(req, find, find())
        else:
            stamp = parse_id(req, self.wanted)
            # Old versions are for who owns the account, as in Swift.
            authorize(req, None)
            resp = self._get_stamped(req, stamp)
        if resp.is_success or resp.status_int in _OF_VERSION:
            resp.headers[VERSION_ID] = self.wanted
        show_expiry(resp)
        return resp

    def _get_stamped(self, req, stamp):
        resp = self.versioned.forward(req, self.versioned.version_path(
            version_name(self.obj, stamp))).get_response(self.versioned.app)
        if resp.status_int != 404:
            return resp
        # A delete marker has no data.
        drain_and_close(resp)
        entry = self._entry(req, stamp)
        self._refuse_deleted(req, entry)
        return self.read(req, entry)

    def _refuse_deleted(self, req, entry):
        if entry and entry.version.deleted:
            raise HTTPNotFound(request=req, headers={
                VERSION_ID: self.wanted, 'Content-Type': DELETE_MARKER})

    def delete(self, req):
        if self.wanted == NULL:
            return self._delete_null(req)
        stamp = parse_id(req, self.wanted)
        authorize(req, None)
        entry = self.strategy.get(self.obj, stamp)
        if entry and entry.purged:
            # Who purged it may have failed to delete the data.
            self.writes(req).delete_data(entry)
        return self._purge(req, self._entry(req, stamp))

    def _purge(self, req, entry):
        latest = self.strategy.purge(entry)
        self.versioned.latest.keep(self.obj, latest)
        if not entry.version.deleted:
            self.writes(req).delete_data(entry)
        # s3api takes null for none, and restores another one.
        current = NULL if latest is None or latest.version.deleted \
            else str(latest.version.id)
        return HTTPNoContent(request=req, headers={
            VERSION_ID: self.wanted, CURRENT_ID: current, **(
                {'X-Backend-Content-Type': DELETE_MARKER}
                if entry.version.deleted else {})})

    def _delete_null(self, req):
        """Purge the null version. If there is none, hide the object, like a
        deletion while versioning is suspended: Swift does the same, since its
        null version is the link to the latest.
        """
        self.authorize(req)
        writes = self.writes(req)
        writes.adopt_counted()
        null = self._null(req)
        if null:
            # Of several, none may come to light.
            writes.replace_nulls()
        return self._purge(req, null) if null else self.hide(req, null=True)

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
        writes = self.writes(req)
        restored = replace(entry, version=writes.after(latest), null=False,
                           changed=None)
        resp = writes.copy(self.versioned.data_path(entry), restored)
        committed = writes.commit(restored)
        resp.headers[VERSION_ID] = version_id(committed.entry)
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
