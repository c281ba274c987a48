# SPDX-License-Identifier: Apache-2.0
"""Finds the partitions whose roots differ between two devices.

One root over all partitions settles the stable case. Where it differs,
slices of the set and then single partitions narrow the difference down.
PROTOCOL.md, "A comparison".
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Any, TypeVar

from swift_lightsync.sync.core.partition_set import (
    ItemSet,
    PartitionSet,
    root_of,
)

#: Sets as small as this are compared partition by partition at once.
SMALL = 16
#: Set in the index of a slice that is one partition, which cannot be read now.
UNREAD = 1 << 31

_Item = TypeVar('_Item')


@dataclass(frozen=True)
class Compared:
    """What a comparison has found.

    :param differing: the partitions that differ
    :param unread: those that the peer cannot read now
    """
    differing: frozenset[Any]
    unread: frozenset[Any] = frozenset()


@dataclass(frozen=True)
class Ask:
    """Asks the peer which slices of a set differ from its own.

    Whoever runs the comparison sends back the indices of those slices.

    :param partitions: the set
    :param roots: the root of each slice, 32 hex digits
    """
    partitions: ItemSet[Any]
    roots: tuple[str, ...]


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
    """Return the answer to an :class:`Ask`.

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


def compare(roots: Mapping[_Item, str],
            as_set: Callable[[Iterable[Any]], ItemSet[Any]] = PartitionSet
            ) -> Generator[Ask, Sequence[int], Compared]:
    """Narrow down which partitions differ, with few questions.

    :param roots: the root of each partition, 32 hex digits, by its number
    :param as_set: makes a set of the keys of ``roots``
    :returns: a generator that yields an :class:`Ask`, is sent the answer of
        ``differing_slices``, and returns a :class:`Compared`
    """
    suspects = as_set(roots)
    unread: set[Any] = set()
    for count in _stages(len(suspects)):
        if not suspects:
            break
        differing = yield Ask(suspects, slice_roots(
            suspects, count or len(suspects), roots))
        slices = suspects.slices(count or len(suspects))
        unread.update(partition for index in differing if index & UNREAD
                      for partition in slices[index ^ UNREAD])
        suspects = as_set(partition for index in differing
                          if not index & UNREAD
                          for partition in slices[index])
    return Compared(frozenset(suspects), frozenset(unread))


def _stages(partitions: int) -> tuple[int, ...]:
    """Return the number of slices of each stage; 0: one each partition."""
    if partitions <= SMALL:
        return (0,)
    return (1, isqrt(partitions), 0)
