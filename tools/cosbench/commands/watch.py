# SPDX-License-Identifier: Apache-2.0
"""``cosbench watch``: tells controllers what a storage node does."""

import asyncio
import json
import os
import signal

from aiohttp import web

from cosbench.commands import common_arguments
from cosbench.driver.process import run
from cosbench.driver.secret import server_tls
from cosbench.driver.slow_clients import SlowClients
from cosbench.watch.agent import application

PORT = 19100


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Serve processors, disks and network of this ' \
        'host as /metrics, with the names of node_exporter, which does as ' \
        'well. Prints a line of JSON when its port is open.'
    common_arguments.listener(command, PORT)
    command.set_defaults(run=main)


def main(args):
    """Run the command, and return its exit status."""
    common_arguments.check_listener(args)
    run(_serve(args))
    return 0


async def _serve(args):
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    app = application()
    slow = SlowClients(app)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, args.host, args.port, ssl_context=server_tls(
            args.tls_cert, args.tls_key)).start()
        print(json.dumps({'pid': os.getpid(),
                          'port': runner.addresses[0][1]}), flush=True)
        async with slow.watched(runner):
            await stop.wait()
    finally:
        await runner.cleanup()
