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
from swift_lightsync.versioning.core.keys import (
    hidden_container,
)
from swift_lightsync.versioning.core.life import Life
from swift_lightsync.versioning.core.row_data import DELETE_MARKER, Entry, Kind
from swift_lightsync.versioning.core.shipment import Shipment
from swift_lightsync.versioning.core.shipping import (
    LATER,
    MAX_HEAD,
    MAX_PACK,
    MAX_SMALL,
    Group,
    Offered,
)
from swift_lightsync.versioning.core.signature import (
    ANSWER_HEADER,
    HEAD_HEADER,
    HEADER,
    PATH,
    WINDOW,
    HeadClaim,
    Signed,
    answer_mac,
    trailer,
)
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.sites import arrivals
from swift_lightsync.versioning.sites import receiver as receiver_module
from swift_lightsync.versioning.sites.outgoing import Truncated
from swift_lightsync.versioning.sites.peer_client import (
    PeerClient,
    PeerDown,
    PeerRefused,
)
from swift_lightsync.versioning.sites.received_body import Data
from swift_lightsync.versioning.sites.receiver import Receiver
from tests.unit.sync.fixtures import served
from tests.unit.versioning.sites_world import (
    ACCOUNT,
    CONTAINER,
    SiteContainer,
    SitesTestCase,
    key_of,
)

NONCE = '%032x'
BODY = b'the data of a version'
DIGEST_LENGTH = 64
HASH = 'a' * DIGEST_LENGTH


def framed(*shipments):
    """Return the head of a pack."""
    return shipping.pack([shipping.encoded(each.to_frame().to_json())
                          for each in shipments])


class ReceiverCase(SitesTestCase):
    """Rome receives; requests are made by hand, as if of Paris."""

    def setUp(self):
        super().setUp()
        self.rome.make_container()
        self.version = self.new_version()
        self.key = key_of('rome', 'paris').encode()
        self.nonces = iter(range(1, 1000))

    def new_version(self, ahead=0):
        stamp = self.paris.clock.tick(self.paris.now() + ahead)
        return Version(stamp, 'paris', Vector({'paris': stamp}))

    def entry(self, obj='o', **values):
        return Entry(obj, replace(self.version, **values), len(BODY), 'e',
                     'text/plain')

    def shipment(self, entry=None, length=len(BODY), container=CONTAINER):
        return Shipment(ACCOUNT, container, entry or self.entry(),
                        length=length)

    def head(self, **values):
        return framed(self.shipment(self.entry(**values)))

    def altered(self, **values):
        """Return the head of a shipment, with other values in its JSON."""
        head = json.loads(self.head())
        frame = head['shipments'][0]
        for name, value in values.items():
            at = next((each for each in (head, frame, frame['what'],
                                         frame['what']['version'])
                       if name in each), head)
            at[name] = value
        return json.dumps(head).encode()

    def offer(self, *versions, container=CONTAINER):
        return shipping.offer([Group(ACCOUNT, container, versions)])

    def request(self, head=None, data=BODY, key=None, **values):
        """A request that is right, but for what is given."""
        head = self.head() if head is None else head
        key = key or self.key
        signed = replace(Signed(
            'POST', PATH, 'paris', 'rome', int(self.rome.now()),
            NONCE % next(self.nonces), len(head) + len(data) + DIGEST_LENGTH,
            HeadClaim.of(head)), **values)
        claim = signed.claim(key)
        end = trailer(key, claim.mac, sha256(data).hexdigest())
        return Request.blank(PATH, method='POST', body=head + data + end,
                             headers={HEADER: str(claim),
                                      HEAD_HEADER: str(signed.head)})

    def send(self, req):
        self.assertTrue(self.rome.receiver.handles(req))
        return self.rome.receiver(req)

    def results(self, req):
        """Send a pack; return the status of each shipment."""
        response = self.send(req)
        self.assertEqual(200, response.status_int, response.body)
        return [each['status'] for each in
                json.loads(response.body)['results']]

    def lacking(self, head):
        return json.loads(self.send(self.request(head, b'')).body)

    def assert_refused(self, req, status, *words):
        response = self.send(req)
        self.assertEqual(status, response.status_int, response.body)
        error = json.loads(response.body)['error']
        for word in words:
            self.assertIn(word, error)
        self.assert_untouched()
        return response

    def assert_shipment_refused(self, req, status, *words):
        """Its pack is taken, but it is not."""
        response = self.send(req)
        self.assertEqual(200, response.status_int, response.body)
        result, = json.loads(response.body)['results']
        self.assertEqual(status, result['status'], result)
        for word in words:
            self.assertIn(word, result['error'])
        self.assert_untouched()
        return response

    def assert_untouched(self):
        self.assertIsNone(self.rome.latest('o'))
        self.assertEqual({}, self.rome.data)


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
        for name, value in ((HEADER, 'x'), (HEADER, ''), (HEADER, 'ü' * 99),
                            (HEAD_HEADER, ''), (HEAD_HEADER, '-1'),
                            (HEAD_HEADER, '9'), (HEAD_HEADER, '1e3 ' + HASH),
                            (HEAD_HEADER, '٣ ' + HASH),
                            (HEAD_HEADER, '%d %s' % (MAX_HEAD + 1, HASH)),
                            (HEAD_HEADER, '9' * 30 + ' ' + HASH)):
            req = self.request()
            req.headers[name] = value
            self.assert_refused(req, 403)

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


