# SPDX-License-Identifier: Apache-2.0
"""sigv4: AWS's published examples, and botocore as an oracle."""

import datetime
import unittest
from hashlib import sha256
from unittest import mock
from urllib.parse import quote

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from cosbench.adaptors.core.sigv4 import (
    EMPTY,
    UNSIGNED,
    Scope,
    Signer,
    query_string,
)

#: Signature Version 4 test suite.
SUITE = Scope('AKIDEXAMPLE', 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
              'us-east-1', 'service')
SUITE_HEADERS = [('host', 'example.amazonaws.com'),
                 ('x-amz-date', '20150830T123600Z')]
#: Amazon S3 API Reference, "Signature Calculations for the Authorization
#: Header: Transferring Payload in a Single Chunk".
S3 = Scope('AKIAIOSFODNN7EXAMPLE', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
           'us-east-1')
STAMP = '20130524T000000Z'
HOST = ('host', 'examplebucket.s3.amazonaws.com')


def authorization(scope, method, path, query, headers, payload, stamp):
    return Signer(scope, headers, payload, stamp).authorization(
        method, path, query)


def signature(value):
    return value.rpartition('Signature=')[2]


class TestPublishedExamples(unittest.TestCase):

    def suite(self, path='/', query=()):
        return authorization(SUITE, 'GET', path, query_string(query),
                             SUITE_HEADERS, EMPTY, '20150830T123600Z')

    def test_get_vanilla(self):
        self.assertEqual(
            'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/'
            'service/aws4_request, SignedHeaders=host;x-amz-date, '
            'Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8a'
            'ae1d763fbf31', self.suite())

    def test_get_vanilla_query_order_key_case(self):
        self.assertEqual(
            'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf'
            '2500', signature(self.suite(query=[('Param2', 'value2'),
                                                ('Param1', 'value1')])))

    def s3(self, method, path, query=(), headers=(), payload=EMPTY):
        return signature(authorization(
            S3, method, path, query_string(query), sorted([
                HOST, ('x-amz-content-sha256', payload),
                ('x-amz-date', STAMP), *headers]), payload, STAMP))

    def test_s3(self):
        dated = [('date', 'Fri, 24 May 2013 00:00:00 GMT'),
                 ('x-amz-storage-class', 'REDUCED_REDUNDANCY')]
        for expected, method, path, more in (
                ('f0e8bdb87c964420e857bd35b5d6ed31'
                 '0bd44f0170aba48dd91039c6036bdb41', 'GET', '/test.txt',
                 {'headers': [('range', 'bytes=0-9')]}),
                ('98ad721746da40c64f1a55b78f14c238'
                 'd841ea1380cd77a1b5971af0ece108bd', 'PUT',
                 '/' + quote('test$file.text'), {
                     'headers': dated, 'payload': sha256(
                         b'Welcome to Amazon S3.').hexdigest()}),
                ('fea454ca298b7da1c68078a5d1bdbfbb'
                 'e0d65c699e0f91ac7a200a0136783543', 'GET', '/',
                 {'query': [('lifecycle', '')]}),
                ('34b48302e7b5fa45bde8084f4b7868a8'
                 '6f0a534bc59db6670ed5711ef69dc6f7', 'GET', '/',
                 {'query': [('prefix', 'J'), ('max-keys', '2')]})):
            self.assertEqual(expected, self.s3(method, path, **more))


class TestAgainstBotocore(unittest.TestCase):

    @given(st.sampled_from(['GET', 'PUT', 'DELETE', 'HEAD']),
           st.text(st.characters(exclude_categories=['Cs']), max_size=20),
           st.dictionaries(st.text('aBä-_.~ /+%', min_size=1, max_size=6),
                           st.text('aBä-_.~ /+%&=', max_size=6), max_size=3),
           st.datetimes(datetime.datetime(2000, 1, 1),
                        datetime.datetime(2100, 1, 1)),
           st.text('abAB12/+=', min_size=1), st.booleans())
    def test_the_header_is_the_same(self, method, name, query, now, secret,
                                    signs_payload):
        now = now.replace(microsecond=0)
        payload = sha256(b'data').hexdigest() if signs_payload else UNSIGNED
        path = '/b/' + quote(name, safe='/-_.~')
        text = query_string(query.items())
        request = AWSRequest(
            method, 'https://h.example:81%s%s' % (path, text and '?' + text),
            headers={'X-Amz-Content-SHA256': payload}, data=b'data')
        request.context['client_config'] = Config(
            s3={'payload_signing_enabled': signs_payload})
        with mock.patch('botocore.auth.get_current_datetime',
                        return_value=now):
            S3SigV4Auth(Credentials('key', secret), 's3',
                        'eu-1').add_auth(request)
        stamp = now.strftime('%Y%m%dT%H%M%SZ')
        self.assertEqual(request.headers['Authorization'], authorization(
            Scope('key', secret, 'eu-1'), method, path, text,
            [('host', 'h.example:81'), ('x-amz-content-sha256', payload),
             ('x-amz-date', stamp)], payload, stamp))
