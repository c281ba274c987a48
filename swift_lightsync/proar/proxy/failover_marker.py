# SPDX-License-Identifier: Apache-2.0
"""
The marker of a slot that was failed over: while it stands, the primary role
may have missed a write. PROTOCOL.md, "When the primary role does not answer".
"""

from swift.common.exceptions import MemcacheConnectionError
from swift.common.utils import cache_from_env

from swift_lightsync.proar.names import marker_key


class Marker:
    """
    :param environ: of a request; its cache holds the marker
    :param policy: the storage policy
    :param roles: the Roles of the object that is asked for
    :param seconds: how long it stands
    :param logger: says if it could not be put
    """

    def __init__(self, environ, policy, roles, seconds, logger):
        self._cache = cache_from_env(environ, allow_none=True)
        self._key = marker_key(policy, roles.partition, roles.slot)
        self._seconds = seconds
        self._logger = logger

    def put(self):
        """
        The write goes on without it: its readers may then see the past, when
        the primary role is back, until the convergers have reached that.
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
        """Whether it is there; not, if nobody can tell."""
        return self._cache is not None and bool(self._cache.get(self._key))
