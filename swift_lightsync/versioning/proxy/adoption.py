# SPDX-License-Identifier: Apache-2.0
"""
Makes a null version of an object that is older than its container's versioning
(VERSIONING.md §3).

1. The data is copied to the hidden container, under its own timestamp.
2. The row of the null version is written.
3. The object is deleted in the user's container, just after that timestamp,
   so that a newer one of a proxy that does not know of versions yet stays, and
   is adopted next.

Each step may be repeated: whoever dies between two of them loses nothing.
"""

from swift.common.swob import Request, normalize_etag, wsgi_to_str
from swift.common.utils import drain_and_close

from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.proxy.container import path_of
from swift_lightsync.versioning.proxy.object_data import (
    OVERRIDE_ETAG,
    check,
    delete_data,
    open_data,
    store_copy,
)

#: Where Swift says of when the data is; a POST changes the other ones.
_TIMESTAMPS = ('X-Backend-Data-Timestamp', 'X-Backend-Timestamp',
               'X-Timestamp')
_SLO_SIZE = 'X-Object-Sysmeta-Slo-Size'
#: In an etag that only encryption can read.
_ENCRYPTED = 'swift_meta='


def adopt(app, environ, account, container, obj, strategy):
    """
    Make a null version of an object of the user's container itself.

    :param app: the app that objects are read from and written to; at its end
        is ``egg:swift-lightsync#proxy``
    :param environ: of the request that it is done for
    :param account: text
    :param container: text, the user's
    :param obj: the object's name, text
    :param strategy: of the container
    :returns: the ``Entry``, or None if there is no such object
    :raises HTTPException: if it may not have been adopted
    :raises RowsUnavailable: the same
    """
    req = Request(environ)
    path = path_of(account, container, obj)
    source = open_data(app, req, path)
    if source.status_int == 404:
        drain_and_close(source)
        return None
    check(req, source)
    entry = _null_version(source.headers, obj, strategy.site)

    def data_path(entry):
        return path_of(account, hidden_container(container), entry.data_name)

    store_copy(app, req, source, data_path(entry), entry)
    for old in strategy.apply(entry):
        if not old.version.deleted:
            delete_data(app, req, data_path(old),
                        strategy.tick(after=old.version.id))
    stamp = entry.version.id
    delete_data(app, req, path, Stamp(stamp.ticks, stamp.offset + 1),
                rows=True)
    return entry


def _null_version(headers, obj, site):
    """Return the ``Entry`` of an object that a GET has answered with."""
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
