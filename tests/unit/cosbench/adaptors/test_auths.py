# SPDX-License-Identifier: Apache-2.0
"""tempauth, keystone, token, none: what they ask, and what they take."""

import asyncio
import json
from unittest import mock

from cosbench.adaptors import load
from cosbench.adaptors.base import Credentials
from cosbench.adaptors.core.operation_errors import OperationError
from cosbench.errors import ConfigError
from cosbench.workload.config import Config
from tests.unit.cosbench.adaptors.servers import LoopsCase, Recorder, answer

USER = 'username=test:tester;password=te=sting;'
KEYSTONE = 'username=u;password=p;'
CATALOG = [
    {'name': 'nova', 'type': 'compute', 'endpoints': [
        {'interface': 'public', 'region': 'one', 'url': 'http://nova/'}]},
    {'name': 'swift', 'type': 'object-store', 'endpoints': [
        {'interface': 'admin', 'region': 'one', 'url': 'http://admin/'},
        {'interface': 'public', 'region': 'one', 'url': 'http://one/v1/a'},
        {'interface': 'public', 'region': 'two', 'url': 'http://two/v1/a'}]},
]


def auth(kind, text):
    return load('auth', kind)(Config.parse(text))


class TestTempAuth(LoopsCase):

    async def login(self, server, path='/auth/v1.0', more='', key='auth_url'):
        return await auth('swauth', '%s%s=%s%s;%s' % (
            USER, key, server.url, path, more)).login()

    async def test_user_and_key_give_a_token_and_a_url(self):
        reply = answer(200, x_auth_token='t', x_storage_url='http://s/v1/a')
        async with Recorder(lambda request: reply).running() as server:
            for key in ('auth_url', 'url'):
                self.assertEqual(Credentials('t', 'http://s/v1/a'),
                                 await self.login(server, key=key))
        for request in server.requests:
            self.assertEqual(('GET', '/auth/v1.0'), (
                request.method, request.target))
            self.assertEqual(('test:tester', 'te=sting'), (
                request.headers['x-auth-user'],
                request.headers['x-auth-key']))

    async def test_what_swauth_calls_a_storage_token_is_taken(self):
        reply = answer(
            200, x_storage_token='t', x_storage_url='http://s/v1/a')
        async with Recorder(lambda request: reply).running() as server:
            self.assertEqual('t', (await self.login(server, '')).token)
            self.assertEqual('/', server.requests[0].target)

    async def test_a_refused_login_names_the_server_and_the_status(self):
        for reply, words in ((answer(401), 'http 401'),
                             (answer(302, location='/'), 'http 302'),
                             (answer(200), 'lacks X-Auth-Token'),
                             (b'nonsense\r\n\r\n', 'no status line')):
            async with Recorder(lambda request: reply).running() as server:
                with self.assertRaisesRegex(OperationError, words) as raised:
                    await self.login(server)
            self.assertEqual('auth', raised.exception.kind)
            self.assertIn(server.url, str(raised.exception))
            self.assertNotIn('sting', str(raised.exception))

    async def test_what_has_no_end_is_given_up(self):
        async def never(request):
            await asyncio.Event().wait()
        for respond, words in (
                (never, 'timeout'),
                (lambda request: answer(200, bytes(5 * 2 ** 20)),
                 'an answer of more')):
            async with Recorder(respond).running() as server:
                with self.assertRaisesRegex(OperationError, words):
                    await self.login(server, more='timeout=%d' % (
                        100 if respond is never else 30000))

    def test_a_wrong_config_names_the_key(self):
        for text, words in (
                ('username=u;password=p', 'auth_url is missing'),
                ('auth_url=http://h;password=p', 'username is missing'),
                ('auth_url=http://h;username=u', 'password is missing'),
                (USER + 'auth_url=ftp://h', "auth_url='ftp://h': must be"),
                (USER + 'url=h', "url='h': must be http"),
                (USER + 'url=http://h;timeout=x', 'timeout='),
                (USER + 'url=http://h;retry=-1', 'retry='),
                (USER + 'url=https://h;cacert=/no', 'cacert='),
                ('username=a\nb;password=p;url=http://h',
                 'username: must be one line')):
            with self.subTest(text):
                with self.assertRaisesRegex(ConfigError, words):
                    auth('tempauth', text)

    def test_caching_shares_between_equal_configs_only(self):
        text = USER + 'url=http://h;caching=%s'
        self.assertIsNone(auth('swauth', text % 'false').cache_key)
        self.assertEqual(auth('swauth', text % 'true').cache_key,
                         auth('swauth', text % 'true').cache_key)
        self.assertNotEqual(auth('swauth', text % 'true').cache_key,
                            auth('swauth', 'username=v;' + text.replace(
                                'username', 'x') % 'true').cache_key)


