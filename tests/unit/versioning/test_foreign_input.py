# SPDX-License-Identifier: Apache-2.0
"""What other sites, and rows, may say but no writer of ours does."""

import json
import unittest

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.keys import ReadRepairKeys
from swift_lightsync.versioning.core.row_data import (
    MAX_ETAG,
    Entry,
    Row,
    listed_entry,
    pointer_of,
    row_of,
)
from swift_lightsync.versioning.core.shipping import Offered, Shipment
from swift_lightsync.versioning.core.signature import Claim, SignatureError
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.row_wire import put_headers

ID = Stamp(170000000000000, 5)
#: What the row of a version with a change has.
REVISED = Stamp(170000000000000, 1 << 40)
ENTRY = Entry('o', Version(ID, 'paris', Vector({'paris': ID})), 5, 'd41d',
              'text/plain')


class TestShipments(unittest.TestCase):

    def assert_refused(self, pattern, **values):
        fields = json.loads(shipping.shipment(Shipment(ENTRY)))
        with self.assertRaisesRegex(ValueError, pattern) as caught:
            shipping.decode(json.dumps({**fields, **values}).encode('ascii'))
        self.assertNotIsInstance(caught.exception, UnicodeError)

    def test_surrogates_are_refused_by_the_name_of_the_field(self):
        for name in ('object', 'etag', 'type'):
            self.assert_refused('a shipment.%s: ' % name,
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
                            etag='e' * (MAX_ETAG - 100))
        # The vector is in the etag too: what is longer than that is not read.
        for sites, reason in ((110, 'the etag of a row has'),
                              (200, 'vector: .* at most 4096 bytes')):
            vector = Vector({'paris': ID, **{
                'site-%03d' % each: Stamp(1) for each in range(sites)}})
            with self.subTest(sites=sites):
                self.assert_refused(reason, vector=str(vector),
                                    etag='e' * 1500)

    def test_the_longest_etag_that_is_taken_fits_into_a_row(self):
        room = MAX_ETAG - len(put_headers(row_of(ENTRY, 'n'))['X-Etag'])
        for more, fits in ((room, True), (room + 1, False)):
            fields = json.loads(shipping.shipment(Shipment(ENTRY)))
            head = json.dumps({
                **fields, 'etag': 'd41d' + 'e' * more}).encode('ascii')
            if fits:
                found = shipping.decode(head).entry
                self.assertEqual(MAX_ETAG, len(
                    put_headers(row_of(found, 'n'))['X-Etag']))
            else:
                self.assertRaises(ValueError, shipping.decode, head)

    def test_an_id_is_not_the_stamp_of_a_change_of_another(self):
        self.assertTrue(ID.is_tick)
        self.assertFalse(REVISED.is_tick)
        self.assertFalse(ID.changed(Stamp(ID.ticks + 7)).is_tick)
        self.assert_refused('id: ', id=str(REVISED), vector=str(
            Vector({'paris': REVISED})))
        with self.assertRaisesRegex(ValueError, 'id: '):
            shipping.decode(shipping.offer([
                Offered('o', REVISED, 'paris', ENTRY.kind)]))

    def test_the_format_is_a_number(self):
        for wrong in (True, 1.0, '1', None):
            self.assert_refused('format', format=wrong)


class TestTexts(unittest.TestCase):

    def test_a_stamp_has_one_text(self):
        with self.assertRaisesRegex(ValueError, 'no offset of 0'):
            Stamp.parse('1700000000.00000_' + '0' * 16)

    def test_a_claim_has_one_text(self):
        for seconds in ('007', '00'):
            with self.assertRaises(SignatureError):
                Claim.parse('hmac-sha256 paris %s %s %s' % (
                    seconds, '0' * 32, 'a' * 64))
        self.assertEqual(0, Claim.parse('hmac-sha256 paris 0 %s %s' % (
            '0' * 32, 'a' * 64)).time)

    def test_the_site_in_the_name_of_a_row_is_one(self):
        for site in ('', 'Paris', '-a', 'a b'):
            with self.assertRaisesRegex(ValueError, 'name of a site'):
                ReadRepairKeys.parse('\0R\0o\0%s\0%s' % (site, ID))


class TestRows(unittest.TestCase):

    def test_bytes_are_decimal_digits(self):
        member = '%s%%2Fparis%%2Fparis%%3A%s%%2Fp' % (ID, ID)
        for size in ('-5', '1_0', '\u0661', '+1', ' 1', '1e3', '9' * 20):
            row = Row('o', ID, etag='x; sv_id=%s; sv_site=paris; sv_bytes=%s;'
                      ' sv_frontier=%s' % (ID, size, member))
            for read in (listed_entry, lambda row: pointer_of(row, 'o')):
                with self.assertRaisesRegex(ValueError, 'bytes of a version'):
                    read(row)
