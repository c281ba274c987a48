# SPDX-License-Identifier: Apache-2.0
"""One login for all coroutines of a work, and one more when it expires."""

import asyncio
from typing import Any

from cosbench.adaptors.base import Credentials
from cosbench.adaptors.core.operation_errors import OperationError

#: What an auth with a ``cache_key`` got last, for the works after this one.
_cached: dict[Any, Credentials] = {}


class Login:
    """Shares the credentials of an auth among coroutines.

    :param auth: a ``base.Auth``
    """

    def __init__(self, auth):
        self._auth = auth
        self._current: Any = None
        self._pending = None
        #: Whether the credentials are those of an earlier work: they were
        #: good, and may have expired since.
        self.reused = False

    async def credentials(self):
        """Return credentials, and log in if there are none yet.

        :returns: ``Credentials``: those that are there, or by a login
        :raises OperationError: ``auth``, if all tries failed
        """
        if self._current is None:
            self._current = _cached.get(self._auth.cache_key)
            self.reused = self._current is not None
        if self._current is None:
            await self._shared()
        return self._current

    async def renewed(self, stale):
        """However many coroutines ask at once, there is one login.

        :param stale: the ``Credentials`` that the storage refused
        :returns: others, or None if this auth cannot get any
        :raises OperationError: ``auth``, if all tries failed
        """
        if self._current is stale:
            if not self._auth.renewable:
                return None
            await self._shared()
        return self._current

    async def _shared(self):
        if self._pending is None:
            self._pending = asyncio.ensure_future(self._login())
            self._pending.add_done_callback(self._done)
        # One that is cancelled must not take the login from the others.
        await asyncio.shield(self._pending)

    async def _login(self):
        for left in range(self._auth.retry, -1, -1):
            try:
                self._current = await self._auth.login()
                break
            except OperationError as err:
                if not left:
                    raise OperationError('auth', err.reason or err.kind) \
                        from err
        if self._auth.cache_key is not None:
            _cached[self._auth.cache_key] = self._current

    def _done(self, task):
        self._pending = None
        if not task.cancelled():
            # Those who waited have it; there may be none left.
            task.exception()
