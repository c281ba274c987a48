# SPDX-License-Identifier: Apache-2.0
"""shipment.py, shipping.py: heads, answers, hostile input."""

import json
import unittest
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from swift_lightsync.versioning.core import shipping
from swift_lightsync.versioning.core.life import Life, lowered
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    PURGE_MARKER,
    Entry,
    Kind,
)
from swift_lightsync.versioning.core.shipment import Frame, Shipment
from swift_lightsync.versioning.core.shipping import (
    MAX_HEAD,
    MAX_OFFERED,
    MAX_PACK,
    MAX_PACKED,
    MAX_SMALL,
    Group,
    Lacking,
    Offered,
    Result,
    bounded,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version

T1, T2 = Stamp(170000000000000, 5), Stamp(170000000100000, 6)
VERSION = Version(T2, 'paris', Vector({'paris': T2, 'rome': T1}))
DATA = Shipment(
    'AUTH_a', 'c', Entry('obj/ü\n', VERSION, 5, 'd41d; slo_etag=x',
                         'text/plain', changed=Stamp(170000000200000)),
    (('x-object-meta-color', 'blue'), ('content-encoding', 'gzip')), 5,
    policy='gold')
NULL = replace(DATA, entry=replace(DATA.entry, null=True))
DELETE = Shipment('AUTH_ü', 'c', Entry(
    'o', Version(T1, 'rome', Vector({'rome': T1}), True),
    content_type=DELETE_MARKER))
PURGE = Shipment('a', 'ü c', Entry('o', VERSION, content_type=PURGE_MARKER,
                                   purged=T2))
LIFE = Shipment('a', 'c', life=Life(
    True, T1, 'rome', T1, (('x-container-meta-a', 'b'),
                           ('x-versions-enabled', 'true'))), policy='gold-2')
DEAD = Shipment('a', 'c', life=Life(False, T2, 'paris'))
ALL = (DATA, NULL, DELETE, PURGE, LIFE, DEAD)


def framed(shipment):
    """Return the JSON of a shipment's frame, as bytes."""
    return shipping.encoded(shipment.to_frame().to_json())


def altered(shipment, **values):
    """Return the JSON of a frame with other values."""
    frame = json.loads(framed(shipment))
    for name, value in values.items():
        at = next(each for each in (
            frame, frame['what'], frame['what']['version'])
            if name in each)
        at[name] = value
    return json.dumps(frame).encode('ascii')


def read(*frames):
    """Return what a receiver reads of a pack."""
    found = shipping.decode(shipping.pack(frames))
    assert isinstance(found, shipping.Pack)
    return [frame.open() for frame in found.shipments]


class TestShipment(unittest.TestCase):

    def test_what_is_written_is_read(self):
        self.assertEqual(list(ALL), read(*map(framed, ALL)))

    def assert_refused(self, frame, *words):
        with self.assertRaises(ValueError) as caught:
            read(frame)
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
                'account': ('', None, 7, 'a/b', 'a\0', 'x' * 257),
                'container': ('', 'a/b', 'ü' * 129),
                'null': (None, 0, 'true'),
                'version': (None, [], {}, 7),
                'what': (None, [], {}, 7),
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
                    self.assert_refused(altered(DATA, **{name: value}))

    def test_markers_and_life_records_have_no_data(self):
        for each in (DELETE, PURGE, LIFE, DEAD):
            self.assert_refused(altered(each, length=1), 'length')

    def test_it_is_either_a_version_or_a_life(self):
        self.assert_refused(framed(Shipment('a', 'c')), 'either')
        self.assert_refused(framed(replace(DATA, life=LIFE.life)), 'either')

    def test_user_metadata_may_have_other_bytes_than_ascii(self):
        name = 'x-object-meta-' + 'Ü'.encode().decode('latin1')
        self.assertEqual(name, lowered(
            'X-Object-Meta-' + 'Ü'.encode().decode('latin1')))
        found, = read(altered(DATA, headers=[[name, 'b']]))
        self.assertEqual(((name, 'b'),), found.headers)

    @settings(max_examples=300)
    @given(st.sampled_from(ALL), st.data())
    def test_whatever_replaces_a_field_is_read_or_refused(self, each, data):
        frame = json.loads(framed(each))
        places = [frame, frame['what']] + [
            frame['what'][name] for name in ('version', 'life')
            if frame['what'][name]]
        fields = data.draw(st.sampled_from(places))
        name = data.draw(st.sampled_from(sorted(fields)))
        fields[name] = data.draw(st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=9)
            | st.floats(), lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=4))
        try:
            found, = read(json.dumps(frame).encode('ascii'))
        except ValueError:
            return
        # What was taken can be told on, and is the same there.
        self.assertEqual([found], read(framed(found)))


