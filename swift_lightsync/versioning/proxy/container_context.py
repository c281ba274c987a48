# SPDX-License-Identifier: Apache-2.0
"""PUT, POST and DELETE of a container: versions are enabled, or end."""

from swift.common.constraints import MAX_CONTAINER_NAME_LENGTH
from swift.common.http import is_success
from swift.common.storage_policy import POLICIES
from swift.common.swob import (
    HTTPBadRequest,
    HTTPConflict,
    HTTPInternalServerError,
    HTTPPreconditionFailed,
    str_to_wsgi,
    wsgi_quote,
)
from swift.common.utils import config_true_value, drain_and_close

from swift_lightsync.versioning.proxy.container import (
    ENABLED,
    MODE,
    STOCK_CONTAINER,
    STOCK_ENABLED,
    authorize,
    internal,
    sysmeta,
)
from swift_lightsync.versioning.proxy.container_listing import ContainerListing
from swift_lightsync.versioning.proxy.listing import Page, is_hidden
from swift_lightsync.versioning.rows.rows import RowsUnavailable

CLIENTS = 'X-Versions-Enabled'
_SYSMETA_ENABLED = sysmeta(ENABLED)


class ContainerContext:
    """
    Answers a request to a container.

    :param versioned: the ``VersionedContainer``
    :param options: ``FilterOptions``
    """

    def __init__(self, versioned, options):
        self.versioned = versioned
        self.options = options

    def respond(self, req):
        """
        Answer a request: enable or suspend versioning, delete, list, or pass
        on.

        :returns: a ``Response``
        :raises HTTPException: if the request is refused
        :raises RowsUnavailable: if too few replicas give the rows
        """
        if req.method in ('PUT', 'POST') and CLIENTS in req.headers:
            resp = self._switch(req)
        elif req.method == 'DELETE' and self.versioned.mode:
            resp = self._delete(req)
        elif req.method in ('GET', 'HEAD'):
            resp = ContainerListing(self.versioned).respond(req)
        else:
            resp = req.get_response(self.versioned.app)
        if _SYSMETA_ENABLED in resp.headers:
            resp.headers[CLIENTS] = resp.headers[_SYSMETA_ENABLED]
        return resp

    def _switch(self, req):
        """Enable versioning, or suspend it."""
        self._refuse_others(req)
        wanted = config_true_value(req.headers[CLIENTS])
        headers = {ENABLED: wanted, STOCK_ENABLED: wanted}
        made = False
        if wanted:
            # Swift makes accounts with their first container.
            authorize(req, None)
            made = self._make_hidden(req)
            mode = self.versioned.mode or self.options.mode
            headers.update({MODE: mode.value, STOCK_CONTAINER: wsgi_quote(
                str_to_wsgi(self.versioned.hidden))})
        for name, value in headers.items():
            req.headers[sysmeta(name)] = str(value)
        resp = req.get_response(self.versioned.app)
        if made and not is_success(resp.status_int):
            drain_and_close(self._delete_hidden(req).get_response(
                self.versioned.app))
        return resp

    def _refuse_others(self, req):
        """Raise HTTPBadRequest if Swift versions the container or syncs it."""
        info = self.versioned.info
        found = info.get('sysmeta', {})
        if found.get('versions-location') or info.get('versions'):
            raise HTTPBadRequest(
                'Cannot enable object versioning on a container that is '
                'already using the legacy versioned writes feature.',
                request=req)
        if found.get(STOCK_CONTAINER) and not self.versioned.mode:
            raise HTTPBadRequest(
                'Cannot enable object versioning on a container whose '
                'versions are kept by the versioned_writes filter.',
                request=req)
        if info.get('sync_to'):
            raise HTTPBadRequest(
                'Cannot enable object versioning on a container configured '
                'as source of container syncing.', request=req)

    def _make_hidden(self, req):
        """Make the hidden container; return whether it is new."""
        if not self.versioned.mode and not self.options.allow_versioning:
            raise HTTPPreconditionFailed(
                'Object versioning is disabled', request=req)
        self._check_name(req)
        resp = internal(req, 'PUT', self.versioned.hidden_path,
                        self._policy(req)).get_response(self.versioned.app)
        drain_and_close(resp)
        if not is_success(resp.status_int):
            raise HTTPInternalServerError(
                'Error enabling object versioning', request=req)
        return resp.status_int == 201

    def _check_name(self, req):
        """Raise HTTPBadRequest if the hidden container's name is too long."""
        length, hidden = (len(str_to_wsgi(name)) for name in (
            self.versioned.name, self.versioned.hidden))
        most = MAX_CONTAINER_NAME_LENGTH - (hidden - length)
        if length > most:
            raise HTTPBadRequest(
                'Container name length of %d longer than %d, which is the '
                'most where objects have versions' % (length, most),
                request=req)

    def _policy(self, req):
        """Return a dict, the header that names the storage policy."""
        info = self.versioned.info
        if is_success(info['status']):
            policy = POLICIES[info['storage_policy']]
            if policy.is_deprecated:
                # Who may not know the container is not told of its policy.
                authorize(req, None)
                raise HTTPBadRequest(
                    'Cannot enable object versioning on a container that '
                    'uses a deprecated storage policy.', request=req)
            return {'X-Storage-Policy': policy.name}
        if req.method == 'PUT' and 'X-Storage-Policy' in req.headers:
            return {'X-Storage-Policy': req.headers['X-Storage-Policy']}
        return {}

    def _delete(self, req):
        """
        Delete a container that has no versions left. The hidden container goes
        first: as long as one of the two is there, a version that another site
        ships creates neither anew.
        """
        authorize(req, None)
        self._clear(req)
        resp = self._delete_hidden(req).get_response(self.versioned.app)
        drain_and_close(resp)
        if resp.status_int == 409:
            raise self._conflict(req)
        gone = is_success(resp.status_int) or resp.status_int == 404
        resp = req.get_response(self.versioned.app) if gone else \
            HTTPInternalServerError('Error deleting versioned container',
                                    request=req)
        if not is_success(resp.status_int) and resp.status_int != 404:
            # It is kept, or may be, and needs the other.
            drain_and_close(internal(
                req, 'PUT', self.versioned.hidden_path,
                self._policy(req)).get_response(self.versioned.app))
        return resp

    def _clear(self, req):
        """
        Empty the hidden container; raise HTTPConflict if there are versions.
        """
        left = []
        try:
            for entry in self._left():
                if not is_hidden(entry):
                    raise self._conflict(req)
                left.append(entry)
            for entry in left:
                self.versioned.strategy.purge(entry.object, entry.version.id)
            if not self.versioned.strategy.clear():
                raise self._conflict(req)
        except RowsUnavailable as err:
            # An earlier DELETE may have come to its middle only.
            if not err.missing:
                raise

    def _delete_hidden(self, req):
        return internal(req, 'DELETE', self.versioned.hidden_path)

    @staticmethod
    def _conflict(req):
        return HTTPConflict('Delete all versions before deleting container.',
                            request=req)

    def _left(self):
        """Yield the versions of a container, reading a few at a time."""
        page, fetch = Page(100), self.versioned.strategy.versions
        while True:
            entries = fetch(marker=page.marker, limit=page.limit,
                            version_marker=page.version_marker)
            yield from entries
            if len(entries) < page.limit:
                return
            page = page.after(entries[-1])
