# SPDX-License-Identifier: Apache-2.0
"""The partitions of the devices here, and the standing sets that they are in.

They are kept in arrays: some 70 bytes a partition. PROTOCOL.md, "What is kept
between passes".
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from swift.common.storage_policy import StoragePolicy

from swift_lightsync.common.address import DeviceTuple, NodeTuple
from swift_lightsync.sync.core.compact_set import CompactSet
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.root_tree import SIZE, RootTree
from swift_lightsync.sync.core.shared_set import SharedItem, SharedSet, leaf_of
from swift_lightsync.sync.keys import device_key, endpoint

#: A policy, and the name of a local device.
Local = tuple[StoragePolicy, str]
#: Of a partition that is in no set.
NOWHERE = -1


class Partitions:
    """The partitions of one local device and policy.

    :param found: of each partition, in ascending order, its number, its root,
        32 hex digits, and its first neighbour, if it has one
    """

    def __init__(self, found: Iterable[
            tuple[int, str, RingDevice | None]]) -> None:
        self.numbers = array('I')
        #: Raw bytes, one after the other.
        self.roots = bytearray()
        self.nodes: list[RingDevice] = []
        #: Of each partition the index of its neighbour in ``nodes``.
        self.neighbours = array('h')
        indices: dict[DeviceTuple, int] = {}
        for number, root, node in found:
            self.numbers.append(number)
            self.roots += bytes.fromhex(root)
            if node is None:
                self.neighbours.append(NOWHERE)
                continue
            index = indices.setdefault(device_key(node), len(self.nodes))
            if index == len(self.nodes):
                self.nodes.append(node)
            self.neighbours.append(index)
        #: Of each partition the index of its set, and its place there.
        self.sets = array('h', [NOWHERE]) * len(self.numbers)
        self.places = array('I', [0]) * len(self.numbers)

    def at(self, partition: int) -> int | None:
        """Return where a partition is in the arrays, or None."""
        at = bisect_left(self.numbers, partition)
        if at < len(self.numbers) and self.numbers[at] == partition:
            return at
        return None

    def root(self, at: int) -> str:
        """Return the root of the partition at a place of the arrays."""
        return self.roots[at * SIZE:(at + 1) * SIZE].hex()

    def neighbour(self, at: int) -> RingDevice | None:
        """Return the first neighbour of a partition."""
        index = self.neighbours[at]
        return None if index == NOWHERE else self.nodes[index]


@dataclass
class Pair:
    """The partitions of a set that a local device shares with one neighbour.

    :param local: the policy and the local device
    :param node: the neighbour
    :param count: how many there are
    """
    local: Local
    node: RingDevice
    count: int = 0


@dataclass
class Standing:
    """A standing set.

    :param where: the node
    :param items: the set
    :param tree: the roots of its partitions
    :param pairs: the pairs of devices that it is about, by the policy, the
        local device and the neighbour's name
    """
    where: NodeTuple
    items: CompactSet
    tree: RootTree
    pairs: dict[tuple[Local, str], Pair] = field(default_factory=dict)


#: An item of a set, which of the local devices and policies has it, and where.
_Entry = tuple[SharedItem, int, int]


def standing_sets(all_partitions: Mapping[Local, Partitions],
                  limit: int) -> list[Standing]:
    """Put partitions into standing sets.

    :param all_partitions: the partitions of all local devices; they are told
        where they are
    :param limit: partitions of one set, at most
    """
    locals_ = list(all_partitions.items())
    nodes: dict[NodeTuple, dict[int, array[int]]] = defaultdict(
        lambda: defaultdict(lambda: array('I')))
    for which, (_, each) in enumerate(locals_):
        each.sets = array('h', [NOWHERE]) * len(each.numbers)
        for at in range(len(each.numbers)):
            node = each.neighbour(at)
            if node is not None:
                nodes[endpoint(node)][which].append(at)
    found: list[Standing] = []
    for where in sorted(nodes):
        entries = _entries(locals_, nodes.pop(where))
        for begin in range(0, len(entries), limit):
            found.append(_standing(where, entries[begin:begin + limit],
                                   locals_, len(found)))
    return found


def _entries(locals_: Sequence[tuple[Local, Partitions]],
             places: Mapping[int, Iterable[int]]) -> list[_Entry]:
    """Return what goes into the sets of one node, in order."""
    found: dict[SharedItem, _Entry] = {}
    for which, ats in places.items():
        (policy, _), each = locals_[which]
        for at in ats:
            node = each.neighbour(at)
            assert node is not None
            item = int(policy), node['device'], each.numbers[at]
            # Of two devices here that hold a partition, one has it in a set.
            found.setdefault(item, (item, which, at))
    return sorted(found.values())


def _standing(where: NodeTuple, entries: Sequence[_Entry],
              locals_: Sequence[tuple[Local, Partitions]],
              index: int) -> Standing:
    pairs: dict[tuple[Local, str], Pair] = {}

    def leaves() -> Iterator[bytes]:
        for place, (item, which, at) in enumerate(entries):
            local, each = locals_[which]
            each.sets[at], each.places[at] = index, place
            node = each.neighbour(at)
            assert node is not None
            pairs.setdefault((local, item[1]), Pair(local, node)).count += 1
            yield leaf_of(item, each.root(at))

    tree = RootTree(leaves())
    return Standing(where, CompactSet(SharedSet(
        item for item, _, _ in entries)), tree, pairs)
