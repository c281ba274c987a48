# SPDX-License-Identifier: Apache-2.0
"""missing_message: the bytes by which objects are offered and wanted."""

import struct
import unittest

from hypothesis import given
from hypothesis import strategies as st
from swift.common.utils import Timestamp
from swift.obj.ssync_receiver import decode_missing

from swift_lightsync.sync.missing_message import (
    MAX_LINE,
    MAX_OBJECTS,
    MAX_OFFER_BYTES,
    OFFER,
    WANTED,
    decode_offer,
    decode_wanted,
    encode_offer,
    encode_wanted,
    line_of,
)
from swift_lightsync.sync.wire.exchange_message import MAX_PARTITIONS
from swift_lightsync.sync.wire.sync_message import (
    MAX_BYTES,
    SyncMessageError,
    pack,
)
from tests.unit.sync import documented
from tests.unit.sync.damage import MessageTestCase, allocated

HASH = '0123456789abcdef' * 2
LINES = [line_of(HASH, {'ts_data': Timestamp(1600000000.12345)}),
         line_of('f' * 32, {
             'ts_data': Timestamp(1, offset=2),
             'ts_meta': Timestamp(3, offset=4),
             'ts_ctype': Timestamp(2, offset=5)})]
OFFERED = {7: LINES, 4660: [], 2 ** 32 - 1: LINES[1:]}
ANSWER = {7: (2, [1]), 4660: (0, []), 2 ** 32 - 1: (1, [0])}

numbers = st.integers(0, 2 ** 32 - 1)
hashes = st.binary(min_size=16, max_size=16).map(bytes.hex)
#: Of the unit that Swift's timestamps are kept in.
stamps = st.builds(
    lambda ticks, offset: Timestamp(ticks / 1e5, offset=offset),
    st.integers(0, 10 ** 15 - 10 ** 6), st.integers(0, 2 ** 64 - 1))
timestamps = st.one_of(
    st.fixed_dictionaries({'ts_data': stamps}),
    st.fixed_dictionaries({'ts_data': stamps, 'ts_meta': stamps}),
    st.fixed_dictionaries({'ts_data': stamps, 'ts_meta': stamps,
                           'ts_ctype': stamps}))
lines = st.builds(line_of, hashes, timestamps)


def answered(data):
    return decode_wanted(data, OFFERED)


KINDS = {'offer': (encode_offer(OFFERED), decode_offer),
         'wanted': (encode_wanted(ANSWER), answered)}


def offer_of(*texts, objects=None):
    """An offer of partition 7 with any bytes for lines."""
    text = b''.join(texts)
    return pack(OFFER, struct.pack(
        '<IIII', 1, 7, len(texts) if objects is None else objects,
        len(text)), text)


class TestRoundTrips(unittest.TestCase):

    @given(st.dictionaries(numbers, st.lists(lines, max_size=9), max_size=9))
    def test_objects_are_read_as_they_were_offered(self, offer):
        self.assertEqual(
            {partition: [dict(decode_missing(line), deleted=False)
                         for line in of_one]
             for partition, of_one in offer.items()},
            decode_offer(encode_offer(offer)))

    @given(hashes, timestamps)
    def test_all_that_a_diskfile_manager_yields_has_a_line(
            self, object_hash, found):
        line = line_of(object_hash, found)
        self.assertLessEqual(len(line), MAX_LINE)
        decoded = decode_missing(line)
        self.assertEqual(object_hash, decoded['object_hash'])
        self.assertEqual(found['ts_data'], decoded['ts_data'])

    @given(hashes, timestamps, st.booleans())
    def test_a_tombstone_is_offered_as_one(self, object_hash, found, deleted):
        taken, = decode_offer(encode_offer(
            {7: [line_of(object_hash, found, deleted)]}))[7]
        self.assertIs(deleted, taken['deleted'])

    @given(st.dictionaries(numbers, st.tuples(
        st.just(100), st.sets(st.integers(0, 99)).map(sorted)), max_size=9))
    def test_wanted_objects_are_read_as_they_were_named(self, answer):
        self.assertEqual(answer, decode_wanted(
            encode_wanted(answer), dict.fromkeys(answer, range(100))))

    def test_an_object_by_another_name_has_no_line(self):
        for name in ('', 'a' * 31, 'A' * 32, 'g' * 32, 'a' * 32 + '\n',
                     '../' + 'a' * 29, 'a' * 33):
            with self.subTest(name=name):
                self.assertIsNone(line_of(name, {'ts_data': Timestamp(1)}))

    def test_the_bytes_are_the_documented_ones(self):
        self.assertEqual(pack(OFFER, struct.pack(
            '<IIII', 1, 9, 1, len(LINES[0]) + 1), LINES[0] + b'\n'),
            encode_offer({9: LINES[:1]}))
        self.assertEqual(
            pack(WANTED, struct.pack('<IIIIII', 1, 9, 5, 2, 0, 4)),
            encode_wanted({9: (5, [0, 4])}))
        text = documented.protocol()
        self.assertIn('kind %d: count (4), and of each partition:\n%snumber '
                      '(4), objects (4), bytes (4), lines'
                      % (OFFER, ' ' * 36), text)
        self.assertIn('offers objects {:,} of them'.format(MAX_OBJECTS), text)
        self.assertIn('no line is longer than %d bytes' % MAX_LINE, text)


