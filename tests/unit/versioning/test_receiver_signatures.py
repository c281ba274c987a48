# SPDX-License-Identifier: Apache-2.0
"""The receiver takes what a peer has signed, once, and nothing else."""

import unittest
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from unittest import mock

from swift.common.swob import Request

from swift_lightsync.versioning.core.shipping import MAX_HEAD, MAX_SMALL
from swift_lightsync.versioning.core.signature import (
    ANSWER_HEADER,
    HEADER,
    PATH,
    WINDOW,
    answer_mac,
    trailer,
)
from swift_lightsync.versioning.sites.receiver import Data, Receiver
from tests.unit.versioning.receiver_case import (
    BODY,
    DIGEST_LENGTH,
    HASH,
    ReceiverCase,
    framed,
)
from tests.unit.versioning.sites_world import key_of


class TestSignatures(ReceiverCase):

    def test_what_is_right_is_taken_and_the_answer_is_signed(self):
        req = self.request()
        response = self.send(req)
        self.assertEqual(200, response.status_int, response.body)
        self.assertEqual(str(self.version.id), self.rome.latest('o'))
        mac = req.headers[HEADER].rpartition(' ')[2]
        self.assertEqual(answer_mac(self.key, mac, 200, response.body),
                         response.headers[ANSWER_HEADER])

    def test_a_request_without_a_signature_is_not_for_us(self):
        req = self.request()
        del req.headers[HEADER]
        self.assertFalse(self.rome.receiver.handles(req))

    def test_who_has_no_key_is_refused(self):
        response = self.assert_refused(
            self.request(key=b'x' * 64), 403, 'site paris', 'not fit')
        self.assertNotIn(ANSWER_HEADER, response.headers)

    def test_requests_that_anybody_can_send_fill_no_log(self):
        with mock.patch.object(self.rome.logger, 'warning') as warning:
            for number in range(20):
                self.send(self.request(sender='site%d' % number))
        self.assertEqual(1, warning.call_count)

    def test_the_key_of_one_pair_of_sites_is_none_of_another(self):
        self.assert_refused(self.request(
            key=key_of('oslo', 'paris').encode()), 403)
        self.assert_refused(self.request(
            key=key_of('oslo', 'rome').encode()), 403)

    def test_unknown_sites_and_the_site_itself_are_refused(self):
        for sender in ('berlin', 'rome'):
            self.assert_refused(self.request(sender=sender), 403, sender)

    def test_what_was_signed_for_another_site_is_refused(self):
        self.assert_refused(self.request(receiver='oslo'), 403)

    def test_what_was_signed_for_another_path_or_verb_is_refused(self):
        for name, value in (('method', 'PUT'), ('path_info', PATH + 'd')):
            req = self.request()
            setattr(req, name, value)
            self.assert_refused(req, 403, 'POST')

    def test_what_is_too_old_or_of_the_future_is_refused(self):
        now = int(self.rome.now())
        for late in (WINDOW + 5, -WINDOW - 5):
            self.assert_refused(self.request(time=now + late), 403,
                                str(WINDOW))

    def test_headers_that_are_none_are_refused(self):
        for value in ('x', '', 'ü' * 99):
            req = self.request()
            req.headers[HEADER] = value
            self.assert_refused(req, 403)
        for length in ('', '-1', '9', '1e3', '٣', MAX_HEAD + 1, '9' * 30):
            self.assert_refused(self.request(length=length), 403)
        self.assert_refused(self.request(digest=HASH), 403)

    def test_of_what_is_not_signed_nothing_is_read(self):
        for req in (self.request(key=b'x' * 32), self.request(time=0),
                    self.request(sender='nobody'),
                    self.request(receiver='oslo')):
            stream = mock.Mock()
            req.environ['wsgi.input'] = stream
            self.assert_refused(req, 403)
            self.assertEqual([], stream.mock_calls)

    def test_an_altered_head_is_refused(self):
        req = self.request()
        altered = req.body.replace(b'"object":"o"', b'"object":"p"')
        self.assertNotEqual(req.body, altered)
        req.body = altered
        self.assert_refused(req, 403)

    def test_altered_data_is_refused_and_never_complete(self):
        for altered in (BODY[:-1] + b'X', b'X' + BODY[1:]):
            req = self.request()
            req.body = req.body.replace(BODY, altered)
            self.assert_refused(req, 400, 'the data')

    def large(self):
        data = bytes(MAX_SMALL + 1)
        return self.request(framed(self.shipment(length=len(data))), data)

    def test_altered_data_of_a_large_version_is_never_complete(self):
        for place in (70, -65, -1):
            req = self.large()
            body = bytearray(req.body)
            body[len(body) + place if place < 0 else
                 body.index(b'\0') + place] ^= 1
            req.body = bytes(body)
            self.assert_shipment_refused(req, 500)
        self.assertEqual([201], self.results(self.large()))

    def test_an_altered_trailer_is_refused(self):
        req = self.request()
        req.body = req.body[:-1] + (b'0' if req.body[-1:] != b'0' else b'1')
        self.assert_refused(req, 400)

    def test_a_body_that_ends_early_is_refused(self):
        for length in (10, len(self.head()) + 3, -3):
            req = self.request()
            whole = req.body
            req.body_file = BytesIO(whole[:length])
            req.content_length = len(whole)
            response = self.send(req)
            self.assertEqual(499, response.status_int)
            self.assertEqual({}, self.rome.data)

    def test_other_lengths_than_those_signed_are_refused(self):
        req = self.request()
        req.body = req.body + b'more'
        self.assert_refused(req, 403)
        self.assert_refused(self.request(data=BODY + b'x'), 400, 'length')
        req = self.request()
        req.headers.pop('Content-Length')
        self.assert_refused(req, 403, 'length of the body')

    def test_a_request_is_taken_once(self):
        req = self.request()
        body = req.body
        self.assertEqual([201], self.results(req))
        again = Request.blank(PATH, method='POST', body=body,
                              headers=req.headers)
        response = self.send(again)
        self.assertEqual(403, response.status_int)
        self.assertIn(b'before', response.body)

    def test_a_request_is_taken_by_one_of_several_processes(self):
        first = self.request()
        body, found = first.body, []
        memcache = FakeMemcache()
        for _ in range(2):
            # Another process has a memory of its own.
            self.rome.receiver = Receiver(
                self.rome.conf, 'rome', self.rome.clock, self.rome.logger,
                self.rome, now=self.rome.now)
            req = Request.blank(PATH, method='POST', body=body, headers=dict(
                first.headers), environ={'swift.cache': memcache})
            found.append(self.send(req).status_int)
        self.assertEqual([200, 403], found)

    def test_a_refused_signature_uses_up_no_nonce(self):
        good = self.request()
        forged = Request.blank(PATH, method='POST', body=good.body,
                               headers=dict(good.headers))
        forged.body = good.body.replace(b'"object":"o"', b'"object":"p"')
        self.assertEqual(403, self.send(forged).status_int)
        self.assertEqual([201], self.results(good))

    def test_both_keys_are_taken_while_one_replaces_the_other(self):
        peer = self.rome.receiver.peers['paris']
        self.rome.receiver.peers['paris'] = replace(
            peer, keys=(b'n' * 32, *peer.keys))
        self.assertEqual([201], self.results(self.request()))
        self.assertEqual([201], self.results(self.request(key=b'n' * 32)))


class FakeMemcache:

    def __init__(self):
        self.counts = {}

    def incr(self, key, time=0):
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]


class TestData(unittest.TestCase):

    def data(self, body, end):
        return Data(BytesIO(body + end), len(body), b'k',
                    'mac')

    def test_the_end_is_held_back_until_all_is_shown_to_be_whole(self):
        data = self.data(b'12345678', b'0' * DIGEST_LENGTH)
        self.assertEqual(b'1234', data.read(4))
        with self.assertRaises(ValueError):
            data.read(4)

    def test_whole_data_is_read_to_its_end(self):
        for size in (-1, 3, 100):
            data = self.data(b'12345678', trailer(
                b'k', 'mac', sha256(b'12345678').hexdigest()))
            found = b''.join(iter(lambda: data.read(size), b''))
            self.assertEqual(b'12345678', found)
            data.verify()
