# SPDX-License-Identifier: Apache-2.0
"""
The keys and values of the index. FORMAT.md, "The index".

Everything here maps bytes to frozen values and back; what does not decode
raises FormatError.
"""

import struct
from dataclasses import dataclass

from swift_losf.format.header import (
    HASH_LENGTH,
    HEADER_LENGTH,
    FormatError,
    record_length,
)
from swift_losf.format.name_code import decode_name, encode_name

FILE = b'o'
QUARANTINED = b'q'
DEAD = b'd'
VOLUME = b'v'
STATE = b's'

#: locations are counted in these
SECTOR = 512
MAX_PARTITION = 2 ** 32 - 1
MAX_SUFFIX = 2 ** 12 - 1
MAX_NUMBER = 2 ** 63 - 1

_VOLUME = struct.Struct('>cQ')
_SPOT = struct.Struct('>QQ')
#: letter and partition; then comes the hash, the suffix at its head
_PARTITION = struct.Struct('>cI')
_FILE_PREFIX = _PARTITION.size + HASH_LENGTH
_SUFFIX_BITS = 12
_OTHER_BITS = 8 * HASH_LENGTH - _SUFFIX_BITS


@dataclass(frozen=True)
class Location:
    """
    Where a record is, and the lengths of its parts in bytes.

    :param volume: the number of the volume
    :param offset: of the record in it, a multiple of SECTOR
    """
    __slots__ = ('volume', 'offset', 'data_length', 'metadata_length',
                 'name_length')

    volume: int
    offset: int
    data_length: int
    metadata_length: int
    name_length: int

    @property
    def data_offset(self):
        return self.offset + HEADER_LENGTH

    @property
    def footer_offset(self):
        return self.data_offset + self.data_length

    @property
    def length(self):
        """Of the whole record: header, data, footer."""
        return record_length(self.data_length, self.metadata_length,
                             self.name_length)

    @property
    def spot(self):
        """What no other record shares: volume and offset."""
        return self.volume, self.offset

    def pack(self):
        return pack_varints((
            self.volume, self.offset // SECTOR, self.data_length,
            self.metadata_length, self.name_length))

    @classmethod
    def unpack(cls, value):
        """:raises FormatError: if value is no location"""
        volume, sectors, data, metadata, name = unpack_varints(
            value, 5, 'location')
        return cls(volume, sectors * SECTOR, data, metadata, name)


@dataclass(frozen=True)
class VolumeState:
    """
    What the index knows of a volume.

    :param type: a VolumeType
    :param watermark: the offset below which every acknowledged record has
        been registered
    :param checkpoint: the watermark as of the last sync: recovery scans the
        volume from there
    :param files: the entries that point to it, quarantined ones aside
    :param bytes: the lengths of their records
    :param dead_bytes: the lengths of records whose space is to be given back
    """
    type: int
    watermark: int
    checkpoint: int
    files: int = 0
    bytes: int = 0
    dead_bytes: int = 0

    def pack(self):
        return pack_varints((self.type, self.watermark, self.checkpoint,
                             self.files, self.bytes, self.dead_bytes))

    @classmethod
    def unpack(cls, value):
        """:raises FormatError: if value is no volume's state"""
        return cls(*unpack_varints(value, 6, 'volume'))


@dataclass(frozen=True)
class Statistics:
    """
    What is in an index, and what has been done since it was opened.

    :param files: that exist
    :param bytes: of their records
    :param dead_bytes: of records whose space is still to be given back
    :param quarantined: files in quarantine
    :param volumes: the number of volumes
    :param recovered: files that recovery has entered
    :param punched_bytes: of records whose space has been given back
    """
    files: int
    bytes: int
    dead_bytes: int
    quarantined: int
    volumes: int
    recovered: int
    punched_bytes: int


def pack_varints(numbers):
    """
    :param numbers: none of them negative
    :returns: their LEB128 codes, one after the other
    """
    out = bytearray()
    for number in numbers:
        if number < 0:
            raise FormatError('varint %d: must not be negative' % number)
        while number > 0x7f:
            out.append(number & 0x7f | 0x80)
            number >>= 7
        out.append(number)
    return bytes(out)


def unpack_varints(value, count, what):
    """
    :param value: bytes
    :param count: how many numbers it has to hold
    :param what: the name of the value, for errors
    :raises FormatError: if it holds fewer, more, or one above 63 bits
    """
    numbers = []
    number = shift = 0
    for byte in value:
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    if len(numbers) != count or shift or max(numbers) > MAX_NUMBER:
        raise FormatError('%s %s: must be %d varints of at most 63 bits' % (
            what, value.hex(), count))
    return numbers


