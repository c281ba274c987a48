# SPDX-License-Identifier: Apache-2.0
"""Finds what differs in a standing set, whose tree is kept.

The stable case is one root; else the slices of the same tree, and then single
partitions. PROTOCOL.md, "What is kept between passes".
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Union

from swift_lightsync.sync.core.compact_set import CompactSet
from swift_lightsync.sync.core.comparison import UNREAD
from swift_lightsync.sync.core.conversation import SharedReply, SharedTold
from swift_lightsync.sync.core.partition_set import slice_length
from swift_lightsync.sync.core.root_tree import RootTree
from swift_lightsync.sync.core.shared_set import SharedSet


@dataclass(frozen=True)
class Question:
    """Asks the peer which slices of a set differ; as ``comparison.Ask``.

    :param partitions: the set
    :param roots: the root of each slice, 32 hex digits
    """
    partitions: Union[CompactSet, SharedSet]
    roots: tuple[str, ...]


def narrow_down(items: CompactSet, tree: RootTree
                ) -> Generator[Question, SharedReply, SharedTold]:
    """Narrow down what differs between two nodes, with few questions.

    :param items: the set
    :param tree: the roots of its partitions
    :returns: a generator that yields a :class:`Question`, is sent its
        :class:`SharedReply`, and returns what was found; it ends at once if
        some device of the peer is not ready
    """
    told = SharedTold()
    places: Sequence[int] = ()
    for count in (1, isqrt(len(items))):
        roots = tree.slice_roots(count)
        reply = yield Question(items, roots)
        told.states.update(zip(items.devices, reply.states))
        if not reply.compared:
            return told
        length = slice_length(len(items), count)
        places = [place for index in reply.differing
                  for place in range(len(items))[
                      (index & ~UNREAD) * length:
                      ((index & ~UNREAD) + 1) * length]]
        if not places:
            return told
    suspects = SharedSet(map(items.item, places))
    reply = yield Question(suspects, tuple(
        tree.leaf(place).hex() for place in sorted(places)))
    told.states.update(zip(suspects.devices, reply.states))
    if reply.compared:
        for index in reply.differing:
            if index & UNREAD:
                told.unread.add(suspects[index ^ UNREAD])
            else:
                told.differing.add(suspects[index])
    return told
