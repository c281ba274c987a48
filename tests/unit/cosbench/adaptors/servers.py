# SPDX-License-Identifier: Apache-2.0
"""Servers on 127.0.0.1 for the adaptors' tests, and loops to run them on."""

import asyncio
import functools
import unittest
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import uvloop

from cosbench.adaptors import storage_of
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.adaptors.http1 import Client, parse_url
from cosbench.workload.config import Config
from cosbench.workload.model import Auth, Storage

LOOPS = (asyncio.new_event_loop, uvloop.new_event_loop)
#: Seconds that no test takes.
DEADLINE = 30


def made(kind, text, auth='none', auth_text=''):
    """:returns: the ``Storage`` of a type, of the texts of configs"""
    return storage_of(Auth(auth, Config.parse(auth_text)),
                      Storage(kind, Config.parse(text)))


@asynccontextmanager
async def in_use(storage):
    """:returns: a context of a ``Storage``, which is open in the block"""
    await storage.open()
    try:
        yield storage
    finally:
        await storage.close()


class LoopsCase(unittest.TestCase):
    """Runs its async tests on asyncio's loop and on uvloop.

    A test fails, too, if the loop was told of an exception that nobody
    handled.
    """

    def __init_subclass__(cls):
        super().__init_subclass__()
        for name, test in list(vars(cls).items()):
            if name.startswith('test_') and \
                    asyncio.iscoroutinefunction(test):
                setattr(cls, name, _on_loops(test))

    @contextmanager
    def fails(self, kind, words=''):
        """Check that an operation of the block fails.

        :param kind: of the ``OperationError``
        :param words: a pattern of what it says
        """
        with self.assertRaisesRegex(OperationError, words) as raised:
            yield
        self.assertEqual(kind, raised.exception.kind)


def _on_loops(test):
    @functools.wraps(test)
    def run(self):
        for new_loop in LOOPS:
            with self.subTest(new_loop.__module__):
                unhandled = []
                with asyncio.Runner(loop_factory=new_loop) as runner:
                    runner.get_loop().set_exception_handler(
                        lambda _, context: unhandled.append(context))
                    runner.run(asyncio.wait_for(test(self), DEADLINE))
                self.assertEqual([], unhandled)
    return run


@dataclass
class Request:

    method: str
    target: str
    #: Lower-case name -> value.
    headers: dict
    body: bytes
    #: Which connection it came on, from 0.
    connection: int
    #: Sizes of the chunks, if it was chunked.
    chunks: list = field(default_factory=list)


async def read_head(reader):
    """:returns: (method, target, headers), or None at the end"""
    try:
        head = await reader.readuntil(b'\r\n\r\n')
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head[:-4].decode('utf8').split('\r\n')
    method, target, _ = first.split(' ')
    pairs = [line.split(': ', 1) for line in lines]
    headers = {name.lower(): value for name, value in pairs}
    assert len(headers) == len(pairs), 'a header came twice'
    return method, target, headers


async def _body(reader, request):
    if request.headers.get('transfer-encoding') == 'chunked':
        while True:
            size = int(await reader.readline(), 16)
            data = await reader.readexactly(size + 2)
            assert data.endswith(b'\r\n')
            if not size:
                return
            request.chunks.append(size)
            request.body += data[:-2]
    request.body = await reader.readexactly(
        int(request.headers.get('content-length', 0)))


def answer(status, body=b'', **headers):
    """:returns: the bytes of a response; ``x_y`` becomes ``x-y``"""
    lines = ''.join('%s: %s\r\n' % (name.replace('_', '-'), value)
                    for name, value in headers.items())
    return b'HTTP/1.1 %d Whatever\r\n%bContent-Length: %d\r\n\r\n%b' % (
        status, lines.encode(), len(body), body)


class Recorder:
    """A well-behaved server that keeps what it got.

    :param respond: a function of a ``Request``, also async, that returns
        bytes: the response
    """

    def __init__(self, respond=lambda request: answer(200)):
        self.respond = respond
        self.requests = []
        self.connections = 0
        self.url = None
        self.port = None

    async def serve(self, reader, writer):
        number = self.connections
        self.connections += 1
        while True:
            head = await read_head(reader)
            if head is None:
                break
            request = Request(*head, b'', number)
            await _body(reader, request)
            self.requests.append(request)
            response = self.respond(request)
            if asyncio.iscoroutine(response):
                response = await response
            writer.write(response)

    @asynccontextmanager
    async def running(self, tls=None):
        """:param tls: a server's SSL context, or None"""
        async with listening(self.serve, tls) as port:
            self.port = port
            self.url = '%s://127.0.0.1:%d' % (
                'https' if tls else 'http', port)
            yield self


@asynccontextmanager
async def listening(serve, tls=None):
    """:param serve: an async function of reader and writer; the connection
        is closed after it
    :returns: an async context with the port
    """
    tasks = set()

    async def tended(reader, writer):
        tasks.add(asyncio.current_task())
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError,
                asyncio.CancelledError):
            # A cancelled task would be an error to asyncio's streams.
            pass
        finally:
            writer.close()
            tasks.discard(asyncio.current_task())

    server = await asyncio.start_server(
        tended, '127.0.0.1', 0, ssl=tls, limit=2 ** 22)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def saying(*pieces, then_close=True):
    """A server that answers whatever head it gets with the pieces.

    :param pieces: bytes, sent one by one
    :param then_close: otherwise it stays silent afterwards
    :returns: an async context with the port
    """
    async def serve(reader, writer):
        if await read_head(reader) is None:
            return
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            # So that each arrives on its own, mostly.
            await asyncio.sleep(0)
        if not then_close:
            await reader.read()
    async with listening(serve) as port:
        yield port


@asynccontextmanager
async def client_of(port, timeout=10, **settings):
    """:returns: an async context with a ``Client``, closed at its end"""
    client = Client(parse_url('url', 'http://127.0.0.1:%d' % port), timeout,
                    **settings)
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def served(respond=lambda request: answer(200), **settings):
    """:param respond: as of ``Recorder``
    :param settings: of the client
    :returns: an async context with a ``Recorder`` and a client of it
    """
    async with Recorder(respond).running() as server:
        async with client_of(server.port, **settings) as client:
            yield server, client


@asynccontextmanager
async def client_to(server, **settings):
    """:param server: of ``listening`` or ``saying``
    :param settings: of the client
    :returns: an async context with a client of the server
    """
    async with server as port:
        async with client_of(port, **settings) as client:
            yield client


async def until(condition, what):
    """Let the loop work until a condition holds."""
    loop = asyncio.get_running_loop()
    end = loop.time() + DEADLINE
    while not condition():
        if loop.time() > end:
            raise AssertionError('never: ' + what)
        await asyncio.sleep(0.001)
