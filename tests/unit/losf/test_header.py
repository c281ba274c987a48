# SPDX-License-Identifier: Apache-2.0
import struct
import unittest

from google_crc32c import value as crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from swift_losf.format.header import (
    ALIGNMENT,
    BLOCK,
    DURABLE_OFFSET,
    MAX_METADATA,
    QUARANTINED_OFFSET,
    FormatError,
    RecordHeader,
    VolumeHeader,
    VolumeType,
    block_count,
    footer_length,
    record_length,
)
from swift_losf.format.metadata import decode_metadata, encode_metadata
from swift_losf.format.record import BlockSums, Footer, NewRecord
from swift_losf.format.values import Location

VOLUME = VolumeHeader(number=258, type=VolumeType.DATA, policy=3,
                      created=2 ** 60 + 5, salt=b'saltsalt')
RECORD = RecordHeader(tag=0x01020304, hash=bytes(range(16)), partition=9,
                      data_length=70000, metadata_length=20, name_length=5,
                      written=2 ** 60 + 7)
LOCATION = Location(258, 8192, 70000, 20, 5)


def flipped(data):
    """Every way to flip one bit: its number, and the bytes."""
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        yield bit, bytes(changed)


class TestVolumeHeader(unittest.TestCase):

    def test_its_bytes_are_those_of_the_format(self):
        data = VOLUME.pack()
        self.assertEqual(4096, len(data))
        self.assertEqual(
            b'LOSFvol\n' b'\x03\0' b'\x01\0' b'\x40\0\0\0'
            b'\x02\x01\0\0\0\0\0\0' b'\x03\0\0\0'
            b'\x05\0\0\0\0\0\0\x10' b'saltsalt', data[:44])
        self.assertEqual(struct.pack('<I', crc32c(data[:44])), data[44:48])
        self.assertEqual(bytes(4048), data[48:])

    def test_it_comes_back_as_it_was(self):
        for kind in VolumeType:
            header = VolumeHeader(2 ** 62, kind, 2 ** 31, 0, bytes(8))
            self.assertEqual(header, VolumeHeader.unpack(header.pack()))
            self.assertEqual(ALIGNMENT, header.alignment)

    def test_every_flipped_bit_is_detected(self):
        for bit, data in flipped(VOLUME.pack()):
            with self.assertRaises(FormatError, msg=bit):
                VolumeHeader.unpack(data)

    def test_a_header_cut_short_is_refused(self):
        with self.assertRaisesRegex(FormatError, 'length of the volume'):
            VolumeHeader.unpack(VOLUME.pack()[:-1])

    def test_a_wrong_field_is_named_with_its_value_and_what_is_allowed(self):
        for field, value, message in (
                ('alignment', 1000, 'alignment is 1000.*power of two'),
                ('alignment', 32, 'alignment is 32.*64 to 65536'),
                ('alignment', 131072, 'alignment is 131072.*64 to 65536'),
                ('number', 0, 'number of the volume is 0.*1 to'),
                ('salt', b'x', "salt is b'x'.*8 bytes")):
            fields = dict(number=1, type=VolumeType.DATA, policy=0,
                          created=0, salt=bytes(8))
            with self.assertRaisesRegex(FormatError, message):
                VolumeHeader(**dict(fields, **{field: value}))

    def test_a_version_or_type_that_is_not_known_is_refused(self):
        for at, message in ((8, 'version of the volume is 9'),
                            (10, 'type of the volume is 9')):
            data = bytearray(VOLUME.pack())
            data[at] = 9
            data[44:48] = struct.pack('<I', crc32c(bytes(data[:44])))
            with self.assertRaisesRegex(FormatError, message):
                VolumeHeader.unpack(bytes(data))

    def test_tags_differ_with_the_offset_and_with_the_salt(self):
        other = VolumeHeader(258, VolumeType.DATA, 3, 2 ** 60 + 5, bytes(8))
        tags = {header.tag(offset) for header in (VOLUME, other)
                for offset in (4096, 8192, 2 ** 40)}
        self.assertEqual(6, len(tags))


