# SPDX-License-Identifier: Apache-2.0
"""The root of a partition whose devices hold different fragments.

Two devices are equal if they hold the same objects, each in fragments of its
own index. PROTOCOL.md, "Erasure coding".
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from hashlib import md5

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.core import merkle
from swift_lightsync.sync.core.conversation import (
    Condition,
    DeviceState,
    SharedTold,
)
from swift_lightsync.sync.core.device_keys import endpoint
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.shared_set import SharedItem

#: In the place of an index: there is no fragment; there are several indices.
NONE, MIXED = -1, -2
SHOWN = b'\x03'


def summary(hashes: Mapping[str, Mapping[int | None, str]]
            ) -> tuple[str, int]:
    """Aggregate the suffix hashes of a partition with fragments.

    :param hashes: of each suffix the hash by each fragment index; by None
        the hash of what has no index
    :returns: the root, 32 hex digits, and the index of all fragments, NONE
        or MIXED
    """
    indices = {index for of_suffix in hashes.values()
               for index in of_suffix if index is not None}
    if len(indices) > 1:
        return merkle.EMPTY_ROOT, MIXED
    fragment = indices.pop() if indices else NONE
    return merkle.root({
        suffix: '%s/%s' % (of_suffix.get(None, ''),
                           of_suffix.get(fragment, ''))
        for suffix, of_suffix in hashes.items()}), fragment


def shown(root: str, fragment: int) -> str:
    """Return the root by which a device answers peers.

    :param root: what :func:`summary` returned of its hashes
    :param fragment: the index of its fragments, NONE or MIXED; NONE for a
        replicated policy
    :returns: 32 hex digits
    """
    if fragment == NONE:
        return root
    return md5(SHOWN + b'%d' % fragment + bytes.fromhex(root),
               usedforsecurity=False).hexdigest()


class Questions:
    """What the nodes are asked that have partners of local partitions."""

    def __init__(self) -> None:
        #: What each node is asked for, and one of its devices.
        self.roots: dict[NodeTuple, dict[SharedItem, str]] = defaultdict(dict)
        self.nodes: dict[NodeTuple, RingDevice] = {}
        #: Of each local partition the partners it was compared with, by the
        #: caller's name of each.
        self._asked: dict[Hashable, dict[Hashable, tuple[
            NodeTuple, SharedItem]]] = defaultdict(dict)

    def add(self, local: Hashable, partner: Hashable, node: RingDevice,
            item: SharedItem, root: str) -> None:
        """Ask whether a partner shows a root.

        :param local: names the local partition
        :param partner: names the partner among those of the partition
        :param node: the partner's device
        :param item: the partition there
        :param root: what it shows if it is equal
        """
        where = endpoint(node)
        self.nodes.setdefault(where, node)
        # Another device here may ask the same of it, or for something else.
        if self.roots[where].setdefault(item, root) == root:
            self._asked[local][partner] = where, item

    def equal(self, answers: Mapping[NodeTuple, Collection[SharedItem]]
              ) -> dict[Hashable, set[Hashable]]:
        """Return the partners that are equal, of each local partition.

        :param answers: what :func:`equal_items` returned of each node
        """
        return {local: {
            partner for partner, (where, item) in partners.items()
            if item in answers.get(where, ())}
            for local, partners in self._asked.items()}


def equal_items(asked: Iterable[SharedItem],
                told: SharedTold) -> set[SharedItem]:
    """Return the items that a node has compared and found equal.

    :param asked: what the conversation was about
    :param told: what it has found; it may have failed half-way
    """
    unknown = DeviceState(Condition.NOT_YET)
    return {item for item in asked
            if told.states.get(item[1], unknown).condition is Condition.READY
            and item not in told.differing and item not in told.unread}
