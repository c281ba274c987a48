# SPDX-License-Identifier: Apache-2.0
"""``bench cosbench``: the HTTP client of COSBench's drivers, and aiohttp's.

A contestant is an async context: it gives ``operation()``, a coroutine
function for one request whose answer is read completely. The server does as
little as HTTP/1.1 allows, since a client that has to wait spends more CPU on a
request: the answer to a GET has as many bytes as its path says (``/1024``), a
PUT is read to its end.
"""

import asyncio
import re
import resource
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, closing, contextmanager
from functools import lru_cache
from multiprocessing import get_context
from typing import Any, NamedTuple

import aiohttp
import uvloop

from cosbench.adaptors import load
from cosbench.adaptors.content import Body
from cosbench.adaptors.http1 import Client, parse_url
from cosbench.adaptors.none import NoneAuth
from cosbench.workload.config import Config
from tools import ToolError
from tools.arguments import KIB, names, number
from tools.benchmarks.bench import Bench
from tools.benchmarks.measure import own_cpu_seconds
from tools.benchmarks.record import Metric

#: Seconds that are not counted: connections, caches.
WARM_UP = 0.5
_SPAWN = get_context('spawn')
#: Seconds that a process may take to begin and to end.
PATIENCE = 30


class Scenario(NamedTuple):
    """A method, and the bytes of an object."""

    method: str
    size: int


SCENARIOS = {'%s-%dk' % (method.lower(), size): Scenario(method, size * KIB)
             for method in ('GET', 'PUT') for size in (1, 64)}
#: Operations and failures, CPU seconds, seconds.
Counted = tuple[int, int, float, float]


@asynccontextmanager
async def _lean(port: int, scenario: Scenario) -> AsyncIterator[Any]:
    client = Client(parse_url('url', 'http://127.0.0.1:%d' % port), 30)
    target = b'/v1/a/c/%d' % scenario.size

    async def operation() -> int:
        body = Body(scenario.size) if scenario.method == 'PUT' else None
        response = await client.request(
            scenario.method.encode(), target, body=body)
        return response.status
    yield operation
    await client.close()


def _storage(kind: str, text: str) -> Any:
    """Return a contestant that goes through an adaptor, as workers do.

    :param kind: of ``storage``
    :param text: its config, with a place for the port
    """
    @asynccontextmanager
    async def contestant(port: int, scenario: Scenario) -> AsyncIterator[Any]:
        storage = load('storage', kind)(
            Config.parse(text % port), NoneAuth())
        await storage.open()

        async def operation() -> int:
            # What is not answered well raises an error.
            if scenario.method == 'PUT':
                await storage.put('c', str(scenario.size),
                                  Body(scenario.size))
            else:
                await storage.get('c', str(scenario.size))
            return 200
        yield operation
        await storage.close()
    return contestant


@asynccontextmanager
async def _aiohttp(port: int, scenario: Scenario) -> AsyncIterator[Any]:
    url = 'http://127.0.0.1:%d/v1/a/c/%d' % (port, scenario.size)
    data = bytes(scenario.size) if scenario.method == 'PUT' else None
    async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0)) as session:
        async def operation() -> int:
            async with session.request(
                    scenario.method, url, data=data) as response:
                await response.read()
                return response.status
        yield operation


#: name -> (contestant, the event loop it runs on)
CONTESTANTS: dict[str, tuple[Any, Callable[[], Any]]] = {
    'aiohttp': (_aiohttp, asyncio.new_event_loop),
    'aiohttp-uvloop': (_aiohttp, uvloop.new_event_loop),
    'client': (_lean, uvloop.new_event_loop),
    'client-asyncio': (_lean, asyncio.new_event_loop),
    'swift': (_storage(
        'swift', 'token=t;storage_url=http://127.0.0.1:%d/v1/a'),
        uvloop.new_event_loop),
    's3': (_storage(
        's3', 'accesskey=a;secretkey=s;endpoint=http://127.0.0.1:%d'),
        uvloop.new_event_loop),
}


async def _load(make: Any, port: int, scenario: Scenario, workers: int,
                seconds: float) -> Counted:
    """Load the server and count."""
    counts = {True: 0, False: 0}

    async def worker(operation: Any) -> None:
        while going:
            counts[200 <= await operation() < 300] += 1

    async with make(port, scenario) as operation:
        going = True
        tasks = [asyncio.ensure_future(worker(operation))
                 for _ in range(workers)]
        await asyncio.sleep(WARM_UP)
        counts.update({True: 0, False: 0})
        cpu, begin = own_cpu_seconds(resource.RUSAGE_SELF), time.monotonic()
        await asyncio.sleep(seconds)
        figures = (counts[True], counts[False],
                   own_cpu_seconds(resource.RUSAGE_SELF) - cpu,
                   time.monotonic() - begin)
        going = False
        await asyncio.gather(*tasks)
    return figures


