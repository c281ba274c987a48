# SPDX-License-Identifier: Apache-2.0
"""The partitions that two devices share, as one set with a name of 16 bytes.

PROTOCOL.md, "Sets of partitions", has the bytes.
"""

from collections.abc import Iterable, Mapping
from hashlib import md5
from itertools import accumulate
from typing import Any, Protocol, TypeVar
from urllib.parse import quote

from swift_lightsync.common.cached import cached_property
from swift_lightsync.sync.core import merkle

#: Most partitions of a set: bounds what a receiver keeps and computes.
MAX_PARTITIONS = 1 << 18
#: Bits of a partition number.
MAX_BITS = 32
#: Most bytes of an encoded partition number.
LONGEST = 5


_Item = TypeVar('_Item')
_Set = TypeVar('_Set', bound='ItemSet[Any]')


class PartitionSetError(ValueError):
    """Bytes that encode no set of partitions, with the reason."""


class NamedSet(Protocol):
    """What a message needs of the set that it is about."""

    @property
    def encoded(self) -> bytes:
        """The bytes of the set."""

    @property
    def digest(self) -> bytes:
        """The name of the set, 16 bytes."""

    def __len__(self) -> int: ...


class ItemSet(tuple[_Item, ...]):
    """Items of one kind, ascending, each once: what a message is about.

    :param items: the items in any order, each once
    """

    def __new__(cls: type[_Set], items: Iterable[Any]) -> _Set:
        return super().__new__(cls, sorted(items))

    @cached_property
    def encoded(self) -> bytes:
        """The bytes of the set."""
        raise NotImplementedError

    @cached_property
    def digest(self) -> bytes:
        """The name of the set, 16 bytes."""
        return md5(self.encoded, usedforsecurity=False).digest()

    def slices(self, count: int) -> list[tuple[_Item, ...]]:
        """Cut the set into runs of equal length; the last may be shorter.

        :param count: how many there are to be, at most
        :returns: the partitions of each slice
        """
        length = slice_length(len(self), count)
        return [self[start:start + length]
                for start in range(0, len(self), length)]

    @staticmethod
    def check_count(count: int) -> None:
        """Check how many items a set is said to have, before it is decoded.

        :param count: how many
        :raises PartitionSetError: if they are too many
        """
        if count > MAX_PARTITIONS:
            raise PartitionSetError('%d partitions, at most %d'
                                    % (count, MAX_PARTITIONS))


class PartitionSet(ItemSet[int]):
    """Partition numbers, ascending, each once."""

    @cached_property
    def encoded(self) -> bytes:
        """The bytes of the set."""
        data = bytearray()
        previous = -1
        for partition in self:
            gap = partition - previous - 1
            previous = partition
            while gap > 0x7f:
                data.append(gap & 0x7f | 0x80)
                gap >>= 7
            data.append(gap)
        return bytes(data)

    @classmethod
    def decode(cls, data: bytes, count: int) -> 'PartitionSet':
        """Decode the bytes of a set.

        :param data: the bytes
        :param count: how many partitions they are said to encode
        :returns: the set
        :raises PartitionSetError: if they encode no set of that size
        """
        cls.check_count(count)
        if not count <= len(data) <= count * LONGEST:
            raise PartitionSetError('%d bytes for %d partitions'
                                    % (len(data), count))
        gaps = _gaps(data)
        if len(gaps) != count:
            raise PartitionSetError('%d partitions, said to be %d'
                                    % (len(gaps), count))
        decoded = cls(accumulate(
            gaps, lambda previous, gap: previous + gap + 1))
        if decoded and decoded[-1] >> MAX_BITS:
            raise PartitionSetError('partition %d, must have %d bits'
                                    % (decoded[-1], MAX_BITS))
        if decoded.encoded != data:
            raise PartitionSetError('not the shortest form')
        return decoded


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


def root_of(items: Iterable[_Item], roots: Mapping[_Item, str]) -> str:
    """Aggregate the roots of partitions, as a root aggregates suffix hashes.

    :param items: partition numbers, or items of a ``SharedSet``, ascending
    :param roots: the root of each, 32 hex digits
    :returns: the root of the roots, 32 hex digits
    """
    return merkle.top([leaf_of(item, roots[item]) for item in items])


def leaf_of(item: Any, root: str) -> bytes:
    """Return the leaf of an item in the tree of a set, 16 bytes."""
    return merkle.leaf(leaf_name(item), root)


def leaf_name(item: Any) -> str:
    """Return the name that an item has in the tree of a set."""
    if isinstance(item, tuple):
        policy, device, partition = item
        return '%04x/%s/%08x' % (policy, quote(device, safe=''), partition)
    return '%08x' % item
