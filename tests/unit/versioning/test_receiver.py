# SPDX-License-Identifier: Apache-2.0
"""What the receiver refuses, and what it takes only once."""

import json
import unittest
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from itertools import product
from unittest import mock

from swift.common.swob import HTTPServiceUnavailable, Request

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.row_data import DELETE_MARKER, Entry, Kind
from swift_lightsync.versioning.core.shipping import (
    MAX_HEAD,
    Offered,
    Shipment,
)
from swift_lightsync.versioning.core.signature import (
    ANSWER_HEADER,
    HEAD_HEADER,
    HEADER,
    WINDOW,
    Signed,
    answer_mac,
    trailer,
)
from swift_lightsync.versioning.core.stamp import TICKS
from swift_lightsync.versioning.core.version import Version
from swift_lightsync.versioning.sites.peer_client import (
    PeerClient,
    PeerDown,
    PeerRefused,
    Truncated,
)
from swift_lightsync.versioning.sites.received_body import Data
from swift_lightsync.versioning.sites.receiver import Receiver
from tests.unit.sync.fixtures import served
from tests.unit.versioning.sites_world import (
    ACCOUNT,
    CONTAINER,
    SitesTestCase,
    key_of,
)

PATH = '/v1/%s/%s' % (ACCOUNT, CONTAINER)
NONCE = '%032x'
BODY = b'the data of a version'
DIGEST_LENGTH = 64


class ReceiverCase(SitesTestCase):
    """Rome receives; requests are made by hand, as if of Paris."""

    def setUp(self):
        super().setUp()
        self.rome.make_container()
        self.version = Version.after((), self.paris.strategy.tick(), 'paris')
        self.key = key_of('rome', 'paris').encode()
        self.nonces = iter(range(1, 1000))

    def entry(self, **values):
        return Entry('o', replace(self.version, **values), len(BODY), 'e',
                     'text/plain')

    def head(self, **values):
        return shipping.shipment(Shipment(self.entry(**values),
                                          length=len(BODY)))

    def request(self, head=None, data=BODY, key=None, **values):
        """A request that is right, but for what is given."""
        head = self.head() if head is None else head
        key = key or self.key
        signed = replace(Signed(
            'POST', PATH, 'paris', 'rome', int(self.rome.now()),
            NONCE % next(self.nonces), len(head) + len(data) + DIGEST_LENGTH,
            head), **values)
        claim = signed.claim(key)
        end = trailer(key, claim.mac, sha256(data).hexdigest())
        return Request.blank(PATH, method='POST', body=head + data + end,
                             headers={HEADER: str(claim),
                                      HEAD_HEADER: str(len(head))})

    def send(self, req):
        self.assertTrue(self.rome.receiver.handles(req))
        return self.rome.receiver(req)

    def assert_refused(self, req, status, *words):
        response = self.send(req)
        self.assertEqual(status, response.status_int, response.body)
        error = json.loads(response.body)['error']
        for word in words:
            self.assertIn(word, error)
        self.assertIsNone(self.rome.latest('o'))
        self.assertEqual({}, self.rome.data)
        return response


