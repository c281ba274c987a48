# SPDX-License-Identifier: Apache-2.0
"""The tree over the roots of many partitions, kept so that few can change.

It has the roots of ``merkle``, but all of its nodes stay: 32 bytes a
partition. To change one takes as many hashes as the tree has levels, whatever
the number of partitions. PROTOCOL.md, "What is kept between passes".
"""

from collections.abc import Iterable

from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.shared_set import slice_length

#: Bytes of a node.
SIZE = 16


class RootTree:
    """A tree whose leaves can be replaced.

    :param leaves: the leaves of the items of a set, in its order, as of
        ``merkle.leaf``
    """

    def __init__(self, leaves: Iterable[bytes]) -> None:
        #: Of each level its nodes; the leaves come first.
        self._levels = [bytearray().join(leaves)]
        while len(self._levels[-1]) > SIZE:
            below = self._levels[-1]
            self._levels.append(bytearray().join(
                self._above(below, at)
                for at in range(0, len(below), 2 * SIZE)))

    @staticmethod
    def _above(level: bytearray, at: int) -> bytes:
        """Return the node above that at ``at`` and the next one."""
        left, right = level[at:at + SIZE], level[at + SIZE:at + 2 * SIZE]
        # An odd last node rises a level as it is.
        return merkle.node(bytes(left), bytes(right)) if right \
            else bytes(left)

    def __len__(self) -> int:
        return len(self._levels[0]) // SIZE

    def leaf(self, index: int) -> bytes:
        """Return the leaf of an item."""
        return bytes(self._levels[0][index * SIZE:(index + 1) * SIZE])

    def replace(self, index: int, leaf: bytes) -> bool:
        """Replace the leaf of an item.

        :param index: of the item in the set
        :param leaf: the new leaf
        :returns: False if it is the one that was there
        """
        if self.leaf(index) == leaf:
            return False
        node = leaf
        for level in self._levels:
            level[index * SIZE:(index + 1) * SIZE] = node
            index //= 2
            node = self._above(level, 2 * index * SIZE)
        return True

    def slice_roots(self, count: int) -> tuple[str, ...]:
        """Return the roots of the slices of the set.

        :param count: into how many slices it is cut, at most
        :returns: the slices' roots, 32 hex digits each
        """
        length = slice_length(len(self), count)
        level = self._levels[min(length.bit_length(), len(self._levels)) - 1]
        return tuple(level[at:at + SIZE].hex()
                     for at in range(0, len(level), SIZE))
