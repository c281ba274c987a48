# SPDX-License-Identifier: Apache-2.0
"""GET and HEAD of a container that is, or might be, versioned."""

import json
from dataclasses import replace

from swift.common.constraints import CONTAINER_LISTING_LIMIT
from swift.common.exceptions import InvalidTimestamp
from swift.common.http import is_success
from swift.common.request_helpers import constrain_req_limit
from swift.common.swob import (
    HTTPBadRequest,
    HTTPNotAcceptable,
    str_to_wsgi,
    wsgi_quote,
    wsgi_to_str,
)
from swift.common.utils import RESERVED_STR, Timestamp

from swift_lightsync.versioning.core.stamp import END_OF_TIME, OFFSETS, Stamp
from swift_lightsync.versioning.proxy.filter_options import Mode
from swift_lightsync.versioning.proxy.listing import (
    Page,
    current_item,
    described,
    is_hidden,
    latest_ids,
    listed,
    version_items,
)
from swift_lightsync.versioning.proxy.object_context import NULL, version_id

_NEWEST = Stamp(END_OF_TIME - 1, OFFSETS - 1)
#: Read-Repair counts objects where there are at most so many versions.
COUNT_LIMIT = CONTAINER_LISTING_LIMIT


def is_deleted(entry):
    return entry.version.deleted


def text_params(req):
    return {name: wsgi_to_str(value) for name, value in req.params.items()}


class ContainerListing:
    """
    Answers a GET or HEAD of a container.

    :param versioned: the ``VersionedContainer``
    """

    def __init__(self, versioned):
        self.versioned = versioned

    def respond(self, req):
        """
        Answer a GET or HEAD; versions are counted, and listed if asked for.

        :returns: a ``Response``
        """
        resp = req.get_response(self.versioned.app)
        if not is_success(resp.status_int):
            return resp
        if self.versioned.mode:
            self._add_versions(req, resp)
        if req.method != 'GET':
            return resp
        try:
            listing = json.loads(resp.body)
        except ValueError:
            return resp
        resp.body = json.dumps(self._listing(req, listing)).encode('ascii')
        return resp

    def _listing(self, req, listing):
        if 'versions' in req.params:
            return self._versions(req, listing)
        if self.versioned.mode is Mode.READ_REPAIR:
            return self._current(req)
        return [current_item(item, self._link) for item in listing]

    def _add_versions(self, req, resp):
        """
        Add to the headers what the hidden container holds: its bytes and, with
        Read-Repair, the objects.
        """
        hidden = self.versioned.head(req, self.versioned.hidden_path) or {}
        name = 'X-Container-Bytes-Used'
        resp.headers[name] = str(int(resp.headers.get(name, 0)) +
                                 int(hidden.get(name, 0)))
        name = 'X-Container-Object-Count'
        if self.versioned.mode is Mode.READ_REPAIR:
            versions = int(hidden.get(name, 0))
            resp.headers[name] = str(
                versions if versions > COUNT_LIMIT else
                sum(not is_deleted(entry) for entry
                    in self.versioned.strategy.current()))

    def _link(self, name, stamp):
        return wsgi_quote(str_to_wsgi('/v1/%s/%s/%s' % (
            self.versioned.account, self.versioned.name, name))) + \
            '?version-id=%s' % stamp

    def _page(self, req):
        return Page.of(text_params(req), constrain_req_limit(
            req, CONTAINER_LISTING_LIMIT))

    def _current(self, req):
        page = self._page(req)

        def fetch(page):
            return self.versioned.strategy.current(
                page.prefix, page.marker, page.end_marker, page.limit,
                page.reverse)
        return [{'subdir': item} if isinstance(item, str)
                else self._current_entry(item)
                for item in listed(page, fetch, is_deleted)[:page.limit]]

    def _current_entry(self, entry):
        item = described(entry)
        if not entry.plain:
            item.update(version_symlink=True, symlink_path=self._link(
                entry.object, entry.version.id))
        return item

    def _versions(self, req, listing):
        # Only JSON can say what there is to say.
        req.environ['swift.format_listing'] = False
        if not req.accept.best_match(['application/json']):
            raise HTTPNotAcceptable(request=req)
        page = self._version_page(req)
        if not self.versioned.mode:
            return [item if 'subdir' in item else
                    dict(item, version_id=NULL, is_latest=True)
                    for item in listing]
        strategy = self.versioned.strategy

        def fetch(page):
            return strategy.versions(
                page.prefix, page.marker, page.version_marker,
                page.end_marker, page.limit, page.reverse)
        hidden = []

        def hides(entry):
            if is_hidden(entry):
                hidden.append(entry)
                return True
            return False
        items = listed(page, fetch, hides)
        return version_items(
            page, items, latest_ids(page, items, strategy.latest, hidden),
            version_id)

    def _version_page(self, req):
        params = text_params(req)
        page = self._page(req)
        if set(page.delimiter) & set('0123456789.' + RESERVED_STR):
            raise HTTPBadRequest('invalid delimiter param', request=req)
        wanted = params.get('version_marker')
        if wanted is None or not self.versioned.mode:
            return page
        if not page.marker:
            raise HTTPBadRequest('version_marker param requires marker',
                                 request=req)
        if not page.marker.startswith(page.prefix):
            return page
        return replace(page, version_marker=self._marked(
            req, page.marker, wanted))

    def _marked(self, req, obj, wanted):
        """
        Return the ``Stamp`` of the version that a ``version_marker`` names.
        """
        if wanted == NULL:
            return next((entry.version.id for entry
                         in self.versioned.strategy.history(obj)
                         if entry.plain), _NEWEST)
        try:
            return Stamp.parse(Timestamp(wanted).internal)
        except (InvalidTimestamp, ValueError, OverflowError):
            raise HTTPBadRequest('invalid version_marker param',
                                 request=req)
