# SPDX-License-Identifier: Apache-2.0
"""
The data of versions: stores what a client sends as an object in the hidden
container, and makes the ``Entry`` that describes it.
"""

import mimetypes

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
    close_if_possible,
    config_true_value,
    drain_and_close,
)

from swift_lightsync.common.rowless import ROWLESS
from swift_lightsync.versioning.core.row_data import DELETE_MARKER, Entry
from swift_lightsync.versioning.proxy.container import internal
from swift_lightsync.versioning.proxy.expiry import hide_expiry

_OVERRIDE_ETAG = get_container_update_override_key('etag')
_NO_CONTAINER = (b'The versions container does not exist. You may want to '
                 b're-enable object versioning.')


class CountingReader:
    """
    A body that counts the bytes read: a client that sends chunks does not tell
    a length.
    """

    def __init__(self, source):
        self.source = source
        self.bytes_read = 0

    def read(self, *args):
        return self._count(self.source.read(*args))

    def readline(self, *args):
        return self._count(self.source.readline(*args))

    def _count(self, chunk):
        self.bytes_read += len(chunk)
        return chunk

    def __getattr__(self, name):
        return getattr(self.source, name)


def guess_content_type(req, path):
    """
    Guess the content type from the object's name. The proxy would do so, but
    does not see that name.
    """
    detect = config_true_value(req.headers.pop('X-Detect-Content-Type', ''))
    if detect or not req.headers.get('Content-Type'):
        guessed, _encoding = mimetypes.guess_type(path)
        req.headers['Content-Type'] = guessed or 'application/octet-stream'


def check(req, resp):
    """
    Turn the failure of a request of ours into the answer for the client.

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


def put_from_client(versioned, req, path, version, obj, plain=False):
    """
    Store the data that a client sends as a new version.

    :param versioned: a ``VersionedContainer``
    :param path: of the data, as WSGI has it
    :param version: its ``Version``
    :param obj: the object's name, text
    :param plain: whether the data is the object in the user's container
    :returns: (the answer, the ``Entry``)
    :raises HTTPException: if the data was not stored
    """
    sent = versioned.forward(req, path, version.id)
    guess_content_type(sent, versioned.plain_path(obj))
    if not plain:
        hide_expiry(sent)
    reader = sent.environ['wsgi.input'] = CountingReader(
        sent.environ['wsgi.input'])
    footers = _watch_footers(sent)
    resp = sent.get_response(versioned.app)
    check(req, resp)
    override = footers.get(_OVERRIDE_ETAG) or \
        sent.headers.get(_OVERRIDE_ETAG)
    return resp, Entry(
        obj, version, reader.bytes_read,
        override or normalize_etag(resp.headers['Etag']),
        wsgi_to_str(sent.headers['Content-Type']), plain)


def _watch_footers(sent):
    """
    Record the footers that filters on our left add to a request.

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


def copy_data(versioned, req, source_path, path, version, entry):
    """
    Copy the data of a version to a new version.

    :param entry: of the source
    :returns: (the answer, the ``Entry``)
    :raises HTTPException: if the data was not stored
    """
    source = internal(req, 'GET', source_path,
                      {'X-Newest': 'true'}).get_response(versioned.app)
    try:
        check(req, source)
        put = internal(req, 'PUT', path)
        copy_header_subset(source, put,
                           lambda name: name.lower() != 'x-timestamp')
        put.headers['X-Timestamp'] = str(version.id)
        # What filters on our left have said of the source's row.
        put.headers['Content-Type'] = str_to_wsgi(entry.content_type)
        put.environ['swift.content_type_overridden'] = True
        put.environ['wsgi.input'] = FileLikeIter(source.app_iter)
        put.environ[ROWLESS] = True
        resp = put.get_response(versioned.app)
        check(req, resp)
    finally:
        close_if_possible(source.app_iter)
    return resp, Entry(entry.object, version, entry.size, entry.etag,
                       entry.content_type)


def delete_data(versioned, req, path, stamp, rows=False):
    """
    Delete the data of a version.

    :param stamp: of the deletion
    :returns: whether it was there
    :raises HTTPException: if it may still be there
    """
    sent = internal(req, 'DELETE', path, {'X-Timestamp': str(stamp)})
    sent.environ[ROWLESS] = not rows
    resp = sent.get_response(versioned.app)
    drain_and_close(resp)
    if resp.status_int not in (404, 409):
        check(req, resp)
    return resp.is_success


def delete_marker(obj, version, plain=False):
    return Entry(obj, version, 0, MD5_OF_EMPTY_STRING, DELETE_MARKER, plain)
