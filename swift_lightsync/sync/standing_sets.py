# SPDX-License-Identifier: Apache-2.0
"""The partitions of the devices here, and the standing sets that they are in.

They are kept in arrays: some 70 bytes a partition. PROTOCOL.md, "What is kept
between passes".
"""

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Optional

from swift.common.storage_policy import StoragePolicy

from swift_lightsync.common.address import DeviceTuple, NodeTuple
from swift_lightsync.sync.core.compact_set import CompactSet
from swift_lightsync.sync.core.partition_set import leaf_of
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.root_tree import SIZE, RootTree
from swift_lightsync.sync.core.shared_set import SharedItem, SharedSet
from swift_lightsync.sync.keys import Job, device_key, endpoint

#: A policy, and the name of a local device.
Local = tuple[StoragePolicy, str]
#: Of a partition that is in no set.
NOWHERE = -1


class Partitions:
    """The partitions of one local device and policy.

    :param found: of each partition its root, 32 hex digits, and its first
        neighbour, if it has one
    """

    def __init__(self, found: Mapping[int, tuple[str, Optional[RingDevice]]]
                 ) -> None:
        self.numbers = array('I', sorted(found))
        #: Raw bytes, one after the other.
        self.roots = bytearray().join(
            bytes.fromhex(found[number][0]) for number in self.numbers)
        self.nodes: list[RingDevice] = []
        indices: dict[DeviceTuple, int] = {}
        #: Of each partition the index of its neighbour in ``nodes``.
        self.neighbours = array('h')
        for number in self.numbers:
            node = found[number][1]
            if node is None:
                self.neighbours.append(NOWHERE)
                continue
            key = device_key(node)
            if key not in indices:
                indices[key] = len(self.nodes)
                self.nodes.append(node)
            self.neighbours.append(indices[key])
        #: Of each partition the index of its set, and its place there.
        self.sets = array('h', [NOWHERE]) * len(self.numbers)
        self.places = array('I', [0]) * len(self.numbers)

    def at(self, partition: int) -> Optional[int]:
        """Return where a partition is in the arrays, or None."""
        at = bisect_left(self.numbers, partition)
        if at < len(self.numbers) and self.numbers[at] == partition:
            return at
        return None

    def root(self, at: int) -> str:
        """Return the root of the partition at a place of the arrays."""
        return self.roots[at * SIZE:(at + 1) * SIZE].hex()

    def neighbour(self, at: int) -> Optional[RingDevice]:
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


_Owner = tuple[Local, int]


def standing_sets(all_partitions: Mapping[Local, Partitions],
                  limit: int) -> list[Standing]:
    """Put partitions into standing sets.

    :param all_partitions: the partitions of all local devices; they are told
        where they are
    :param limit: partitions of one set, at most
    """
    nodes: dict[NodeTuple, list[tuple[Local, int]]] = defaultdict(list)
    for local, each in all_partitions.items():
        each.sets = array('h', [NOWHERE]) * len(each.numbers)
        for at in range(len(each.numbers)):
            node = each.neighbour(at)
            if node is not None:
                nodes[endpoint(node)].append((local, at))
    found: list[Standing] = []
    for where in sorted(nodes):
        owners = _owners(all_partitions, nodes.pop(where))
        items = sorted(owners)
        for begin in range(0, len(items), limit):
            part = {item: owners[item] for item in items[begin:begin + limit]}
            found.append(_standing(where, part, all_partitions, len(found)))
    return found


def _owners(all_partitions: Mapping[Local, Partitions],
            entries: Iterable[_Owner]) -> dict[SharedItem, _Owner]:
    owners: dict[SharedItem, _Owner] = {}
    for local, at in entries:
        each = all_partitions[local]
        node = each.neighbour(at)
        if node is not None:
            # Of two devices here that hold a partition, one has it in a set.
            owners.setdefault((int(local[0]), node['device'],
                               each.numbers[at]), (local, at))
    return owners


def _standing(where: NodeTuple, owners: Mapping[SharedItem, _Owner],
              all_partitions: Mapping[Local, Partitions],
              index: int) -> Standing:
    items = SharedSet(owners)
    leaves: list[bytes] = []
    pairs: dict[tuple[Local, str], Pair] = {}
    for place, item in enumerate(items):
        local, at = owners[item]
        each = all_partitions[local]
        each.sets[at], each.places[at] = index, place
        leaves.append(leaf_of(item, each.root(at)))
        node = each.neighbour(at)
        if node is not None:
            pairs.setdefault((local, item[1]), Pair(local, node)).count += 1
    return Standing(where, CompactSet(items), RootTree(leaves), pairs)


def nodes_of(jobs: Iterable[Job]) -> Iterator[tuple[DeviceTuple, RingDevice]]:
    """Yield the devices that share partitions with us, with their keys."""
    for job in jobs:
        for node in job['nodes']:
            yield device_key(node), node
