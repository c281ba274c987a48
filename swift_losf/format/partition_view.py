# SPDX-License-Identifier: Apache-2.0
"""
Where an index has the hashes of a partition, whatever the part power is now.

Keys are sorted by a group, then by suffix, then by the rest of the hash
(keys.py). The group is the partition by the part power that the index was
made with, and stays as it is when the part power of the ring changes: a
partition is then a part of each suffix of one group, or some groups. So a
partition is a view, and no key is ever written anew for it.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass

from swift_losf.format import keys
from swift_losf.format.keys import partition_of

#: bytes of a key behind its letter and its group in which suffix and head are
_BYTES = 6
_HEAD_BITS = 8 * _BYTES - 12
_START = 5
#: the group, the suffix and 4 bits of the head, the other bits of the head
_PLACE = struct.Struct('>IHI')


@dataclass(frozen=True)
class Slice:
    """Those hashes of a group that begin with the same bits.

    :param group: a number
    :param head: what their hashes begin with, a number
    :param bits: of the head; 0: all hashes of the group
    """
    group: int
    head: int = 0
    bits: int = 0

    def first(self, suffix: int) -> bytes:
        """Return where the keys of a suffix begin."""
        return (keys.partition_range(self.group)[0][:_START]
                + (suffix << _HEAD_BITS | self.head
                   << _HEAD_BITS - self.bits).to_bytes(_BYTES, 'big'))

    def read(self, key: bytes) -> tuple[int, int]:
        """Return the suffix of a key of the group, and its head."""
        number = int.from_bytes(key[_START:_START + _BYTES], 'big')
        return (number >> _HEAD_BITS,
                (number & (1 << _HEAD_BITS) - 1) >> _HEAD_BITS - self.bits)


@dataclass(frozen=True)
class PartitionView:
    """Tells groups from partitions, and the other way round.

    :param keyed: the part power that groups follow from; None: whoever writes
        a file names its group, and that is its partition
    :param power: the part power that partitions follow from
    """
    keyed: int | None = None
    power: int | None = None

    def group(self, partition: int, hash_: bytes) -> int:
        """Return the group of a hash.

        :param partition: of the hash, which counts only where nothing is
            known of part powers
        """
        return partition if self.keyed is None \
            else partition_of(hash_, self.keyed)

    def partition(self, group: int, hash_: bytes) -> int:
        """Return the partition of a hash.

        :param group: which counts only where nothing is known of part powers
        """
        return group if self.power is None \
            else partition_of(hash_, self.power)

    def split_place(self, place: bytes) -> tuple[int, int]:
        """Read partition and suffix of what begins as keys.place_of gave.

        :returns: (partition, suffix)
        """
        group, suffix, head = _PLACE.unpack_from(place)
        if self.power != self.keyed and self.power is not None:
            group = ((suffix & 15) << 28 | head >> 4) >> 32 - self.power
        return group, suffix >> 4

    @property
    def _more(self) -> int:
        """By how much the part power is above that of the groups."""
        return (self.power or 0) - (self.keyed or 0)

    def slices(self, partition: int) -> list[Slice]:
        """Return what a partition is made of; none, if there can be none."""
        if self.power is not None and partition >> self.power:
            return []
        more = self._more
        if more > 0:
            return [Slice(partition >> more, partition, self.power or 0)]
        return [Slice(group) for group in range(
            partition << -more, partition + 1 << -more)]

    def partitions(self, group: int) -> Sequence[int]:
        """Return the partitions that hashes of a group may have."""
        more = self._more
        return range(group << more, group + 1 << more) if more > 0 \
            else (group >> -more,)
