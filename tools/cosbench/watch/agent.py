# SPDX-License-Identifier: Apache-2.0
"""What ``cosbench watch`` tells of its host: a little of /proc, read only.

Names and meaning are node_exporter's: where that runs, this is not needed.
A node that is a control group (version 1 or 2) counts as one processor that
can do what the group may use: all of the host's, or its quota.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from cosbench.errors import ConfigError
from cosbench.watch.core.server_timings import ServerTimings
from swift_lightsync.common.openmetrics import CONTENT_TYPE, Family, exposition

#: As in /proc/stat.
_MODES = ('user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq',
          'steal')
_SECTOR = 512
#: Family: words, place in a line of /proc/diskstats, what one is worth.
_DISK = (
    ('reads_completed', 'Reads that are done.', 3, 1),
    ('read_bytes', 'Bytes that were read.', 5, _SECTOR),
    ('read_time_seconds', 'Seconds that reads took.', 6, .001),
    ('writes_completed', 'Writes that are done.', 7, 1),
    ('written_bytes', 'Bytes that were written.', 9, _SECTOR),
    ('write_time_seconds', 'Seconds that writes took.', 10, .001),
    ('io_time_seconds', 'Seconds in which there was something to do.', 12,
     .001))


@dataclass(frozen=True)
class Sources:
    """What of a host is told, and from where."""

    proc: str = '/proc'
    sys: str = '/sys'
    #: The node's, where it has not all of the host's; none: all.
    disks: tuple[str, ...] = ()
    #: Megabits a second that each network card can do; 0: as the kernel says.
    card_mbits: int = 0
    #: A ``ControlGroup``, if the node's processors are those of one.
    group: Any = None
    #: A ``ServerTimings`` that is fed, or None.
    timings: Any = None


def families(sources: Sources = Sources()) -> list[Family]:
    """Return the metrics of this host.

    :returns: ``Family`` objects
    """
    return [sources.group.processors() if sources.group
            else _processors(sources.proc),
            *_disks(sources), *_network(sources),
            *(sources.timings.families() if sources.timings else ())]


def _read(*path: str) -> str:
    try:
        with open(os.path.join(*path), encoding='utf8',
                  errors='replace') as source:
            return source.read().rstrip()
    except OSError:
        return ''


def _lines(*path: str) -> list[str]:
    return _read(*path).splitlines()


def _processors(proc: str) -> Family:
    found = Family('node_cpu_seconds', 'counter',
                   'Seconds of each processor in each mode.')
    tick = os.sysconf('SC_CLK_TCK')
    for line in _lines(proc, 'stat'):
        name, *ticks = line.split()
        if name.startswith('cpu') and name != 'cpu':
            for mode, value in zip(_MODES, ticks):
                found.add(int(value) / tick, cpu=name[3:], mode=mode)
    return found


def _disks(sources: Sources) -> list[Family]:
    found = [Family('node_disk_' + name, 'counter', words)
             for name, words, _, _ in _DISK]
    for line in _lines(sources.proc, 'diskstats'):
        cells = line.split()
        # Whole disks: what a partition does is in them.
        if len(cells) < 14 or not os.path.isdir(
                os.path.join(sources.sys, 'block', cells[2])):
            continue
        if sources.disks and cells[2] not in sources.disks:
            continue
        if cells[3] == cells[7] == '0':
            continue
        for family, (_, _, place, worth) in zip(found, _DISK):
            family.add(int(cells[place]) * worth, device=cells[2])
    return found


def _network(sources: Sources) -> list[Family]:
    received, sent = (Family(
        'node_network_%s_bytes' % way, 'counter', words) for way, words in (
            ('receive', 'Bytes that came in.'),
            ('transmit', 'Bytes that went out.')))
    speed = Family('node_network_speed_bytes', 'gauge',
                   'Bytes a second that a card can do.')
    for line in _lines(sources.proc, 'net', 'dev')[2:]:
        name, _, rest = line.partition(':')
        name, cells = name.strip(), rest.split()
        received.add(int(cells[0]), device=name)
        sent.add(int(cells[8]), device=name)
        for text in [str(sources.card_mbits)] if sources.card_mbits else \
                _lines(sources.sys, 'class', 'net', name, 'speed'):
            if text.isdigit():
                # Megabits.
                speed.add(int(text) * 125000, device=name)
    return [received, sent, speed]


def answering(read: Callable[[], Iterable[Family]]) -> Any:
    """Return a handler of requests for metrics.

    :param read: returns ``Family`` objects
    """
    async def metrics(request: web.Request) -> web.Response:
        return web.Response(body=exposition(read()).encode(), headers={
            'Content-Type': CONTENT_TYPE,
            'X-Content-Type-Options': 'nosniff'})
    return metrics


def application(sources: Sources = Sources()) -> web.Application:
    """Return an application that has ``/metrics`` and nothing else."""
    app = web.Application()
    app.router.add_get('/metrics', answering(lambda: families(sources)))
    return app


class _Packets(asyncio.DatagramProtocol):
    """Hands on what comes to a socket of statsd."""

    def __init__(self, timings: ServerTimings) -> None:
        self._timings = timings

    def datagram_received(self, data: bytes, addr: Any) -> None:
        self._timings.take(data)


@asynccontextmanager
async def statsd(port: int) -> AsyncIterator[ServerTimings]:
    """Listen in the block to what the servers of this host say by statsd.

    :param port: UDP, of 127.0.0.1
    :returns: a context of ``ServerTimings``
    """
    timings = ServerTimings()
    transport, _ = await asyncio.get_running_loop(
        ).create_datagram_endpoint(lambda: _Packets(timings),
                                   local_addr=('127.0.0.1', port))
    try:
        yield timings
    finally:
        transport.close()


_ROOT = '/sys/fs/cgroup'


class ControlGroup:
    """A group of processes.

    :param name: its path below the hierarchies, such as ``swift/node1``
    :param root: where they are mounted
    :raises ConfigError: if there is no such group
    """

    def __init__(self, name: str, root: str = _ROOT) -> None:
        self._v2 = os.path.join(root, name)
        self._v1 = os.path.join(root, 'cpuacct', name)
        self._quota = os.path.join(root, 'cpu', name)
        self._begun = time.monotonic()
        if self._used() is None:
            raise ConfigError.of('--cgroup', name, 'a control group of %s '
                                 'with a processor controller' % root)

    def _used(self) -> float | None:
        """Return seconds of processors that its processes have used."""
        text = _read(self._v1, 'cpuacct.usage')
        if text:
            return int(text) / 1e9
        for line in _read(self._v2, 'cpu.stat').splitlines():
            name, _, value = line.partition(' ')
            if name == 'usage_usec':
                return int(value) / 1e6
        return None

    def _cores(self) -> float:
        """Return how many processors it may use at the same time."""
        quota, _, period = _read(self._v2, 'cpu.max').partition(' ')
        if not quota:
            quota = _read(self._quota, 'cpu.cfs_quota_us')
            period = _read(self._quota, 'cpu.cfs_period_us')
        if quota.isdigit() and period.isdigit() and int(period):
            return int(quota) / int(period)
        return float(os.cpu_count() or 1)

    def processors(self) -> Family:
        """Return the metric of its processors."""
        used = (self._used() or 0.0) / self._cores()
        passed = time.monotonic() - self._begun
        return Family('node_cpu_seconds', 'counter', 'Seconds of all that '
                      'the group may use, in each mode.').add(
            used, cpu='all', mode='user').add(
                passed - used, cpu='all', mode='idle')
