# SPDX-License-Identifier: Apache-2.0
"""The partitions of many devices that two nodes share, as one set with a name.

PROTOCOL.md, "Sets of partitions", has the bytes.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable
from hashlib import md5
from itertools import accumulate
from urllib.parse import quote

from swift_lightsync.common.cached import cached_property
from swift_lightsync.sync.core import merkle

#: Index of the policy, name of the device that is asked, partition.
SharedItem = tuple[int, str, int]

#: Most partitions of a set: bounds what a receiver keeps and computes.
MAX_PARTITIONS = 1 << 18
#: Bits of a partition number, and most bytes of one that is encoded.
MAX_BITS, LONGEST = 32, 5
#: policy, bytes of the device's name, partitions, bytes of their numbers
SECTION = struct.Struct('<HHII')
#: Longest name of a device, bytes.
MAX_NAME = 1020


class PartitionSetError(ValueError):
    """Bytes that encode no set of partitions, with the reason."""


class SharedSet(tuple[SharedItem, ...]):
    """Partitions of devices and policies, ascending, each once.

    :param items: the items in any order, each once
    """

    def __new__(cls, items: Iterable[SharedItem]) -> 'SharedSet':
        return super().__new__(cls, sorted(items))

    def item(self, place: int) -> SharedItem:
        """Return the item at a place."""
        return self[place]

    @cached_property
    def devices(self) -> tuple[str, ...]:
        """The names of the devices, ascending."""
        return tuple(sorted({device for _, device, _ in self}))

    @cached_property
    def encoded(self) -> bytes:
        """The bytes of the set."""
        sections: dict[tuple[int, str], list[int]] = defaultdict(list)
        for policy, device, partition in self:
            sections[policy, device].append(partition)
        parts: list[bytes] = []
        for (policy, device), partitions in sections.items():
            name, numbers = device.encode('utf8'), encode_numbers(partitions)
            parts += [SECTION.pack(policy, len(name), len(partitions),
                                   len(numbers)), name, numbers]
        return b''.join(parts)

    @cached_property
    def digest(self) -> bytes:
        """The name of the set, 16 bytes."""
        return md5(self.encoded, usedforsecurity=False).digest()

    def slices(self, count: int) -> list[tuple[SharedItem, ...]]:
        """Cut the set into runs of equal length; the last may be shorter.

        :param count: how many there are to be, at most
        :returns: the items of each slice
        """
        length = slice_length(len(self), count)
        return [self[start:start + length]
                for start in range(0, len(self), length)]

    @classmethod
    def decode(cls, data: bytes, count: int) -> 'SharedSet':
        """Decode the bytes of a set.

        :param data: the bytes
        :param count: how many partitions they are said to encode
        :raises PartitionSetError: if they encode no set of that size
        """
        _check_count(count)
        items: list[SharedItem] = []
        at = 0
        while at < len(data):
            if len(items) >= count:
                raise PartitionSetError('more than %d partitions' % count)
            policy, device, partitions, at = _section(data, at)
            if items and (policy, device) <= items[-1][:2]:
                raise PartitionSetError('sections do not ascend')
            items += [(policy, device, number) for number in partitions]
        if len(items) != count:
            raise PartitionSetError('%d partitions, said to be %d'
                                    % (len(items), count))
        decoded = cls(items)
        if decoded.encoded != data:
            raise PartitionSetError('not the shortest form')
        return decoded


def _check_count(count: int) -> None:
    if count > MAX_PARTITIONS:
        raise PartitionSetError('%d partitions, at most %d'
                                % (count, MAX_PARTITIONS))


def _section(data: bytes, at: int) -> tuple[int, str, list[int], int]:
    """Return a section's policy, device and partitions, and its end."""
    try:
        policy, length, count, size = SECTION.unpack_from(data, at)
    except struct.error:
        raise PartitionSetError('ends within a section')
    at += SECTION.size
    end = at + length + size
    if not 0 < length <= MAX_NAME or end > len(data):
        raise PartitionSetError('a section of %d bytes, %d of them a name, '
                                'about %d partitions' % (size, length, count))
    try:
        device = data[at:at + length].decode('utf8')
    except UnicodeDecodeError as err:
        raise PartitionSetError('name of a device: %s' % err)
    if '/' in device or '\0' in device or device in ('.', '..'):
        raise PartitionSetError('%r names no device' % device)
    return policy, device, decode_numbers(data[at + length:end], count), end


def encode_numbers(partitions: Iterable[int]) -> bytes:
    """Return the bytes of partition numbers, ascending, each once."""
    data = bytearray()
    previous = -1
    for partition in partitions:
        gap = partition - previous - 1
        previous = partition
        while gap > 0x7f:
            data.append(gap & 0x7f | 0x80)
            gap >>= 7
        data.append(gap)
    return bytes(data)


def decode_numbers(data: bytes, count: int) -> list[int]:
    """Decode partition numbers; as :meth:`SharedSet.decode`."""
    _check_count(count)
    if not count <= len(data) <= count * LONGEST:
        raise PartitionSetError('%d bytes for %d partitions'
                                % (len(data), count))
    gaps = _gaps(data)
    if len(gaps) != count:
        raise PartitionSetError('%d partitions, said to be %d'
                                % (len(gaps), count))
    decoded = list(accumulate(gaps, lambda previous, gap: previous + gap + 1))
    if decoded and decoded[-1] >> MAX_BITS:
        raise PartitionSetError('partition %d, must have %d bits'
                                % (decoded[-1], MAX_BITS))
    if encode_numbers(decoded) != data:
        raise PartitionSetError('not the shortest form')
    return decoded


def _gaps(data: bytes) -> list[int]:
    gaps, gap, shift = [], 0, 0
    for byte in data:
        gap |= (byte & 0x7f) << shift
        if byte & 0x80:
            shift += 7
            if shift >= MAX_BITS:
                raise PartitionSetError('a gap of more than %d bits'
                                        % MAX_BITS)
        else:
            gaps.append(gap)
            gap = shift = 0
    if shift:
        raise PartitionSetError('ends within a number')
    return gaps


def slice_length(partitions: int, count: int) -> int:
    """Return the length of all slices but the last.

    It is a power of two, so that the root of each slice is a node of the tree
    over the whole set.

    :param partitions: how many partitions the set has
    :param count: how many slices it is cut into, at most
    """
    shortest = -(-partitions // max(count, 1)) or 1
    return 1 << (shortest - 1).bit_length()


def slices_of(partitions: int, count: int) -> int:
    """Return how many slices a set is really cut into.

    :param partitions: how many partitions it has
    :param count: how many slices were asked for
    """
    return -(-partitions // slice_length(partitions, count))


def leaf_of(item: SharedItem, root: str) -> bytes:
    """Return the leaf of an item in the tree of a set, 16 bytes."""
    policy, device, partition = item
    return merkle.leaf('%04x/%s/%08x' % (
        policy, quote(device, safe=''), partition), root)
