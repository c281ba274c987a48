# SPDX-License-Identifier: Apache-2.0
"""
When the latest version expires.

``X-Delete-At`` of a versioned object hides the object as if it were deleted,
but leaves its data, which readers of that version may still want. The filter
therefore stores the time under another name. Object-servers and the expirer do
not know this name, and a POST replaces it as it replaces ``X-Delete-At``.
"""

from swift.common.constraints import check_delete_headers
from swift.common.request_helpers import get_object_transient_sysmeta

DELETE_AT = get_object_transient_sysmeta('site-versions-delete-at')
_CLIENTS = 'X-Delete-At'


def hide_expiry(req):
    """
    Move the expiry time that a client sends to our own header.

    :raises HTTPBadRequest: if the time is not in the future
    """
    req.ensure_x_timestamp()
    check_delete_headers(req)
    if _CLIENTS in req.headers:
        req.headers[DELETE_AT] = req.headers.pop(_CLIENTS)


def show_expiry(resp):
    """
    Move the expiry time back to Swift's header, for the client that reads.
    """
    if DELETE_AT in resp.headers:
        resp.headers[_CLIENTS] = resp.headers.pop(DELETE_AT)


def has_expired(resp, now):
    """
    Check whether an object has reached its expiry time.

    :param resp: the answer to a GET or HEAD, before ``show_expiry``
    :param now: in seconds
    """
    end = resp.headers.get(DELETE_AT)
    return end is not None and end.isdigit() and int(end) <= now
