# SPDX-License-Identifier: Apache-2.0
"""What other sites, and rows, may say but no writer of ours does."""

import json
import unittest
from dataclasses import replace

from swift_lightsync.versioning.core import shipping, verb
from swift_lightsync.versioning.core.life import MAX_LIFE
from swift_lightsync.versioning.core.row_data import (
    MAX_ETAG,
    Entry,
    entry_of,
    listed_of,
    row_of,
)
from swift_lightsync.versioning.core.shipment import Frame, Shipment
from swift_lightsync.versioning.core.shipping import Group, Offered
from swift_lightsync.versioning.core.signature import Claim, SignatureError
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version

ID = Stamp(170000000000000, 5)
#: What the row of a version with a change has.
REVISED = Stamp(170000000000000, 1 << 40)
ENTRY = Entry('o', Version(ID, 'paris', Vector({'paris': ID})), 5, 'd41d',
              'text/plain')


class TestShipments(unittest.TestCase):

    def opened(self, length=5, **values):
        """Return the shipment of ENTRY whose version says something else."""
        what = Shipment('a', 'c', ENTRY, length=length).to_frame().what
        return Frame(length, {**what, 'version': {
            **what['version'], **values}}).open()

    def assert_refused(self, pattern, **values):
        with self.assertRaisesRegex(ValueError, pattern) as caught:
            self.opened(**values)
        self.assertNotIsInstance(caught.exception, UnicodeError)

    def test_surrogates_are_refused_by_the_name_of_the_field(self):
        for name in ('object', 'etag', 'type'):
            self.assert_refused('a shipment.version.%s: ' % name,
                                **{name: 'a\ud800'})
        self.assert_refused('header x-object-meta-a is',
                            headers=[['x-object-meta-a', '\udcff']])
        self.assert_refused('the name of a header is',
                            headers=[['x-object-meta-\ud800', 'b']])

    def test_an_etag_is_what_a_header_can_hold(self):
        for etag in ('\u20ac', '\xe9', 'a\x01', '\x7f'):
            self.assert_refused('etag: .* printable ASCII', etag=etag)

    def test_what_no_row_can_hold_is_refused_before_its_data_is_stored(self):
        self.assert_refused('the etag of a row has',
                            etag='e' * (MAX_ETAG - 50))
        # The vector is in the etag too: what is longer than that is not read.
        for name, sites, reason in (
                ('site-%027d', 31, 'the etag of a row has'),
                ('site-%03d', 40, 'must be at most 32 site'),
                ('site-%03d', 200, 'vector: .* at most 4096 bytes')):
            vector = Vector({'paris': ID, **{
                name % each: Stamp(1, 1) for each in range(sites)}})
            with self.subTest(sites=sites):
                self.assert_refused(reason, vector=str(vector),
                                    etag='e' * 2500)

    def test_the_longest_etag_that_is_taken_fits_into_a_row(self):
        room = MAX_ETAG - len(row_of(ENTRY).etag)
        found = self.opened(etag='d41d' + 'e' * room).entry
        self.assertEqual(MAX_ETAG, len(row_of(found).etag))
        self.assert_refused('the etag of a row has 4097',
                            etag='d41d' + 'e' * (room + 1))

    def test_an_id_is_not_the_stamp_of_a_change_of_another(self):
        self.assertTrue(ID.is_tick)
        self.assertFalse(REVISED.is_tick)
        self.assertFalse(ID.changed(Stamp(ID.ticks + 7)).is_tick)
        self.assert_refused('id: ', id=str(REVISED), vector=str(
            Vector({'paris': REVISED})))
        offer = shipping.offer([Group('a', 'c', (Offered(
            'o', REVISED, 'paris', ENTRY.kind),))])
        with self.assertRaisesRegex(ValueError, 'id: '):
            shipping.decode(offer)

    def test_the_format_is_a_number(self):
        good = json.loads(shipping.offer([]))
        shipping.decode(json.dumps(good).encode('ascii'))
        for wrong in (True, 1.0, '1', None):
            with self.assertRaisesRegex(ValueError, 'format'):
                shipping.decode(json.dumps(
                    {**good, 'format': wrong}).encode('ascii'))


class TestTexts(unittest.TestCase):

    def test_a_stamp_has_one_text(self):
        with self.assertRaisesRegex(ValueError, 'no offset of 0'):
            Stamp.parse('1700000000.00000_' + '0' * 16)

    def test_a_claim_has_one_text(self):
        for seconds in ('007', '00'):
            with self.assertRaises(SignatureError):
                Claim.parse('hmac-sha256 paris %s %s 0 %s %s' % (
                    seconds, '0' * 32, 'a' * 64, 'a' * 64))
        self.assertEqual(0, Claim.parse('hmac-sha256 paris 0 %s 0 %s %s' % (
            '0' * 32, 'a' * 64, 'a' * 64)).time)


class TestRows(unittest.TestCase):

    def test_bytes_are_decimal_digits(self):
        for size in ('-5', '1_0', '\u0661', '+1', ' 1', '1e3', '9' * 20):
            with self.assertRaisesRegex(ValueError, 'bytes of a version'):
                listed_of('x; sv_id=%s; sv_bytes=%s' % (ID, size))

    def test_the_site_and_the_vector_of_a_row_are_such(self):
        good = row_of(ENTRY)
        for old, new in (('sv_site=paris', 'sv_site=Paris'),
                         ('sv_site=paris', 'sv_site='),
                         ('sv_vector=paris', 'sv_vector=-paris')):
            self.assertIn(old, good.etag)
            with self.assertRaises(ValueError):
                entry_of(replace(good, etag=good.etag.replace(old, new)))


class TestRequests(unittest.TestCase):
    """Of the verb VERSION, as anyone could send them to a server."""

    def assert_refused(self, pattern, **values):
        with self.assertRaisesRegex(ValueError, pattern):
            verb.Request.from_json(values)

    def test_what_no_proxy_sends_is_refused(self):
        row = verb.WireRow.of(row_of(ENTRY)).to_json()
        self.assertEqual(row_of(ENTRY), verb.Request.from_json(
            {'rows': [row]}).rows[0].row)
        for name, value in (('stamp', '1'), ('size', -1), ('size', True),
                            ('size', 1 << 63), ('deleted', 1),
                            ('name', 'a\ud800'),
                            ('name', 'n' * 4097),
                            ('etag', 'e' * (MAX_LIFE + 1))):
            self.assert_refused(r'rows\[0\].%s: ' % name,
                                rows=[{**row, name: value}])
        self.assert_refused('names', names=['a'] * (verb.MAX_ROWS + 1))
        self.assert_refused('clock', clock=-1)
        self.assert_refused('clock', clock='now')
        for limit in (0, verb.MAX_PAGE + 1, True, '5'):
            self.assert_refused('page.limit', page={'limit': limit})
