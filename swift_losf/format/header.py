# SPDX-License-Identifier: Apache-2.0
"""The headers of volumes and records. FORMAT.md, "Volumes" and "Records".

Everything is little-endian. A :class:`FormatError` names the field that is
wrong, its value, and what is allowed.
"""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from google_crc32c import value as crc32c

VOLUME_VERSION = 3
RECORD_VERSION = 2
#: data is verified in blocks of this length, in bytes
BLOCK = 65536
#: data up to this length, in bytes, is kept in memory: it is written and read
#: at once
SMALL = 4 * BLOCK

#: A volume begins with two copies of its header, in different sectors of
#: whatever disk: one that is damaged or cannot be read costs nothing.
VOLUME_HEADER_LENGTH = 4096
COPIES = 2
FIRST_RECORD = COPIES * VOLUME_HEADER_LENGTH
HEADER_LENGTH = 64
SALT_LENGTH = 8
HASH_LENGTH = 16
MAX_NAME = 255
MAX_METADATA = 2 ** 20
MAX_LENGTH = 2 ** 63 - 1

#: The flags in a record's header are a byte each, so that each can be set in
#: place, and all bits of the byte are set, so that no single one makes a flag.
QUARANTINED_OFFSET = 10
DURABLE_OFFSET = 11
FLAG_SET = 0xff

VOLUME_MAGIC = b'LOSFvol\n'
RECORD_MAGIC = b'\xc3LOSFobj'

_VOLUME = struct.Struct('<8sHHIQIQ8s')
_RECORD = struct.Struct('<8sHBBI16sIIQQHH')
CRC = struct.Struct('<I')


class FormatError(ValueError):
    """Bytes are not what the format wants."""


class VolumeType(IntEnum):
    """What kind of files a volume has: those of deletes are kept apart."""
    DATA = 1
    TOMBSTONES = 2


#: records of a new volume begin at multiples of this, which no other may be
#: below; readers take the alignment from the volume's header
ALIGNMENT = 64


def expect(field: str, value: Any, allowed: Any, holds: bool) -> None:
    """Check that a condition on a field holds.

    :param field: its name, for the error
    :param value: its value, for the error
    :param allowed: what it may be, for the error
    :param holds: the condition
    :raises FormatError: unless it holds
    """
    if not holds:
        raise FormatError('%s is %r, allowed is %s' % (field, value, allowed))


def expect_crc(field: str, found: int, computed: int) -> None:
    """Check that a CRC is what its bytes give.

    :raises FormatError: if not
    """
    if found != computed:
        raise FormatError('%s is %08x, its bytes give %08x' % (
            field, found, computed))


def expect_range(field: str, value: int, low: int, high: int) -> None:
    """Check that low <= value <= high.

    :raises FormatError: if not
    """
    if not low <= value <= high:
        raise FormatError('%s is %r, allowed is %d to %d' % (
            field, value, low, high))


