# SPDX-License-Identifier: Apache-2.0
"""What comes in requests of other sites is stored, or refused by itself."""

from dataclasses import replace
from itertools import product
from unittest import mock

from swift.common.swob import HTTPServiceUnavailable

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.life import Life
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    Kind,
    hidden_container,
)
from swift_lightsync.versioning.core.shipment import Shipment
from swift_lightsync.versioning.core.shipping import (
    LATER,
    MAX_PACK,
    MAX_SMALL,
    Group,
    Offered,
)
from swift_lightsync.versioning.core.signature import ANSWER_HEADER
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.version import Vector
from swift_lightsync.versioning.sites import arrivals
from swift_lightsync.versioning.sites import receiver as receiver_module
from tests.unit.versioning.receiver_case import BODY, ReceiverCase, framed
from tests.unit.versioning.sites_world import ACCOUNT, CONTAINER, SiteContainer


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
        self.assert_shipment_refused(self.request(framed(self.shipment(
            replace(self.entry(), changed=ahead), len(BODY))), BODY), 409,
            'ahead')
        self.assertEqual([201], self.results(self.request(framed(
            self.shipment(replace(self.entry(), purged=ahead), 0)), b'')))

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

        def opened(env, account, container, create=None):
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
        # One that is late is not taken: it may be needed if this is purged.
        for entry, status in ((newer, 201),
                              (replace(self.entry(), null=True), 409)):
            self.assertEqual([status], self.results(self.request(
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