class TestRecordHeader(unittest.TestCase):

    def test_its_bytes_are_those_of_the_format(self):
        data = RECORD.pack()
        self.assertEqual(64, len(data))
        self.assertEqual(
            b'\xc3LOSFobj' b'\x02\0' b'\0\0' b'\x04\x03\x02\x01'
            + bytes(range(16)) + b'\x09\0\0\0' b'\x14\0\0\0'
            b'\x70\x11\x01\0\0\0\0\0' b'\x07\0\0\0\0\0\0\x10'
            b'\x05\0' b'\0\0', data[:60])
        self.assertEqual(struct.pack('<I', crc32c(data[:60])), data[60:])

    def test_it_comes_back_as_it_was(self):
        self.assertEqual(RECORD, RecordHeader.unpack(RECORD.pack()))

    def test_every_flipped_bit_is_detected(self):
        for bit, data in flipped(RECORD.pack()):
            with self.assertRaises(FormatError, msg=bit):
                RecordHeader.unpack(data)

    def test_what_a_later_version_may_mean_is_refused(self):
        for at, message in ((8, 'version of the record is 9'),
                            (58, 'follows the name length is 9')):
            data = bytearray(RECORD.pack())
            data[at] = 9
            data[60:] = struct.pack('<I', crc32c(bytes(data[:60])))
            with self.assertRaisesRegex(FormatError, message):
                RecordHeader.unpack(bytes(data))

    def test_flags_are_set_in_place_and_leave_the_crc(self):
        for offset, field in ((QUARANTINED_OFFSET, 'quarantined'),
                              (DURABLE_OFFSET, 'durable')):
            data = bytearray(RECORD.pack())
            data[offset] = 0xff
            header = RecordHeader.unpack(bytes(data))
            self.assertTrue(getattr(header, field))
            self.assertEqual(bytes(data), header.pack())
            for bit, changed in flipped(bytes(data)):
                with self.assertRaises(FormatError, msg=bit):
                    RecordHeader.unpack(changed)

    def test_a_wrong_field_is_named_with_its_value_and_what_is_allowed(self):
        for field, value, message in (
                ('hash', b'x', "hash is b'x'.*16 bytes"),
                ('partition', 2 ** 32, 'partition is 4294967296.*0 to'),
                ('data_length', -1, 'length of the data is -1'),
                ('metadata_length', MAX_METADATA + 1, '1048577.*0 to 1048'),
                ('name_length', 0, 'length of the name is 0.*1 to 255'),
                ('name_length', 256, 'length of the name is 256')):
            fields = dict(vars(RECORD), **{field: value})
            with self.assertRaisesRegex(FormatError, message):
                RecordHeader(**fields)


class TestFooter(unittest.TestCase):
    footer = Footer('n.ts.', b'{"a":"0123456789ab"}', b'12345678')
    bound = (RECORD.hash + struct.pack('<QQQ', 258, 8192, 70000) +
             b'\x14\0\0\0' b'\x05\0')

    def setUp(self):
        self.data = self.footer.pack(RECORD.hash, LOCATION)

    def test_its_bytes_are_those_of_the_format(self):
        body = b'n.ts.{"a":"0123456789ab"}12345678'
        self.assertEqual(body + struct.pack('<I', crc32c(self.bound + body)),
                         self.data)
        self.assertEqual(len(self.data), footer_length(70000, 20, 5))

    def test_it_comes_back_as_it_was(self):
        self.assertEqual(self.footer, Footer.unpack(
            self.data, RECORD.hash, LOCATION))

    def test_every_flipped_bit_is_detected(self):
        for bit, data in flipped(self.data):
            with self.assertRaises(FormatError, msg=bit):
                Footer.unpack(data, RECORD.hash, LOCATION)

    def test_it_is_bound_to_its_hash(self):
        with self.assertRaisesRegex(FormatError, 'CRC of the record'):
            Footer.unpack(self.data, bytes(16), LOCATION)

    def test_it_is_bound_to_its_place_and_lengths(self):
        for other in (Location(259, 8192, 70000, 20, 5),
                      Location(258, 4096, 70000, 20, 5),
                      Location(258, 8192, 70001, 20, 5),
                      Location(258, 8192, 70000, 19, 6)):
            with self.assertRaisesRegex(FormatError, 'CRC of the record'):
                Footer.unpack(self.data, RECORD.hash, other)

    def test_one_of_another_length_is_refused(self):
        with self.assertRaisesRegex(FormatError, 'length of the footer is'):
            Footer.unpack(self.data[1:], RECORD.hash, LOCATION)

    def test_a_name_that_is_not_ascii_is_refused(self):
        body = b'\xe9' + self.data[1:-4]
        with self.assertRaisesRegex(FormatError, 'the name is .*ASCII'):
            Footer.unpack(body + struct.pack('<I', crc32c(self.bound + body)),
                          RECORD.hash, LOCATION)

    def test_a_record_is_placed_with_its_tag_and_lengths(self):
        data = b'x' * 70000
        sums = BlockSums()
        sums.add(data)
        record = NewRecord.make(9, RECORD.hash, 'n', {'a': 1}, len(data),
                                sums.pack(), 77)
        location, header, footer = record.place(VOLUME, 4096)
        self.assertEqual(Location(258, 4096, 70000, 7, 1), location)
        self.assertEqual(location.length, record.length)
        self.assertEqual(location.length, record_length(70000, 7, 1))
        header = RecordHeader.unpack(header)
        self.assertEqual((VOLUME.tag(4096), 77, 9),
                         (header.tag, header.written, header.partition))
        footer = Footer.unpack(footer, RECORD.hash, location)
        footer.check_block(0, data[:BLOCK])
        footer.check_block(1, data[BLOCK:])
        with self.assertRaisesRegex(FormatError, 'CRC of block 1'):
            footer.check_block(1, data[BLOCK:-1] + b'y')

    def test_a_name_that_cannot_be_stored_is_refused(self):
        for name in ('', 'x' * 256, 'é.data'):
            with self.assertRaisesRegex(FormatError, 'the name is .*ASCII'):
                NewRecord.make(9, RECORD.hash, name, {}, 0, b'', 0)


