# SPDX-License-Identifier: Apache-2.0
"""The roots of slices of a set of partitions, and which of them differ.

PROTOCOL.md, "A comparison".
"""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from swift_lightsync.sync.core.partition_set import ItemSet, root_of

#: Sets as small as this are compared partition by partition at once.
SMALL = 16
#: Set in the index of a slice that is one partition, which cannot be read now.
UNREAD = 1 << 31

_Item = TypeVar('_Item')


def slice_roots(partitions: ItemSet[_Item], count: int,
                roots: Mapping[_Item, str]) -> tuple[str, ...]:
    """Return the roots of the slices of a set.

    :param partitions: the set
    :param count: into how many slices to cut it, at most
    :param roots: the root of each partition, by its number
    :returns: the slices' roots, 32 hex digits each
    """
    return tuple(root_of(part, roots) for part in partitions.slices(count))


def differing_slices(partitions: ItemSet[_Item], theirs: Sequence[str],
                     ours: Mapping[_Item, str]) -> list[int]:
    """Return the answer to a question about slices.

    :param partitions: the set
    :param theirs: the roots of its slices, as asked
    :param ours: the root of each partition here, by its number; one that is
        missing cannot be read now, which a slice of several hides
    :returns: the indices of the slices that differ, ascending; with UNREAD
        those of the slices that are one partition which is missing
    """
    found: list[int] = []
    for index, (part, root) in enumerate(
            zip(partitions.slices(len(theirs)), theirs)):
        if not all(partition in ours for partition in part):
            found.append(index | UNREAD if len(part) == 1 else index)
        elif root_of(part, ours) != root:
            found.append(index)
    return found
