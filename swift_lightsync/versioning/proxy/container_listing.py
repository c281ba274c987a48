# SPDX-License-Identifier: Apache-2.0
"""GET and HEAD of a container that is, or might be, versioned.

Its objects are those of the hidden container and, of those that are older than
versioning, what the user's container still has itself.
"""

import json
from dataclasses import replace
from typing import Any

from swift.common.constraints import CONTAINER_LISTING_LIMIT
from swift.common.exceptions import InvalidTimestamp
from swift.common.http import is_success
from swift.common.request_helpers import constrain_req_limit
from swift.common.swob import (
    HTTPBadRequest,
    HTTPNotAcceptable,
    HTTPServiceUnavailable,
    str_to_wsgi,
    wsgi_quote,
    wsgi_to_str,
)
from swift.common.utils import RESERVED_STR, Timestamp, drain_and_close

from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import END_OF_TIME, OFFSETS, Stamp
from swift_lightsync.versioning.data.container import internal
from swift_lightsync.versioning.proxy.listing import (
    Page,
    entry_item,
    listed,
    merged,
    old_versions,
    row_item,
    version_items,
)
from swift_lightsync.versioning.proxy.object_context import NULL, version_id
from swift_lightsync.versioning.strategies.strategy import Mode

#: The swift.source of requests that s3api makes.
S3 = 'S3'
_NEWEST = Stamp(END_OF_TIME - 1, OFFSETS - 1)
#: Read-Repair counts objects where there are at most so many versions.
COUNT_LIMIT = CONTAINER_LISTING_LIMIT
_COUNT, _BYTES = 'X-Container-Object-Count', 'X-Container-Bytes-Used'


def text_params(req):
    """Return the parameters of a request, a dict of text."""
    return {name: wsgi_to_str(value) for name, value in req.params.items()}


def is_hidden(entry, req):
    """Check whether versions are listed without an entry: of S3 a null delete
    marker is a version, of Swift it is not.
    """
    return entry.null and entry.version.deleted and \
        req.environ.get('swift.source') != S3


class ContainerListing:
    """Answers a GET or HEAD of a container.

    :param versioned: the ``VersionedContainer``
    """

    def __init__(self, versioned):
        self.versioned = versioned

    def respond(self, req):
        """Answer a GET or HEAD; versions are counted, and listed if asked for.

        :returns: a ``Response``
        """
        resp = req.get_response(self.versioned.app)
        lists_versions = req.method == 'GET' and 'versions' in req.params
        if not is_success(resp.status_int) or not (
                self.versioned.mode or lists_versions):
            return resp
        if self.versioned.mode:
            self._count(req, resp)
        if req.method != 'GET':
            return resp
        try:
            own = json.loads(resp.body)
        except ValueError:
            return resp
        answer = self._versions if lists_versions else self._current
        resp.body = json.dumps(answer(req, own)).encode('ascii')
        return resp

    def _count(self, req, resp):
        """Add to the headers what the hidden container holds."""
        hidden = self.versioned.head(req, self.versioned.hidden_path) or {}
        for name in _COUNT, _BYTES:
            found = int(hidden.get(name, 0))
            if name == _COUNT and found <= COUNT_LIMIT and \
                    self.versioned.mode is Mode.READ_REPAIR:
                found = sum(not entry.version.deleted for entry
                            in self.versioned.strategy.current())
            resp.headers[name] = str(int(resp.headers.get(name, 0)) + found)

    def _link(self, name, stamp):
        return '%s?version-id=%s' % (
            wsgi_quote(self.versioned.own_path(name)), stamp)

    def _page(self, req):
        return Page.of(text_params(req), constrain_req_limit(
            req, CONTAINER_LISTING_LIMIT))

    # Objects

    def _current(self, req, own):
        page = self._page(req)
        if not page.limit:
            return []
        names = {item.get('name') for item in own}
        if self.versioned.mode is Mode.READ_REPAIR:
            items = self._from_heads(page, names)
        else:
            items = self._from_rows(req, page)
        names -= {item.get('name') for item in items}
        return merged(page, items, [
            item for item in own if 'subdir' in item or item['name'] in names])

    def _from_heads(self, page, names):
        """List the latest of each object, of the rows of versions.

        :param names: of other objects; those that are deleted are removed
        """
        def fetch(page):
            return self.versioned.strategy.current(
                page.prefix, page.marker, page.end_marker, page.limit,
                page.reverse)

        def hides(entry):
            if entry.version.deleted:
                names.discard(entry.object)
            return entry.version.deleted
        return [entry_item(item, self._link)
                for item in listed(page, fetch, hides)[:page.limit]]

    def _from_rows(self, req, page):
        """List the latest of each object, of the listing rows."""
        found: list[dict[str, Any]] = []
        while True:
            wanted = replace(page, limit=page.limit - len(found))
            items = [row_item(item, self._link)
                     for item in self._rows(req, wanted)]
            found += [item for item in items
                      if page.subdirs or 'subdir' not in item]
            if len(items) < wanted.limit or len(found) == page.limit:
                return found
            # Subdirs were left out.
            page = replace(page, marker=items[-1].get('name') or
                           items[-1]['subdir'])

    def _rows(self, req, page):
        """Return the listing of listing rows that Swift gives."""
        sent = internal(req.environ, 'GET', self.versioned.hidden_path)
        sent.params = {name: str_to_wsgi(value)
                       for name, value in page.listing_params().items()}
        resp = sent.get_response(self.versioned.app)
        if resp.status_int == 404:
            drain_and_close(resp)
            return []
        if not resp.is_success:
            drain_and_close(resp)
            raise HTTPServiceUnavailable(request=req)
        return json.loads(resp.body)

    # Versions

    def _versions(self, req, own):
        # Only JSON can say what there is to say.
        req.environ['swift.format_listing'] = False
        if not req.accept.best_match(['application/json']):
            raise HTTPNotAcceptable(request=req)
        page = self._version_page(req)
        if not self.versioned.mode:
            return old_versions(own, ())
        strategy = self.versioned.strategy

        def fetch(page):
            return strategy.versions(
                page.prefix, page.marker, page.version_marker,
                page.end_marker, page.limit, page.reverse)
        hidden: list[Entry] = []

        nulls: set[str] = set()

        def hides(entry):
            if entry.null and not page.reverse:
                if entry.object in nulls:
                    # A newer one is about to replace it.
                    return True
                nulls.add(entry.object)
            if not is_hidden(entry, req):
                return False
            hidden.append(entry)
            return True
        items = version_items(page, listed(page, fetch, hides), hidden,
                              version_id, strategy.siblings)
        return merged(page, items, old_versions(own, items))

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
        """Return the ``Stamp`` of the version that a ``version_marker`` names.
        """
        if wanted == NULL:
            _, nulls = self.versioned.strategy.nulls(obj)
            return nulls[0].version.id if nulls else _NEWEST
        try:
            return Stamp.parse(Timestamp(wanted).internal)
        except (InvalidTimestamp, ValueError, OverflowError):
            raise HTTPBadRequest('invalid version_marker param',
                                 request=req)
