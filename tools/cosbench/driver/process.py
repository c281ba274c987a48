# SPDX-License-Identifier: Apache-2.0
"""One driver process: one port, one event loop, one core."""

import asyncio
import json
import logging
import os
import signal
import sys
from dataclasses import dataclass

from aiohttp import web

from cosbench.driver.mission_service import Service
from cosbench.driver.secret import SECRET, secret, server_tls
from cosbench.driver.signature import WINDOW, Gate
from cosbench.driver.slow_clients import SlowClients
from cosbench.watch.agent import answering

#: Where drivers of COSBench listened.
PORT = 18088
log = logging.getLogger('cosbench.driver')


@dataclass(frozen=True)
class Options:

    host: str = '127.0.0.1'
    #: 0: any that is free.
    port: int = PORT
    secret_file: str | None = None
    certificate: str | None = None
    key: str | None = None
    #: Seconds that the controller's clock may differ.
    clock_window: int = WINDOW
    #: Where filewrite may read files; None: nowhere.
    files: str | None = None
    #: Where scripts are that triggers may run; None: nowhere.
    triggers: str | None = None
    #: Where logs of requests may be written; None: nowhere.
    request_log: str | None = None
    #: Whether anyone may read /metrics, which has no secrets.
    metrics: bool = False
    #: End when standard input does: its writer is gone.
    until_eof: bool = False


async def serve(options, out=sys.stdout):
    """
    Until SIGTERM, SIGINT or the end of the parent.

    :param out: gets one line of JSON when the port is open: pid, port
    """
    gate = Gate(secret(options.secret_file, SECRET), options.clock_window)
    tls = server_tls(options.certificate, options.key)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    service = Service(gate, options.files, options.triggers,
                      options.request_log)
    app = service.application()
    if options.metrics:
        app.router.add_get('/metrics', answering(service.metrics))
    slow = SlowClients(app)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    leases = asyncio.ensure_future(service.watch_leases())
    try:
        site = web.TCPSite(runner, options.host, options.port,
                           ssl_context=tls)
        await site.start()
        port = runner.addresses[0][1]
        print(json.dumps({'pid': os.getpid(), 'port': port}), file=out,
              flush=True)
        log.info('listening on %s:%d', options.host, port)
        if options.until_eof:
            await _watch_input(loop, stop)
        async with slow.watched(runner):
            await stop.wait()
            await service.close()
    finally:
        leases.cancel()
        await runner.cleanup()


async def _watch_input(loop, stop):
    """Set stop when standard input ends."""
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
    loop = uvloop.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(coroutine)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        asyncio.set_event_loop(None)
        loop.close()