def unpack_spot(value):
    """
    The spot of a location, for who looks at many and wants few.

    :param value: a location, packed
    :returns: (volume, offset)
    :raises FormatError: if there is none at its head
    """
    volume = number = shift = 0
    for byte in value:
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            if volume:
                return volume, number * SECTOR
            volume, number, shift = number, 0, 0
    raise FormatError('location %s: must begin with two varints, the first '
                      'not 0' % value.hex())


def suffix_of(hash_):
    """
    :param hash_: 16 bytes
    :returns: its last 12 bits
    """
    return int.from_bytes(hash_[-2:], 'big') & MAX_SUFFIX


def _turn(hash_):
    # The suffix comes to the head, so that no bits of it are there twice.
    number = int.from_bytes(hash_, 'big')
    return (number >> _SUFFIX_BITS
            | (number & MAX_SUFFIX) << _OTHER_BITS).to_bytes(16, 'big')


def _turn_back(turned):
    number = int.from_bytes(turned, 'big')
    return ((number << _SUFFIX_BITS | number >> _OTHER_BITS)
            & 2 ** (8 * HASH_LENGTH) - 1).to_bytes(16, 'big')


def prefix_range(prefix):
    """
    :param prefix: of keys, its first byte not ff
    :returns: (start, stop): what begins with it is from start to below stop
    """
    stem = prefix.rstrip(b'\xff')
    return prefix, stem[:-1] + bytes([stem[-1] + 1])


def partition_range(partition):
    """:returns: (start, stop) of the keys of a partition's files"""
    return prefix_range(_PARTITION.pack(FILE, partition))


def suffix_range(partition, suffix):
    """:returns: (start, stop) of the keys of a suffix's files"""
    partition = _PARTITION.pack(FILE, partition)
    first = suffix << 16 - _SUFFIX_BITS
    last = first | 2 ** (16 - _SUFFIX_BITS) - 1
    return (partition + first.to_bytes(2, 'big'),
            prefix_range(partition + last.to_bytes(2, 'big'))[1])


def hash_range(partition, hash_, letter=FILE):
    """:returns: (start, stop) of the keys of a hash's files"""
    return prefix_range(_hash_prefix(partition, hash_, letter))


def _hash_prefix(partition, hash_, letter):
    return _PARTITION.pack(letter, partition) + _turn(hash_)


def hash_prefix(key):
    """:returns: what the keys of all files of a file's hash begin with"""
    return key[:_FILE_PREFIX]


def file_key(partition, hash_, name):
    """:returns: the key of a file that exists"""
    return _hash_prefix(partition, hash_, FILE) + encode_name(name)


def quarantine_key(partition, hash_, name, location):
    """
    :returns: the key of a file in quarantine: with its place, since any
        number of files of one name may get there
    """
    return (_hash_prefix(partition, hash_, QUARANTINED) +
            encode_name(name) + _SPOT.pack(*location.spot))


def split_file_key(key):
    """
    :param key: of a file, or of one in quarantine
    :returns: (partition, hash, name)
    :raises FormatError: if it is no such key
    """
    if key[:1] not in (FILE, QUARANTINED) or len(key) <= _FILE_PREFIX:
        raise FormatError('key %s: must be that of a file' % key.hex())
    end = len(key) if key[:1] == FILE else len(key) - _SPOT.size
    return (split_place(key)[0],
            _turn_back(key[_PARTITION.size:_FILE_PREFIX]),
            decode_name(key[_FILE_PREFIX:end]))


def split_place(key):
    """
    :param key: of a file
    :returns: (partition, suffix)
    """
    start = _PARTITION.size
    return (_PARTITION.unpack_from(key)[1],
            int.from_bytes(key[start:start + 2], 'big') >> 16 - _SUFFIX_BITS)


def dead_range(volume):
    """:returns: (start, stop) of the keys of a volume's dead records"""
    return prefix_range(_VOLUME.pack(DEAD, volume))


def dead_key(volume, offset):
    """:returns: the key of a record whose space is to be given back"""
    return DEAD + _SPOT.pack(volume, offset)


def split_dead_key(key):
    """:returns: (volume, offset)"""
    return _SPOT.unpack_from(key, 1)


def volume_key(volume):
    """:returns: the key of a volume's state"""
    return _VOLUME.pack(VOLUME, volume)


def split_volume_key(key):
    """:returns: the number of the volume"""
    return _VOLUME.unpack(key)[1]