class TestPack(unittest.TestCase):

    def assert_refused(self, head, *words):
        with self.assertRaises(ValueError) as caught:
            shipping.decode(head)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertLess(len(str(caught.exception)), 700)

    def test_a_head_is_json_of_this_format_and_not_too_long(self):
        for bad in (b'', b'x', b'[]', b'7', b'"', b'\xff', b'{}',
                    b'[' * 100000, b'{"format":2,"verb":"ship"}',
                    b'{"format":1}', b'{"format":1,"verb":"x"}',
                    b'{"verb":"ship","shipments":[{"length":0,"what":1}]}',
                    b'{"groups":[]}', b'{"format":1,"groups":[]}',
                    b' ' * (MAX_HEAD + 1)):
            with self.subTest(bad[:30]):
                self.assert_refused(bad)

    def test_a_bad_shipment_says_nothing_against_others(self):
        bad = Frame(3, {'account': 7}).to_json()
        found = shipping.decode(shipping.pack([
            framed(DELETE), shipping.encoded(bad), framed(DATA)]))
        self.assertEqual(8, found.length)
        first, second, third = found.shipments
        self.assertEqual([DELETE, DATA], [first.open(), third.open()])
        with self.assertRaisesRegex(ValueError, 'a shipment.account'):
            second.open()

    def pack(self, *lengths):
        return shipping.pack([shipping.encoded(Frame(
            length, None).to_json()) for length in lengths])

    def test_several_are_small_and_one_may_be_large(self):
        for lengths, small in (((0,), True), ((MAX_SMALL,), True),
                               ((MAX_SMALL + 1,), False),
                               ((1 << 60,), False), ((0, 0), True),
                               ((MAX_SMALL,) * (MAX_PACK // MAX_SMALL), True),
                               ((1,) * MAX_PACKED, True)):
            found = shipping.decode(self.pack(*lengths))
            self.assertEqual((small, sum(lengths)),
                             (found.is_small, found.length))
        for lengths in ((), (MAX_SMALL + 1, 0), (1,) * (MAX_PACKED + 1),
                        (MAX_SMALL,) * (MAX_PACK // MAX_SMALL + 1)):
            self.assert_refused(self.pack(*lengths), 'a pack')

    def test_too_long_heads_are_not_sent(self):
        with self.assertRaises(ValueError):
            shipping.pack([b'0' * 1000] * 2000)

    @given(st.lists(st.integers(0, 20), max_size=30),
           st.integers(1, 5), st.integers(1, 30))
    def test_parts_hold_all_in_order_and_no_more_than_they_may(
            self, items, most, weight):
        parts = list(bounded(items, most, weight, lambda item: item))
        self.assertEqual(items, [item for part in parts for item in part])
        for part in parts:
            self.assertTrue(1 <= len(part) <= most)
            self.assertTrue(len(part) == 1 or sum(part) <= weight)


class TestOffer(unittest.TestCase):

    offers = (Offered('o', T1, 'rome', Kind.DATA),
              Offered('o', T2, 'paris', Kind.PURGE),
              Offered('ö/x', T2, 'paris', Kind.DATA, T2))
    groups = (Group('a', 'c', offers), Group('ü', 'd', offers[:1]),
              Group('a', 'e', ()))

    def test_what_is_written_is_read(self):
        for each in ((), self.groups):
            self.assertEqual(each, shipping.decode(
                shipping.offer(each)).groups)

    def test_too_many_are_refused(self):
        one = Group('a', 'c', self.offers[:1])
        shipping.offer([one] * MAX_OFFERED)
        half = Group('a', 'c', self.offers[:1] * (MAX_OFFERED // 2))
        shipping.offer([half] * 2)
        for groups in ([one] * (MAX_OFFERED + 1), [half, half, one],
                       [Group('a', 'c', self.offers[:1] *
                              (MAX_OFFERED + 1))]):
            with self.assertRaises(ValueError) as caught:
                shipping.decode(shipping.offer(groups))
            self.assertIn(str(MAX_OFFERED), str(caught.exception))

    def test_too_long_names_are_not_sent(self):
        name = 'n' * 4000
        with self.assertRaises(ValueError):
            shipping.offer([Group('a', 'c', (
                Offered(name, T1, 'rome', Kind.DATA),) * 1000)])

    def test_what_is_no_version_is_refused(self):
        good = self.offers[0].to_json()
        for bad in (None, [], 7, {}, {**good, 'object': 'a\0'},
                    {**good, 'id': 1}, {**good, 'site': 'X'},
                    {**good, 'kind': 'x'}, {**good, 'changed': 'x'}):
            with self.assertRaises(ValueError):
                shipping.decode(json.dumps({
                    'format': 1, 'verb': 'offer', 'groups': [{
                        'account': 'a', 'container': 'c',
                        'versions': [bad]}]}).encode('ascii'))


class TestAnswer(unittest.TestCase):

    def test_the_places_are_read(self):
        for found in (Lacking((2, 0)), Lacking((), (1,), 'rows')):
            self.assertEqual(found, shipping.lacking(
                shipping.encoded(found.to_json()), 3))

    def test_what_was_not_offered_is_refused(self):
        for bad in ([3], [-1], [True], ['0'], [1.0], None, {}, 0):
            for body in ({'lacking': bad}, {'lacking': [], 'unknown': bad},
                         {'lacking': [], 'later': bad}):
                with self.assertRaises(ValueError):
                    shipping.lacking(shipping.encoded(body), 3)
        for bad in (b'', b'[]', b'{}', b'{"lacking":[0]'):
            with self.assertRaises(ValueError):
                shipping.lacking(bad, 3)

    def test_each_shipment_has_its_result(self):
        found = (Result(201), Result(503, 'rows'))
        body = shipping.results(found, 1.5)
        self.assertEqual(shipping.Results(found, 1.5),
                         shipping.results_of(body, 2))
        for count in (1, 3):
            with self.assertRaisesRegex(ValueError, '2 results'):
                shipping.results_of(body, count)
        for bad in (b'', b'[]', b'{}', b'{"results":[{"status":"x"}]}',
                    b'{"results":[{"status":7}]}', b'{"results":[201]}'):
            with self.assertRaises(ValueError):
                shipping.results_of(bad, 1)

    def test_only_success_is_stored(self):
        self.assertEqual([True, True, False, False], [
            Result(status).is_stored for status in (200, 201, 409, 503)])

    def test_a_reason_is_a_text_or_nothing(self):
        self.assertEqual('no', shipping.reason(shipping.error('no')))
        for body in (b'', b'<html>', b'[]', b'{"error":7}'):
            self.assertEqual('', shipping.reason(body))
