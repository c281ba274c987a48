# SPDX-License-Identifier: Apache-2.0
"""Counts the requests that a server receives, and what it does for them.

The paste filter ``tools.benchmarks.request_log:filter_factory`` appends the
method and the device of each request, such as ``PUT n1d1``, to the file
``log``, by default ``requests.log`` in the server's recon cache; with
``count_rpcs = true`` also ``RPC`` for each call of an index server of LOSF
that the process makes, with ``flush_seconds`` also ``FLUSH`` for each flush
of a file, which takes so much longer then. ``delay_file`` names a file with
the seconds that each request waits; there is no delay while there is no such
file.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

from swift.common.concurrency import patcher, sleep
from swift.common.utils import config_true_value

from swift_lightsync.common.files import replace_file

FILE = 'requests.log'
FILTER = 'request_log'


def options(server: str, pipeline: str, **more: str) -> dict[str, Any]:
    """Return the options of a ClusterSpec that put the filter before a server.

    :param server: such as ``object-server``, the name of its conf
    :param pipeline: what else is in it
    """
    return {server: {
        'pipeline:main': {'pipeline': '%s %s' % (FILTER, pipeline)},
        'filter:' + FILTER: {
            'paste.filter_factory': '%s:filter_factory' % __name__, **more}}}


#: Of a replication server, which has nothing else to log.
REPLICATION = options('replication-server', 'recon object-server')


def path(cache_dir: str) -> str:
    """Return the path of the file of the server with this recon cache."""
    return os.path.join(cache_dir, FILE)


class Since:
    """What comes to logs from now on; there may be no such file yet."""

    def __init__(self, logs: Iterable[str]) -> None:
        self._begins = {log: os.path.getsize(log) if os.path.exists(log)
                        else 0 for log in logs}

    def _entries(self) -> Iterator[list[str]]:
        for log, begin in self._begins.items():
            if os.path.exists(log):
                with open(log) as entries:
                    entries.seek(begin)
                    yield from map(str.split, entries)

    def methods(self) -> Counter[str]:
        """Return how often each method came."""
        return Counter(method for method, _ in self._entries())

    def devices(self, method: str) -> Counter[str]:
        """Return how often a method came for each device."""
        return Counter(device for found, device in self._entries()
                       if found == method)


class RequestLog:
    """The filter: logs each request to a server, and lets it wait.

    :param app: the server
    :param log: path of the file to append to
    :param delay_file: path of the file with the seconds; '': nothing waits
    """

    def __init__(self, app: Any, log: str, delay_file: str = '') -> None:
        self.app, self.delay_file = app, delay_file
        self.wait: Callable[[float], None] = sleep
        self.fd = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def write(self, method: str, device: str) -> None:
        os.write(self.fd, b'%s %s\n' % (
            method.encode('ascii'), device.encode('utf8') or b'-'))

    def __call__(self, env: dict[str, Any], start_response: Any) -> Any:
        self.write(env['REQUEST_METHOD'],
                   env['PATH_INFO'].lstrip('/').partition('/')[0])
        seconds = self.delay_file and _delay(self.delay_file)
        if seconds:
            self.wait(seconds)
        return self.app(env, start_response)


def set_delay(path: str, seconds: float) -> None:
    """Let each request wait so long from now on."""
    replace_file(path, repr(seconds).encode('ascii'))


def _delay(path: str) -> float:
    try:
        with open(path) as file:
            return float(file.read())
    except FileNotFoundError:
        return 0


def count_calls(cls: Any, name: str, log: RequestLog) -> None:
    """Have each call of a method of a class logged as ``RPC``, once."""
    method = getattr(cls, name)
    if hasattr(method, '__wrapped__'):
        # A server loads its filters more than once.
        return

    @wraps(method)
    def counted(*args: Any, **kwargs: Any) -> Any:
        log.write('RPC', '')
        return method(*args, **kwargs)
    setattr(cls, name, counted)


def slow_flushes(log: RequestLog, seconds: float,
                 wait: Callable[[float], None]) -> None:
    """Have each flush of a file logged, and take so much longer, once.

    :param wait: lets the thread wait for seconds
    """
    def slowed(flush: Callable[[int], None]) -> Callable[[int], None]:
        @wraps(flush)
        def slow(file: int) -> None:
            log.write('FLUSH', '')
            wait(seconds)
            flush(file)
        return slow

    for name in ('fsync', 'fdatasync'):
        flush = getattr(os, name)
        if not hasattr(flush, '__wrapped__'):
            setattr(os, name, slowed(flush))


def filter_factory(global_conf: dict[str, str], **local_conf: str) -> Any:
    """Make the filter, as paste.deploy asks for it."""
    def make(app: Any) -> RequestLog:
        log = RequestLog(app, os.path.join(
            global_conf['recon_cache_path'], local_conf.get('log', FILE)),
            local_conf.get('delay_file', ''))
        if config_true_value(local_conf.get('count_rpcs')):
            from swift_losf.index.channel import Channel
            count_calls(Channel, 'call', log)
        if 'flush_seconds' in local_conf:
            # Flushes are made by threads that eventlet does not know.
            slow_flushes(log, float(local_conf['flush_seconds']),
                         patcher.original('time').sleep)
        return log
    return make
