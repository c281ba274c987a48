# SPDX-License-Identifier: Apache-2.0
"""Orders the hashes of an audit by where their records are.

A device is walked in one pass over its volumes, so that it reads them from
their beginning to their end, but the index has its entries by hash. So the
next hashes in this order are collected from all entries, in bounded memory;
a device with more needs as many passes over its index. Nothing here reads or
waits.
"""

import re
import struct
from dataclasses import dataclass

from swift_losf.format.header import SMALL
from swift_losf.format.layout import volume_name, volume_number
from swift_losf.format.values import Location

#: most hashes in memory, besides those of a page; some 120 bytes each
MOST = 500000

#: bytes, and hashes, of a stretch, which is read ahead at once
STRETCH = 2 * 2 ** 20
STRETCH_HASHES = 1024
#: bytes between two records up to which both are read with one read
GAP = 64 * 2 ** 10
#: of a longer record only so much, and its end, is read ahead: the kernel
#: sees by itself that the rest is read from its beginning to its end
LONGEST = 2 ** 20
#: bytes that are read at both ends of a record whose data is not read
END = 4096

_HEAD = struct.Struct('>QQI16s')
_FILE = struct.Struct('>QQQIBB')
_LEFT = re.compile(r'(v[0-9]{10})(?:\+([0-9]{1,19}))?\Z')


@dataclass(frozen=True)
class HashFiles:
    """A hash and its files.

    :param partition: a number
    :param hash: 16 bytes
    :param files: a dict of name to Location; where the hash stands is first
    """
    partition: int
    hash: bytes
    files: dict

    @property
    def location(self):
        """Where the hash stands."""
        return next(iter(self.files.values()))

    def pack(self):
        """Return bytes whose order is that of the volumes and offsets."""
        pieces = [_HEAD.pack(*self.location.spot, self.partition, self.hash)]
        for name, at in self.files.items():
            pieces += _FILE.pack(
                at.volume, at.offset, at.data_length, at.metadata_length,
                at.name_length, len(name)), name.encode('ascii')
        return b''.join(pieces)

    @classmethod
    def unpack(cls, packed):
        """Return the HashFiles that pack has coded."""
        _, _, partition, hash_ = _HEAD.unpack_from(packed)
        files, at = {}, _HEAD.size
        while at < len(packed):
            *location, length = _FILE.unpack_from(packed, at)
            at += _FILE.size + length
            files[packed[at - length:at].decode('ascii')] = Location(
                *location)
        return cls(partition, hash_, files)


class Nearest:
    """Keeps those hashes, of all it is given, that stand first.

    :param end: (volume, offset): where no hash stands that is wanted
    :param most: hashes that are kept at most
    """

    def __init__(self, end, most=MOST):
        self.end = end
        self._most = most
        self._packed = []

    def add(self, page):
        """Take in hashes; when they become too many, the end comes nearer.

        :param page: an iterable of what HashFiles is made of
        """
        self._packed += [HashFiles(*each).pack() for each in page]
        if len(self._packed) > self._most:
            self._packed.sort()
            # Some room, so as not to sort them again with the next page.
            kept = self._most - self._most // 4
            self.end = _HEAD.unpack_from(self._packed[kept])[:2]
            del self._packed[kept:]

    def take(self):
        """Yield the HashFiles before the end, in order, forgetting each."""
        packed, self._packed = self._packed, []
        packed.sort(reverse=True)
        while packed:
            yield HashFiles.unpack(packed.pop())


def first_end(volumes, first, end, most=MOST):
    """Return a place up to which at most so many hashes stand.

    It follows from the files that the index counts in each volume.

    :param volumes: Volumes, by number
    :param first: (volume, offset): from where they are wanted
    :param end: the same, behind the last
    :returns: the same; it may be too far, but never the first
    """
    count = 0
    for volume in volumes:
        if first[0] <= volume.number < end[0]:
            count += volume.files
            if count > most and volume.number > first[0]:
                return volume.number, 0
    return end


@dataclass(frozen=True)
class Stretch:
    """Hashes that stand one after the other in a volume.

    :param hashes: a tuple of HashFiles
    :param ranges: what is read of them: a tuple of (offset, length)
    """
    hashes: tuple
    ranges: tuple

    @property
    def spot(self):
        """Where the first one stands."""
        return self.hashes[0].location.spot


def _wanted(location, all_data):
    """Return what the auditor reads of a record: (offset, end)s."""
    offset, length = location.offset, location.length
    most = LONGEST if all_data else SMALL
    if location.data_length <= most:
        return [(offset, offset + length)]
    return [(offset, offset + (LONGEST if all_data else END)),
            (location.footer_offset, offset + length)]


def _joined(ranges):
    """Return (offset, length)s that cover (offset, end)s, given in order."""
    joined: list[list[int]] = []
    for offset, end in ranges:
        if joined and offset - joined[-1][1] <= GAP:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([offset, end])
    return tuple((offset, end - offset) for offset, end in joined)


def stretches(hashes, all_data):
    """Group hashes whose records are worth reading at once.

    :param hashes: an iterable of HashFiles, in the order of their places
    :param all_data: whether data is read too that is not read to open it
    :returns: an iterator of Stretches
    """
    chosen: list[HashFiles] = []
    ranges: list[tuple[int, int]] = []
    size = 0
    for each in hashes:
        location = each.location
        if chosen and (size >= STRETCH or len(chosen) >= STRETCH_HASHES
                       or chosen[-1].location.volume != location.volume):
            yield Stretch(tuple(chosen), _joined(ranges))
            chosen, ranges, size = [], [], 0
        chosen.append(each)
        wanted = _wanted(location, all_data)
        ranges += wanted
        size += sum(end - offset for offset, end in wanted)
    if chosen:
        yield Stretch(tuple(chosen), _joined(ranges))


def format_left(numbers, spot):
    """Return what is left of a walk, for the file that survives a restart.

    :param numbers: of the volumes, ascending
    :param spot: (volume, offset) of what comes next
    :returns: a list of texts
    """
    left = [volume_name(each) for each in numbers if each >= spot[0]]
    if left and left[0] == volume_name(spot[0]):
        left[0] += '+%d' % spot[1]
    return left


def parse_left(left):
    """Read where an audit has to go on.

    :param left: what is in the file, or whatever else there was
    :returns: a list of (volume, offset), where to go on; None if it is not
        what format_left has made
    """
    places = []
    for each in left:
        match = _LEFT.match(each) if isinstance(each, str) else None
        if not match:
            return None
        places.append((volume_number(match[1]), int(match[2] or 0)))
    return places
