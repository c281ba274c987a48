# SPDX-License-Identifier: Apache-2.0
"""The values of the index. FORMAT.md, "The index".

They are rows of varints. What does not decode raises FormatError.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from swift_losf.format.header import HEADER_LENGTH, FormatError, record_length

#: offsets in volumes are counted in units of so many bytes
UNIT = 64
MAX_NUMBER = 2 ** 63 - 1
#: stands for metadata that were left out, and that the index has
WITHHELD = b'\0'

#: where a field is called bytes
_Bytes = bytes


@dataclass(frozen=True, slots=True)
class Location:
    """Where a record is, and the lengths of its parts in bytes.

    :param volume: the number of the volume
    :param offset: of the record in it, a multiple of UNIT
    :param metadata: of the record, as they are in it, where they are known;
        b'' where they are not; WITHHELD where the index has them. Locations
        of one record are equal with them or without
    """
    volume: int
    offset: int
    data_length: int
    metadata_length: int
    name_length: int
    metadata: bytes = field(default=b'', compare=False, repr=False)

    @property
    def data_offset(self) -> int:
        """Where in the volume the data begins."""
        return self.offset + HEADER_LENGTH

    @property
    def footer_offset(self) -> int:
        """Where in the volume the footer begins."""
        return self.data_offset + self.data_length

    @property
    def length(self) -> int:
        """The length of the whole record: header, data, footer."""
        return record_length(self.data_length, self.metadata_length,
                             self.name_length)

    @property
    def spot(self) -> tuple[int, int]:
        """The volume and offset, which no other record shares."""
        return self.volume, self.offset

    def pack(self, most_metadata: int = 0) -> bytes:
        """Return the value of an `o` or `q` entry.

        :param most_metadata: bytes of metadata that go along
        """
        packed = pack_varints((
            self.volume, self.offset // UNIT, self.data_length,
            self.metadata_length, self.name_length))
        return packed + self.metadata if (
            self.metadata_length <= most_metadata) else packed

    @classmethod
    def unpack(cls, value: bytes, is_published: bool = False) -> 'Location':
        """Read the value of an `o` or `q` entry.

        :param is_published: whether it comes from the table of published.py
        :raises FormatError: if it is no location
        """
        (volume, units, data, metadata, name), end = _read_varints(
            value, 5, 'location')
        rest = value[end:]
        if rest and len(rest) != metadata and not (
                is_published and rest == WITHHELD):
            raise FormatError(
                'location %s: must be 5 varints, and %d bytes of metadata or '
                'none' % (value.hex(), metadata))
        return cls(volume, units * UNIT, data, metadata, name, rest)


def withhold_metadata(value: bytes) -> bytes:
    """Return the value of a file with WITHHELD for its metadata, if any."""
    _, end = _read_varints(value, 5, 'location')
    return value[:end] + WITHHELD if value[end:] else value


@dataclass(frozen=True)
class VolumeState:
    """The index's state of one volume.

    :param type: a VolumeType
    :param watermark: the offset below which every acknowledged record has
        been registered
    :param checkpoint: the watermark as of the last sync: recovery scans the
        volume from there
    :param files: the number of entries that point to it, without those in
        quarantine
    :param bytes: the sum of the lengths of their records
    :param dead_bytes: the bytes that are to be given back
    :param held: the number of entries of files in quarantine
    :param held_bytes: the sum of the lengths of their records
    """
    type: int
    watermark: int
    checkpoint: int
    files: int = 0
    bytes: int = 0
    dead_bytes: int = 0
    held: int = 0
    held_bytes: int = 0

    @property
    def has_files(self) -> bool:
        """Whether an entry points to the volume, in quarantine or not."""
        return self.files > 0 or self.held > 0

    @property
    def live_bytes(self) -> int:
        """What the records that have entries take, with their padding."""
        return (self.bytes + self.held_bytes
                + (self.files + self.held) * UNIT // 2)

    def pack(self) -> _Bytes:
        """Return the value of a `v` entry."""
        return pack_varints((self.type, self.watermark, self.checkpoint,
                             self.files, self.bytes, self.dead_bytes,
                             self.held, self.held_bytes))

    @classmethod
    def unpack(cls, value: _Bytes) -> 'VolumeState':
        """Read the value of a `v` entry.

        :raises FormatError: if it is no volume's state
        """
        return cls(*unpack_varints(value, 8, 'volume'))


@dataclass(frozen=True)
class Statistics:
    """Counts of what is in an index, and of what was done since it was opened.

    :param files: the number of files that exist
    :param bytes: the sum of the lengths of their records
    :param dead_bytes: the bytes that are still to be given back
    :param quarantined: the number of files in quarantine
    :param volumes: the number of volumes
    :param recovered: the number of files that recovery has entered
    :param punched_bytes: the bytes that have been given back as holes
    :param allocated_bytes: what the volumes took of the disk when the
        compactor looked last
    :param garbage_bytes: how much of that compaction would give back
    :param moved: the number of records that compaction has moved
    :param removed_volumes: the number of volumes that it has removed
    :param part_power: the one that partitions follow from, and their
        directories as well; 0: it is not known, or some may be of another
    """
    files: int
    bytes: int
    dead_bytes: int
    quarantined: int
    volumes: int
    recovered: int
    punched_bytes: int
    allocated_bytes: int
    garbage_bytes: int
    moved: int
    removed_volumes: int
    part_power: int


def pack_varints(numbers: Iterable[int]) -> bytes:
    """Return the LEB128 codes of some numbers, one after the other.

    :raises FormatError: if a number is negative
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


def unpack_varints(value: bytes, count: int, what: str) -> list[int]:
    """Read LEB128 codes.

    :param value: the codes
    :param count: how many numbers there must be
    :param what: the name of the value, for errors
    :raises FormatError: if there are fewer or more, or if one is above 63
        bits
    """
    numbers, end = _read_varints(value, count, what)
    if end != len(value):
        raise _no_varints(value, count, what)
    return numbers


def _read_varints(value: bytes, count: int, what: str
                  ) -> tuple[list[int], int]:
    """Read the LEB128 codes that a value begins with; return their end too."""
    numbers: list[int] = []
    number = shift = 0
    for end, byte in enumerate(value, 1):
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            if len(numbers) == count:
                if max(numbers) > MAX_NUMBER:
                    break
                return numbers, end
            number = shift = 0
    raise _no_varints(value, count, what)


def _no_varints(value: bytes, count: int, what: str) -> FormatError:
    return FormatError('%s %s: must be %d varints of at most 63 bits' % (
        what, value.hex(), count))


def unpack_spot(value: bytes) -> tuple[int, int]:
    """Read only volume and offset of a location, which takes less time.

    :param value: a location, packed
    :returns: (volume, offset)
    :raises FormatError: if it does not begin with them
    """
    volume = number = shift = 0
    for byte in value:
        number |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            if volume:
                return volume, number * UNIT
            volume, number, shift = number, 0, 0
    raise FormatError('location %s: must begin with two varints, the first '
                      'not 0' % value.hex())
