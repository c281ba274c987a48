# SPDX-License-Identifier: Apache-2.0
"""
The bytes of records: what follows the header. FORMAT.md, "Records".
"""

import struct
from dataclasses import dataclass

from google_crc32c import extend
from google_crc32c import value as crc32c

from swift_losf.format.header import (
    BLOCK,
    CRC,
    MAX_NAME,
    RecordHeader,
    expect,
    expect_crc,
    footer_length,
    record_length,
)
from swift_losf.format.keys import Location
from swift_losf.format.metadata import encode_metadata

_BOUND = struct.Struct('<16sQQQIH')


@dataclass(frozen=True)
class Footer:
    """
    What ends a record: its CRC is the commit record.

    The CRC begins with the record's hash and location. So a footer can be
    verified without the header, and counts nowhere but where it was written.

    :param name: the file name, ASCII
    :param metadata: what encode_metadata gave
    :param blocks: the CRCs of the data's blocks, 4 bytes each
    """
    name: str
    metadata: bytes
    blocks: bytes

    def pack(self, hash_, location):
        """
        :param hash_: of the object's name, 16 bytes
        :param location: a Location: where the record is
        """
        body = self.name.encode('ascii') + self.metadata + self.blocks
        return body + CRC.pack(_bound_crc(hash_, location, body))

    @classmethod
    def unpack(cls, data, hash_, location):
        """
        :param data: what follows the record's data
        :param hash_: of the object's name, 16 bytes
        :param location: a Location: where the record is
        :raises FormatError: if it is not the footer of that record
        """
        expected = footer_length(location.data_length,
                                 location.metadata_length,
                                 location.name_length)
        expect('the length of the footer', len(data), expected,
               len(data) == expected)
        body = data[:-CRC.size]
        expect_crc('the CRC of the record',
                   *CRC.unpack_from(data, len(body)),
                   _bound_crc(hash_, location, body))
        split = location.name_length + location.metadata_length
        name = body[:location.name_length]
        expect('the name', name, 'ASCII', name.isascii())
        return cls(name.decode('ascii'), body[location.name_length:split],
                   body[split:])

    def check_block(self, index, data):
        """
        :param index: of a block of the data, from 0
        :param data: its bytes
        :raises FormatError: if they are not what was written
        """
        expect_crc('the CRC of block %d' % index,
                   *CRC.unpack_from(self.blocks, index * CRC.size),
                   crc32c(data))


def _bound_crc(hash_, location, body):
    return extend(crc32c(_BOUND.pack(
        hash_, location.volume, location.offset, location.data_length,
        location.metadata_length, location.name_length)), body)


class BlockSums:
    """
    The CRCs of the blocks of data that comes in pieces.
    """

    def __init__(self):
        self._whole = bytearray()
        self._crc = 0
        self._filled = 0

    def add(self, data):
        """:param data: the next bytes"""
        start = 0
        while start < len(data):
            piece = data[start:start + BLOCK - self._filled]
            self._crc = extend(self._crc, piece)
            self._filled += len(piece)
            start += len(piece)
            if self._filled == BLOCK:
                self._whole += CRC.pack(self._crc)
                self._crc = self._filled = 0

    def pack(self):
        """:returns: the blocks of a Footer"""
        last = CRC.pack(self._crc) if self._filled else b''
        return bytes(self._whole) + last


@dataclass(frozen=True)
class NewRecord:
    """
    A record that has no place yet.

    :param partition: of the object
    :param hash: of the object's name, 16 bytes
    :param footer: a Footer
    :param data_length: of the data
    :param written: Unix time, ns
    """
    partition: int
    hash: bytes
    footer: Footer
    data_length: int
    written: int

    @classmethod
    def make(cls, partition, hash_, name, metadata, data_length, blocks,
             written):
        """
        :param metadata: a dict
        :param blocks: what BlockSums gave
        :raises FormatError: if one of them cannot be stored
        """
        expect('the name', name, 'ASCII, 1 to %d characters' % MAX_NAME,
               name.isascii() and 1 <= len(name) <= MAX_NAME)
        footer = Footer(name, encode_metadata(metadata), blocks)
        return cls(partition, hash_, footer, data_length, written)

    @property
    def length(self):
        """Of the whole record, in bytes."""
        return record_length(self.data_length, len(self.footer.metadata),
                             len(self.footer.name))

    def place(self, volume_header, offset):
        """
        :param volume_header: of the volume that it goes to
        :param offset: in that volume
        :returns: its Location, and the bytes of header and footer
        """
        location = Location(
            volume_header.number, offset, self.data_length,
            len(self.footer.metadata), len(self.footer.name))
        header = RecordHeader(
            volume_header.tag(offset), self.hash, self.partition,
            self.data_length, location.metadata_length,
            location.name_length, self.written)
        return location, header.pack(), self.footer.pack(
            self.hash, location)
