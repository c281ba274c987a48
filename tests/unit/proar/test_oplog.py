# SPDX-License-Identifier: Apache-2.0
"""The bytes of a log: swift_lightsync/proar/core/oplog.py, PROTOCOL.md."""

import struct
import unittest
import zlib
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.proar.core.oplog import (
    CAPACITY,
    MAX_HOLDERS,
    RECORD,
    SEGMENT,
    Entry,
    FormatError,
    Header,
    Op,
    State,
    encode_holders,
    eversion_of,
    exposed,
    not_over,
    place_of,
    position,
)

HASH = bytes(range(16))
ENTRY = Entry(Op.DELETE, 2, 258, 7, HASH, 170000000000001, 5,
              1700000000000123, 9, 0, State.COMMITTED, frozenset({0, 300}))


def numbers(bits):
    return st.integers(0, (1 << bits) - 1)


ENTRIES = st.builds(
    Entry, st.sampled_from(Op), numbers(8), numbers(16), numbers(32),
    st.binary(min_size=16, max_size=16), numbers(64), numbers(32),
    numbers(64), numbers(32), st.just(0), st.sampled_from(State),
    st.frozensets(st.integers(0, 65534), max_size=MAX_HOLDERS))


class TestEntry(unittest.TestCase):

    def test_the_bytes_are_those_of_the_document(self):
        record = ENTRY.encode(eversion_of(3, 4))
        fixed = (HASH + struct.pack('<QLLQLH', 170000000000001, 5, 9,
                                    1700000000000123, 7, 258) + b'D\x02')
        crc = zlib.crc32(fixed, zlib.crc32(struct.pack('<Q', 3 << 14 | 4)))
        self.assertEqual(
            struct.pack('<LBBHHHHH', crc, 2, 0, 1, 301, 0, 0, 0) + fixed,
            record)
        self.assertEqual(RECORD, len(record))

    @given(ENTRIES, st.integers(1, 1 << 40), st.integers(1, CAPACITY))
    def test_an_entry_is_what_was_encoded(self, entry, number, index):
        eversion = eversion_of(number, index)
        self.assertEqual((number, index), place_of(eversion))
        self.assertEqual(replace(entry, eversion=eversion),
                         Entry.decode(entry.encode(eversion), eversion))

    @given(ENTRIES, st.integers(0, 8 * RECORD - 1))
    def test_a_flipped_bit_is_noticed_or_changes_nothing_that_was_said(
            self, entry, bit):
        record = bytearray(entry.encode(1))
        record[bit // 8] ^= 1 << bit % 8
        try:
            found = Entry.decode(bytes(record), 1)
        except FormatError:
            self.assertTrue(bit < 32 or bit >= 128)
        else:
            # The state, a byte that is not used, and who holds it.
            self.assertTrue(32 <= bit < 128)
            self.assertEqual(
                replace(entry, eversion=1, state=found.state,
                        holders=found.holders), found)

    def test_a_record_at_another_place_is_damaged(self):
        record = ENTRY.encode(eversion_of(3, 4))
        for eversion in eversion_of(3, 5), eversion_of(4, 4):
            with self.assertRaisesRegex(FormatError, 'checksum'):
                Entry.decode(record, eversion)

    def test_an_unknown_state_is_told_by_the_disk(self):
        record = bytearray(ENTRY.encode(1))
        for state in 0, 8, 255:
            record[4] = state
            self.assertIs(State.UNDECIDED,
                          Entry.decode(bytes(record), 1).state)

    def test_an_unknown_op_is_damage(self):
        fixed = ENTRY.encode(1)[16:62] + b'R\x02'
        crc = zlib.crc32(fixed, zlib.crc32(struct.pack('<Q', 1)))
        with self.assertRaisesRegex(FormatError, "op b'R'"):
            Entry.decode(struct.pack('<LB11x', crc, 1) + fixed, 1)

    def test_holders_that_have_no_room_are_left_out(self):
        self.assertEqual(struct.pack('<4H', 2, 3, 4, 5),
                         encode_holders({1, 2, 3, 4, 5}))
        self.assertEqual(bytes(8), encode_holders({65535, 10 ** 9}))

    def test_an_offset_of_more_bits_is_cut_for_all_that_compare_it(self):
        entry = replace(ENTRY, offset=1 << 40)
        found = Entry.decode(entry.encode(1), 1)
        self.assertTrue(found.is_on_disk(entry.timestamp, 1 << 40))
        self.assertFalse(found.is_on_disk(entry.timestamp, 5))

    def test_the_disk_decides_what_is_open_and_nothing_else(self):
        for state in State:
            entry = replace(ENTRY, state=state)
            is_open = state in (State.INTENT, State.UNDECIDED)
            for on_disk, wanted in ((True, State.COMMITTED),
                                    (False, State.ABORTED)):
                self.assertIs(wanted if is_open else state,
                              entry.decided(on_disk).state)

    def test_on_the_disk_is_what_is_as_new(self):
        for stamp, wanted in (((ENTRY.timestamp, 5), True),
                              ((ENTRY.timestamp, 4), False),
                              ((ENTRY.timestamp - 1, 9), False),
                              ((ENTRY.timestamp + 1, 0), True)):
            self.assertEqual(wanted, ENTRY.is_on_disk(*stamp))


class TestHeader(unittest.TestCase):

    header = Header(7, HASH)

    def test_the_bytes_are_those_of_the_document(self):
        rest = struct.pack('<Q', 7) + HASH + bytes(24)
        start = b'PROARLOG' + struct.pack('<HH', 2, 64)
        self.assertEqual(
            start + struct.pack('<L', zlib.crc32(start + rest)) + rest,
            self.header.encode())
        self.assertEqual(self.header, Header.decode(self.header.encode()))

    def test_every_flipped_bit_is_noticed(self):
        for bit in range(8 * RECORD):
            data = bytearray(self.header.encode())
            data[bit // 8] ^= 1 << bit % 8
            self.assertRaises(FormatError, Header.decode, bytes(data))

    def test_what_is_no_header_is_an_error_that_says_so(self):
        old = b'PROARLOG' + struct.pack('<HHLQ40x', 1, 64, 0, 1)
        for data, said in ((b'', '0 bytes, not 64'),
                           (bytes(64), 'magic'), (old, 'version is 1'),
                           (Header(0, HASH).encode(), 'number is 0')):
            with self.assertRaisesRegex(FormatError, said):
                Header.decode(data)


class TestPlaces(unittest.TestCase):

    def test_a_segment_has_room_for_its_header_and_its_records(self):
        self.assertEqual(SEGMENT, RECORD * (1 + CAPACITY))
        self.assertEqual((5, CAPACITY), place_of(eversion_of(5, CAPACITY)))

    def test_eversions_rise_within_a_segment_and_beyond_it(self):
        self.assertLess(eversion_of(5, 1), eversion_of(5, 2))
        self.assertLess(eversion_of(5, CAPACITY), eversion_of(6, 1))


def content(*states):
    return Header(1, HASH).encode() + b''.join(
        replace(ENTRY, state=state).encode(number)
        for number, state in enumerate(states, 1))


class TestWhatIsTold(unittest.TestCase):

    def test_what_no_other_device_holds_is_exposed(self):
        S = State
        every = content(S.CONVERGED, S.ABORTED, S.HELD, S.ASIDE, S.INTENT,
                        S.UNDECIDED, S.COMMITTED)
        self.assertEqual((2, 6), exposed(every, True))
        # Without a writer, an intent may be durable.
        self.assertEqual((3, 5), exposed(every, False))

    def test_nothing_is_exposed_of_what_all_hold(self):
        for states in ((), (State.CONVERGED,) * 3):
            self.assertEqual((0, None), exposed(content(*states), False))
        self.assertEqual((0, None), exposed(b'', False))

    def test_only_what_a_device_may_lack_in_this_ring_is_read(self):
        S = State
        every = content(S.CONVERGED, S.HELD, S.ABORTED, S.INTENT)
        self.assertEqual([2, 4], list(not_over(every, ENTRY.ring_version)))
        self.assertEqual([1, 2, 3, 4], list(not_over(every, 1)))

    def test_the_last_durable_record_and_the_last_one_tell_how_far_it_is(self):
        S = State
        for states, wanted in (
                ((), (0, 0)), ((S.INTENT, S.ABORTED), (0, 2)),
                ((S.COMMITTED,), (1, 1)), ((S.HELD, S.UNDECIDED), (1, 2)),
                ((S.COMMITTED, S.CONVERGED, S.ASIDE), (2, 3))):
            self.assertEqual(wanted, position(content(*states)))
