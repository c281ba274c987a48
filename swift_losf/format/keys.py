# SPDX-License-Identifier: Apache-2.0
"""The keys of the index. FORMAT.md, "The index".

Keys of one kind that are listed together stand together. What is called the
partition here is that of the index's own part power: partition_view.py. What
does not decode raises FormatError.
"""

import struct

from swift_losf.format.header import HASH_LENGTH, FormatError
from swift_losf.format.name_code import decode_name, encode_name
from swift_losf.format.values import Location

#: the first letter of a key says what the entry is of
FILE = b'o'
QUARANTINED = b'q'
DEAD = b'd'
VOLUME = b'v'
STATE = b's'

MAX_PARTITION = 2 ** 32 - 1
MAX_SUFFIX = 2 ** 12 - 1

_VOLUME = struct.Struct('>cQ')
_SPOT = struct.Struct('>QQ')
#: letter and partition; the turned hash follows them
_PARTITION = struct.Struct('>cI')
_FILE_PREFIX = _PARTITION.size + HASH_LENGTH
#: bytes of what place_of gives
PLACE = _FILE_PREFIX - 1
_SUFFIX_BITS = 12
_OTHER_BITS = 8 * HASH_LENGTH - _SUFFIX_BITS


#: the first key of a range, and the first one behind it
KeyRange = tuple[bytes, bytes]


def suffix_of(hash_: bytes) -> int:
    """Return the suffix of a hash of 16 bytes: its last 12 bits."""
    return int.from_bytes(hash_[-2:], 'big') & MAX_SUFFIX


def turn(hash_: bytes) -> bytes:
    """Return a hash with its suffix, 12 bits, moved to its head."""
    number = int.from_bytes(hash_, 'big')
    return (number >> _SUFFIX_BITS
            | (number & MAX_SUFFIX) << _OTHER_BITS).to_bytes(16, 'big')


def _turn_back(turned: bytes) -> bytes:
    number = int.from_bytes(turned, 'big')
    return ((number << _SUFFIX_BITS | number >> _OTHER_BITS)
            & (1 << 8 * HASH_LENGTH) - 1).to_bytes(16, 'big')


def prefix_range(prefix: bytes) -> KeyRange:
    """Return the range of the keys that begin with a prefix.

    :param prefix: bytes, of which the first is not ff
    """
    stem = prefix.rstrip(b'\xff')
    return prefix, stem[:-1] + bytes([stem[-1] + 1])


def partition_range(partition: int) -> KeyRange:
    """Return the range of the keys of a partition's files."""
    return prefix_range(_PARTITION.pack(FILE, partition))


def suffix_range(partition: int, suffix: int) -> KeyRange:
    """Return the range of the keys of a suffix's files."""
    prefix = _PARTITION.pack(FILE, partition)
    first = suffix << 16 - _SUFFIX_BITS
    last = first | 2 ** (16 - _SUFFIX_BITS) - 1
    return (prefix + first.to_bytes(2, 'big'),
            prefix_range(prefix + last.to_bytes(2, 'big'))[1])


def hash_range(partition: int, hash_: bytes,
               letter: bytes = FILE) -> KeyRange:
    """Return the range of the keys of a hash's files."""
    return prefix_range(_hash_prefix(partition, hash_, letter))


def _hash_prefix(partition: int, hash_: bytes, letter: bytes) -> bytes:
    return _PARTITION.pack(letter, partition) + turn(hash_)


def hash_prefix(key: bytes) -> bytes:
    """Return what the keys of all files of a file's hash begin with."""
    return key[:_FILE_PREFIX]


def place_of(partition: int, hash_: bytes) -> bytes:
    """Return what the keys of a hash have behind their first letter."""
    return partition.to_bytes(4, 'big') + turn(hash_)


def file_key(partition: int, hash_: bytes, name: str) -> bytes:
    """Return the key of a file that exists.

    :raises FormatError: if it is not a name that a file can have
    """
    return _hash_prefix(partition, hash_, FILE) + encode_name(name)


def quarantine_key(partition: int, hash_: bytes, name: str,
                   location: Location) -> bytes:
    """Return the key of a file in quarantine.

    It has the record's volume and offset, since any number of files of one
    name may be put into quarantine.
    """
    return (_hash_prefix(partition, hash_, QUARANTINED) +
            encode_name(name) + _SPOT.pack(*location.spot))


def split_file_key(key: bytes) -> tuple[int, bytes, str]:
    """Read the key of a file, or of one in quarantine.

    :returns: (partition, hash, name)
    :raises FormatError: if it is no such key
    """
    if key[:1] not in (FILE, QUARANTINED) or len(key) <= _FILE_PREFIX:
        raise FormatError('key %s: must be that of a file' % key.hex())
    end = len(key) if key[:1] == FILE else len(key) - _SPOT.size
    return (split_place(key)[0],
            _turn_back(key[_PARTITION.size:_FILE_PREFIX]),
            decode_name(key[_FILE_PREFIX:end]))


def turned(place: bytes) -> bytes:
    """Return the turned hash of what place_of gave."""
    return place[PLACE - HASH_LENGTH:]


def split_code(key: bytes) -> tuple[bytes, bytes]:
    """Return place_of() of a file's key, and the code of its name."""
    return key[1:_FILE_PREFIX], key[_FILE_PREFIX:]


def partition_of(hash_: bytes, part_power: int) -> int:
    """Return the partition of an object.

    :param hash_: of its name, 16 bytes
    :param part_power: of the ring
    """
    return int.from_bytes(hash_[:4], 'big') >> 32 - part_power


def split_place(key: bytes) -> tuple[int, int]:
    """Read only partition and suffix of the key of a file.

    :returns: (partition, suffix)
    """
    start = _PARTITION.size
    partition: int = _PARTITION.unpack_from(key)[1]
    return (partition,
            int.from_bytes(key[start:start + 2], 'big') >> 16 - _SUFFIX_BITS)


def spot(volume: int, offset: int) -> bytes:
    """Return what the key of a file in quarantine ends with."""
    return _SPOT.pack(volume, offset)


def dead_range(volume: int) -> KeyRange:
    """Return the range of the keys of a volume's space to be given back."""
    return prefix_range(_VOLUME.pack(DEAD, volume))


def dead_key(volume: int, offset: int) -> bytes:
    """Return the key of space that is to be given back."""
    return DEAD + _SPOT.pack(volume, offset)


def split_dead_key(key: bytes) -> tuple[int, int]:
    """Read the key of space that is to be given back.

    :returns: (volume, offset)
    """
    volume, offset = _SPOT.unpack_from(key, 1)
    return volume, offset


def volume_key(volume: int) -> bytes:
    """Return the key of a volume's state."""
    return _VOLUME.pack(VOLUME, volume)


def split_volume_key(key: bytes) -> int:
    """Return the number of the volume that a key is of."""
    number: int = _VOLUME.unpack(key)[1]
    return number
