# SPDX-License-Identifier: Apache-2.0
"""The controller's process: its port, its queue, its drivers."""

import asyncio
import json
import logging
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from cosbench.console import site
from cosbench.controller.core.workload_states import Policy
from cosbench.controller.driver_client import Driver
from cosbench.controller.local import session
from cosbench.controller.run_store import Archive
from cosbench.controller.workload_queue import Controller
from cosbench.driver.secret import client_tls, server_tls
from cosbench.driver.slow_clients import SlowClients
from cosbench.experiment.hosted import Hosted

log = logging.getLogger('cosbench.controller')


@dataclass(frozen=True)
class Options:

    host: str
    port: int
    archive: str
    #: ``Address`` objects.
    drivers: tuple
    #: Bytes: what drivers know, and what clients know.
    secret: bytes
    token: bytes
    driver_timeout: float
    policy: Policy = Policy()
    certificate: str | None = None
    key: str | None = None
    #: The certificate that drivers' are checked with.
    driver_authority: str | None = None
    #: ``Target`` objects: storage nodes.
    watched: Sequence = ()
    #: Has the directories of experiments.
    experiments: str = 'experiments'


async def serve(options, out=sys.stdout):
    """
    Until SIGTERM or SIGINT, which cancel the workload that runs.

    :param out: gets one line of JSON when the port is open: pid, port
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    tls = server_tls(options.certificate, options.key)
    archive = Archive(options.archive)
    async with session(client_tls(options.driver_authority)) as http:
        controller = Controller(archive, [
            Driver(each, options.secret, http, options.driver_timeout)
            for each in options.drivers], options.policy,
            options.watched)
        await controller.open()
        hosted = Hosted(controller, options.experiments)
        app = site.application(controller, options.token, hosted)
        slow = SlowClients(app)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        worker = asyncio.ensure_future(controller.work())
        try:
            await web.TCPSite(runner, options.host, options.port,
                              ssl_context=tls).start()
            port = runner.addresses[0][1]
            print(json.dumps({'pid': os.getpid(), 'port': port}), file=out,
                  flush=True)
            log.info('listening on %s:%d', options.host, port)
            async with slow.watched(runner):
                await stop.wait()
                await hosted.close()
                await controller.close()
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
            await runner.cleanup()
            archive.close()
