# SPDX-License-Identifier: Apache-2.0
"""Finds what differs between two nodes, over all devices that they share.

One root over all of it settles the stable case. What a device of the peer
cannot be compared by is told apart, so that one disk does not hold up the
others. PROTOCOL.md, "A comparison", "A conversation".
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import isqrt
from typing import NamedTuple

from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.compact_set import CompactSet
from swift_lightsync.sync.core.root_tree import RootTree
from swift_lightsync.sync.core.shared_set import (
    SharedItem,
    SharedSet,
    leaf_of,
    slice_length,
)
from swift_lightsync.sync.core.sync_round import Answer

#: Sets as small as this are compared partition by partition at once.
SMALL = 16
#: Set in the index of a slice that is one partition, which cannot be read now.
UNREAD = 1 << 31
#: A set that is asked about.
AnySet = CompactSet | SharedSet


class Condition(IntEnum):
    """Whether a device of the peer can be compared with."""
    READY = 0
    UNMOUNTED = 1
    #: Not everything has been read.
    NOT_YET = 2


@dataclass(frozen=True)
class DeviceState:
    """What a peer says about one of its devices.

    :param condition: whether it can be compared with
    :param seconds: of READY, since its rounds were last played; of NOT_YET,
        after which to ask again
    """
    condition: Condition
    seconds: int = 0


@dataclass(frozen=True)
class SharedReply:
    """The answer to one question.

    :param compared: whether it was compared; if not, some device is not ready
    :param differing: as of :func:`differing_slices`
    :param states: of the devices of the set, in its order
    """
    compared: bool
    differing: Sequence[int]
    states: Sequence[DeviceState]


@dataclass
class SharedTold:
    """What a conversation has found.

    :param differing: the items that differ
    :param unread: those that the peer cannot read now
    :param states: of the devices, by their names
    """
    differing: set[SharedItem] = field(default_factory=set)
    unread: set[SharedItem] = field(default_factory=set)
    states: dict[str, DeviceState] = field(default_factory=dict)

    def add(self, more: 'SharedTold') -> None:
        """Add what was found of further items, or of some once more."""
        self.differing |= more.differing
        self.unread |= more.unread
        self.states.update(more.states)


#: What it means that a device cannot be compared with.
CONDITIONS = {Condition.UNMOUNTED: Answer.UNMOUNTED,
              Condition.NOT_YET: Answer.NOT_YET}


class Told(NamedTuple):
    """What a device says about the roots of partitions.

    :param answer: the answer; UNSUPPORTED, UNMOUNTED and the like hold for
        all partitions
    :param differing: the partitions that differ, if it is DIFFER
    :param idle: how many seconds ago the device's rounds were last played, or
        None if it does not say
    :param unread: the partitions that it cannot read now
    """
    answer: Answer
    differing: frozenset[int] = frozenset()
    idle: int | None = None
    unread: frozenset[int] = frozenset()

    def about(self, partition: int) -> Answer:
        """Return the answer about one of the partitions."""
        if partition in self.unread:
            return Answer.NOT_YET
        if self.answer is Answer.DIFFER and partition not in self.differing:
            return Answer.MATCH
        return self.answer

    def counts(self, asked: int) -> dict[Answer, int]:
        """Return to how many of the partitions each answer applies.

        :param asked: how many there are
        """
        counts = {self.answer: asked}
        if self.answer in (Answer.DIFFER, Answer.MATCH):
            left = len(self.differing) + len(self.unread)
            counts = {Answer.DIFFER: len(self.differing),
                      Answer.NOT_YET: len(self.unread),
                      Answer.MATCH: asked - left}
        return {answer: count for answer, count in counts.items() if count}


def told_of(shared: SharedTold, policy: int, device: str,
            partitions: Iterable[int]) -> Told:
    """Return what a node says about the partitions of one of its devices.

    :param shared: what it says
    :param policy: index of the policy
    :param device: name of its device
    :param partitions: the partitions
    """
    state = shared.states.get(device, DeviceState(Condition.NOT_YET))
    if state.condition is not Condition.READY:
        return Told(CONDITIONS[state.condition])
    items = {(policy, device, partition): partition
             for partition in partitions}
    differing, unread = (frozenset(items[item] for item in items
                                   if item in found)
                         for found in (shared.differing, shared.unread))
    return Told(Answer.DIFFER if differing else Answer.MATCH, differing,
                state.seconds, unread)


@dataclass(frozen=True)
class Ask:
    """Asks the peer which slices of a set differ from its own.

    :param partitions: the set
    :param roots: the root of each slice, 32 hex digits
    """
    partitions: AnySet
    roots: tuple[str, ...]


#: Questions, whose replies are sent back, and what was found.
Conversation = Generator[Ask, SharedReply, SharedTold]


def narrow_down(items: AnySet, tree: RootTree) -> Conversation:
    """Narrow down what differs between two nodes, with few questions.

    One root over all partitions settles the stable case. Where it differs,
    slices of the set and then single partitions narrow the difference down.

    :param items: the set
    :param tree: the roots of its partitions
    :returns: a generator that yields an :class:`Ask`, is sent its
        :class:`SharedReply`, and returns what was found; it ends at once if
        some device of the peer is not ready
    """
    told = SharedTold()
    places: Sequence[int] = range(len(items))
    for count in (1, isqrt(len(items))) if len(items) > SMALL else ():
        reply = yield Ask(items, tree.slice_roots(count))
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
    reply = yield Ask(suspects, tuple(
        tree.leaf(place).hex() for place in sorted(places)))
    told.states.update(zip(suspects.devices, reply.states))
    for index in reply.differing:
        if index & UNREAD:
            told.unread.add(suspects[index ^ UNREAD])
        else:
            told.differing.add(suspects[index])
    return told


def converse(roots: Mapping[SharedItem, str]) -> Conversation:
    """Narrow down what differs, over the devices of the peer that are ready.

    :param roots: the root of each partition, 32 hex digits, by policy, the
        peer's device and the partition
    :returns: as :func:`narrow_down`
    """
    told, left = SharedTold(), SharedSet(roots)
    while left:
        told.add((yield from narrow_down(left, RootTree(
            leaf_of(item, roots[item]) for item in left))))
        ready = SharedSet(
            item for item in left
            if told.states[item[1]].condition is Condition.READY)
        if len(ready) == len(left):
            break
        left = ready
    return told


def differing_slices(items: SharedSet, theirs: Sequence[str],
                     ours: Mapping[SharedItem, str]) -> list[int]:
    """Return the answer to a question about slices.

    :param items: the set
    :param theirs: the roots of its slices, as asked
    :param ours: the root of each partition here; one that is missing cannot
        be read now, which a slice of several hides
    :returns: the indices of the slices that differ, ascending; with UNREAD
        those of the slices that are one partition which is missing
    """
    found: list[int] = []
    for index, (part, root) in enumerate(
            zip(items.slices(len(theirs)), theirs)):
        if not all(item in ours for item in part):
            found.append(index | UNREAD if len(part) == 1 else index)
        elif merkle.top([leaf_of(item, ours[item]) for item in part]) != root:
            found.append(index)
    return found