class TestHostileFields(MessageTestCase):

    @given(st.binary(max_size=MAX_LINE + 9))
    def test_any_line_is_an_object_or_refused(self, line):
        try:
            found = decode_offer(offer_of(line + b'\n'))
        except SyncMessageError as err:
            self.assertTrue(str(err))
        else:
            self.assertRegex(found[7][0]['object_hash'], '^[0-9a-f]{32}$')

    def test_a_line_that_offers_no_object_is_refused(self):
        stamp = '0000000001.00000'
        for line in ('', HASH, HASH + ' ', stamp, HASH + ' 1',
                     HASH[1:] + ' ' + stamp, HASH + '  ' + stamp,
                     HASH.upper() + ' ' + stamp, '%2e%2e ' + stamp,
                     '../../../%s %s' % (HASH, stamp),
                     HASH + ' ' + stamp + '\r', HASH + ' ' + stamp + ' ',
                     HASH + ' ' + stamp + ' x:1', HASH + ' ' + stamp + ' m:',
                     HASH + ' ' + stamp + ' m:g',
                     HASH + ' ' + stamp + ' m:1,m:1',
                     HASH + ' ' + stamp + ' t:1',
                     HASH + ' ' + stamp + ' durable:False',
                     HASH + ' ' + stamp + ' m:' + 'f' * 17,
                     HASH + ' ' + stamp + '_1'):
            with self.subTest(line=line):
                self.assert_refused(decode_offer, offer_of(
                    line.encode() + b'\n'), 'offers no object')

    def test_a_timestamp_beyond_all_time_is_refused(self):
        for delta in ('-f' * 1, 'f' * 16, '-' + 'f' * 16):
            with self.subTest(delta=delta):
                self.assert_refused(decode_offer, offer_of((
                    '%s 0000000000.00001 m:%s\n' % (HASH, delta)).encode()))

    def test_lines_that_are_not_as_many_as_said_are_refused(self):
        line = LINES[0] + b'\n'
        for texts, objects in (((line,), 0), ((line,), 2), ((), 1),
                               ((line, LINES[1]), 2), ((b'\n',), 0)):
            with self.subTest(texts=texts, objects=objects):
                self.assert_refused(
                    decode_offer, offer_of(*texts, objects=objects), 'lines')

    def test_an_answer_about_what_was_not_offered_is_refused(self):
        for answer, reason in (
                ({8: (0, [])}, 'partition 8 was not offered'),
                ({7: (3, [])}, 'more objects than the 2'),
                ({7: (2, [2])}, 'more objects'), ({7: (1, [1])}, 'more'),
                ({7: (2, [1, 0])}, 'ascend'), ({7: (2, [1, 1])}, 'ascend')):
            with self.subTest(answer=answer):
                self.assert_refused(answered, encode_wanted(answer), reason)


class TestLimits(MessageTestCase):

    def test_the_longest_offer_is_within_what_is_read(self):
        self.assertLess(MAX_OFFER_BYTES, MAX_BYTES)
        data = encode_offer({1: LINES[1:] * MAX_OBJECTS})
        self.assertLess(len(data), MAX_OFFER_BYTES)
        self.assertEqual(MAX_OBJECTS, len(decode_offer(data)[1]))

    def test_more_than_allowed_is_refused(self):
        for data, reason in (
                (encode_offer({1: LINES[:1] * MAX_OBJECTS, 2: LINES}),
                 'more than 8192 objects'),
                (encode_offer(dict.fromkeys(range(MAX_PARTITIONS + 1), ())),
                 '257 partitions, at most 256'),
                (b'x' * (MAX_OFFER_BYTES + 1),
                 'at most %d' % MAX_OFFER_BYTES)):
            self.assert_refused(decode_offer, data, reason)

    def test_counts_without_their_bytes_allocate_nothing(self):
        for kind, decode in ((OFFER, decode_offer), (WANTED, answered)):
            for fields in ((2 ** 32 - 1, 7, 9, 9), (1, 7, 2 ** 32 - 1, 1),
                           (1, 7, 1, 2 ** 32 - 1)):
                data = pack(kind, struct.pack('<IIII', *fields))
                self.assert_refused(decode, data)
                self.assertLess(allocated(decode, data), 1 << 16)
