# SPDX-License-Identifier: Apache-2.0
"""
What an object that is older than its container's versioning becomes: a null
version with the object's own timestamp (VERSIONING.md §3).
"""

from swift.common.request_helpers import get_container_update_override_key
from swift.common.swob import normalize_etag, wsgi_to_str

from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version

#: Where Swift says of when the data is; a POST changes the other ones.
_TIMESTAMPS = ('X-Backend-Data-Timestamp', 'X-Backend-Timestamp',
               'X-Timestamp')
OVERRIDE_ETAG = get_container_update_override_key('etag')
_SLO_SIZE = 'X-Object-Sysmeta-Slo-Size'
#: In an etag that only encryption can read.
_ENCRYPTED = 'swift_meta='


def null_version(obj, headers, site):
    """
    Return the ``Entry`` of an object that a GET has answered with.

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
