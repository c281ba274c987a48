# SPDX-License-Identifier: Apache-2.0
"""``cosbench driver``: the processes that make the load."""

import asyncio
import logging
import signal
import sys

from cosbench.commands import common_arguments
from cosbench.driver.mission_service import Service
from cosbench.driver.process import listening, run, until_eof
from cosbench.driver.process_pool import Child, Pool
from cosbench.driver.secret import SECRET, secret
from cosbench.driver.signature import WINDOW, Gate
from cosbench.tasks import beside
from cosbench.watch.agent import answering

#: Where drivers of COSBench listened.
PORT = 18088


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Listen for a controller. Prints a line of JSON ' \
        'for each process when its port is open.'
    common_arguments.listener(command, PORT)
    command.add_argument('--secret-file', metavar='FILE', help='has the '
                         'secret that controller and drivers share; '
                         'default: $COSBENCH_SECRET')
    command.add_argument('--processes', default=1,
                         type=common_arguments.positive,
                         metavar='N', help='processes on ports from --port '
                         'on; one a core is best')
    command.add_argument('--clock-window', type=common_arguments.positive,
                         default=WINDOW, metavar='SECONDS', help='how far '
                         "the controller's clock may be off")
    command.add_argument('--files', metavar='DIRECTORY', help='where '
                         'filewrite may read files; default: nowhere')
    common_arguments.triggers(command)
    command.add_argument('--metrics', action='store_true', help='answer '
                         'GET /metrics (OpenMetrics), to anyone; with '
                         '--processes each on its own port')
    command.add_argument('--until-eof', action='store_true',
                         help='end when standard input ends')
    common_arguments.log_level(command)
    command.set_defaults(run=main)


def main(args):
    """Run the command, and return its exit status."""
    common_arguments.check_listener(args)
    common_arguments.log_to_stderr(args.log_level)
    if args.processes > 1:
        return run(_pool(args))
    run(_serve(args))
    return 0


async def _serve(args):
    gate = Gate(secret(args.secret_file, SECRET), args.clock_window)
    service = Service(gate, args.files, args.triggers, args.request_log)
    app = service.application()
    if args.metrics:
        app.router.add_get('/metrics', answering(service.metrics))
    async with listening(app, args) as stop, beside(service.watch_leases()):
        if args.until_eof:
            until_eof(stop)
        await stop.wait()
        await service.close()


def _child_arguments(args, port):
    found = ['--port', str(port)]
    for name in ('host', 'clock_window', 'log_level', 'secret_file',
                 'tls_cert', 'tls_key', 'files', 'triggers', 'request_log'):
        value = getattr(args, name)
        if value:
            found += ['--' + name.replace('_', '-'), str(value)]
    return found + ['--insecure'] * args.insecure + \
        ['--metrics'] * args.metrics


async def _pool(args):
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    pool = Pool([Child(_child_arguments(
        args, args.port and args.port + number))
        for number in range(args.processes)])
    try:
        await pool.start()
    except OSError as err:
        logging.getLogger('cosbench.driver').error('%s', err)
        return 1
    for child in pool.children:
        print('{"pid": %d, "port": %d}' % (child.process.pid, child.port),
              file=sys.stdout, flush=True)
    async with beside(pool.keep()):
        await stop.wait()
    await pool.stop()
    return 0
