# SPDX-License-Identifier: Apache-2.0
"""A process with a port, as drivers and controllers are: one event loop.

Connections that send no request, or one byte of it a minute, are closed:
aiohttp waits for ever for the first head of a connection, and a few thousand
idle ones would take all descriptors of a process from its users.
"""

import asyncio
import json
import logging
import os
import signal
import sys
import time
from contextlib import asynccontextmanager

from aiohttp import web

from cosbench.driver.secret import server_tls
from cosbench.tasks import beside

#: Seconds in which the first head must be there, and between two looks.
HEAD_TIMEOUT, PERIOD = 10.0, 1.0
log = logging.getLogger('cosbench.port')


class SlowClients:
    """Sees to the connections of an application.

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
        """Close those whose first head takes too long.

        :param connections: all that are open
        """
        now = self._clock()
        self._since = {each: self._since.get(each, now)
                       for each in connections}
        for each, since in self._since.items():
            if since is not None and now - since >= self._timeout:
                each.force_close()

    async def watch(self, runner):
        """Look every second.

        :param runner: the ``web.AppRunner`` of the application, set up
        """
        while True:
            await asyncio.sleep(PERIOD)
            self.look(runner.server.connections)


@asynccontextmanager
async def listening(app, args):
    """Serve an application in the block; print its port as a line of JSON.

    :param app: a ``web.Application``
    :param args: with host, port, tls_cert, tls_key
    :returns: a context of an Event, which SIGTERM and SIGINT set
    """
    tls = server_tls(args.tls_cert, args.tls_key)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    slow = SlowClients(app)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, args.host, args.port,
                          ssl_context=tls).start()
        port = runner.addresses[0][1]
        print(json.dumps({'pid': os.getpid(), 'port': port}), flush=True)
        log.info('listening on %s:%d', args.host, port)
        async with beside(slow.watch(runner)):
            yield stop
    finally:
        await runner.cleanup()


def until_eof(stop):
    """Set an Event when standard input ends."""
    loop = asyncio.get_running_loop()

    def readable():
        if not os.read(sys.stdin.fileno(), 4096):
            loop.remove_reader(sys.stdin.fileno())
            stop.set()
    loop.add_reader(sys.stdin.fileno(), readable)


def run(coroutine):
    """Run on uvloop, where there is one."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(coroutine)
    return uvloop.run(coroutine)
