# SPDX-License-Identifier: Apache-2.0
"""client: servers that close, stall, lie. No request may hang."""

import asyncio
import socket
import struct
from unittest import mock

from cosbench.adaptors.base import clock
from cosbench.adaptors.content import Body
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.adaptors.http1 import client as client_module
from cosbench.adaptors.http1 import connection as connection_module
from tests.unit.cosbench.adaptors.servers import (
    LoopsCase,
    answer,
    client_of,
    client_to,
    listening,
    read_head,
    saying,
    until,
)

OK = b'HTTP/1.1 200 OK\r\n'


class TestHostileServers(LoopsCase):

    async def fails(self, kind, port, timeout=10, body=None, sink=None):
        """:returns: the seconds that it took"""
        begin = clock()
        async with client_of(port, timeout) as client:
            with self.assertRaises(OperationError) as raised:
                await client.request(
                    b'PUT' if body else b'GET', b'/', body=body, sink=sink)
            self.assertEqual(kind, raised.exception.kind)
            self.assertNotIn('\n', str(raised.exception))
            self.assertEqual(0, client.connections)
        return clock() - begin

    async def test_what_is_no_http_is_a_protocol_error(self):
        for pieces in (
                [b'220 mail.example ESMTP\r\n\r\n'], [b'\x00' * 70000],
                [OK + b'Transfer-Encoding: chunked\r\n\r\n', b'zz\r\n'],
                [b'HTTP/1.1 100 Continue\r\n\r\n'] * 50):
            async with saying(*pieces, then_close=False) as port:
                await self.fails('protocol', port)

    async def test_an_early_close_is_a_failure_of_its_own_class(self):
        for pieces in ([], [OK + b'Content-Length: 5\r\n\r\nabc']):
            async with saying(*pieces) as port:
                await self.fails('closed', port)

    async def test_a_body_without_a_length_ends_with_the_connection(self):
        got = bytearray()
        async with client_to(saying(OK + b'\r\n', b'abc', b'def')) as client:
            response = await client.request(
                b'GET', b'/', sink=got.extend)
        self.assertEqual((b'abcdef', 6), (got, response.size))

    async def test_a_reset_is_a_failure_not_an_exception_of_the_loop(self):
        async def reset(reader, writer):
            await reader.read(100000)
            writer.get_extra_info('socket').setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            writer.transport.abort()
        async with listening(reset) as port:
            await self.fails('closed', port)
            # In the middle of a body that is sent.
            for chunked in (False, True):
                await self.fails('closed', port,
                                 body=Body(2 ** 26, chunked=chunked))

    async def test_silence_ends_after_the_time_out(self):
        for pieces in ([], [OK], [OK + b'Content-Length: 5\r\n\r\nabc']):
            async with saying(*pieces, then_close=False) as port:
                took = await self.fails('timeout', port, timeout=0.1)
                self.assertGreaterEqual(took, 0.1)
                self.assertLess(took, 5)

    async def test_a_server_that_does_not_read_ends_after_the_time_out(self):
        async def deaf(reader, writer):
            writer.transport.pause_reading()
            await asyncio.Event().wait()
        async with listening(deaf) as port:
            await self.fails('timeout', port, 0.2, Body(2 ** 26))

    async def test_what_comes_slowly_but_comes_does_not_time_out(self):
        now, heard, looks = 0, [], []

        def clock_noting(calls):
            return lambda: calls.append(now) or now

        async def slow(reader, writer):
            nonlocal now
            await read_head(reader)
            for byte in OK + b'Content-Length: 3\r\n\r\nabc':
                now += 6
                await until(lambda: now in looks, 'a look at what is slow')
                writer.write(bytes([byte]))
                await until(lambda: now in heard, 'a byte that came')
        with mock.patch.object(client_module, 'MAX_PERIOD', 0.001), \
                mock.patch.object(client_module, 'clock',
                                  clock_noting(looks)), \
                mock.patch.object(connection_module, 'clock',
                                  clock_noting(heard)):
            async with client_to(listening(slow), timeout=10) as client:
                response = await client.request(b'GET', b'/')
        self.assertEqual(3, response.size)
        self.assertGreater(now, 100)

    async def test_no_connection_is_a_failure_of_its_own_class(self):
        with socket.socket() as listener:
            listener.bind(('127.0.0.1', 0))
            await self.fails('connect', listener.getsockname()[1])

    async def test_a_connection_that_is_not_taken_ends_after_the_time_out(
            self):
        with socket.socket() as listener:
            listener.bind(('127.0.0.1', 0))
            listener.listen(0)
            port = listener.getsockname()[1]
            # Until the queue is full, and further SYNs are dropped.
            fillers = [socket.socket() for _ in range(4)]
            try:
                for filler in fillers:
                    filler.setblocking(False)
                    filler.connect_ex(('127.0.0.1', port))
                await self.fails('timeout', port, timeout=0.2)
            finally:
                for filler in fillers:
                    filler.close()

    async def test_an_early_answer_counts_and_ends_the_connection(self):
        async def impatient(reader, writer):
            await read_head(reader)
            writer.write(answer(413, b'too much'))
            await writer.drain()
            await done.wait()
        done = asyncio.Event()
        async with listening(impatient) as port:
            for chunked in (False, True):
                async with client_of(port) as client:
                    response = await client.request(
                        b'PUT', b'/', body=Body(2 ** 26, chunked=chunked))
                    self.assertEqual((413, b'too much'), (
                        response.status, response.excerpt))
                    self.assertEqual(0, client.connections)
            done.set()

    async def test_an_answer_nobody_asked_for_is_not_the_next_ones(self):
        async def eager(reader, writer):
            while await read_head(reader):
                writer.write(answer(200, b'good') + answer(200, b'evil'))
        async with client_to(listening(eager)) as client:
            for _ in range(3):
                got = bytearray()
                await client.request(b'GET', b'/', sink=got.extend)
                self.assertEqual(b'good', got)
                self.assertEqual(0, client.connections)

    async def test_an_answer_that_comes_before_the_request_is_refused(self):
        async def eager(reader, writer):
            await read_head(reader)
            writer.write(answer(200, b'good'))
            await go_on.wait()
            writer.write(answer(200, b'evil'))
            await reader.read()
        go_on = asyncio.Event()
        async with client_to(listening(eager)) as client:
            await client.request(b'GET', b'/')
            self.assertEqual(1, client.connections)
            go_on.set()
            await until(lambda: not client.connections, 'no connection')