class TestBlockSums(unittest.TestCase):

    @settings(max_examples=50)
    @given(st.lists(st.integers(0, 3 * BLOCK), max_size=6))
    def test_pieces_do_not_matter(self, lengths):
        sums, whole = BlockSums(), b''
        for number, length in enumerate(lengths):
            piece = bytes([number]) * length
            sums.add(piece)
            whole += piece
        expected = [crc32c(whole[start:start + BLOCK])
                    for start in range(0, len(whole), BLOCK)]
        self.assertEqual(struct.pack('<%dI' % len(expected), *expected),
                         sums.pack())
        self.assertEqual(block_count(len(whole)), len(expected))


class TestMetadata(unittest.TestCase):

    @given(st.dictionaries(
        st.binary(max_size=30).map(
            lambda data: data.decode('utf8', 'surrogateescape')),
        st.one_of(st.integers(), st.binary(max_size=90).map(
            lambda data: data.decode('utf8', 'surrogateescape')))))
    def test_text_of_any_bytes_and_numbers_come_back(self, metadata):
        data = encode_metadata(metadata)
        self.assertEqual(metadata, decode_metadata(data))
        self.assertTrue(data.isascii())

    def test_numbers_stay_numbers_and_the_order_is_kept(self):
        metadata = {'z': 5, 'a': '5', 'm': 2 ** 70}
        again = decode_metadata(encode_metadata(metadata))
        self.assertEqual(list(metadata.items()), list(again.items()))

    def test_bytes_become_the_text_that_swift_makes_of_them(self):
        self.assertEqual(
            {'é': '\udcff', 'x': 'ü'},
            decode_metadata(encode_metadata(
                {'é'.encode(): b'\xff', b'x': 'ü'})))

    def test_what_cannot_be_stored_is_named(self):
        for metadata, message in (
                ({'a': ['x']}, r"metadata 'a' is \['x'\].*text, bytes"),
                ({5: 'x'}, 'metadata key is 5.*text or bytes'),
                ({'a': '\ud800'}, 'cannot be stored'),
                ({'a': float('nan')}, 'cannot be stored'),
                ({'a': 'x' * MAX_METADATA}, 'length of the metadata')):
            with self.assertRaisesRegex(FormatError, message):
                encode_metadata(metadata)

    def test_what_is_no_object_is_refused(self):
        for data in (b'', b'{', b'[]', b'5', b'\xff'):
            with self.assertRaisesRegex(FormatError, 'the metadata'):
                decode_metadata(data)
