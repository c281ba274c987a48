# SPDX-License-Identifier: Apache-2.0
"""The example in FORMAT.md is what the code reads and writes."""

import os
import re
import tempfile
import unittest
from dataclasses import dataclass

import swift_losf
from swift_losf.diskfile.vfile import VFileReader
from swift_losf.format import keys
from swift_losf.format.header import (
    FIRST_RECORD,
    HEADER_LENGTH,
    VOLUME_HEADER_LENGTH,
    RecordHeader,
    VolumeHeader,
    VolumeType,
)
from swift_losf.format.record import BlockSums, NewRecord
from swift_losf.format.values import Location
from swift_losf.volumes.volume import find_header, iter_records, read_header
from tests.unit.losf.index_world import IndexTest

FORMAT = os.path.join(os.path.dirname(swift_losf.__file__), 'FORMAT.md')
HASH = bytes.fromhex('d41d8cd98f00b204e9800998ecf8427e')
NAME = '1700000000.00001.data'
METADATA = {'name': '/a/c/o'}
_LINE = re.compile(r' +(\d+)  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  +(\S.*))?\Z')
_ROW = re.compile(r'\| (\d+) \| (\d+) \|\s*([^|]*?)\s*\|')


@dataclass
class Field:
    at: int
    data: bytes
    label: str

    @property
    def name(self):
        return self.label.partition(':')[0]

    @property
    def value(self):
        return self.label.partition(': ')[2]


def read_format():
    with open(FORMAT, encoding='utf8') as text:
        return text.read()


def section(heading):
    """:returns: the text of a section of FORMAT.md"""
    return read_format().partition('\n## %s\n' % heading)[2].partition(
        '\n## ')[0]


def blocks():
    """:returns: the hex dumps of the example, a list of Fields for each"""
    found = [[]]
    for line in section('An example').splitlines():
        match = _LINE.match(line)
        if match:
            at, data, label = match.groups()
            data = bytes.fromhex(data)
            fields = found[-1]
            # a long field goes on in the next line
            if label is None and fields and len(fields[-1].data) == 16:
                fields[-1].data += data
            else:
                fields.append(Field(int(at), data, label or ''))
        elif found[-1]:
            found.append([])
    return [each for each in found if each]


def rows(heading):
    """:returns: (at, bytes, name) of the fields that a table places"""
    return [(int(at), int(length), name) for at, length, name in
            _ROW.findall(section(heading))]


class TestExample(unittest.TestCase):

    def setUp(self):
        self.volume, self.record, self.key, self.value = blocks()

    def bytes_of(self, fields):
        """:returns: the bytes of fields that leave no gap"""
        for field, following in zip(fields, fields[1:]):
            self.assertEqual(field.at + len(field.data), following.at)
        return b''.join(field.data for field in fields)

    def test_its_fields_are_where_the_tables_say(self):
        for heading, fields, base in (
                ('Volumes', self.volume, 0),
                ('Records', self.record, FIRST_RECORD)):
            expected = rows(heading)
            self.assertGreater(len(expected), 8)
            self.assertEqual(expected, [
                (field.at - base, len(field.data), field.name)
                for field in fields[:len(expected)]])

    def test_its_values_are_those_that_it_names(self):
        numbers = [field for field in self.volume + self.record
                   if field.value.isdigit()]
        self.assertEqual(7, len(numbers))
        for field in numbers:
            self.assertEqual(int(field.value),
                             int.from_bytes(field.data, 'little'), field)
        for field in self.record[-5:-2]:
            self.assertEqual(field.value.encode(), field.data)

    def test_a_scan_finds_the_record_and_a_reader_its_data(self):
        data = self.bytes_of(self.volume).ljust(
            FIRST_RECORD, b'\0') + self.bytes_of(self.record)
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            fd = file.fileno()
            header = read_header(fd)
            found, = iter_records(fd, header, 0, len(data))
            self.assertEqual(find_header(fd, header, 8192), found.header)
        self.assertEqual((1, VolumeType.DATA, 64),
                         (header.number, header.type, header.alignment))
        self.assertEqual((HASH, 5, NAME), (
            found.header.hash, found.header.partition, found.name))
        self.assertEqual(self.bytes_of(self.value), found.location.pack())
        self.assertEqual(self.bytes_of(self.key), keys.file_key(
            5, HASH, found.name))

    def test_the_code_writes_the_same(self):
        header = VolumeHeader.unpack(self.bytes_of(self.volume).ljust(
            VOLUME_HEADER_LENGTH, b'\0'))
        record = self.bytes_of(self.record)
        sums = BlockSums()
        sums.add(b'hello')
        made = NewRecord.make(
            5, HASH, NAME, METADATA, 5, sums.pack(),
            RecordHeader.unpack(record[:HEADER_LENGTH]).written)
        location, head, footer = made.place(header, 8192)
        self.assertEqual(record, head + b'hello' + footer)
        self.assertEqual(Location.unpack(self.bytes_of(self.value)), location)
        self.assertEqual((5, HASH, NAME),
                         keys.split_file_key(self.bytes_of(self.key)))


class TestDevice(IndexTest):

    def test_an_index_made_of_the_volume_has_the_file(self):
        volume, record, _, value = blocks()
        with open(self.layout.volume(1), 'wb') as file:
            for field in volume + record:
                file.seek(field.at)
                file.write(field.data)
        index = self.recover()
        (name, location), = index.reader.list_hash(5, HASH)
        self.assertEqual(NAME, name)
        self.assertEqual(b''.join(each.data for each in value),
                         location.pack())
        with VFileReader.open(self.layout, location, HASH, NAME) as reader:
            self.assertEqual(b'hello', reader.read())
            self.assertEqual(METADATA, reader.metadata)
