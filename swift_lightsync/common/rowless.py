# SPDX-License-Identifier: Apache-2.0
"""Writes of objects that leave no rows: the rows of versions are written by
the versioning filter, when it knows that their data is there.
"""

from functools import cache
from typing import TYPE_CHECKING, Any

#: In the environ of a request whose object-servers update no container.
ROWLESS = 'swift_lightsync.rowless'
#: What tells an object-server which containers to update.
_UPDATE = ('x-container-host', 'x-container-device', 'x-container-partition',
           'x-container-root-db-state', 'x-backend-container-path',
           'x-backend-quoted-container-path')


if TYPE_CHECKING:
    class _Controller:
        """What the mixin needs of Swift's object controllers."""

        def _backend_requests(self, req: Any, *args: Any,
                              **kwargs: Any) -> list[dict[str, str]]:
            raise NotImplementedError
else:
    _Controller = object


def _marked(controller: type, mark: str) -> frozenset[str]:
    """Return the names of a class's methods that have a mark."""
    return frozenset(name for name in dir(controller) if getattr(
        getattr(controller, name), mark, False))


class RowlessUpdates(_Controller):
    """A mixin of object controllers: they heed ``ROWLESS``."""

    def _backend_requests(self, req: Any, *args: Any,
                          **kwargs: Any) -> list[dict[str, str]]:
        requests = super()._backend_requests(req, *args, **kwargs)
        if req.environ.get(ROWLESS):
            for headers in requests:
                for name in [each for each in headers
                             if each.lower() in _UPDATE]:
                    del headers[name]
        return requests


@cache
def rowless(controller: type) -> type:
    """Return a subclass of object controllers that heeds ``ROWLESS``.

    :param controller: their class
    """
    # Swift's look for these methods anew for each request.
    return type(controller.__name__, (RowlessUpdates, controller), {
        'allowed_methods': _marked(controller, 'publicly_accessible'),
        'private_methods': _marked(controller, 'privately_accessible')})
