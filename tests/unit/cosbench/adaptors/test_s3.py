# SPDX-License-Identifier: Apache-2.0
"""s3: requests that a verifying server accepts."""

import hmac
from functools import partial
from hashlib import sha256
from unittest import mock
from urllib.parse import unquote

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config as BotocoreConfig
from botocore.credentials import Credentials

from cosbench.adaptors import s3
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

KEYS = 'accesskey=AK;secretkey=S=K;'


storage = partial(made, 's3')


def signed_by_botocore(request, secret='S=K', more=()):
    """:param more: headers that are signed besides those of each request
    :returns: the Authorization that botocore gives a ``Request``
    """
    headers = request.headers
    region = headers['authorization'].split('/')[2]
    hashed = headers['x-amz-content-sha256'] != 'UNSIGNED-PAYLOAD'
    again = AWSRequest(
        request.method, 'http://%s%s' % (headers['host'], request.target),
        data=request.body, headers={
            name: headers[name] for name in more})
    again.context['client_config'] = BotocoreConfig(
        s3={'payload_signing_enabled': hashed})
    stamp = mock.Mock()
    stamp.strftime = lambda form: headers['x-amz-date']
    with mock.patch('botocore.auth.get_current_datetime',
                    return_value=stamp):
        S3SigV4Auth(Credentials('AK', secret, headers.get(
            'x-amz-security-token')), 's3', region).add_auth(again)
    return again.headers['Authorization']


def opened(server, text=''):
    return in_use(storage(KEYS + 'endpoint=%s;%s' % (server.url, text)))


class TestRequests(LoopsCase):

    async def asked(self, operate, text='', status=200, body=b'',
                    more=()):
        async with Recorder(
                lambda request: answer(status, body)).running() as server:
            async with opened(server, text) as found:
                transfer = await operate(found)
        request, = server.requests
        self.assertTrue(hmac.compare_digest(
            signed_by_botocore(request, more=more),
            request.headers['authorization']))
        return request, transfer

    async def test_each_operation_is_one_request_with_a_good_signature(self):
        for operate, line in (
                (lambda s: s.create_container('c'), 'PUT /c/'),
                (lambda s: s.delete_container('c'), 'DELETE /c/'),
                (lambda s: s.put('c', 'o', Body(3)), 'PUT /c/o'),
                (lambda s: s.get('c', "a/b c+ä'~!"),
                 'GET /c/a/b%20c%2B%C3%A4%27~%21'),
                (lambda s: s.delete('c', 'o'), 'DELETE /c/o'),
                (lambda s: s.list(), 'GET /'),
                (lambda s: s.list('c'), 'GET /c/?list-type=2'),
                (lambda s: s.list('c', 'o/ä&'),
                 'GET /c/?list-type=2&prefix=o%2F%C3%A4%26')):
            request, _ = await self.asked(operate)
            self.assertEqual(line, '%s %s' % (
                request.method, request.target))

    async def test_a_body_is_signed_only_if_that_is_asked_for(self):
        body = Body(600000, seed=1)
        request, transfer = await self.asked(
            lambda s: s.put('c', 'o', body), 'payload_signing=true')
        self.assertEqual(sha256(b''.join(body)).hexdigest(),
                         request.headers['x-amz-content-sha256'])
        self.assertEqual((600000, b''.join(body)), (
            transfer.size, request.body))
        request, _ = await self.asked(lambda s: s.put('c', 'o', body))
        self.assertEqual('UNSIGNED-PAYLOAD',
                         request.headers['x-amz-content-sha256'])

    async def test_a_chunked_body_goes_out_with_its_length(self):
        body = Body(600000, seed=1, chunked=True)
        request, _ = await self.asked(lambda s: s.put('c', 'o', body))
        self.assertEqual(('600000', b''.join(body)), (
            request.headers['content-length'], request.body))

    async def test_a_session_token_is_signed_too(self):
        request, _ = await self.asked(lambda s: s.get('c', 'o'),
                                      'sessiontoken=ST')
        self.assertIn('x-amz-security-token',
                      request.headers['authorization'])
        self.assertEqual('ST', request.headers['x-amz-security-token'])

    async def test_a_bucket_outside_the_home_region_names_its_region(self):
        request, _ = await self.asked(
            lambda s: s.create_container('c'), 'region=eu-west-1')
        self.assertIn(b'<LocationConstraint>eu-west-1<', request.body)
        self.assertIn('/eu-west-1/s3/', request.headers['authorization'])
        request, _ = await self.asked(lambda s: s.create_container('c'))
        self.assertEqual(b'', request.body)
        self.assertNotEqual(signed_by_botocore(request, 'wrong'),
                            request.headers['authorization'])

    async def test_a_bucket_is_created_with_the_headers_of_its_work(self):
        names = ('a-first', 'x-amz-bucket-object-lock-enabled', 'x-z')
        request, _ = await self.asked(lambda s: s.create_container(
            'c', tuple((name, 'a  b ') for name in names)), more=names)
        for name in names:
            self.assertEqual('a  b', request.headers[name].strip())
            self.assertIn(name, request.headers['authorization'])

    async def test_a_proxy_gets_the_whole_url(self):
        async with Recorder().running() as server:
            found = storage(KEYS + 'endpoint=http://s3.example;'
                            'path_style_access=true;proxyhost=127.0.0.1;'
                            'proxyport=%d' % server.port)
            await found.get('c', 'o')
            await found.close()
        self.assertEqual('http://s3.example/c/o', server.requests[0].target)
        self.assertEqual('s3.example', server.requests[0].headers['host'])