class TestKeystone(LoopsCase):

    def respond(self, request):
        return answer(201, json.dumps(
            {'token': {'catalog': self.catalog}}).encode(),
            x_subject_token='t')

    def setUp(self):
        self.catalog = CATALOG

    async def ask(self, text, path='/v3'):
        """:returns: (``Credentials``, the target, the ``auth`` asked)"""
        async with Recorder(self.respond).running() as server:
            found = await auth('keystone', 'auth_url=%s%s;%s' % (
                server.url, path, text)).login()
        request, = server.requests
        self.assertEqual(('POST', 'application/json'), (
            request.method, request.headers['content-type']))
        return found, request.target, json.loads(request.body)['auth']

    async def test_the_keys_of_v2_make_a_request_of_v3(self):
        for key in ('tenant_name', 'tenname', 'project_name'):
            found, target, asked = await self.ask(
                KEYSTONE + key + '=ten;service=swift')
            self.assertEqual(Credentials('t', 'http://one/v1/a'), found)
            self.assertEqual('/v3/auth/tokens', target)
            self.assertEqual({
                'identity': {'methods': ['password'], 'password': {'user': {
                    'name': 'u', 'password': 'p',
                    'domain': {'id': 'default'}}}},
                'scope': {'project': {
                    'name': 'ten', 'domain': {'id': 'default'}}}}, asked)

    async def test_the_url_of_either_version_leads_to_v3(self):
        for path, target in (
                ('', '/v3/auth/tokens'), ('/', '/v3/auth/tokens'),
                ('/v2.0', '/v3/auth/tokens'),
                ('/v2.0/tokens', '/v3/auth/tokens'),
                ('/identity/v3/', '/identity/v3/auth/tokens'),
                ('/identity/v3/auth/tokens', '/identity/v3/auth/tokens'),
                ('/identity', '/identity/v3/auth/tokens')):
            self.assertEqual(target, (await self.ask(KEYSTONE, path))[1])

    async def test_ids_domains_and_tokens(self):
        _, _, asked = await self.ask(
            KEYSTONE + 'tenant_id=9;tenant_name=ten;user_domain=d')
        self.assertEqual({'project': {'id': '9'}}, asked['scope'])
        self.assertEqual({'name': 'd'}, asked['identity']['password'][
            'user']['domain'])
        _, _, asked = await self.ask(
            'usertoken=old;tenant_name=ten;project_domain=e')
        self.assertEqual({'methods': ['token'], 'token': {'id': 'old'}},
                         asked['identity'])
        self.assertEqual({'name': 'e'}, asked['scope']['project']['domain'])

    def test_what_was_got_for_a_token_cannot_be_renewed(self):
        for text, renewable in (('username=u;password=p', True),
                                ('usertoken=t', False)):
            self.assertIs(renewable, auth(
                'keystone', 'url=http://h;' + text).renewable)

    async def test_the_endpoint_is_the_one_that_is_asked_for(self):
        self.setUp()
        for text, url in (('region=two', 'http://two/v1/a'),
                          ('interface=admin', 'http://admin/'),
                          ('service=object-store', 'http://one/v1/a'),
                          ('service=nova', 'http://nova/')):
            found, _, _ = await self.ask(KEYSTONE + text)
            self.assertEqual(url, found.storage_url)
        # One of another name is found by its type, without any there is none.
        for self.catalog, url in (
                ([{**CATALOG[1], 'name': 'store'}], 'http://one/v1/a'),
                ([], None)):
            found, _, _ = await self.ask(KEYSTONE)
            self.assertEqual(Credentials('t', url), found)

    async def test_what_it_cannot_use_is_a_clear_error(self):
        with self.assertRaisesRegex(
                OperationError, "no endpoint .* region='three'"):
            await self.ask(KEYSTONE + 'region=three')
        for reply, words in (
                (answer(401, b'{"error": 1}'), 'http 401'),
                (answer(201, b'{}'), 'lacks X-Subject-Token'),
                (answer(201, b'{}', x_subject_token='t'), 'Identity API v3'),
                (answer(201, b'[', x_subject_token='t'), 'Identity API v3'),
                (answer(201, b'{"token": {"catalog": [1]}}',
                        x_subject_token='t'), 'Identity API v3'),
                (answer(201, b'{"token": []}', x_subject_token='t'),
                 'Identity API v3')):
            with mock.patch.object(self, 'respond', lambda request: reply), \
                    self.assertRaisesRegex(OperationError, words) as raised:
                await self.ask(KEYSTONE)
            self.assertEqual('auth', raised.exception.kind)
        with self.assertRaisesRegex(ConfigError, 'username is missing'):
            auth('keystone', 'auth_url=http://h;tenant_name=t')


class TestTheOthers(LoopsCase):

    async def test_none_gives_nothing(self):
        self.assertEqual(Credentials(), await auth('none', '').login())

    async def test_a_token_is_given_as_it_is(self):
        self.assertEqual(
            Credentials('t', 'http://h:81/v1/a'),
            await auth('token', 'token=t;storage_url=http://h:81/v1/a/'
                       ).login())
        with self.assertRaisesRegex(ConfigError, 'token is missing'):
            auth('token', '')
