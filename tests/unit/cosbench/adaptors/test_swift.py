# SPDX-License-Identifier: Apache-2.0
"""swift: what its operations ask, and what they make of the answers."""

import asyncio
from contextlib import asynccontextmanager
from functools import partial

from cosbench.adaptors.base import clock
from cosbench.adaptors.content import Body
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.errors import ConfigError
from tests.unit.cosbench.adaptors.servers import (
    LoopsCase,
    Recorder,
    answer,
    in_use,
    made,
)

storage = partial(made, 'swift')


def opened(server, text=''):
    return in_use(storage(
        'token=t;storage_url=%s/v1/AUTH_a;%s' % (server.url, text)))


class Swift(Recorder):
    """Swift with a TempAuth whose tokens are refused once they are
    ``expired``; an object is the body that was put there.
    """

    def __init__(self):
        super().__init__(self.answer)
        self.logins = 0
        self.expired = set()
        self.objects = {}
        self.login_status = 200

    def answer(self, request):
        if request.target == '/auth':
            self.logins += 1
            return answer(
                self.login_status, x_auth_token='tk%d' % self.logins,
                x_storage_url=self.url + '/v1/AUTH_a')
        if request.headers['x-auth-token'] in self.expired:
            return answer(401, b'who?')
        if request.method == 'PUT':
            self.objects[request.target] = request.body
            return answer(201)
        if request.target in self.objects:
            return answer(200, self.objects[request.target])
        return answer(404, b'<h1>Not\nFound</h1>', x_trans_id='tx1')

    @asynccontextmanager
    async def opened(self, more=''):
        async with self.running():
            async with in_use(storage(
                    '', 'swauth', 'username=u;password=p;auth_url=%s/auth;%s'
                    % (self.url, more))) as found:
                yield found

    def expire(self):
        self.expired.add('tk%d' % self.logins)


class TestOperations(LoopsCase):

    async def asked(self, operate, status=200, text='', body=b''):
        """:returns: (the ``Request``, the ``Transfer``)"""
        async with Recorder(
                lambda request: answer(status, body)).running() as server:
            async with opened(server, text) as found:
                before = clock()
                transfer = await operate(found)
                self.assertTrue(before < transfer.first_byte < clock())
        request, = server.requests
        self.assertEqual('t', request.headers['x-auth-token'])
        return request, transfer

    async def test_each_is_one_request(self):
        for operate, line in (
                (lambda s: s.create_container('c'), 'PUT /v1/AUTH_a/c'),
                (lambda s: s.delete_container('c'), 'DELETE /v1/AUTH_a/c'),
                (lambda s: s.put('c', 'o', Body(3)), 'PUT /v1/AUTH_a/c/o'),
                (lambda s: s.get('c', 'o'), 'GET /v1/AUTH_a/c/o'),
                (lambda s: s.delete('c', 'o'), 'DELETE /v1/AUTH_a/c/o'),
                (lambda s: s.list(), 'GET /v1/AUTH_a'),
                (lambda s: s.list('c'), 'GET /v1/AUTH_a/c'),
                (lambda s: s.list('c', 'o'), 'HEAD /v1/AUTH_a/c/o')):
            reply = b'' if 'HEAD' in line else b'body'
            request, _ = await self.asked(operate, body=reply)
            self.assertEqual(line, '%s %s' % (
                request.method, request.target))

    async def test_names_are_quoted(self):
        request, _ = await self.asked(lambda s: s.get('c ä?', 'a/b #%ü'))
        self.assertEqual('/v1/AUTH_a/c%20%C3%A4%3F/a/b%20%23%25%C3%BC',
                         request.target)

    async def test_the_size_is_that_of_the_data(self):
        _, transfer = await self.asked(lambda s: s.get('c', 'o'),
                                       body=b'12345')
        self.assertEqual(5, transfer.size)
        for chunked in (False, True):
            body = Body(70000, seed=1, chunked=chunked)
            request, transfer = await self.asked(
                lambda s: s.put('c', 'o', body), 201)
            self.assertEqual((70000, b''.join(body)), (
                transfer.size, request.body))
            self.assertEqual(chunked, bool(request.chunks))
        _, transfer = await self.asked(lambda s: s.list('c'), body=b'o1\no2')
        self.assertEqual(5, transfer.size)

    async def test_a_policy_is_asked_for_when_a_container_is_created(self):
        request, _ = await self.asked(
            lambda s: s.create_container('c'), 201, 'policy=gold')
        self.assertEqual('gold', request.headers['x-storage-policy'])
        request, _ = await self.asked(lambda s: s.create_container('c'), 202)
        self.assertNotIn('x-storage-policy', request.headers)
        request, _ = await self.asked(
            lambda s: s.create_container('c', (
                ('x-storage-policy', 'silver'),
                ('x-versions-enabled', 'true'))), 201, 'policy=gold')
        self.assertEqual(('silver', 'true'), (
            request.headers['x-storage-policy'],
            request.headers['x-versions-enabled']))

    async def test_what_is_gone_already_is_deleted(self):
        await self.asked(lambda s: s.delete('c', 'o'), 404)
        await self.asked(lambda s: s.delete_container('c'), 404)

    async def test_other_answers_are_failures_of_their_status(self):
        for status, operate in (
                (404, lambda s: s.get('c', 'o')),
                (404, lambda s: s.put('c', 'o', Body(1))),
                (409, lambda s: s.delete_container('c')),
                (503, lambda s: s.delete('c', 'o')),
                (507, lambda s: s.put('c', 'o', Body(1))),
                (301, lambda s: s.list('c')),
                (401, lambda s: s.get('c', 'o')),
                (403, lambda s: s.create_container('c'))):
            async with Recorder(
                    lambda request: answer(status)).running() as server:
                async with opened(server) as found:
                    with self.fails('http %d' % status):
                        await operate(found)
            # Nothing is tried again.
            self.assertEqual(1, len(server.requests))

    async def test_a_failure_says_what_was_asked_and_answered(self):
        server = Swift()
        async with server.opened() as found:
            with self.assertRaises(OperationError) as raised:
                await found.get('c', 'o')
        self.assertEqual(
            'http 404: GET /v1/AUTH_a/c/o: <h1>Not Found</h1>; '
            'X-Trans-Id tx1', str(raised.exception))

    async def test_the_time_out_is_in_milliseconds(self):
        async def never(request):
            await asyncio.Event().wait()
        async with Recorder(never).running() as server:
            async with opened(server, 'timeout=100') as found:
                with self.fails('timeout'):
                    await found.get('c', 'o')