def aligned(offset: int, alignment: int) -> int:
    """Return the first multiple of alignment that is not below offset."""
    return -(-offset // alignment) * alignment


def block_count(data_length: int) -> int:
    """Return how many blocks data of this length has."""
    return -(-data_length // BLOCK)


def footer_length(data_length: int, metadata_length: int,
                  name_length: int) -> int:
    """Return the length of what follows a record's data, in bytes."""
    return (name_length + metadata_length +
            CRC.size * (block_count(data_length) + 1))


def record_length(data_length: int, metadata_length: int,
                  name_length: int) -> int:
    """Return the length of a record, from its header to its last CRC."""
    return HEADER_LENGTH + data_length + footer_length(
        data_length, metadata_length, name_length)


@dataclass(frozen=True)
class VolumeHeader:
    """The first bytes of a volume: twice the same 4,096.

    :param number: of the volume, from 1
    :param type: a VolumeType
    :param policy: index of the storage policy
    :param created: Unix time, ns
    :param salt: 8 random bytes, which tell this volume's records from the
        bytes that clients store in it
    :param alignment: of the records
    """
    number: int
    type: VolumeType
    policy: int
    created: int
    salt: bytes
    alignment: int = ALIGNMENT

    def __post_init__(self) -> None:
        expect_range('the number of the volume', self.number, 1, MAX_LENGTH)
        expect('the alignment', self.alignment,
               'a power of two, 64 to 65536',
               ALIGNMENT <= self.alignment <= 65536
               and not self.alignment & (self.alignment - 1))
        expect('the salt', self.salt, '%d bytes' % SALT_LENGTH,
               len(self.salt) == SALT_LENGTH)

    def tag(self, offset: int) -> int:
        """Return the tag that a record at offset must have to count."""
        crc: int = crc32c(self.salt + struct.pack('<Q', offset))
        return crc

    def pack(self) -> bytes:
        """Return one copy of the header, 4,096 bytes."""
        fields = _VOLUME.pack(
            VOLUME_MAGIC, VOLUME_VERSION, self.type, self.alignment,
            self.number, self.policy, self.created, self.salt)
        return (fields + CRC.pack(crc32c(fields))).ljust(
            VOLUME_HEADER_LENGTH, b'\0')

    @classmethod
    def unpack(cls, data: bytes) -> 'VolumeHeader':
        """Read one copy of a header.

        :param data: 4,096 bytes
        :raises FormatError: if they are no header of a volume
        """
        expect('the length of the volume header', len(data),
               VOLUME_HEADER_LENGTH, len(data) == VOLUME_HEADER_LENGTH)
        (magic, version, kind, alignment, number, policy, created,
         salt) = _VOLUME.unpack_from(data)
        expect('the magic of the volume', magic, VOLUME_MAGIC,
               magic == VOLUME_MAGIC)
        expect_crc('the CRC of the volume header',
                   CRC.unpack_from(data, _VOLUME.size)[0],
                   crc32c(data[:_VOLUME.size]))
        expect('the version of the volume', version, VOLUME_VERSION,
               version == VOLUME_VERSION)
        expect('the type of the volume', kind,
               ', '.join('%d' % each for each in VolumeType),
               kind in list(VolumeType))
        expect('what follows the CRC', 'something else', 'zeros',
               not any(data[_VOLUME.size + CRC.size:]))
        return cls(number, VolumeType(kind), policy, created, salt,
                   alignment)


@dataclass(frozen=True)
class RecordHeader:
    """The first 64 bytes of a record.

    :param tag: VolumeHeader.tag of the record's offset
    :param hash: of the object's name, 16 bytes
    :param partition: of the object
    :param data_length: of the data
    :param metadata_length: of the metadata as JSON
    :param name_length: of the file name
    :param written: Unix time, ns
    :param quarantined: whether it has been put into quarantine
    :param durable: whether it was renamed to be a durable fragment
    """
    tag: int
    hash: bytes
    partition: int
    data_length: int
    metadata_length: int
    name_length: int
    written: int
    quarantined: bool = False
    durable: bool = False

    def __post_init__(self) -> None:
        expect('the hash', self.hash, '%d bytes' % HASH_LENGTH,
               len(self.hash) == HASH_LENGTH)
        expect_range('the partition', self.partition, 0, 2 ** 32 - 1)
        expect_range('the length of the data', self.data_length, 0,
                     MAX_LENGTH)
        expect_range('the length of the metadata', self.metadata_length, 0,
                     MAX_METADATA)
        expect_range('the length of the name', self.name_length, 1, MAX_NAME)
        expect_range('the time written', self.written, 0, 2 ** 64 - 1)

    def _fields(self, quarantined: bool, durable: bool) -> bytes:
        return _RECORD.pack(
            RECORD_MAGIC, RECORD_VERSION, FLAG_SET * quarantined,
            FLAG_SET * durable, self.tag, self.hash, self.partition,
            self.metadata_length, self.data_length, self.written,
            self.name_length, 0)

    def pack(self) -> bytes:
        """Return the header's 64 bytes."""
        return (self._fields(self.quarantined, self.durable) +
                CRC.pack(crc32c(self._fields(False, False))))

    @classmethod
    def unpack(cls, data: bytes) -> 'RecordHeader':
        """Read a header.

        :param data: 64 bytes
        :raises FormatError: if they are no header of a record
        """
        expect('the length of the record header', len(data), HEADER_LENGTH,
               len(data) == HEADER_LENGTH)
        (magic, version, quarantined, durable, tag, hash_, partition,
         metadata_length, data_length, written, name_length,
         zero) = _RECORD.unpack_from(data)
        expect('the magic of the record', magic, RECORD_MAGIC,
               magic == RECORD_MAGIC)
        covered = (data[:QUARANTINED_OFFSET] + bytes(2) +
                   data[DURABLE_OFFSET + 1:_RECORD.size])
        expect_crc('the CRC of the record header',
                   CRC.unpack_from(data, _RECORD.size)[0], crc32c(covered))
        expect('the version of the record', version, RECORD_VERSION,
               version == RECORD_VERSION)
        for flag in (quarantined, durable):
            expect('a flag', flag, '0 or %d' % FLAG_SET,
                   flag in (0, FLAG_SET))
        expect('what follows the name length', zero, 0, zero == 0)
        return cls(tag, hash_, partition, data_length, metadata_length,
                   name_length, written, bool(quarantined), bool(durable))
