# SPDX-License-Identifier: Apache-2.0
"""
When the latest expires. ``X-Delete-At`` of a versioned object hides it, as
if it had been deleted, but leaves the data, which other versions' readers
may want: so it is kept under another name, that object-servers and expirer
do not know, and that a POST replaces as it replaces ``X-Delete-At``.
"""

from swift.common.constraints import check_delete_headers
from swift.common.request_helpers import get_object_transient_sysmeta

DELETE_AT = get_object_transient_sysmeta('site-versions-delete-at')
_CLIENTS = 'X-Delete-At'


def hide_expiry(req):
    """
    Move what a client says of its object's end to our own header.

    :raises HTTPBadRequest: if it is no time to come
    """
    req.ensure_x_timestamp()
    check_delete_headers(req)
    if _CLIENTS in req.headers:
        req.headers[DELETE_AT] = req.headers.pop(_CLIENTS)


def show_expiry(resp):
    """Move it back, for whom reads the object."""
    if DELETE_AT in resp.headers:
        resp.headers[_CLIENTS] = resp.headers.pop(DELETE_AT)


def has_expired(resp, now):
    """
    :param resp: of a GET or HEAD, shown or not
    :param now: in seconds
    """
    end = resp.headers.get(DELETE_AT)
    return end is not None and end.isdigit() and int(end) <= now
