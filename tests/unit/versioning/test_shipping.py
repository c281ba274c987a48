# SPDX-License-Identifier: Apache-2.0
"""shipping.py: heads, answers, hostile input."""

import json
import unittest

from hypothesis import given, settings
from hypothesis import strategies as st

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    PURGE_MARKER,
    Entry,
    Kind,
)
from swift_lightsync.versioning.core.shipping import (
    MAX_HEAD,
    MAX_OFFERED,
    Offered,
    Shipment,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.stored_headers import lowered
from swift_lightsync.versioning.core.version import Vector, Version

T1, T2 = Stamp(170000000000000, 5), Stamp(170000000100000, 6)
VERSION = Version(T2, 'paris', Vector({'paris': T2, 'rome': T1}))
DATA = Shipment(
    Entry('obj/ü\n', VERSION, 5, 'd41d; slo_etag=x', 'text/plain',
          changed=Stamp(170000000200000)),
    (('x-object-meta-color', 'blue'), ('content-encoding', 'gzip')), 5)
DELETE = Shipment(Entry('o', Version(T1, 'rome', Vector({'rome': T1}), True),
                        content_type=DELETE_MARKER))
PURGE = Shipment(Entry('o', VERSION, content_type=PURGE_MARKER, purged=T2))


def changed(shipment, **values):
    """Return the head of a shipment with other fields."""
    return json.dumps({**json.loads(shipping.shipment(shipment)),
                       **values}).encode('ascii')


class TestShipment(unittest.TestCase):

    def test_what_is_written_is_read(self):
        for each in (DATA, DELETE, PURGE):
            self.assertEqual(each, shipping.decode(shipping.shipment(each)))

    def test_where_the_data_lies_is_not_told(self):
        plain = Shipment(Entry('o', VERSION, plain=True))
        found = shipping.decode(shipping.shipment(plain))
        self.assertFalse(found.entry.plain)

    def assert_refused(self, head, *words):
        with self.assertRaises(ValueError) as caught:
            shipping.decode(head)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertLess(len(str(caught.exception)), 700)

    def test_a_bad_field_is_named(self):
        long = 'x' * 9000
        for name, values in {
                'object': ('', None, 7, 'a\0b', long, ['o']),
                'id': ('', 'x', None, 5, True),
                'site': ('', 'Paris', '-a', None, 'a' * 33),
                'vector': ('x', None, 'paris:%s' % T1, '',
                           'rome:%s' % T2, 'paris:%s,paris:%s' % (T2, T2)),
                'kind': ('', 'x', None, 'delete', 'purge', 5),
                'deleted': (None, 'true', 0, 1),
                'size': (-1, 1.5, '5', None, True, 1 << 63),
                'etag': (None, 5, 'a\nb', 'a; sv_id=1', long),
                'type': (None, 'a\0', DELETE_MARKER, PURGE_MARKER, long),
                'purged': (5, 'x', ''),
                'changed': (5, 'x'),
                'length': (-1, None, '5', 1 << 63),
                'headers': (
                    None, {}, [['a']], [[1, 2]], ['ab'],
                    [['content-length', '5']], [['x-timestamp', '1']],
                    [['X-Object-Meta-A', 'b']], [['x-object-meta-', '\n']],
                    [['x-object-meta-a\r\n', 'b']],
                    [['x-object-meta-a:b', 'c']],
                    [['x-object-sysmeta-ec-etag', 'a']],
                    [['x-backend-storage-policy-index', '1']],
                    [['x-object-meta-a', 'b\r\nc']],
                    [['x-object-meta-a', 'b'], ['x-object-meta-a', 'c']],
                    [['x-object-meta-a', 'x' * 70000]])}.items():
            for value in values:
                with self.subTest(name=name, value=str(value)[:60]):
                    self.assert_refused(changed(DATA, **{name: value}))

    def test_markers_have_no_data(self):
        for each in (DELETE, PURGE):
            self.assert_refused(changed(each, length=1), 'length')

    def test_user_metadata_may_have_other_bytes_than_ascii(self):
        name = 'x-object-meta-' + 'Ü'.encode('utf8').decode('latin1')
        self.assertEqual(name, lowered(
            'X-Object-Meta-' + 'Ü'.encode('utf8').decode('latin1')))
        found = shipping.decode(changed(DATA, headers=[[name, 'b']]))
        self.assertEqual(((name, 'b'),), found.headers)

    def test_a_head_is_json_of_this_format_and_not_too_long(self):
        for bad in (b'', b'x', b'[]', b'7', b'"', b'\xff', b'{}',
                    b'[' * 100000, b'{"format":2,"verb":"ship"}',
                    b'{"format":1}', b'{"format":1,"verb":"x"}',
                    b' ' * (MAX_HEAD + 1)):
            with self.subTest(bad[:30]):
                self.assert_refused(bad)

    @settings(max_examples=300, deadline=None)
    @given(st.sampled_from((DATA, DELETE, PURGE)), st.data())
    def test_whatever_replaces_a_field_is_read_or_refused(self, each, data):
        fields = json.loads(shipping.shipment(each))
        name = data.draw(st.sampled_from(sorted(fields)))
        fields[name] = data.draw(st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=9)
            | st.floats(), lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=4))
        try:
            found = shipping.decode(json.dumps(fields).encode('ascii'))
        except ValueError:
            return
        if isinstance(found, Shipment):
            # What was taken can be told on, and is the same there.
            self.assertEqual(found,
                             shipping.decode(shipping.shipment(found)))


