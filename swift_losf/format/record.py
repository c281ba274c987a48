# SPDX-License-Identifier: Apache-2.0
"""The bytes of records that follow the header. FORMAT.md, "Records"."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google_crc32c import extend
from google_crc32c import value as crc32c

from swift_losf.format.header import (
    BLOCK,
    CRC,
    MAX_NAME,
    RecordHeader,
    VolumeHeader,
    expect,
    expect_crc,
    footer_length,
    record_length,
)
from swift_losf.format.metadata import encode_metadata
from swift_losf.format.values import Location

_BOUND = struct.Struct('<16sQQQIH')


@dataclass(frozen=True)
class Footer:
    """The end of a record; its CRC is the commit record.

    The CRC begins with the record's hash and location. So a footer can be
    verified without the header, and counts nowhere but where it was written.

    :param name: the file name, ASCII
    :param metadata: what encode_metadata gave
    :param blocks: the CRCs of the data's blocks, 4 bytes each
    """
    name: str
    metadata: bytes
    blocks: bytes

    def pack(self, hash_: bytes, location: Location) -> bytes:
        """Return the footer's bytes.

        :param hash_: of the object's name, 16 bytes
        :param location: where the record is
        """
        body = self.name.encode('ascii') + self.metadata + self.blocks
        return body + CRC.pack(_bound_crc(hash_, location, body))

    @classmethod
    def unpack(cls, data: bytes, hash_: bytes,
               location: Location) -> 'Footer':
        """Read a footer.

        :param data: what follows the record's data
        :param hash_: of the object's name, 16 bytes
        :param location: where the record is
        :raises FormatError: if it is not the footer of that record
        """
        expected = footer_length(location.data_length,
                                 location.metadata_length,
                                 location.name_length)
        expect('the length of the footer', len(data), expected,
               len(data) == expected)
        body = data[:-CRC.size]
        expect_crc('the CRC of the record',
                   CRC.unpack_from(data, len(body))[0],
                   _bound_crc(hash_, location, body))
        split = location.name_length + location.metadata_length
        name = body[:location.name_length]
        expect('the name', name, 'ASCII', name.isascii())
        return cls(name.decode('ascii'), body[location.name_length:split],
                   body[split:])

    def check_block(self, index: int, data: bytes) -> None:
        """Check a block of the data.

        :param index: of the block, from 0
        :param data: its bytes
        :raises FormatError: if they are not what was written
        """
        expect_crc('the CRC of block %d' % index,
                   CRC.unpack_from(self.blocks, index * CRC.size)[0],
                   crc32c(data))


def _bound_crc(hash_: bytes, location: Location, body: bytes) -> int:
    crc: int = extend(crc32c(_BOUND.pack(
        hash_, location.volume, location.offset, location.data_length,
        location.metadata_length, location.name_length)), body)
    return crc


class BlockSums:
    """Computes the CRCs of the blocks of data that comes in pieces."""

    def __init__(self) -> None:
        self._whole = bytearray()
        self._crc = 0
        self._filled = 0

    def add(self, data: bytes) -> None:
        """Take in the next bytes of the data."""
        start = 0
        while start < len(data):
            piece = data[start:start + BLOCK - self._filled]
            self._crc = extend(self._crc, piece)
            self._filled += len(piece)
            start += len(piece)
            if self._filled == BLOCK:
                self._whole += CRC.pack(self._crc)
                self._crc = self._filled = 0

    def pack(self) -> bytes:
        """Return the blocks of a Footer."""
        last = CRC.pack(self._crc) if self._filled else b''
        return bytes(self._whole) + last


@dataclass(frozen=True)
class NewRecord:
    """A record that is not in a volume yet.

    :param partition: of the object
    :param hash: of the object's name, 16 bytes
    :param footer: a Footer
    :param data_length: of the data
    :param written: Unix time, ns
    :param quarantined: whether it has been put into quarantine
    :param durable: whether it was renamed to be a durable fragment
    """
    partition: int
    hash: bytes
    footer: Footer
    data_length: int
    written: int
    quarantined: bool = False
    durable: bool = False

    @classmethod
    def make(cls, partition: int, hash_: bytes, name: str,
             metadata: Mapping[Any, Any], data_length: int, blocks: bytes,
             written: int) -> 'NewRecord':
        """Make the record of a file.

        :param metadata: a dict
        :param blocks: what BlockSums gave
        :raises FormatError: if one of them cannot be stored
        """
        expect('the name', name, 'ASCII, 1 to %d characters' % MAX_NAME,
               name.isascii() and 1 <= len(name) <= MAX_NAME)
        footer = Footer(name, encode_metadata(metadata), blocks)
        return cls(partition, hash_, footer, data_length, written)

    @classmethod
    def copy_of(cls, header: RecordHeader, footer: Footer) -> 'NewRecord':
        """Make the copy of a record.

        :param header: of the record
        :param footer: of the same
        """
        return cls(header.partition, header.hash, footer, header.data_length,
                   header.written, header.quarantined, header.durable)

    @property
    def length(self) -> int:
        """The length of the whole record, in bytes."""
        return record_length(self.data_length, len(self.footer.metadata),
                             len(self.footer.name))

    def place(self, volume_header: VolumeHeader, offset: int
              ) -> tuple[Location, bytes, bytes]:
        """Code the record for a place in a volume.

        :param volume_header: of the volume
        :param offset: in the volume
        :returns: its Location, with metadata, and the bytes of header and
            footer
        """
        location = Location(
            volume_header.number, offset, self.data_length,
            len(self.footer.metadata), len(self.footer.name),
            self.footer.metadata)
        header = RecordHeader(
            volume_header.tag(offset), self.hash, self.partition,
            self.data_length, location.metadata_length,
            location.name_length, self.written, self.quarantined,
            self.durable)
        return location, header.pack(), self.footer.pack(
            self.hash, location)
