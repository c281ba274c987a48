# SPDX-License-Identifier: Apache-2.0
"""
The marker of a slot that was failed over.

While it stands, the primary role may have missed a write. PROTOCOL.md, "When
the primary role does not answer".
"""

from swift.common.exceptions import MemcacheConnectionError
from swift.common.utils import cache_from_env

from swift_lightsync.proar.names import failover_marker_key


class FailoverMarker:
    """
    The fail-over marker of an object's slot, in memcache.

    :param environ: of a request; its cache holds the marker
    :param policy: the storage policy
    :param roles: the Roles of the requested object
    :param seconds: how long the marker stands
    :param logger: is told if the marker could not be put
    """

    def __init__(self, environ, policy, roles, seconds, logger):
        self._cache = cache_from_env(environ, allow_none=True)
        self._key = failover_marker_key(policy, roles.partition, roles.slot)
        self._seconds = seconds
        self._logger = logger

    def put(self):
        """
        Put the marker, or log that it could not be put.

        The write goes on without it. When the primary role is back, readers
        may then see the past until the convergers have pushed the write to it.
        """
        try:
            if self._cache is None:
                raise MemcacheConnectionError('no memcache in the pipeline')
            self._cache.set(self._key, True, time=self._seconds,
                            raise_on_error=True)
        except MemcacheConnectionError as err:
            self._logger.warning('No marker of a fail-over: %s: %s',
                                 self._key, err)
            self._logger.increment('proar.marker.errors')

    def stands(self):
        """Return whether the marker is there; False without memcache."""
        return self._cache is not None and bool(self._cache.get(self._key))