def _ask(name: str, *args: Any) -> Counted:
    """Load the server in this process, with the arguments of ``_load``."""
    make, new_loop = CONTESTANTS[name]
    with closing(new_loop()) as loop:
        return loop.run_until_complete(_load(make, *args))


_LENGTH = re.compile(rb'\r\ncontent-length: *(\d+)', re.IGNORECASE)
_SIZE = re.compile(rb'GET [^ ]*?/(\d+) ')
#: What a Swift proxy-server says.
_HEADERS = (
    b'Content-Type: application/octet-stream\r\n'
    b'Etag: d41d8cd98f00b204e9800998ecf8427e\r\n'
    b'Last-Modified: Sat, 21 Nov 2026 12:00:00 GMT\r\n'
    b'X-Timestamp: 1795262400.00000\r\nAccept-Ranges: bytes\r\n'
    b'X-Trans-Id: tx0123456789abcdef01234-0123456789\r\n'
    b'X-Openstack-Request-Id: tx0123456789abcdef01234-0123456789\r\n'
    b'Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n')


@lru_cache
def _answer(status: bytes, size: int = 0) -> bytes:
    return b'HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b' % (
        status, _HEADERS, size, b'x' * size)


class Connection(asyncio.Protocol):
    """One connection of the server."""

    #: Bytes of the body of a PUT that are still to come.
    _left = 0
    _buffer = b''

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        while True:
            if self._left:
                taken = min(self._left, len(data))
                self._left -= taken
                if self._left:
                    return
                self._transport.write(_answer(b'201 Created'))
                data = data[taken:]
            head, end, data = (self._buffer + data).partition(b'\r\n\r\n')
            self._buffer = b'' if end else head
            if not end:
                return
            if head.startswith(b'PUT'):
                self._left = int(_LENGTH.findall(head)[0])
            else:
                self._transport.write(_answer(
                    b'200 OK', int(_SIZE.findall(head)[0])))


async def _serve(pipe: Any) -> None:
    server = await asyncio.get_running_loop().create_server(
        Connection, '127.0.0.1', 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def serve(pipe: Any) -> None:
    """Send the port into the pipe, and serve until the process is ended."""
    uvloop.run(_serve(pipe))


@contextmanager
def _server() -> Iterator[int]:
    """Serve in a process of its own; the context gives the port."""
    mine, its = _SPAWN.Pipe()
    process = _SPAWN.Process(target=serve, args=(its,), daemon=True)
    process.start()
    try:
        if not mine.poll(PATIENCE):
            raise ToolError('the server did not start in %d s' % PATIENCE)
        yield mine.recv()
    finally:
        process.terminate()
        process.join(PATIENCE)


class Cosbench(Bench):
    """All measurements of one invocation."""

    name = 'cosbench'
    options = {
        'contestants': (names(CONTESTANTS), ','.join(CONTESTANTS), 'NAME,…',
                        'what is compared'),
        'scenarios': (names(SCENARIOS), 'get-1k,put-64k', 'NAME,…',
                      'of ' + ', '.join(SCENARIOS)),
        'workers': (number(1, 1000), 32, None,
                    'requests at the same time'),
        'seconds': (number(0.1, 3600, float), 4.0, None,
                    'of each measurement')}
    references = ('aiohttp',)
    metrics = (Metric('per_cpu_second', 'requests/CPU s'),
               Metric('ops_per_second', 'requests/s'))

    def measure(self, stack: Any) -> None:
        port = stack.enter_context(_server())
        for run, scenario, name in self.turns(self.args.scenarios,
                                              self.args.contestants):
            self.attempt(name, scenario, run, lambda: self._measure(
                name, port, SCENARIOS[scenario]))

    def _measure(self, name: str, port: int,
                 scenario: Scenario) -> dict[str, Any]:
        """Return figures; CPU is counted for the client's process only."""
        args = self.args
        with ProcessPoolExecutor(1, mp_context=_SPAWN) as pool:
            done, failed, cpu, seconds = pool.submit(
                _ask, name, port, scenario, args.workers,
                args.seconds).result(args.seconds + PATIENCE)
        return {'operations': done, 'failed': failed, 'cpu_seconds': cpu,
                'seconds': seconds, 'per_cpu_second': done / cpu,
                'ops_per_second': done / seconds}