class TestCredentials(LoopsCase):

    async def test_what_auth_gives_wins_over_the_config(self):
        server = Swift()
        async with server.running():
            async with in_use(storage(
                    'token=mine;storage_url=http://127.0.0.1:1/v1/other',
                    'swauth', 'username=u;password=p;auth_url=%s/auth'
                    % server.url)) as found:
                await found.put('c', 'o', Body(1))
        self.assertEqual('tk1', server.requests[-1].headers['x-auth-token'])

    async def test_the_config_stands_for_what_auth_does_not_give(self):
        async with Recorder().running() as server:
            async with in_use(storage('storage_url=%s/v1/a' % server.url,
                                      'mock', 'token=mocked')) as found:
                await found.get('c', 'o')
        self.assertEqual('mocked',
                         server.requests[0].headers['x-auth-token'])

    async def test_without_a_url_it_does_not_open(self):
        for auth, text in (('none', ''), ('token', 'token=t')):
            found = storage('', auth, text)
            with self.assertRaisesRegex(
                    OperationError, 'neither .* storage_url') as raised:
                await found.open()
            await found.close()
            self.assertEqual('auth', raised.exception.kind)

    def test_a_wrong_config_names_the_key(self):
        for text, words in (
                ('storage_url=nowhere', "storage_url='nowhere': must be"),
                ('storage_url=http://u@h/', 'without user'),
                ('timeout=-1', "timeout='-1'"), ('token=a\nb', 'token: must'),
                ('policy=a\nb', 'policy: must'),
                ('no_verify_ssl=perhaps', 'no_verify_ssl=')):
            with self.assertRaisesRegex(ConfigError, words):
                storage(text)


class TestExpiredTokens(LoopsCase):

    async def test_all_workers_share_one_login_and_none_fails(self):
        server = Swift()
        async with server.opened() as found:
            await found.put('c', 'o', Body(100, seed=2))
            await asyncio.gather(*(found.get('c', 'o') for _ in range(20)))
            server.expire()
            got = [bytearray() for _ in range(20)]
            await asyncio.gather(*(
                found.get('c', 'o', each.extend) for each in got))
            self.assertEqual([b''.join(Body(100, seed=2))] * 20, got)
        self.assertEqual(2, server.logins)

    async def test_a_body_goes_out_again_whole(self):
        server = Swift()
        async with server.opened() as found:
            await found.create_container('c')
            server.expire()
            for chunked in (False, True):
                body = Body(600000, seed=6, chunked=chunked)
                await found.put('c', 'o', body)
                self.assertEqual(b''.join(body),
                                 server.objects['/v1/AUTH_a/c/o'])
                server.expire()

    async def test_an_operation_is_repeated_once_only(self):
        server = Swift()
        async with server.opened() as found:
            await found.create_container('c')
            server.expired.update('tk%d' % number for number in range(99))
            begin = len(server.requests)
            for _ in range(3):
                with self.assertRaises(OperationError):
                    await found.get('c', 'o')
        # GET, login, GET; then only GETs, with a token that never was good.
        self.assertEqual(5, len(server.requests) - begin)
        self.assertEqual(2, server.logins)

    async def test_a_login_that_fails_then_is_tried_as_retry_says(self):
        for retry in (0, 2):
            server = Swift()
            async with server.opened('retry=%d' % retry) as found:
                await found.create_container('c')
                server.expire()
                server.login_status = 500
                with self.assertRaisesRegex(OperationError,
                                            'http 500') as raised:
                    await found.get('c', 'o')
            self.assertEqual(('auth', 2 + retry), (
                raised.exception.kind, server.logins))

    async def test_one_from_an_earlier_work_is_renewed_at_once(self):
        server = Swift()
        async with server.running():
            for _ in range(2):
                async with in_use(storage(
                        '', 'swauth', 'username=u;password=p;caching=true;'
                        'auth_url=%s/auth' % server.url)) as found:
                    await found.put('c', 'o', Body(1))
                server.expire()
        self.assertEqual(2, server.logins)
