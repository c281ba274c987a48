# SPDX-License-Identifier: Apache-2.0
"""``cosbench watch``: tells controllers what a storage node does."""

from contextlib import AsyncExitStack

from cosbench.commands import common_arguments
from cosbench.driver.process import listening, run
from cosbench.watch.agent import ControlGroup, Sources, application, statsd

PORT = 19100


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Serve processors, disks and network of this ' \
        'host as /metrics, with the names of node_exporter, which does as ' \
        'well. Prints a line of JSON when its port is open.'
    common_arguments.listener(command, PORT)
    command.add_argument(
        '--statsd', type=common_arguments.port, metavar='PORT', help="take "
        "what Swift's servers of this host send to this UDP port of "
        '127.0.0.1 (log_statsd_host, log_statsd_port): how long requests '
        'take in each kind of server')
    command.add_argument(
        '--disks', metavar='NAME,…', default='', help="the node's disks, as "
        'in /proc/diskstats; default: all of the host')
    command.add_argument(
        '--card-mbits', type=common_arguments.positive, metavar='N',
        default=0, help='what a network card can do, where the kernel does '
        'not know or a switch allows less')
    command.add_argument(
        '--cgroup', metavar='NAME', help="the control group that is the "
        "node, such as a container's: its processors instead of the host's")
    command.set_defaults(run=main)


def main(args):
    """Run the command, and return its exit status."""
    common_arguments.check_listener(args)
    run(_serve(args))
    return 0


async def _serve(args):
    async with AsyncExitStack() as stack:
        timings = None if args.statsd is None else \
            await stack.enter_async_context(statsd(args.statsd))
        app = application(Sources(
            disks=tuple(filter(None, args.disks.split(','))),
            card_mbits=args.card_mbits, timings=timings,
            group=ControlGroup(args.cgroup) if args.cgroup else None))
        stop = await stack.enter_async_context(listening(app, args))
        await stop.wait()
