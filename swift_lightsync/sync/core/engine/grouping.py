# SPDX-License-Identifier: Apache-2.0
"""Rounds that wait for the same neighbour, and the messages they make."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

from swift_lightsync.sync.core.conversation import Told
from swift_lightsync.sync.core.device_keys import device_key
from swift_lightsync.sync.core.engine.rounds import Round
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.shared_set import SharedItem
from swift_lightsync.sync.core.sync_round import Answer, Check

#: Partitions whose rounds are played together: each takes 3 KiB.
TOGETHER = 2048

_Item = TypeVar('_Item')


def in_turns(items: Sequence[_Item], neighbour: Callable[[_Item], Any],
             most: int = TOGETHER) -> Iterator[Sequence[_Item]]:
    """Yield what is played together, one after the other.

    What one node is asked about stays together as far as it can, so that it
    is asked once.

    :param items: for each partition one
    :param neighbour: returns what tells the node that an item asks first
    :param most: items that are played together
    """
    if len(items) <= most:
        yield items
        return
    groups: dict[Any, list[_Item]] = defaultdict(list)
    for item in items:
        groups[neighbour(item)].append(item)
    portion: list[_Item] = []
    for group in groups.values():
        if portion and len(portion) + len(group) > most:
            yield portion
            portion = []
        portion += group
        while len(portion) > most:
            yield portion[:most]
            portion = portion[most:]
    if portion:
        yield portion


@dataclass(frozen=True)
class Pair:
    """Rounds of one device and policy that wait for one neighbour.

    :param policy: the policy
    :param device: name of the local device
    :param node: the neighbour
    :param rounds: the rounds, by ascending partitions
    """
    policy: Any
    device: str
    node: RingDevice
    rounds: Sequence[Round]

    def parts(self, limit: int) -> Iterator['Pair']:
        """Cut it into pairs of so many rounds at most."""
        for start in range(0, len(self.rounds), limit):
            yield Pair(self.policy, self.device, self.node,
                       self.rounds[start:start + limit])

    def items(self) -> Iterator[tuple[SharedItem, Round]]:
        """Yield each round with its item of a ``SharedSet``."""
        for each in self.rounds:
            yield ((int(self.policy), self.node['device'], each.partition),
                   each)

    @property
    def hand_offs(self) -> bool:
        """Whether the partitions are hand-offs here."""
        return bool(self.rounds) and self.rounds[0].is_hand_off

    @property
    def partitions(self) -> list[int]:
        """The partitions of the rounds."""
        return [each.partition for each in self.rounds]

    def answer(self, told: Told) -> None:
        """Answer the Checks of the rounds."""
        for each in self.rounds:
            each.answer(told.about(each.partition))

    def give_up(self) -> None:
        """Have the rounds that still wait for the node compare by suffixes."""
        key = device_key(self.node)
        for each in self.rounds:
            if isinstance(each.pending, Check) \
                    and device_key(each.pending.device) == key:
                each.answer(Answer.INVALID)


def pairs_of(rounds: Iterable[Round]) -> list[Pair]:
    """Group rounds by the neighbour that they wait for.

    :param rounds: rounds; those with no Check pending are passed over
    """
    groups: dict[Any, list[Round]] = defaultdict(list)
    nodes: dict[Any, RingDevice] = {}
    for each in rounds:
        if isinstance(each.pending, Check):
            node = each.pending.device
            key = each.policy, each.device, device_key(node)
            groups[key].append(each)
            nodes[key] = node
    # Sorted, so that a group is cut into the same sets in each pass.
    return [Pair(policy, device, nodes[policy, device, key],
                 sorted(group, key=attrgetter('partition')))
            for (policy, device, key), group in groups.items()]


def messages_of(pairs: Iterable[Pair], limit: int) -> list[list[Pair]]:
    """Put the pairs of one node into messages.

    :param pairs: the pairs
    :param limit: partitions of one message, at most
    :returns: the pairs of each message; in none a partition of the node's
        device comes twice, as it would if two devices here hold it
    """
    messages: list[list[Pair]] = []
    taken: list[set[SharedItem]] = []
    for pair in pairs:
        for part in pair.parts(limit):
            items = {item for item, _ in part.items()}
            for message, before in zip(messages, taken):
                if len(before) + len(items) <= limit \
                        and not before & items:
                    message.append(part)
                    before |= items
                    break
            else:
                messages.append([part])
                taken.append(items)
    return messages
