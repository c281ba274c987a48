# SPDX-License-Identifier: Apache-2.0
"""client: requests to servers that behave, over real connections."""

import asyncio
from unittest import mock

from cosbench.adaptors.base import clock
from cosbench.adaptors.content import Body
from cosbench.adaptors.http1 import Client, header_lines, parse_url
from cosbench.adaptors.http1 import client as client_module
from cosbench.adaptors.http1.url import trust
from cosbench.errors import ConfigError
from tests.unit.cosbench.adaptors import certificates
from tests.unit.cosbench.adaptors.servers import (
    LoopsCase,
    Recorder,
    answer,
    client_of,
    client_to,
    listening,
    read_head,
    served,
    until,
)
from tests.unit.cosbench.directory_case import DirectoryCase


def looked_at_often():
    """:returns: a context in which a client looks each 10 ms"""
    return mock.patch.object(client_module, 'MAX_PERIOD', 0.01)


class TestRequests(LoopsCase):

    async def test_a_request_arrives_as_it_was_made(self):
        async with served() as (server, client):
            response = await client.request(
                b'GET', b'/a%20b?c=d', header_lines([('X-A', 'ü 1')]))
            await client.request(b'PUT', b'/')
            request, put = server.requests
        self.assertEqual('0', put.headers['content-length'])
        self.assertEqual(('GET', '/a%20b?c=d', b''), (
            request.method, request.target, request.body))
        self.assertEqual(
            {'host': '127.0.0.1:%d' % server.port, 'x-a': 'ü 1'},
            request.headers)
        self.assertEqual(200, response.status)

    async def test_a_body_arrives_with_its_length_or_in_chunks(self):
        for size in (0, 1, 2 ** 18, 2 ** 22 + 7):
            for chunked in (False, True):
                async with served() as (server, client):
                    body = Body(size, seed=size, chunked=chunked)
                    await client.request(b'PUT', b'/', body=body)
                    request, = server.requests
                self.assertEqual(b''.join(body), request.body)
                self.assertEqual(chunked, 'content-length'
                                 not in request.headers)
                self.assertEqual(chunked and size > 0, bool(request.chunks))

    async def test_a_body_comes_in_blocks_to_the_sink(self):
        content = b''.join(Body(3000000, seed=5))
        async with served(
                lambda request: answer(200, content)) as (_, client):
            blocks = []
            response = await client.request(
                b'GET', b'/', sink=lambda data: blocks.append(bytes(data)))
        self.assertEqual(content, b''.join(blocks))
        self.assertEqual(len(content), response.size)
        self.assertGreater(len(blocks), 1)

    async def test_a_head_has_no_body(self):
        reply = b'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n'
        async with served(lambda request: reply) as (server, client):
            for _ in range(2):
                response = await client.request(b'HEAD', b'/')
                self.assertEqual(0, response.size)
            self.assertEqual(1, server.connections)

    async def test_the_first_byte_is_the_head_not_the_body(self):
        go_on = asyncio.Event()

        async def late(reader, writer):
            await read_head(reader)
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n')
            await go_on.wait()
            writer.write(b'x')
        async with client_to(listening(late)) as client:
            before = clock()
            task = asyncio.ensure_future(client.request(b'GET', b'/'))
            await until(lambda: any(
                each.busy and each._response.status
                for each in client._connections), 'a head')
            between = clock()
            go_on.set()
            response = await task
        self.assertTrue(before < response.first_byte <= between)

    async def test_what_is_not_quoted_is_refused(self):
        async with client_of(1) as client:
            for target in (b'/a b', b'/a\r\nX: y', '/ä'.encode(), b''):
                with self.assertRaisesRegex(ValueError, 'not quoted'):
                    await client.request(b'GET', target)