class TestSignatures(ReceiverCase):

    def test_what_is_right_is_taken_and_the_answer_is_signed(self):
        req = self.request()
        response = self.send(req)
        self.assertEqual(201, response.status_int, response.body)
        self.assertEqual(str(self.version.id), self.rome.latest('o'))
        mac = req.headers[HEADER].rpartition(' ')[2]
        self.assertEqual(answer_mac(self.key, mac, 201, response.body),
                         response.headers[ANSWER_HEADER])

    def test_a_request_without_a_signature_is_not_for_us(self):
        req = self.request()
        del req.headers[HEADER]
        self.assertFalse(self.rome.receiver.handles(req))

    def test_who_has_no_key_is_refused(self):
        response = self.assert_refused(
            self.request(key=b'x' * 64), 403, 'site paris', 'not fit')
        self.assertNotIn(ANSWER_HEADER, response.headers)

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
        self.assert_refused(self.request(path=PATH + 'd'), 403)
        req = self.request()
        req.method = 'PUT'
        self.assert_refused(req, 403, 'POST')

    def test_what_is_too_old_or_of_the_future_is_refused(self):
        now = int(self.rome.now())
        for late in (WINDOW + 5, -WINDOW - 5):
            self.assert_refused(self.request(time=now + late), 403,
                                str(WINDOW))

    def test_headers_that_are_none_are_refused(self):
        for name, value in ((HEADER, 'x'), (HEADER, ''), (HEADER, 'ü' * 99),
                            (HEAD_HEADER, ''), (HEAD_HEADER, '-1'),
                            (HEAD_HEADER, '1e3'), (HEAD_HEADER, '٣'),
                            (HEAD_HEADER, str(MAX_HEAD + 1)),
                            (HEAD_HEADER, '9' * 30)):
            req = self.request()
            req.headers[name] = value
            self.assert_refused(req, 403)

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
            self.assert_refused(req, 500)

    def test_an_altered_trailer_is_refused(self):
        req = self.request()
        req.body = req.body[:-1] + (b'0' if req.body[-1:] != b'0' else b'1')
        self.assert_refused(req, 500)

    def test_a_body_that_ends_early_is_refused(self):
        for length in (10, len(self.head()) + 3, -3):
            req = self.request()
            whole = req.body
            req.body_file = BytesIO(whole[:length])
            req.content_length = len(whole)
            response = self.send(req)
            self.assertIn(response.status_int, (499, 500))
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
        self.assertEqual(201, self.send(req).status_int)
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
        self.assertEqual([201, 403], found)

    def test_a_refused_signature_uses_up_no_nonce(self):
        good = self.request()
        forged = Request.blank(PATH, method='POST', body=good.body,
                               headers=dict(good.headers))
        forged.body = good.body.replace(b'"object":"o"', b'"object":"p"')
        self.assertEqual(403, self.send(forged).status_int)
        self.assertEqual(201, self.send(good).status_int)

    def test_both_keys_are_taken_while_one_replaces_the_other(self):
        peer = self.rome.receiver.peers['paris']
        self.rome.receiver.peers['paris'] = replace(
            peer, keys=(b'n' * 32, *peer.keys))
        self.assertEqual(201, self.send(self.request()).status_int)
        self.assertEqual(201, self.send(
            self.request(key=b'n' * 32)).status_int)


class FakeMemcache:

    def __init__(self):
        self.counts = {}

    def incr(self, key, time=0):
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]


class TestWhatIsSigned(ReceiverCase):
    """A site that is a peer may be wrong, too."""

    def test_hostile_heads_are_refused_by_name(self):
        good = json.loads(self.head())
        for name, value in (('object', 'a\0b'), ('site', 'X'),
                            ('type', DELETE_MARKER), ('verb', 'drop'),
                            ('headers', [['x-timestamp', '1']]),
                            ('etag', 'e; sv_at=plain'), ('length', 1)):
            head = json.dumps({**good, name: value}).encode()
            self.assert_refused(self.request(head), 400,
                                name.replace('headers', 'header'))
        self.assert_refused(self.request(b'[' * 9999), 400, 'JSON')

    def test_stamps_of_the_future_are_held_wherever_they_are(self):
        ahead = replace(self.version.id,
                        ticks=self.version.id.ticks + 100 * TICKS)
        vector = self.version.vector
        for values in (
                {'id': ahead, 'vector': type(vector)({'paris': ahead})},
                {'vector': type(vector)({'paris': self.version.id,
                                         'oslo': ahead})}):
            response = self.assert_refused(
                self.request(self.head(**values)), 409, 'ahead')
            self.assertIn(ANSWER_HEADER, response.headers)
        for shipment in (
                Shipment(replace(self.entry(), purged=ahead)),
                Shipment(replace(self.entry(), changed=ahead),
                         length=len(BODY))):
            data = BODY if shipment.length else b''
            self.assert_refused(self.request(
                shipping.shipment(shipment), data), 409, 'ahead')

    def test_a_version_is_stored_once_whoever_ships_it(self):
        for _ in range(2):
            self.assertEqual(201, self.send(self.request()).status_int)
        self.assertEqual(1, len(self.rome.puts))

    def purge(self):
        """Return a request to purge the version."""
        after = replace(self.version.id, ticks=self.version.id.ticks + 1)
        return self.request(shipping.shipment(Shipment(
            replace(self.entry(), purged=after))), b'')

    def test_a_purge_is_asked_for_until_the_data_is_deleted(self):
        self.send(self.request())
        with mock.patch.object(self.rome, '_delete_data',
                               side_effect=HTTPServiceUnavailable()):
            self.assertEqual(503, self.send(self.purge()).status_int)
        offer = shipping.offer([
            Offered('o', self.version.id, 'paris', Kind.PURGE)])
        self.assertEqual({'lacking': [0]}, json.loads(
            self.send(self.request(offer, b'')).body))
        self.assertEqual(201, self.send(self.purge()).status_int)
        self.assertEqual({}, self.rome.data)

    def test_a_purge_that_overtakes_the_version_leaves_no_data(self):
        store = self.rome._put_data

        def purged_before(*args):
            self.assertEqual(201, self.send(self.purge()).status_int)
            return store(*args)

        def purged_after(*args):
            resp = store(*args)
            self.assertEqual(201, self.send(self.purge()).status_int)
            return resp
        for put_data, ahead in product((purged_before, purged_after),
                                       (0, 5)):
            self.paris.skew = ahead
            self.version = Version.after(
                (), self.paris.strategy.tick(), 'paris')
            with self.subTest(put_data.__name__, ahead=ahead), \
                    mock.patch.object(self.rome, '_put_data', put_data):
                self.assertEqual(201, self.send(self.request()).status_int)
                self.assertEqual({}, self.rome.data)
                self.assertTrue(self.rome.strategy.get(
                    'o', self.version.id).purged)

    def test_a_content_type_may_be_as_long_as_a_client_s_header(self):
        head = json.dumps({**json.loads(self.head()), 'type':
                           'text/plain;a=' + 'x' * 8000}).encode()
        self.assertEqual(201, self.send(self.request(head)).status_int)

    def test_an_offer_for_a_container_that_is_missing_lacks_all(self):
        offer = shipping.offer([
            Offered('o', self.version.id, 'paris', Kind.DATA)] * 2)
        req = self.request(offer, b'')
        self.rome.brokers = lambda container: []
        response = self.send(req)
        self.assertEqual({'lacking': [0, 1]}, json.loads(response.body))

    def test_rows_that_cannot_be_written_are_told(self):
        self.rome.stack.close()
        self.assert_refused_rows(self.send(self.request()))

    def assert_refused_rows(self, response):
        self.assertEqual(503, response.status_int)
        self.assertIn(b'rows', response.body)


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


