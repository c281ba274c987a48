# SPDX-License-Identifier: Apache-2.0
"""The data of versions: stores what a client sends as an object in the hidden
container, and makes the ``Entry`` that describes it. An object that is older
than its container's versioning becomes a null version with its own timestamp.

``X-Delete-At`` of a versioned object hides the object as if it were deleted,
but leaves its data, which readers of that version may still want. The time is
therefore stored under another name. Object-servers and the expirer do not know
this name, and a POST replaces it as it replaces ``X-Delete-At``.
"""

import mimetypes

from swift.common.constraints import check_delete_headers
from swift.common.request_helpers import (
    copy_header_subset,
    get_container_update_override_key,
)
from swift.common.swob import (
    HTTPException,
    HTTPInternalServerError,
    HTTPServiceUnavailable,
    normalize_etag,
    str_to_wsgi,
    wsgi_to_str,
)
from swift.common.utils import (
    MD5_OF_EMPTY_STRING,
    FileLikeIter,
    InputProxy,
    close_if_possible,
    config_true_value,
    drain_and_close,
)

from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    Entry,
    version_name,
)
from swift_lightsync.versioning.core.shipment import DELETE_AT
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.data.container import internal

#: Where Swift says of when the data is; a POST changes the other ones.
_TIMESTAMPS = ('X-Backend-Data-Timestamp', 'X-Backend-Timestamp',
               'X-Timestamp')
OVERRIDE_ETAG = get_container_update_override_key('etag')
_SLO_SIZE = 'X-Object-Sysmeta-Slo-Size'
#: In an etag that only encryption can read.
_ENCRYPTED = 'swift_meta='
_CLIENTS_DELETE_AT = 'X-Delete-At'
_NO_CONTAINER = (b'The versions container does not exist. You may want to '
                 b're-enable object versioning.')


def hide_expiry(req):
    """Move the expiry time that a client sends to our own header.

    :raises HTTPBadRequest: if the time is not in the future
    """
    req.ensure_x_timestamp()
    check_delete_headers(req)
    _hide(req)


def _hide(req):
    if _CLIENTS_DELETE_AT in req.headers:
        req.headers[DELETE_AT] = req.headers.pop(_CLIENTS_DELETE_AT)


def show_expiry(resp):
    """Move the expiry time back to Swift's header, for the client that reads.
    """
    if DELETE_AT in resp.headers:
        resp.headers[_CLIENTS_DELETE_AT] = resp.headers.pop(DELETE_AT)


def has_expired(resp, now):
    """Check whether an object has reached its expiry time.

    :param resp: the answer to a GET or HEAD, before ``show_expiry``
    :param now: in seconds
    """
    end = resp.headers.get(DELETE_AT)
    return end is not None and end.isdigit() and int(end) <= now


def guess_content_type(req, path):
    """Guess the content type from the object's name. The proxy would do so,
    but does not see that name.
    """
    detect = config_true_value(req.headers.pop('X-Detect-Content-Type', ''))
    if detect or not req.headers.get('Content-Type'):
        guessed, _encoding = mimetypes.guess_type(path)
        req.headers['Content-Type'] = guessed or 'application/octet-stream'


def check(req, resp):
    """Turn the failure of a request of ours into the answer for the client.

    :raises HTTPException: the answer, if the request failed
    """
    if resp.is_success:
        return
    body = resp.body
    drain_and_close(resp)
    if resp.status_int == 404:
        raise HTTPInternalServerError(
            request=req, content_type='text/plain', body=_NO_CONTAINER)
    if 400 <= resp.status_int < 500:
        raise HTTPException(body=body, status=resp.status,
                            headers=resp.headers)
    raise HTTPServiceUnavailable(request=req)