class TestOffer(unittest.TestCase):

    offers = (Offered('o', T1, 'rome', Kind.DATA),
              Offered('o', T2, 'paris', Kind.PURGE),
              Offered('ö/x', T2, 'paris', Kind.DATA, T2))

    def test_what_is_written_is_read(self):
        for each in ((), self.offers):
            self.assertEqual(each, shipping.decode(shipping.offer(each)))

    def test_too_many_are_refused(self):
        shipping.decode(shipping.offer(self.offers[:1] * MAX_OFFERED))
        with self.assertRaises(ValueError) as caught:
            shipping.decode(shipping.offer(
                self.offers[:1] * (MAX_OFFERED + 1)))
        self.assertIn(str(MAX_OFFERED), str(caught.exception))

    def test_too_long_names_are_not_sent(self):
        name = 'n' * 4000
        with self.assertRaises(ValueError):
            shipping.offer([Offered(name, T1, 'rome', Kind.DATA)] * 1000)

    def test_what_is_no_version_is_refused(self):
        good = json.loads(shipping.offer(self.offers))['versions'][0]
        for bad in (None, [], 7, {}, {**good, 'object': 'a\0'},
                    {**good, 'id': 1}, {**good, 'site': 'X'},
                    {**good, 'kind': 'x'}, {**good, 'changed': 'x'}):
            with self.assertRaises(ValueError):
                shipping.decode(json.dumps({
                    'format': 1, 'verb': 'offer',
                    'versions': [bad]}).encode('ascii'))


class TestAnswer(unittest.TestCase):

    def test_the_places_are_read_once_and_in_order(self):
        body = shipping.answer(lacking=[2, 0, 2])
        self.assertEqual([0, 2], shipping.lacking(body, 3))

    def test_what_was_not_offered_is_refused(self):
        for bad in ([3], [-1], [True], ['0'], [1.0], None, {}, 0):
            with self.assertRaises(ValueError):
                shipping.lacking(shipping.answer(lacking=bad), 3)
        for bad in (b'', b'[]', b'{}', b'{"lacking":[0]'):
            with self.assertRaises(ValueError):
                shipping.lacking(bad, 3)

    def test_a_reason_is_a_text_or_nothing(self):
        self.assertEqual('no', shipping.reason(shipping.answer(error='no')))
        for body in (b'', b'<html>', b'[]', shipping.answer(error=7)):
            self.assertEqual('', shipping.reason(body))
