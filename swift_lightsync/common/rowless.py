# SPDX-License-Identifier: Apache-2.0
"""
Writes of objects that leave no rows: the rows of versions are written by
the versioning filter, when it knows that their data is there.
"""

from functools import lru_cache

#: In the environ of a request whose object-servers update no container.
ROWLESS = 'swift_lightsync.rowless'
#: What tells an object-server which containers to update.
_UPDATE = ('x-container-host', 'x-container-device', 'x-container-partition',
           'x-container-root-db-state', 'x-backend-container-path',
           'x-backend-quoted-container-path')


class RowlessUpdates:
    """A mixin of object controllers: they heed ``ROWLESS``."""

    def _backend_requests(self, req, *args, **kwargs):
        requests = super()._backend_requests(req, *args, **kwargs)
        if req.environ.get(ROWLESS):
            for headers in requests:
                for name in [each for each in headers
                             if each.lower() in _UPDATE]:
                    del headers[name]
        return requests


@lru_cache(maxsize=None)
def rowless(controller):
    """
    Return a subclass of object controllers that heeds ``ROWLESS``.

    :param controller: their class
    """
    return type(controller.__name__, (RowlessUpdates, controller), {})
