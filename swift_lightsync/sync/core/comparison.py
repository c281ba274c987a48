# SPDX-License-Identifier: Apache-2.0
"""
Finding the partitions whose roots differ between two devices.

One root over all of them settles the stable case; where it differs, slices of
the set and then single partitions narrow it down. PROTOCOL.md, "A comparison".
"""

from dataclasses import dataclass
from math import isqrt

from swift_lightsync.sync.core.partition_set import PartitionSet, root_of

#: Sets as small as this are compared partition by partition at once.
SMALL = 16


@dataclass(frozen=True)
class Ask:
    """
    Send the roots of the slices of a set; to be answered with the indices of
    those that differ.

    :param partitions: a PartitionSet
    :param roots: the root of each slice, 32 hex digits
    """
    partitions: PartitionSet
    roots: tuple


def slice_roots(partitions, count, roots):
    """
    :param partitions: a PartitionSet
    :param count: into how many slices it is cut, at most
    :param roots: a dict, partition number to root
    :returns: a tuple of the slices' roots
    """
    return tuple(root_of(part, roots) for part in partitions.slices(count))


def differing_slices(partitions, theirs, ours):
    """
    The answer to an Ask.

    :param partitions: a PartitionSet
    :param theirs: the roots of its slices, as asked
    :param ours: a dict, partition number to root; a partition that is not in
        it counts as differing
    :returns: the indices of the slices that differ
    """
    return [index for index, (part, root)
            in enumerate(zip(partitions.slices(len(theirs)), theirs))
            if not all(partition in ours for partition in part)
            or root_of(part, ours) != root]


def compare(roots):
    """
    :param roots: a dict, partition number to root (32 hex digits)
    :returns: a generator of :class:`Ask` that returns the set of partitions
        that differ
    """
    suspects = PartitionSet(roots)
    for count in _stages(len(suspects)):
        if not suspects:
            break
        differing = yield Ask(suspects, slice_roots(
            suspects, count or len(suspects), roots))
        slices = suspects.slices(count or len(suspects))
        suspects = PartitionSet(partition for index in differing
                                for partition in slices[index])
    return set(suspects)


def _stages(partitions):
    """Numbers of slices, one after the other; 0: as many as partitions."""
    if partitions <= SMALL:
        return (0,)
    return (1, isqrt(partitions), 0)