class TestAConnectionThatTheServerFoundIdle(LoopsCase):

    async def request_after_close(self, method, per_connection=1):
        """The server closes each connection, without a word, as it gets one
        request more than it likes.

        :returns: (``Client``, status, heads that came)
        """
        heads = []

        async def serve(reader, writer):
            for _ in range(per_connection):
                heads.append(await read_head(reader))
                if heads[-1] is None:
                    return
                writer.write(answer(200))
            heads.append(await read_head(reader))
        async with client_to(listening(serve)) as client:
            await client.request(b'GET', b'/first')
            response = await client.request(method, b'/second')
            return client, response.status, heads

    async def test_gets_the_request_once_more_on_a_new_one(self):
        client, status, heads = await self.request_after_close(b'GET')
        self.assertEqual((200, 1), (status, client.resent))
        self.assertEqual(['/first', '/second', '/second'], [
            head[1] for head in heads if head])

    async def test_does_not_get_a_post_again(self):
        with self.fails('closed'):
            await self.request_after_close(b'POST')

    async def test_nothing_goes_out_a_third_time(self):
        with self.fails('closed'):
            await self.request_after_close(b'GET', per_connection=0)

    async def test_a_response_that_has_begun_is_not_asked_for_again(self):
        async def serve(reader, writer):
            await read_head(reader)
            writer.write(answer(200))
            await read_head(reader)
            requests.append(1)
            writer.write(OK)
        requests = []
        async with client_to(listening(serve)) as client:
            await client.request(b'GET', b'/')
            with self.assertRaises(OperationError):
                await client.request(b'GET', b'/')
            self.assertEqual(0, client.resent)
        self.assertEqual([1], requests)

    async def test_that_it_closed_before_is_noticed(self):
        async def serve(reader, writer):
            await read_head(reader)
            writer.write(answer(200))
        async with client_to(listening(serve)) as client:
            for _ in range(3):
                await client.request(b'GET', b'/')
                await until(lambda: not client.connections, 'its end')
            self.assertEqual(0, client.resent)
