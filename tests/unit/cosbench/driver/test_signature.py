# SPDX-License-Identifier: Apache-2.0
"""Signatures: what holds, and that nothing else does."""

import os
import re
import unittest

from cosbench.driver import signature
from cosbench.driver.signature import (
    DIGEST,
    NONCE,
    SIGNATURE,
    TIME,
    Gate,
    answer_signature,
    check_answer,
    request_fields,
)
from swift_lightsync.common.signing import SignatureError

SECRET, NOW = b'0123456789abcdef', 1700000000
NONCES = '000102030405060708090a0b0c0d0e0f'


def head(method='GET', target='/v1/status', body=b'', secret=SECRET,
         now=NOW, nonce=NONCES, **changed):
    fields = request_fields(secret, method, target, body, now, nonce)
    return method, target, {**fields, **changed}


class TestRequests(unittest.TestCase):

    def refused(self, sent, reason, now=NOW, gate=None):
        with self.assertRaisesRegex(SignatureError, reason):
            (gate or Gate(SECRET)).check_head(*sent, now)

    def test_what_is_signed_passes_once(self):
        gate = Gate(SECRET)
        gate.check_head(*head(), NOW)
        self.refused(head(), 'been sent before', gate=gate)

    def test_the_example_of_the_protocol_is_right(self):
        path = os.path.join(os.path.dirname(os.path.dirname(
            signature.__file__)), 'PROTOCOL.md')
        with open(path, encoding='utf8') as stream:
            example, = re.findall('`([0-9a-f]{64})`', stream.read())
        self.assertEqual(example, head()[2][SIGNATURE])

    def test_each_field_must_be_there(self):
        for key in (TIME, NONCE, DIGEST, SIGNATURE):
            *asked, fields = head()
            del fields[key]
            self.refused((*asked, fields), key + ' is missing')

    def test_nothing_that_is_signed_can_be_changed(self):
        fields = head()[2]
        for method, target, changed in (
                ('POST', '/v1/status', {}), ('GET', '/v1/other', {}),
                ('GET', '/v1/status?', {}), ('GET', '/v1/status?a=1', {}),
                ('GET', '/v1/status', {TIME: str(NOW + 1)}),
                ('GET', '/v1/status', {NONCE: 'f' * 32}),
                ('GET', '/v1/status', {DIGEST: '0' * 64}),
                ('GET', '/v1/status', {SIGNATURE: '0' * 64}),
                ('GET', '/v1/status', {SIGNATURE: '\u00e9\udc80'}),
                ('GET', '/v1/status',
                 {SIGNATURE: fields[SIGNATURE].upper()})):
            self.refused((method, target, {**fields, **changed}),
                         'the signature is wrong')

    def test_malformed_times_and_nonces_are_refused(self):
        for changed in ({TIME: '-1'}, {TIME: '1e9'}, {TIME: '9' * 13},
                        {TIME: '\u0661'}, {NONCE: 'short'},
                        {NONCE: 'G' * 32}, {NONCE: 'a' * 32 + '\n'}):
            self.refused(head(**changed), 'malformed')

    def test_it_holds_in_its_window_of_time_only(self):
        for now in (NOW - 300, NOW + 300):
            Gate(SECRET).check_head(*head(), now)
        for now in (NOW - 301, NOW + 301):
            self.refused(head(), 'was signed at', now)

    def test_the_body_must_be_the_one_that_was_signed(self):
        *_, sent = head(body=b'one')
        Gate.check_body(sent, b'one')
        for body in (b'', b'One', b'one '):
            with self.assertRaises(SignatureError):
                Gate.check_body(sent, body)

    def test_one_without_the_secret_fills_no_memory(self):
        nonces = Gate(SECRET)
        for number in range(100):
            self.refused(head(secret=b'x' * 16, nonce='%032x' % number),
                         'signature', gate=nonces)
        self.assertEqual(0, len(nonces._nonces))


class TestAnswers(unittest.TestCase):

    def test_only_the_answer_to_this_request_holds(self):
        good = answer_signature(SECRET, 200, NONCES, b'{}')
        check_answer(SECRET, 200, NONCES, b'{}', good)
        for args in ((SECRET, 201, NONCES, b'{}', good),
                     (SECRET, 200, 'f' * 32, b'{}', good),
                     (SECRET, 200, NONCES, b'[]', good),
                     (b'x' * 16, 200, NONCES, b'{}', good),
                     (SECRET, 200, NONCES, b'', head()[2][SIGNATURE]),
                     (SECRET, 200, NONCES, b'{}', None)):
            with self.assertRaises(SignatureError):
                check_answer(*args)
