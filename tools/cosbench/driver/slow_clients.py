# SPDX-License-Identifier: Apache-2.0
"""Closes connections that send no request, or one byte of it a minute.

aiohttp waits for ever for the first head of a connection: without this, a
few thousand idle ones take all descriptors of a process from its users.
"""

import asyncio
import time
from contextlib import asynccontextmanager

from aiohttp import web

#: Seconds in which the first head must be there, and between two looks.
HEAD_TIMEOUT, PERIOD = 10.0, 1.0


class SlowClients:
    """
    Sees to the connections of an application.

    :param app: a ``web.Application``, not yet set up
    :param timeout: seconds
    :param clock: returns seconds
    """

    def __init__(self, app, timeout=HEAD_TIMEOUT, clock=time.monotonic):
        self._timeout = timeout
        self._clock = clock
        #: Connection -> since when it is waited for; None: it has asked.
        self._since: dict[web.RequestHandler, float | None] = {}

        @web.middleware
        async def seen(request, handler):
            self._since[request.protocol] = None
            return await handler(request)
        # The outermost: also who is refused has sent a head.
        app.middlewares.insert(0, seen)

    def look(self, connections):
        """
        Close those whose first head takes too long.

        :param connections: all that are open
        """
        now = self._clock()
        self._since = {each: self._since.get(each, now)
                       for each in connections}
        for each, since in self._since.items():
            if since is not None and now - since >= self._timeout:
                each.force_close()

    @asynccontextmanager
    async def watched(self, runner):
        """
        Look every second, in the block.

        :param runner: the ``web.AppRunner`` of the application, set up
        """
        task = asyncio.ensure_future(self._watch(runner))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _watch(self, runner):
        while True:
            await asyncio.sleep(PERIOD)
            self.look(runner.server.connections)
