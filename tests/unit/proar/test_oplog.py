# SPDX-License-Identifier: Apache-2.0
"""oplog: bytes of a log, as PROTOCOL.md has them; how far peers have come."""

import os
import re
import struct
import unittest
import zlib
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

import swift_lightsync.proar
from swift_lightsync.proar.core import oplog
from swift_lightsync.proar.core.oplog import (
    RECORD,
    Entry,
    FormatError,
    Op,
    Progress,
    State,
    decode_header,
    encode_header,
    exposed_after,
    is_end,
    last_commit,
    place_of,
    start_of,
)

U64 = st.integers(0, (1 << 64) - 1)
ENTRIES = st.builds(
    Entry, st.sampled_from(Op), st.integers(0, 255), U64,
    st.binary(min_size=16, max_size=16), U64, U64, U64, st.sampled_from(State))
ENTRY = Entry(Op.DELETE, 2, 3, bytes(range(16)), 5, 6, 7, State.COMMITTED)


def documented(table):
    """Return (offset, size) of each row of a table of PROTOCOL.md"""
    with open(os.path.join(os.path.dirname(swift_lightsync.proar.__file__),
                           'PROTOCOL.md'), encoding='utf8') as text:
        rows = text.read().partition('| offset | size | %s |' % table)[2]
    return [(int(row[1]), int(row[2])) for row in re.finditer(
        r'^\| (\d+) \| (\d+) \|', rows.partition('\n\n')[0], re.M)]


class TestEntries(unittest.TestCase):

    @given(ENTRIES)
    def test_an_entry_is_decoded_as_it_was(self, entry):
        record = entry.encode()
        self.assertEqual(RECORD, len(record))
        self.assertEqual(entry, Entry.decode(record))
        self.assertFalse(is_end(record))

    @given(ENTRIES, st.integers(0, RECORD * 8 - 1))
    def test_every_bit_counts_but_those_of_the_state(self, entry, bit):
        record = bytearray(entry.encode())
        record[bit // 8] ^= 1 << bit % 8
        if bit // 8 == oplog.STATE_OFFSET:
            decoded = Entry.decode(bytes(record))
            self.assertEqual(entry, replace(decoded, state=entry.state))
        else:
            self.assertRaises(FormatError, Entry.decode, bytes(record))

    def test_the_bytes_are_where_the_document_has_them(self):
        layout = documented('record')
        self.assertEqual(RECORD, sum(size for _, size in layout))
        record = ENTRY.encode()
        crc, state, op, slot, zero, *rest = [
            record[place:place + size] for place, size in layout]
        self.assertEqual(zlib.crc32(record[5:]),
                         int.from_bytes(crc, 'little'))
        self.assertEqual((b'\2', b'D', b'\2', b'\0'), (state, op, slot, zero))
        self.assertEqual([(3).to_bytes(8, 'little'), bytes(range(16))] + [
            number.to_bytes(8, 'little') for number in (5, 6, 7, 0)], rest)

    def test_an_unknown_state_is_intent_and_an_unknown_op_is_damage(self):
        record = ENTRY.encode()
        self.assertIs(State.INTENT, Entry.decode(
            record[:4] + b'\x09' + record[5:]).state)
        strange = bytes(4) + b'\2R' + record[6:]
        strange = struct.pack('<L', zlib.crc32(strange[5:])) + strange[4:]
        with self.assertRaisesRegex(FormatError, "op b'R', not M or D"):
            Entry.decode(strange)

    def test_an_intent_is_decided_once_by_the_disk(self):
        intent = replace(ENTRY, state=State.INTENT)
        self.assertIs(State.COMMITTED, intent.decided(True).state)
        self.assertIs(State.ABORTED, intent.decided(False).state)
        self.assertIs(ENTRY, ENTRY.decided(False))

    def test_a_log_ends_with_zeros_or_with_the_file(self):
        for record in (b'', bytes(RECORD), ENTRY.encode()[:-1]):
            self.assertTrue(is_end(record))


class TestHeader(unittest.TestCase):

    @given(st.integers(1, (1 << 64) - 1))
    def test_the_base_is_decoded_as_it_was(self, base):
        self.assertEqual(base, decode_header(encode_header(base)))

    def test_the_bytes_are_where_the_document_has_them(self):
        layout = documented('header')
        header = encode_header(9)
        self.assertEqual(RECORD, sum(size for _, size in layout))
        magic, version, size, _, base, zero = [
            header[place:place + size] for place, size in layout]
        self.assertEqual((b'PROARLOG', b'\1\0', b'@\0', bytes(40)),
                         (magic, version, size, zero))
        self.assertEqual(9, int.from_bytes(base, 'little'))

    @given(st.integers(0, RECORD * 8 - 1))
    def test_every_bit_counts(self, bit):
        header = bytearray(encode_header(1))
        header[bit // 8] ^= 1 << bit % 8
        self.assertRaises(FormatError, decode_header, bytes(header))

    def test_what_is_wrong_is_said(self):
        for header, reason in (
                (b'', '0 bytes, not 64'), (bytes(64), 'magic'),
                (encode_header(1)[:8] + b'\2' + encode_header(1)[9:],
                 'version is 2, not 1'), (encode_header(0), 'base is 0')):
            with self.assertRaisesRegex(FormatError, reason):
                decode_header(header)

    def test_the_first_record_is_behind_the_header(self):
        self.assertEqual([64, 128], [place_of(7, 7), place_of(8, 7)])


class TestProgress(unittest.TestCase):

    @given(st.permutations(range(11, 21)))
    def test_the_cursor_is_there_when_all_are_whatever_their_order(
            self, order):
        progress = Progress(10)
        for number, eversion in enumerate(order, 1):
            done = set(order[:number])
            progress.apply(eversion)
            self.assertEqual(max(
                (last for last in range(10, 21)
                 if set(range(11, last + 1)) <= done)), progress.cursor)
            for each in order:
                self.assertEqual(each in done, progress.holds(each))

    def test_what_is_applied_twice_or_long_since_changes_nothing(self):
        progress = Progress(10)
        self.assertFalse(progress.apply(12))
        self.assertFalse(progress.apply(12))
        self.assertFalse(progress.apply(3))
        self.assertTrue(progress.apply(11))
        self.assertEqual(Progress(12), progress)

    def test_a_cut_moves_it_past_what_is_gone(self):
        progress = Progress(10)
        progress.apply(12)
        progress.apply(20)
        progress.cut(16)
        self.assertEqual(15, progress.cursor)
        self.assertTrue(progress.holds(20))
        progress.cut(3)
        self.assertEqual(15, progress.cursor)

    def test_a_peer_starts_where_it_was_if_that_is_of_this_log(self):
        for cursor, start in ((None, 4), (0, 4), (4, 4), (7, 7), (9, 9),
                              (10, 4)):
            self.assertEqual(start, start_of(cursor, 5, 9))

    def test_all_hold_what_the_last_holds_and_one_what_the_first(self):
        self.assertEqual((3, 8), (last_commit([8, 3, 5], 9),
                                  exposed_after([8, 3, 5], 9)))
        self.assertEqual((9, 9), (last_commit([], 9), exposed_after([], 9)))
