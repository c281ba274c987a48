# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""sync_message: the bytes, and what is not let through."""

import re
import struct
import unittest
from zlib import crc32

from hypothesis import given, strategies as st

from swift_lightsync.sync import sync_message
from swift_lightsync.sync.sync_message import MAX_BYTES, MAX_PARTITIONS, \
    SyncMessageError, decode_differing, decode_roots, encode_differing, \
    encode_roots
from tests.unit.sync import documented

PARTITIONS = st.integers(0, 2 ** 32 - 1)
ROOTS = st.dictionaries(
    PARTITIONS, st.binary(min_size=16, max_size=16).map(bytes.hex),
    max_size=30)
EXAMPLE = {4660: '0453ca733495ca919803e8a00f71ddfb', 9: 'ab' * 16}


def message(magic=b'LSYN', version=1, kind=1, reserved=0, count=None,
            entries=(), crc=None, extra=b''):
    """A message with whatever is wrong with it."""
    body = struct.pack('<4sBBHI', magic, version, kind, reserved,
                       len(entries) if count is None else count)
    body += b''.join(struct.pack('<I', entry[0]) + b''.join(entry[1:])
                     for entry in entries) + extra
    return body + struct.pack('<I', crc32(body) if crc is None else crc)


class TestTheDocument(unittest.TestCase):

    def test_the_example_is_what_is_sent_and_answered(self):
        asked, differs, equal = documented.example_messages()
        partition = int(documented.found(
            r'^For partition (\d+) with the root of the example'))
        root = documented.found(r'^    root .*= ([0-9a-f]{32})$')
        self.assertEqual(asked, encode_roots({partition: root}))
        self.assertEqual({partition: root}, decode_roots(asked))
        self.assertEqual(differs, encode_differing([partition]))
        self.assertEqual({partition}, decode_differing(differs, [partition]))
        self.assertEqual(equal, encode_differing([]))
        self.assertEqual(set(), decode_differing(equal, [partition]))

    def test_the_limits_are_the_documented_ones(self):
        self.assertEqual(
            documented.found(r'^\| 4 \| count \| 0 to ([\d,]+) \|'),
            format(MAX_PARTITIONS, ','))
        self.assertEqual(
            documented.found(r'one above ([\d,]+) bytes'),
            format(MAX_BYTES, ','))

    def test_the_fields_are_the_documented_ones(self):
        sizes = re.findall(
            r'^\| (\d)(?: × count)? \| (?:magic|version|kind|reserved|count'
            r'|crc) \|', documented.protocol(), re.M)
        self.assertEqual(len(encode_roots({})), sum(map(int, sizes)))


class TestRoundTrip(unittest.TestCase):

    @given(ROOTS)
    def test_roots(self, roots):
        self.assertEqual(roots, decode_roots(encode_roots(roots)))

    @given(ROOTS, st.data())
    def test_differing(self, roots, data):
        differing = (data.draw(st.sets(st.sampled_from(sorted(roots))))
                     if roots else set())
        self.assertEqual(differing, decode_differing(
            encode_differing(differing), roots))

    @given(ROOTS)
    def test_one_set_of_roots_has_one_encoding(self, roots):
        backwards = dict(reversed(list(roots.items())))
        self.assertEqual(encode_roots(roots), encode_roots(backwards))

    @given(st.binary(max_size=200))
    def test_what_is_let_through_encodes_to_the_same_bytes(self, data):
        try:
            roots = decode_roots(data)
        except SyncMessageError:
            return
        self.assertEqual(data, encode_roots(roots))

    def test_as_many_partitions_as_allowed(self):
        roots = {partition: 'cd' * 16 for partition in range(MAX_PARTITIONS)}
        data = encode_roots(roots)
        self.assertEqual(MAX_BYTES, len(data))
        self.assertEqual(roots, decode_roots(data))


class TestRefused(unittest.TestCase):

    def refused(self, data, reason=''):
        with self.assertRaisesRegex(SyncMessageError, reason):
            decode_roots(data)

    def test_every_truncation(self):
        data = encode_roots(EXAMPLE)
        for length in range(len(data)):
            self.refused(data[:length])

    def test_every_single_bit_flip(self):
        for data, decode in (
                (encode_roots(EXAMPLE), decode_roots),
                (encode_differing(EXAMPLE),
                 lambda data: decode_differing(data, range(70000)))):
            for bit in range(8 * len(data)):
                flipped = bytearray(data)
                flipped[bit // 8] ^= 1 << bit % 8
                with self.assertRaises(SyncMessageError):
                    decode(bytes(flipped))

    def test_what_follows_the_message(self):
        self.refused(encode_roots(EXAMPLE) + b'\0', 'length')
        self.refused(message(extra=b'\0'), 'length')

    def test_each_field_is_named_with_its_value(self):
        self.refused(message(magic=b'LSYM'), 'magic .*LSYM.*LSYN')
        self.refused(message(version=2), 'version is 2, must be 1')
        self.refused(message(kind=2), 'kind is 2, must be 1')
        self.refused(message(reserved=7), 'reserved field is 7, must be 0')
        self.refused(message(count=1), 'length')
        self.refused(message(crc=0), 'CRC32')

    def test_a_count_beyond_the_limit(self):
        for count in (MAX_PARTITIONS + 1, 2 ** 32 - 1):
            self.refused(message(count=count), '%d partitions, at most %d'
                         % (count, MAX_PARTITIONS))
        entries = [(partition, b'\0' * 16)
                   for partition in range(MAX_PARTITIONS + 1)]
        self.refused(message(entries=entries), 'at most')

    def test_partitions_that_descend_or_repeat(self):
        for partitions in ((2, 1), (1, 1), (1, 3, 2)):
            self.refused(message(entries=[(partition, b'\0' * 16)
                                          for partition in partitions]),
                         'ascend')

    def test_a_reply_is_no_message_and_a_message_no_reply(self):
        self.refused(encode_differing([1]), 'kind')
        with self.assertRaisesRegex(SyncMessageError, 'kind'):
            decode_differing(encode_roots({1: 'ab' * 16}), [1])

    def test_a_reply_with_a_partition_that_was_not_asked_for(self):
        with self.assertRaisesRegex(SyncMessageError, 'partition 7'):
            decode_differing(encode_differing([1, 7]), [1])

    def test_a_reply_that_descends_or_repeats(self):
        for entries in ([(2,), (1,)], [(1,), (1,)]):
            with self.assertRaisesRegex(SyncMessageError, 'ascend'):
                decode_differing(message(kind=2, entries=entries), [1, 2])

    def test_a_partition_that_has_no_number_is_not_encoded(self):
        for partition in (-1, 2 ** 32):
            with self.assertRaises(struct.error):
                encode_roots({partition: 'ab' * 16})

    def test_the_error_is_a_value_error(self):
        self.assertTrue(issubclass(sync_message.SyncMessageError,
                                   ValueError))


if __name__ == '__main__':
    unittest.main()
