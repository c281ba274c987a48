# SPDX-License-Identifier: Apache-2.0
"""
Finds what differs between two nodes, over all devices that they share.

One root over all of it settles the stable case. What a device of the peer
cannot be compared by is told apart, so that one disk does not hold up the
others. PROTOCOL.md, "A conversation".
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from swift_lightsync.sync.core.comparison import Ask, compare
from swift_lightsync.sync.core.shared_set import SharedItem, SharedSet


class Condition(IntEnum):
    """Whether a device of the peer can be compared with."""
    READY = 0
    UNMOUNTED = 1
    #: Not everything has been read.
    NOT_YET = 2


@dataclass(frozen=True)
class DeviceState:
    """
    What a peer says about one of its devices.

    :param condition: whether it can be compared with
    :param seconds: of READY, since its rounds were last played; of NOT_YET,
        after which to ask again
    """
    condition: Condition
    seconds: int = 0


@dataclass(frozen=True)
class SharedReply:
    """
    The answer to one question.

    :param compared: whether it was compared; if not, some device is not ready
    :param differing: as of ``comparison.differing_slices``
    :param states: of the devices of the set, in its order
    """
    compared: bool
    differing: Sequence[int]
    states: Sequence[DeviceState]


@dataclass
class SharedTold:
    """
    What a conversation has found.

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


def converse(roots: Mapping[SharedItem, str]
             ) -> Generator[Ask, SharedReply, SharedTold]:
    """
    Narrow down what differs between two nodes, with few questions.

    :param roots: the root of each partition, 32 hex digits, by policy, the
        peer's device and the partition
    :returns: a generator that yields an :class:`Ask`, is sent its
        :class:`SharedReply`, and returns what was found
    """
    told = SharedTold()
    left = dict(roots)
    while left:
        comparison = compare(left, SharedSet)
        try:
            ask = next(comparison)
            while True:
                reply = yield ask
                told.states.update(zip(SharedSet(ask.partitions).devices,
                                       reply.states))
                if not reply.compared:
                    break
                ask = comparison.send(reply.differing)
        except StopIteration as end:
            told.differing.update(end.value.differing)
            told.unread.update(end.value.unread)
            break
        ready = {item: root for item, root in left.items()
                 if told.states[item[1]].condition is Condition.READY}
        if len(ready) == len(left):
            raise ValueError('nothing was compared, though all is ready')
        left = ready
    return told