class TestAnswers(LoopsCase):

    async def asked(self, status, operate, body=b''):
        async with Recorder(
                lambda request: answer(status, body)).running() as server:
            async with opened(server) as found:
                return await operate(found)

    async def test_what_is_there_already_or_gone_is_a_success(self):
        for code in (b'BucketAlreadyOwnedByYou', b'BucketAlreadyExists'):
            await self.asked(409, lambda s: s.create_container('c'),
                             b'<Error><Code>%b</Code></Error>' % code)
        await self.asked(404, lambda s: s.delete_container('c'))
        await self.asked(404, lambda s: s.delete('c', 'o'))

    async def test_other_answers_are_failures_of_their_status(self):
        for status, operate in (
                (409, lambda s: s.create_container('c')),
                (409, lambda s: s.delete_container('c')),
                (403, lambda s: s.get('c', 'o')),
                (404, lambda s: s.get('c', 'o')),
                (503, lambda s: s.put('c', 'o', Body(1))),
                (500, lambda s: s.delete('c', 'o')),
                (307, lambda s: s.list('c'))):
            with self.assertRaisesRegex(OperationError,
                                        'SlowDown') as raised:
                await self.asked(status, operate, b'<Code>\nSlowDown</Code>')
            self.assertEqual('http %d' % status, raised.exception.kind)
            self.assertNotIn('\n', str(raised.exception))

    async def test_the_size_is_that_of_the_object(self):
        got = bytearray()
        transfer = await self.asked(
            200, lambda s: s.get('c', 'o', got.extend), b'12345')
        self.assertEqual((5, b'12345'), (transfer.size, got))


class TestPlaces(LoopsCase):

    def place(self, endpoint, bucket, more=''):
        found = storage(KEYS + 'endpoint=%s;%s' % (endpoint, more))
        client, path = found._place(bucket)
        self.assertEqual('/', path[-1])
        return client.url.netloc + unquote(path[:-1])

    def test_a_bucket_is_in_the_host_name_where_it_can_be(self):
        host = 'https://s3.example:81'
        for endpoint, bucket, more, place in (
                (host, 'my-bucket1', '', 'my-bucket1.s3.example:81'),
                (host, 'my.bucket', '', 's3.example:81/my.bucket'),
                (host, 'My_Bucket', '', 's3.example:81/My_Bucket'),
                (host, 'bu', '', 's3.example:81/bu'),
                (host, 'bucket', 'path_style_access=true',
                 's3.example:81/bucket'),
                ('http://10.0.0.1', 'bucket', '', '10.0.0.1/bucket'),
                ('http://[::1]:8', 'bucket', '', '[::1]:8/bucket'),
                ('http://localhost', 'bucket', '', 'localhost/bucket'),
                ('http://s3.example/x', 'bucket', '',
                 'bucket.s3.example/x'),
                ('http://10.0.0.1/s3/', 'bucket', '', '10.0.0.1/s3/bucket'),
                (s3.ENDPOINT, 'bucket', '', 'bucket.s3.amazonaws.com')):
            with self.subTest(endpoint, bucket=bucket):
                self.assertEqual(place, self.place(endpoint, bucket, more))

    def test_the_region_follows_from_an_endpoint_of_aws(self):
        for endpoint, region in (
                ('https://s3.eu-central-1.amazonaws.com', 'eu-central-1'),
                ('https://s3-us-gov-west-1.amazonaws.com', 'us-gov-west-1'),
                ('http://s3.amazonaws.com', 'us-east-1'),
                ('http://s3.example', 'us-east-1')):
            found = storage(KEYS + 'endpoint=' + endpoint)
            self.assertEqual(region, found._region)

    def test_a_wrong_config_names_the_key(self):
        for text, words in (
                ('secretkey=s', 'accesskey is missing'),
                ('accesskey=a', 'secretkey is missing'),
                (KEYS + 'endpoint=s3', "endpoint='s3': must be"),
                (KEYS + 'path_style_access=2', 'path_style_access='),
                (KEYS + 'proxyhost=h', 'proxyport is missing'),
                (KEYS + 'proxyhost=h;proxyport=0', "proxyport='0'"),
                (KEYS + 'proxyhost=h;proxyport=1;endpoint=https://h',
                 'must not be used with an https endpoint')):
            with self.subTest(text):
                with self.assertRaisesRegex(ConfigError, words):
                    storage(text)
