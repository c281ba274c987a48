# SPDX-License-Identifier: Apache-2.0
"""address: what names a node or a device, and what does not."""

import unittest
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.common import address
from swift_lightsync.common.records import Record, RecordError

NODE, DEVICE = ['10.0.0.1', 6200], ['10.0.0.1', 6200, 'sda']
BAD = (None, 1, 'x', [], ['a'], ['a', '1'], [1, 1], ['', 1], ['a', 0],
       ['a', 70000], ['a', True], ['a', 1.0], ['a' * 256, 1], ['a', 1, ''],
       ['a', 1, 2], ['a', 1, 'x' * 256], ['a', 1, 'x', 'y'], {'a': 1})


@dataclass(frozen=True)
class Known(Record):
    node: address.Node
    device: address.Device
    place: address.Place


class TestPlaces(unittest.TestCase):

    def test_each_has_its_form(self):
        self.assertEqual(tuple(NODE), address.parse_node(NODE))
        self.assertEqual(tuple(DEVICE), address.parse_device(DEVICE))
        for each in (NODE, DEVICE):
            self.assertEqual(tuple(each), address.parse_place(each))

    def test_all_else_is_refused_with_what_is_allowed(self):
        for parse, also, allowed in (
                (address.parse_node, DEVICE, 'IP, port'),
                (address.parse_device, NODE, 'IP, port, device'),
                (address.parse_place, [], 'IP, port(, device)?')):
            for value in (*BAD, also):
                with self.assertRaisesRegex(
                        ValueError, r'must be \[%s\]$' % allowed, msg=value):
                    parse(value)

    def test_they_are_fields_of_records(self):
        values = {'node': NODE, 'device': DEVICE, 'place': NODE}
        found = Known.from_json(values)
        self.assertEqual((tuple(NODE), values), (found.node, found.to_json()))
        with self.assertRaises(RecordError) as caught:
            Known.from_json({**values, 'device': ['a', 1, 2]})
        self.assertEqual("device: ['a', 1, 2] must be [IP, port, device]",
                         str(caught.exception))

    def test_a_name_cannot_steer_a_terminal(self):
        self.assertEqual('h:1/a?b?', address.place_name(('h', 1, 'a\x1bb\n')))
        self.assertEqual('h:1', address.place_name(('h', 1)))


class TestEndpoint(unittest.TestCase):

    @given(st.text(min_size=1, max_size=255), st.integers(1, 65535))
    def test_what_is_written_is_read(self, ip, port):
        self.assertEqual((ip, port), address.parse_endpoint(
            '%s:%d' % (ip, port)))

    def test_what_is_none_is_none(self):
        for value in (None, '', 'a', ':1', 'a:', 'a:0', 'a:65536', 'a:x',
                      'a:-1', 'a:+1', 'a: 1', 'a:\u0661', 'a:000001'):
            self.assertIsNone(address.parse_endpoint(value), value)

    def test_an_operator_writes_brackets_and_is_told_what_is_wrong(self):
        self.assertEqual(('::1', 80), address.parse_host('[::1]:80'))
        with self.assertRaisesRegex(ValueError, "^'a' must be IP:port$"):
            address.parse_host('a')
