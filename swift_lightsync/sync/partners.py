# SPDX-License-Identifier: Apache-2.0
"""Compares partitions with fragments with those of their partners.

PROTOCOL.md, "Erasure coding".
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Optional

from swift.common.concurrency import GreenPool, sleep, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import node_to_string
from swift.obj.reconstructor import _get_partners

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.changed_file import Fingerprint
from swift_lightsync.sync.core import fragments
from swift_lightsync.sync.core.engine.actions import Reply
from swift_lightsync.sync.core.fragments import Questions, equal_items
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.shared_set import SharedItem
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.fingerprints import Fingerprints, in_portions
from swift_lightsync.sync.keys import endpoint
from swift_lightsync.sync.neighbours import Neighbours
from swift_lightsync.sync.sync_client import SyncClient

#: Nodes that are asked at the same time.
NODES = 16

#: A partition to look at, as from Swift's ``collect_parts``.
Part = dict[str, Any]
#: The name of a device, the policy's index and the partition.
PartKey = tuple[str, int, int]


def part_key(device: RingDevice, policy: StoragePolicy,
             partition: int) -> PartKey:
    """Return what tells a partition here from others."""
    return device['device'], int(policy), partition


def partner_key(node: RingDevice) -> tuple[int, int]:
    """Return what tells a partner from others; its fragments have its row."""
    return node['id'], node['index']


@dataclass(frozen=True)
class Place:
    """A partition that has a row of the ring here.

    :param device: the local device
    :param policy: its policy
    :param partition: its number
    :param fragment: the index of the fragments that belong here
    :param partners: the devices that it is compared with
    :param asked: those of them that are asked in this pass
    """
    device: RingDevice
    policy: StoragePolicy
    partition: int
    fragment: int
    partners: tuple[RingDevice, ...]
    asked: tuple[RingDevice, ...]

    def put(self, questions: Questions, known: Optional[Fingerprint]) -> None:
        """Ask about the partition, unless it has fragments for others."""
        if known is None or known.fragment not in (fragments.NONE,
                                                   self.fragment):
            return
        local = part_key(self.device, self.policy, self.partition)
        for node in self.asked:
            index = fragments.NONE if known.fragment == fragments.NONE \
                else self.policy.get_backend_index(node['index'])
            questions.add(local, partner_key(node), node,
                          (int(self.policy), node['device'], self.partition),
                          fragments.shown(known.root, index))


class Partners:
    """The devices that hold other fragments of the partitions here.

    :param client: talks to them
    :param most: partitions in a conversation
    :param prints: returns the fingerprints of a policy's partitions here
    :param logger: where it is logged that a node does not answer
    """

    def __init__(self, client: SyncClient, most: int,
                 prints: Callable[[StoragePolicy], Fingerprints],
                 logger: Any) -> None:
        self.client = client
        self.most = most
        self.prints = prints
        self.logger = logger
        #: Nodes that answered like stock Swift in the last pass.
        self._without_verb: set[NodeTuple] = set()

    def places(self, parts: Iterable[Part]) -> list[Place]:
        """Return the partitions that have a row of the ring here."""
        probed: set[NodeTuple] = set()

        def is_asked(node: RingDevice) -> bool:
            where = endpoint(node)
            if where not in self._without_verb:
                return True
            # One partition tells whether it has the verb by now.
            is_first = where not in probed
            probed.add(where)
            return is_first

        found: list[Place] = []
        for part in parts:
            policy, partition = part['policy'], part['partition']
            nodes = policy.object_ring.get_part_nodes(partition)
            row = next((node['index'] for node in nodes
                        if node['id'] == part['local_dev']['id']), None)
            if row is not None:
                partners = tuple(_get_partners(row, nodes))
                found.append(Place(
                    part['local_dev'], policy, partition,
                    policy.get_backend_index(row), partners,
                    tuple(filter(is_asked, partners))))
        return found

    def equal(self, places: Iterable[Place]) -> dict[Any, set[Any]]:
        """Compare partitions with their partners.

        :param places: the partitions
        :returns: by ``part_key`` the ``partner_key`` of each that is equal
        """
        groups: dict[tuple[str, StoragePolicy], list[Place]] = defaultdict(
            list)
        for place in places:
            if place.asked:
                groups[place.device['device'], place.policy].append(place)
        questions = Questions()
        for (device, policy), group in groups.items():
            for portion in in_portions(group):
                known = self._known(policy, device, portion)
                for place in portion:
                    place.put(questions, known.get(place.partition))
                sleep()
        pool = GreenPool(NODES)
        asking = {where: pool.spawn(self._ask, node, questions.roots[where],
                                    place.device)
                  for where, node in questions.nodes.items()}
        return questions.equal({
            where: thread.wait() for where, thread in asking.items()})

    def _known(self, policy: StoragePolicy, device: str,
               portion: Iterable[Place]) -> dict[int, Fingerprint]:
        found: dict[int, Fingerprint]
        try:
            hashed, found = tpool.execute(
                self.prints(policy).get_many, device,
                [place.partition for place in portion])
        except DiskFileDeviceUnavailable:
            return {}
        self.logger.update_stats('suffix.hashes', hashed)
        return found

    def _ask(self, node: RingDevice, roots: Mapping[SharedItem, str],
             own: RingDevice) -> set[SharedItem]:
        """Return the items of a node that are equal."""
        items, equal = iter(sorted(roots)), set()
        while chunk := {item: roots[item]
                        for item in islice(items, self.most)}:
            reply = Neighbours.outcome(self.client.ask_shared, endpoint(own),
                                       node, chunk)
            if reply.answer is not None:
                self._note_unanswered(node, reply)
                break
            self._without_verb.discard(endpoint(node))
            equal |= equal_items(chunk, reply.value)
        return equal

    def _note_unanswered(self, node: RingDevice, reply: Reply) -> None:
        if reply.answer is Answer.UNSUPPORTED:
            self._without_verb.add(endpoint(node))
        else:
            self.logger.warning(
                'No comparison with the partners in %s: %s; their partitions '
                'are looked at', node_to_string(node, replication=True),
                reply.error or reply.answer)