def put_from_client(versioned, req, version, obj, null=False):
    """Store the data that a client sends as a new version.

    :param versioned: a ``VersionedContainer``
    :param version: its ``Version``
    :param obj: the object's name, text
    :param null: whether it is a null version
    :returns: (the answer, the ``Entry``)
    :raises HTTPException: if the data was not stored
    """
    sent = versioned.forward(req, versioned.version_path(
        version_name(obj, version.id)), version.id)
    guess_content_type(sent, versioned.own_path(obj))
    hide_expiry(sent)
    # A client that sends chunks does not tell a length.
    body = sent.environ['wsgi.input'] = InputProxy(sent.environ['wsgi.input'])
    footers = _watch_footers(sent)
    resp = sent.get_response(versioned.app)
    check(req, resp)
    override = footers.get(OVERRIDE_ETAG) or sent.headers.get(OVERRIDE_ETAG)
    return resp, Entry(
        obj, version, body.bytes_received,
        override or normalize_etag(resp.headers['Etag']),
        wsgi_to_str(sent.headers['Content-Type']), null)


def _watch_footers(sent):
    """Record the footers that filters on our left add to a request.

    :returns: a dict, filled once the body has been read
    """
    seen = {}
    add = sent.environ.get('swift.callback.update_footers')
    if add:
        def watch(footers):
            add(footers)
            seen.update(footers)
        sent.environ['swift.callback.update_footers'] = watch
    return seen


def open_data(app, req, path):
    """Return the newest data of an object, as a ``Response``; pass it to
    ``store_copy``.
    """
    return internal(req.environ, 'GET', path,
                    {'X-Newest': 'true'}).get_response(app)


def store_copy(app, req, source, path, entry):
    """Store the data of one object as that of a version.

    :param source: what ``open_data`` gave; closed afterwards
    :param path: of the data, as WSGI has it
    :param entry: the ``Entry`` of the version
    :returns: the answer
    :raises HTTPException: if the data was not stored
    """
    try:
        check(req, source)
        put = internal(req.environ, 'PUT', path, rows=False)
        copy_header_subset(source, put,
                           lambda name: name.lower() != 'x-timestamp')
        _hide(put)
        put.headers['X-Timestamp'] = str(entry.version.id)
        # What filters on our left have said of the source's row.
        put.headers['Content-Type'] = str_to_wsgi(entry.content_type)
        put.environ['swift.content_type_overridden'] = True
        put.environ['wsgi.input'] = FileLikeIter(source.app_iter)
        resp = put.get_response(app)
        check(req, resp)
        return resp
    finally:
        close_if_possible(source.app_iter)


def delete_data(app, req, path, stamp, rows=False):
    """Delete the data of a version.

    :param stamp: of the deletion
    :returns: whether it was there
    :raises HTTPException: if it may still be there
    """
    resp = internal(req.environ, 'DELETE', path, {'X-Timestamp': str(stamp)},
                    rows=rows).get_response(app)
    drain_and_close(resp)
    if resp.status_int not in (404, 409):
        check(req, resp)
    return resp.is_success


def delete_marker(obj, version, null=False):
    """Return the ``Entry`` of a deletion."""
    return Entry(obj, version, 0, MD5_OF_EMPTY_STRING, DELETE_MARKER, null)


def null_version(obj, headers, site):
    """Return the ``Entry`` of an object that a GET has answered with.

    :param obj: the object's name, text
    :param headers: of the answer
    :param site: the name of this site
    """
    stamp = Stamp.parse(next(headers[name] for name in _TIMESTAMPS
                             if name in headers))
    etag = headers.get(OVERRIDE_ETAG, '')
    if not etag or _ENCRYPTED in etag:
        etag = normalize_etag(headers['Etag'])
    kind = wsgi_to_str(headers['Content-Type'])
    if _SLO_SIZE in headers:
        # The proxy tells no client of it, and listings need it.
        kind += ';swift_bytes=' + headers[_SLO_SIZE]
    return Entry(obj, Version(stamp, site, Vector()),
                 int(headers['Content-Length']), etag, kind, null=True)