class TestWhatIsSigned(ReceiverCase):
    """A site that is a peer may be wrong, too."""

    def test_hostile_shipments_are_refused_by_name(self):
        for name, value in (('object', 'a\0b'), ('site', 'X'),
                            ('account', 'a/b'), ('container', ''),
                            ('type', DELETE_MARKER), ('null', 1),
                            ('headers', [['x-timestamp', '1']]),
                            ('etag', 'e; sv_at=plain'), ('what', 7)):
            self.assert_shipment_refused(
                self.request(self.altered(**{name: value})), 400,
                name.replace('headers', 'header').replace('what', 'an object'))

    def test_hostile_heads_are_refused_by_name(self):
        for name, value in (('verb', 'drop'), ('length', 1), ('length', -1),
                            ('shipments', []), ('format', 2)):
            self.assert_refused(
                self.request(self.altered(**{name: value})), 400, name)
        self.assert_refused(self.request(b'[' * 9999), 400, 'JSON')

    def test_packs_are_no_larger_than_agreed(self):
        small = self.shipment(length=1)
        for shipments, data in (
                ([small] * 257, bytes(257)),
                ([self.shipment(length=MAX_SMALL + 1), small],
                 bytes(MAX_SMALL + 2)),
                ([self.shipment(length=MAX_SMALL)] * 65,
                 bytes(MAX_SMALL * 65))):
            self.assertTrue(len(shipments) > 256 or max(
                each.length for each in shipments) > MAX_SMALL or
                len(data) > MAX_PACK)
            self.assert_refused(self.request(framed(*shipments), data), 400,
                                'a pack')

    def test_stamps_of_the_future_are_held_wherever_they_are(self):
        ahead = replace(self.version.id,
                        ticks=self.version.id.ticks + 100 * TICKS)
        for values in (
                {'id': ahead, 'vector': Vector({'paris': ahead})},
                {'vector': Vector({'paris': self.version.id,
                                   'oslo': ahead})}):
            response = self.assert_shipment_refused(
                self.request(self.head(**values)), 409, 'ahead')
            self.assertIn(ANSWER_HEADER, response.headers)
        for entry, data in (
                (replace(self.entry(), purged=ahead), b''),
                (replace(self.entry(), changed=ahead), BODY)):
            self.assert_shipment_refused(self.request(framed(
                self.shipment(entry, len(data))), data), 409, 'ahead')

    def test_a_version_is_stored_once_whoever_ships_it(self):
        for _ in range(2):
            self.assertEqual([201], self.results(self.request()))
        self.assertEqual(1, len(self.rome.puts))

    def purge(self):
        """Return a request to purge the version."""
        after = replace(self.version.id, ticks=self.version.id.ticks + 1)
        return self.request(framed(self.shipment(
            replace(self.entry(), purged=after), 0)), b'')

    def test_a_purge_is_asked_for_until_the_data_is_deleted(self):
        self.send(self.request())
        with mock.patch.object(self.rome, 'delete_data',
                               side_effect=HTTPServiceUnavailable()):
            self.assertEqual([503], self.results(self.purge()))
        offer = self.offer(Offered('o', self.version.id, 'paris', Kind.PURGE))
        self.assertEqual([0], self.lacking(offer)['lacking'])
        self.assertEqual([201], self.results(self.purge()))
        self.assertEqual({}, self.rome.data)
        self.assertEqual([], self.lacking(offer)['lacking'])

    def test_a_purge_that_overtakes_the_version_leaves_no_data(self):
        store = self.rome.put_data

        def purged_before(*args):
            self.assertEqual([201], self.results(self.purge()))
            return store(*args)

        def purged_after(*args):
            resp = store(*args)
            self.assertEqual([201], self.results(self.purge()))
            return resp
        for put_data, ahead in product((purged_before, purged_after),
                                       (0, 5)):
            self.version = self.new_version(ahead)
            with self.subTest(put_data.__name__, ahead=ahead), \
                    mock.patch.object(self.rome, 'put_data', put_data):
                self.assertEqual([201], self.results(self.request()))
                self.assertEqual({}, self.rome.data)
                self.assertTrue(self.rome.strategy.get(
                    'o', self.version.id).purged)

    def test_a_version_that_comes_long_after_its_purge_leaves_no_data(self):
        self.assertEqual([201], self.results(self.purge()))
        # Object-servers have reclaimed the tombstone.
        self.rome.tombstones.clear()
        self.assertEqual([201], self.results(self.request()))
        self.assertEqual(1, len(self.rome.puts))
        self.assertEqual({}, self.rome.data)
        self.assertIsNone(self.rome.latest('o'))

    def test_a_content_type_may_be_as_long_as_a_client_s_header(self):
        self.assertEqual([201], self.results(self.request(self.altered(
            type='text/plain;a=' + 'x' * 8000))))

    def test_an_offer_for_a_container_that_is_missing_lacks_all(self):
        offered = Offered('o', self.version.id, 'paris', Kind.DATA)
        answer = self.lacking(self.offer(offered, offered, container='other'))
        self.assertGreater(answer.pop('seconds'), 0)
        self.assertEqual({'lacking': [0, 1], 'unknown': [], 'error': '',
                          'later': []}, answer)

    def test_an_offer_tells_of_the_versions_of_all_its_containers(self):
        self.send(self.request())
        there = Offered('o', self.version.id, 'paris', Kind.DATA)
        lacked = replace(there, object='p')
        groups = [Group(ACCOUNT, CONTAINER, (there, lacked)),
                  Group(ACCOUNT, 'other', (there,)),
                  Group(ACCOUNT, CONTAINER, (lacked, there))]
        self.assertEqual([1, 2, 3],
                         self.lacking(shipping.offer(groups))['lacking'])

    def test_an_offer_tells_whether_a_life_record_is_lacked(self):
        self.send(self.request())
        offered = Offered('o', self.version.id, 'paris', Kind.DATA)
        stamp = self.version.id
        for mine, lacked in ((None, [0]), (Stamp(stamp.ticks - 1), [0]),
                             (stamp, [])):
            if mine:
                self.rome.strategy.set_life(Life(True, mine, 'oslo'))
            for versions in (), (offered,):
                self.assertEqual(lacked, self.lacking(shipping.offer([Group(
                    ACCOUNT, CONTAINER, versions, stamp)]))['lacking'])

    def test_what_cannot_be_told_of_one_container_is_told_of_others(self):
        there = Offered('o', self.version.id, 'paris', Kind.DATA)
        open_one = self.rome.open

        def opened(env, account, container, create=False):
            if container == 'broken':
                raise HTTPServiceUnavailable()
            return open_one(env, account, container, create)
        with mock.patch.object(self.rome, 'open', opened):
            found = self.lacking(shipping.offer([
                Group(ACCOUNT, name, (there,))
                for name in ('other', 'broken', CONTAINER)]))
        self.assertEqual(([0, 2], [1]), (found['lacking'], found['unknown']))
        self.assertIn('503', found['error'])

    def test_rows_that_cannot_be_written_are_told(self):
        self.rome.stack.close()
        self.assertEqual([503], self.results(self.request()))

    def test_older_null_versions_go_with_their_data(self):
        older = self.rome.put('o', b'older', null=True)
        newer = replace(self.entry(**vars(self.new_version())), null=True)
        for entry in (newer, replace(self.entry(), null=True)):
            self.assertEqual([201], self.results(self.request(
                framed(self.shipment(entry)))))
        self.assertLess(older.id, newer.version.id)
        entry, = self.rome.strategy.history('o')
        self.assertEqual((newer.version.id, True),
                         (entry.version.id, entry.null))
        self.assertEqual([(hidden_container(CONTAINER), entry.data_name)],
                         list(self.rome.data))


