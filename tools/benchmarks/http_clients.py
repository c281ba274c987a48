# SPDX-License-Identifier: Apache-2.0
"""The HTTP clients that ``bench cosbench`` compares, and the server they ask.

A contestant is an async context: it gives ``operation()``, a coroutine
function for one request whose answer is read completely. The server does as
little as HTTP/1.1 allows, since a client that has to wait spends more CPU on a
request: the answer to a GET has as many bytes as its path says (``/1024``), a
PUT is read to its end.
"""

import asyncio
import re
import resource
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import lru_cache
from typing import Any, NamedTuple

import aiohttp
import uvloop

from cosbench.adaptors import load
from cosbench.adaptors.content import Body
from cosbench.adaptors.http1 import Client, parse_url
from cosbench.adaptors.none import NoneAuth
from cosbench.workload.config import Config
from tools import ToolError
from tools.benchmarks.measure import own_cpu_seconds

#: What h2load says.
_DONE = re.compile(rb'requests: .*?(\d+) succeeded, (\d+) failed')
_TOOK = re.compile(rb'finished in ([\d.]+)(ms|s)')
#: Seconds that are not counted: connections, caches.
WARM_UP = 0.5


class Scenario(NamedTuple):
    """A method, and the bytes of an object."""

    method: str
    size: int


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
        storage = load('storage', kind).from_config(
            Config.parse(text % port), NoneAuth())
        await storage.open()
        name = str(scenario.size)

        async def put() -> int:
            await storage.put('c', name, Body(scenario.size))
            return 201

        async def get() -> int:
            await storage.get('c', name)
            return 200
        yield {'GET': get, 'PUT': put}[scenario.method]
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
                seconds: float) -> tuple[int, int, float, float]:
    """Load the server and count.

    :returns: (operations, failures, CPU seconds, seconds)
    """
    counts = {True: 0, False: 0}
    going = True

    async def worker(operation: Any) -> None:
        while going:
            counts[200 <= await operation() < 300] += 1

    async with make(port, scenario) as operation:
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


def _h2load(port: int, scenario: Scenario, workers: int,
            seconds: float) -> tuple[int, int, float, float]:
    """Load the server by h2load, a load generator in C: GETs over HTTP/1.1.

    :raises ToolError: if it is not installed, or cannot do what is asked
    """
    program = shutil.which('h2load')
    if program is None:
        raise ToolError('h2load is not there; Debian has it in '
                        'nghttp2-client')
    if scenario.method != 'GET':
        raise ToolError('h2load has no bodies of its own: only GETs')
    cpu = own_cpu_seconds(resource.RUSAGE_CHILDREN)
    ended = subprocess.run(
        [program, '--h1', '-c', str(workers), '-t', '1', '-D',
         str(max(1, round(seconds))), 'http://127.0.0.1:%d/v1/a/c/%d' % (
             port, scenario.size)], stdout=subprocess.PIPE)
    done, took = _DONE.search(ended.stdout), _TOOK.search(ended.stdout)
    if ended.returncode or done is None or took is None:
        raise ToolError('h2load ended with %d: %r' % (
            ended.returncode, ended.stdout[-200:]))
    return (int(done[1]), int(done[2]),
            own_cpu_seconds(resource.RUSAGE_CHILDREN) - cpu,
            float(took[1]) / (1000 if took[2] == b'ms' else 1))


def ask(name: str, port: int, scenario: Scenario, workers: int,
        seconds: float) -> tuple[int, int, float, float]:
    """Load the server in this process.

    :returns: the same as ``_load``
    """
    if name == 'h2load':
        return _h2load(port, scenario, workers, seconds)
    make, new_loop = CONTESTANTS[name]
    with closing(new_loop()) as loop:
        return loop.run_until_complete(
            _load(make, port, scenario, workers, seconds))


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

    def __init__(self) -> None:
        self._transport: Any = None
        self._buffer = b''
        #: Bytes of the body of a PUT that are still to come.
        self._left = 0

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