class TestReuse(LoopsCase):

    async def test_requests_one_after_the_other_share_a_connection(self):
        async with served() as (server, client):
            for body in (None, Body(9), Body(9, chunked=True),
                         Body(900000), None):
                await client.request(b'PUT', b'/', body=body)
            self.assertEqual(1, client.connections)
            self.assertEqual([0] * 5, [
                each.connection for each in server.requests])
        self.assertEqual(0, client.connections)

    async def test_requests_at_the_same_time_do_not(self):
        waiting = []

        async def respond(request):
            met = asyncio.Event()
            waiting.append(met)
            if len(waiting) == 5:
                while waiting:
                    waiting.pop().set()
            await met.wait()
            return answer(200, request.target.encode())
        async with served(respond) as (server, client):
            for _ in range(3):
                bodies = [bytearray() for _ in range(5)]
                await asyncio.gather(*(client.request(
                    b'GET', b'/%d' % number, sink=body.extend)
                    for number, body in enumerate(bodies)))
                self.assertEqual([b'/%d' % n for n in range(5)], bodies)
            self.assertEqual(5, server.connections)

    async def test_a_server_that_says_close_gets_a_new_connection(self):
        def respond(request):
            return answer(200, connection='close')
        async with served(respond) as (server, client):
            for _ in range(3):
                await client.request(b'GET', b'/')
            self.assertEqual(0, client.connections)
            self.assertEqual(3, server.connections)

    async def test_a_cancelled_request_takes_its_connection_with_it(self):
        never = asyncio.Event()

        async def respond(request):
            if request.target == '/never':
                await never.wait()
            return answer(200)
        async with served(respond) as (server, client):
            await client.request(b'GET', b'/')
            task = asyncio.ensure_future(
                client.request(b'GET', b'/never'))
            await until(lambda: len(server.requests) == 2, 'a request')
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(0, client.connections)
            await client.request(b'GET', b'/')
            self.assertEqual([0, 0, 1], [
                each.connection for each in server.requests])

    async def test_an_error_of_the_sink_comes_out_and_ends_the_request(self):
        def sink(data):
            raise KeyError('wrong')
        async with served(
                lambda request: answer(200, b'x')) as (server, client):
            with self.assertRaises(KeyError):
                await client.request(b'GET', b'/', sink=sink)
            self.assertEqual(0, client.connections)
            await client.request(b'GET', b'/')

    async def test_a_body_of_another_size_than_it_says_is_an_error(self):
        class Liar(Body):
            def __iter__(self):
                return iter([b'x' * (self.size - 1)])
        async with served() as (server, client):
            with self.assertRaisesRegex(ValueError, '9 bytes .* of 10'):
                await client.request(b'PUT', b'/', body=Liar(10))
            self.assertEqual(0, client.connections)

    async def test_close_fails_what_is_under_way(self):
        never = asyncio.Event()

        async def respond(request):
            await never.wait()
        async with served(respond) as (server, client):
            task = asyncio.ensure_future(client.request(b'GET', b'/'))
            await until(lambda: server.requests, 'a request')
            await client.close()
            with self.fails('closed'):
                await task

    async def test_a_connection_that_nobody_uses_is_closed(self):
        with looked_at_often():
            async with served() as (server, client):
                await client.request(b'GET', b'/')
                with mock.patch.object(client_module, 'IDLE', 0.05):
                    await until(lambda: not client.connections, 'its end')
                await client.request(b'GET', b'/')
                self.assertEqual(2, server.connections)
                self.assertEqual(0, client.resent)

    async def test_one_that_is_used_now_and_then_outlives_the_time_out(self):
        with looked_at_often():
            async with served(timeout=10) as (server, client):
                await client.request(b'GET', b'/')
                with mock.patch.object(
                        client_module, 'clock',
                        side_effect=lambda: clock() + 15) as later:
                    await until(lambda: later.call_count > 1, 'looks at it')
                await client.request(b'GET', b'/')
                self.assertEqual(1, server.connections)

    async def test_without_a_time_out_a_request_waits(self):
        go_on = asyncio.Event()

        async def respond(request):
            await go_on.wait()
            return answer(200)
        async with served(respond, timeout=0) as (server, client):
            with looked_at_often():
                task = asyncio.ensure_future(
                    client.request(b'GET', b'/'))
                await until(lambda: client.connections, 'a connection')
                with mock.patch.object(
                        client_module, 'clock',
                        side_effect=lambda: clock() + 3600) as later:
                    await until(lambda: later.call_count > 1, 'looks at it')
                go_on.set()
                self.assertEqual(200, (await task).status)


class TestTLS(LoopsCase, DirectoryCase):

    def setUp(self):
        super().setUp()
        self.certificate, self.server_side = certificates.make(
            self.directory)

    async def ask(self, context, body=None):
        async with Recorder(lambda request: answer(
                200, request.body)).running(self.server_side) as server:
            client = Client(parse_url('url', server.url), 10, context)
            got = bytearray()
            try:
                await client.request(b'PUT', b'/', body=body,
                                     sink=got.extend)
                await client.request(b'GET', b'/')
                self.assertEqual(1, server.connections)
            finally:
                await client.close()
            return got

    async def test_a_self_signed_server_is_trusted_if_it_is_named(self):
        body = Body(1000000, seed=3)
        got = await self.ask(trust(self.certificate), body)
        self.assertEqual(b''.join(body), got)

    async def test_any_server_is_trusted_if_that_is_asked_for(self):
        await self.ask(trust(verify=False))

    async def test_neither_another_nor_one_of_another_host_is_trusted(self):
        with self.fails('tls', 'certificate'):
            await self.ask(trust())
        path, self.server_side = certificates.make(
            self.directory, '127.0.0.2')
        with self.fails('tls'):
            await self.ask(trust(path))

    def test_a_file_without_certificates_is_refused(self):
        for path in ('/nowhere', __file__):
            with self.assertRaisesRegex(ConfigError, 'cacert=.*PEM file'):
                trust(path)