class TestPacks(ReceiverCase):
    """Many shipments of one request."""

    def pack(self, count=5):
        """Return entries and a request that ships them, to two containers."""
        entries = [self.entry('o%d' % number) for number in range(count)]
        bodies = [b'data of %03d 123456' % number for number in range(count)]
        shipments = [
            Shipment(ACCOUNT, (CONTAINER, 'other')[number % 2], entry,
                     length=len(body))
            for number, (entry, body) in enumerate(zip(entries, bodies))]
        return shipments, bodies

    def bodies(self):
        return sorted(body for _, _, body, _ in self.rome.data.values())

    def test_each_gets_its_own_data(self):
        shipments, bodies = self.pack()
        self.assertEqual([201] * 5, self.results(self.request(
            framed(*shipments), b''.join(bodies))))
        for shipment, body in zip(shipments, bodies):
            entry = shipment.entry
            hidden = hidden_container(shipment.container)
            self.assertEqual(body, self.rome.data[
                hidden, entry.data_name][2])
            self.assertEqual(entry.version.id, self.rome.strategy_of(
                shipment.container).latest(entry.object).version.id)

    def test_a_bad_one_holds_up_no_other(self):
        shipments, bodies = self.pack()
        ahead = replace(self.version.id,
                        ticks=self.version.id.ticks + 100 * TICKS)
        shipments[1] = replace(shipments[1], entry=self.entry(
            'ahead', id=ahead, vector=Vector({'paris': ahead})))
        shipments[3] = replace(shipments[3], container='a/b')
        self.assertEqual([201, 409, 201, 400, 201], self.results(
            self.request(framed(*shipments), b''.join(bodies))))
        self.assertEqual([bodies[0], bodies[2], bodies[4]], self.bodies())

    def test_an_unforeseen_error_is_that_of_one(self):
        shipments, bodies = self.pack()
        store, broken = self.rome.put_data, shipments[2].entry.data_name

        def put_data(key, *args):
            if key[1] == broken:
                raise KeyError('unforeseen')
            return store(key, *args)
        with mock.patch.object(self.rome, 'put_data', put_data):
            self.assertEqual([201, 201, 500, 201, 201], self.results(
                self.request(framed(*shipments), b''.join(bodies))))
        self.assertIsNone(self.rome.strategy.latest('o2'))

    def test_one_altered_byte_refuses_all(self):
        shipments, bodies = self.pack()
        for place in (0, 20, len(bodies[0]) * 5 - 1):
            data = bytearray(b''.join(bodies))
            req = self.request(framed(*shipments), bytes(data))
            data[place] ^= 1
            req.body = req.body.replace(b''.join(bodies), bytes(data))
            self.assert_refused(req, 400, 'the data')

    def test_no_more_requests_are_taken_than_fit_into_memory(self):
        with mock.patch.object(receiver_module, 'MAX_REQUESTS', 0):
            response = self.assert_refused(self.request(), 429, 'other')
        self.assertIn(ANSWER_HEADER, response.headers)
        with mock.patch.object(receiver_module, 'MAX_HELD', 100):
            self.assert_refused(self.request(), 429, 'bytes')
        self.assertEqual([201], self.results(self.request()))

    def test_what_is_not_begun_in_time_comes_later(self):
        shipments, bodies = self.pack()
        whole = framed(*shipments), b''.join(bodies)
        with mock.patch.object(arrivals, 'BOUND', 0):
            self.assertEqual([LATER] * len(shipments),
                             self.results(self.request(*whole)))
            self.assert_untouched()
            offered = Offered('o', self.version.id, 'paris', Kind.DATA)
            answer = self.lacking(self.offer(offered, offered))
            self.assertEqual(([], [], [0, 1]), (
                answer['lacking'], answer['unknown'], answer['later']))
        self.assertEqual([201] * len(shipments),
                         self.results(self.request(*whole)))

    def test_what_was_begun_in_time_is_done(self):
        shipments, bodies = self.pack()
        put, now = SiteContainer.put_data, [0.0]

        def slow(container, *args):
            now[0] += arrivals.BOUND / 2
            return put(container, *args)
        with mock.patch.object(SiteContainer, 'put_data', slow), \
                mock.patch.object(arrivals, 'CONCURRENCY', 1), \
                mock.patch.object(arrivals.time, 'monotonic', lambda: now[0]):
            done = self.results(self.request(framed(*shipments),
                                             b''.join(bodies)))
        self.assertEqual([201, 201] + [LATER] * (len(shipments) - 2),
                         sorted(done))
        self.assertEqual(2, len(self.rome.data))

    def test_a_large_one_waits_for_no_worker(self):
        body = bytes(MAX_SMALL + 1)
        shipment = self.shipment(replace(self.entry(), size=len(body)),
                                 len(body))
        with mock.patch.object(arrivals, 'BOUND', 0):
            self.assertEqual([201], self.results(self.request(
                framed(shipment), body)))

    def test_the_latest_of_each_is_forgotten(self):
        shipments, bodies = self.pack()
        self.results(self.request(framed(*shipments), b''.join(bodies)))
        self.assertEqual(sorted(each.entry.object for each in shipments),
                         sorted(self.rome.forgotten))


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

    def client(self, port=None):
        propagator = self.paris.propagator()
        client = propagator.peer_tasks[0].client
        self.assertEqual('rome', client.peer.name)
        if port:
            endpoint = replace(client.peer.endpoints[0], port=port)
            client.peer = replace(client.peer, endpoints=(endpoint,))
        return client

    def ask(self, client):
        return client.offer([Group(ACCOUNT, CONTAINER, (Offered(
            'o', self.version.id, 'paris', Kind.DATA),))]).lacking

    def ship(self, client, data=BODY, shipment=None):
        shipment = shipment or self.shipment()
        frame = shipping.encoded(shipment.to_frame().to_json())
        return client.ship([frame], data, shipment.length).results

    def test_an_answer_of_the_peer_is_taken(self):
        self.assertEqual((0,), self.ask(self.client()))

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
                    self.ask(self.client(port))

    def test_an_answer_tells_of_each_shipment(self):
        client = self.client()
        with mock.patch.object(shipping, 'results',
                               lambda *found: shipping.encoded(
                                   {'results': []})):
            with self.assertRaises(PeerDown):
                self.ship(client)

    def test_what_a_peer_refuses_is_told_with_its_reason(self):
        ahead = replace(self.version.id,
                        ticks=self.version.id.ticks + 100 * TICKS)
        result, = self.ship(self.client(), shipment=self.shipment(self.entry(
            id=ahead, vector=Vector({'paris': ahead}))))
        self.assertEqual(409, result.status)
        self.assertIn('ahead', result.error)
        with mock.patch.object(receiver_module, 'MAX_REQUESTS', 0):
            with self.assertRaises(PeerRefused) as caught:
                self.ship(self.client())
        self.assertEqual(429, caught.exception.status)

    def test_data_of_another_length_is_not_sent_whole(self):
        for data in ([], [BODY[:-1]], [BODY, b'x'], BODY[:-1], BODY + b'x'):
            with self.assertRaises((Truncated, PeerDown)):
                self.ship(self.client(), data)
        self.assertEqual({}, self.rome.data)

    def test_the_next_endpoint_is_asked_if_one_is_down(self):
        for _ in range(8):
            client = self.client()
            endpoint, = client.peer.endpoints
            client.peer = replace(client.peer, endpoints=(
                replace(endpoint, port=1), endpoint))
            self.assertEqual((0,), self.ask(client))

    def test_who_does_not_answer_is_down(self):
        client = self.client(port=1)
        with self.assertRaises(PeerDown) as caught:
            self.ask(client)
        self.assertIn('127.0.0.1:1', str(caught.exception))
        self.assertIsInstance(client, PeerClient)

    def test_connections_are_kept(self):
        client = self.client()
        with mock.patch.object(client, '_connect',
                               side_effect=client._connect) as connect:
            for _ in range(5):
                self.ask(client)
            self.ship(client)
            self.ask(client)
        self.assertEqual(1, connect.call_count)

    def test_a_connection_that_died_is_replaced(self):
        client = self.client()
        self.ask(client)
        self.rome.go_away()
        self.rome.listen()
        self.assertTrue(client._idle)
        self.assertEqual([201], [each.status for each in self.ship(client)])
        self.assertEqual(1, len(self.rome.puts))

    def test_a_new_connection_that_breaks_is_not_replaced(self):
        client = self.client()
        self.rome.go_away()
        for _ in range(2):
            with self.assertRaises(PeerDown):
                self.ask(client)

    def test_what_can_be_sent_once_only_gets_a_new_connection(self):
        client = self.client()
        self.ask(client)
        self.rome.go_away()
        self.rome.listen()
        self.assertEqual([201], [
            each.status for each in self.ship(client, iter([BODY]))])
