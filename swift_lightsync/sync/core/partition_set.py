# SPDX-License-Identifier: Apache-2.0
"""
The partitions that two devices share, as one thing that can be named.

PROTOCOL.md, "Sets of partitions", has the bytes.
"""

from functools import cached_property
from hashlib import md5
from itertools import accumulate

from swift_lightsync.sync.core import merkle

#: Most partitions of a set: bounds what a receiver keeps and computes.
MAX_PARTITIONS = 1 << 18
#: Bits of a partition number.
MAX_BITS = 32
#: Most bytes of one.
LONGEST = 5


class PartitionSetError(ValueError):
    """Bytes that are no set of partitions, with the reason."""


class PartitionSet(tuple):
    """
    Partition numbers, ascending, each once.

    :param partitions: an iterable of them in any order, each once
    """

    def __new__(cls, partitions):
        return super().__new__(cls, sorted(partitions))

    @cached_property
    def encoded(self):
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

    @cached_property
    def digest(self):
        """The name of the set, 16 bytes."""
        return md5(self.encoded, usedforsecurity=False).digest()

    @classmethod
    def decode(cls, data, count):
        """
        :param data: the bytes of a set
        :param count: how many partitions it is said to have
        :returns: the set
        :raises PartitionSetError: if the bytes are no such set
        """
        if count > MAX_PARTITIONS:
            raise PartitionSetError('%d partitions, at most %d'
                                    % (count, MAX_PARTITIONS))
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

    def slices(self, count):
        """
        Cut the set into runs of one length, but for the last.

        :param count: how many there are to be, at most
        :returns: a list of tuples of partitions
        """
        length = slice_length(len(self), count)
        return [self[start:start + length]
                for start in range(0, len(self), length)]


def slice_length(partitions, count):
    """The length of each of ``count`` slices of so many partitions."""
    return -(-partitions // max(count, 1)) or 1


def slices_of(partitions, count):
    """How many slices there are when asked for ``count`` of them."""
    return -(-partitions // slice_length(partitions, count))


def _gaps(data):
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


def root_of(partitions, roots):
    """
    Aggregate the roots of partitions into one, as suffixes into theirs.

    :param partitions: partition numbers
    :param roots: a dict, partition number to root (32 hex digits)
    :returns: the root of the roots, 32 hex digits
    """
    return merkle.root({'%08x' % partition: roots[partition]
                        for partition in partitions})