class TestClient(ReceiverCase):
    """What a propagator takes for an answer."""

    offers = ()

    def client(self, port=None):
        propagator = self.paris.propagator()
        client = propagator.peer_tasks[0].client
        self.assertEqual('rome', client.peer.name)
        if port:
            endpoint = replace(client.peer.endpoints[0], port=port)
            client.peer = replace(client.peer, endpoints=(endpoint,))
        return client

    def offer(self, client):
        return client.offer(ACCOUNT, CONTAINER, [Offered(
            'o', self.version.id, 'paris', Kind.DATA)])

    def test_an_answer_of_the_peer_is_taken(self):
        self.assertEqual([0], self.offer(self.client()))

    def test_forged_answers_are_none(self):
        def forge(status, body, mac):
            def app(env, start_response):
                env['wsgi.input'].read()
                start_response('%d X' % status, [(ANSWER_HEADER, mac)])
                return [body]
            return app
        for status, body, mac in (
                (200, b'{"lacking":[]}', ''), (200, b'{"lacking":[]}', 'x'),
                (201, b'{}', 'ü'), (503, b'<html>', ''),
                (200, b'x' * (MAX_HEAD + 100), '')):
            with served(forge(status, body, mac)) as port:
                with self.assertRaises(PeerDown):
                    self.offer(self.client(port))

    def test_what_a_peer_refuses_is_told_with_its_reason(self):
        ahead = replace(self.version.id,
                        ticks=self.version.id.ticks + 100 * TICKS)
        with self.assertRaises(PeerRefused) as caught:
            self.client().ship(ACCOUNT, CONTAINER, Shipment(self.entry(
                id=ahead, vector=type(self.version.vector)(
                    {'paris': ahead})), length=len(BODY)), [BODY])
        self.assertEqual(409, caught.exception.status)
        self.assertIn('ahead', str(caught.exception))

    def test_data_of_another_length_is_not_sent_whole(self):
        shipment = Shipment(self.entry(), length=len(BODY))
        for data in ([], [BODY[:-1]], [BODY, b'x']):
            with self.assertRaises((Truncated, PeerDown)):
                self.client().ship(ACCOUNT, CONTAINER, shipment, data)
        self.assertEqual({}, self.rome.data)

    def test_the_next_endpoint_is_asked_if_one_is_down(self):
        client = self.client()
        endpoint, = client.peer.endpoints
        client.peer = replace(client.peer, endpoints=(
            replace(endpoint, port=1), endpoint))
        for _ in range(8):
            self.assertEqual([0], self.offer(client))

    def test_who_does_not_answer_is_down(self):
        client = self.client(port=1)
        with self.assertRaises(PeerDown) as caught:
            self.offer(client)
        self.assertIn('127.0.0.1:1', str(caught.exception))
        self.assertIsInstance(client, PeerClient)
