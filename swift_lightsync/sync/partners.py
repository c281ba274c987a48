# SPDX-License-Identifier: Apache-2.0
"""Compares partitions with fragments with those of their partners.

PROTOCOL.md, "Erasure coding".
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from swift.common.concurrency import GreenPool, sleep, tpool
from swift.common.exceptions import DiskFileDeviceUnavailable
from swift.common.storage_policy import StoragePolicy
from swift.common.utils import node_to_string
from swift.obj.reconstructor import _get_partners

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.changed_file import Fingerprint
from swift_lightsync.sync.core import fragments
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


def part_key(part: Part) -> PartKey:
    """Return what tells a partition here from others."""
    return (part['local_dev']['device'], int(part['policy']),
            part['partition'])


def partner_key(node: RingDevice) -> tuple[int, int]:
    """Return what tells a partner from others; its fragments have its row."""
    return node['id'], node['index']


@dataclass(frozen=True)
class Place:
    """A partition that has a row of the ring here.

    :param part: the partition
    :param fragment: the index of the fragments that belong here
    :param partners: the devices that it is compared with
    :param asked: those of them that are asked in this pass
    """
    part: Part
    fragment: int
    partners: tuple[RingDevice, ...]
    asked: tuple[RingDevice, ...]

    @property
    def device(self) -> str:
        """The name of the local device."""
        return str(self.part['local_dev']['device'])

    @property
    def policy(self) -> StoragePolicy:
        """The policy of the partition."""
        return self.part['policy']

    @property
    def partition(self) -> int:
        """The number of the partition."""
        return int(self.part['partition'])

    @property
    def key(self) -> PartKey:
        """What tells it from other partitions here."""
        return part_key(self.part)

    def put(self, questions: Questions, known: Fingerprint | None) -> None:
        """Ask about the partition, unless it has fragments for others."""
        if known is None or known.fragment not in (fragments.NONE,
                                                   self.fragment):
            return
        for node in self.asked:
            index = fragments.NONE if known.fragment == fragments.NONE \
                else self.policy.get_backend_index(node['index'])
            questions.add(self.key, partner_key(node), node,
                          (int(self.policy), node['device'], self.partition),
                          fragments.shown(known.root, index))


class Partners:
    """The devices that hold other fragments of the partitions here.

    :param client: talks to them
    :param prints: returns the fingerprints of a policy's partitions here
    :param logger: where it is logged that a node does not answer
    """

    def __init__(self, client: SyncClient,
                 prints: Callable[[StoragePolicy], Fingerprints],
                 logger: Any) -> None:
        self.client = client
        self.prints = prints
        self.logger = logger
        #: Nodes that answered like stock Swift when they were last asked.
        self._without_verb: set[NodeTuple] = set()
        #: Those that are not asked any more in this pass.
        self._resting: set[NodeTuple] = set()

    def begin_pass(self) -> None:
        """Ask all nodes again."""
        self._resting = set()

    def places(self, parts: Iterable[Part]) -> list[Place]:
        """Return the partitions that have a row of the ring here."""
        found: list[Place] = []
        shared: dict[tuple[int, ...], RingDevice] = {}
        for part in parts:
            policy, partition = part['policy'], part['partition']
            nodes = policy.object_ring.get_part_nodes(partition)
            row = next((node['index'] for node in nodes
                        if node['id'] == part['local_dev']['id']), None)
            if row is not None:
                partners = tuple(
                    shared.setdefault((int(policy), *partner_key(node)), node)
                    for node in _get_partners(row, nodes))
                found.append(Place(
                    part, policy.get_backend_index(row), partners,
                    tuple(filter(self._is_asked, partners))))
        return found

    def _is_asked(self, node: RingDevice) -> bool:
        where = endpoint(node)
        if where in self._resting:
            return False
        if where in self._without_verb:
            # One partition tells whether it has the verb by now.
            self._resting.add(where)
        return True

    def equal(self, places: Iterable[Place]) -> dict[Any, set[Any]]:
        """Compare partitions with their partners.

        :param places: the partitions
        :returns: by ``part_key`` the ``partner_key`` of each that is equal
        """
        groups: dict[tuple[str, StoragePolicy], list[Place]] = defaultdict(
            list)
        for place in places:
            if place.asked:
                groups[place.device, place.policy].append(place)
        questions = Questions()
        for (device, policy), group in groups.items():
            for portion in in_portions(group):
                known = self._known(policy, device, portion)
                for place in portion:
                    place.put(questions, known.get(place.partition))
                sleep()
        pool = GreenPool(NODES)
        asking = {where: pool.spawn(self._ask, node, questions.roots[where],
                                    place.part['local_dev'])
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
        where = endpoint(node)
        reply = Neighbours.outcome(self.client.ask_shared, endpoint(own),
                                   node, roots)
        if reply.answer is None:
            self._without_verb.discard(where)
            self._resting.discard(where)
            return equal_items(roots, reply.value)
        self._resting.add(where)
        if reply.answer is Answer.UNSUPPORTED:
            self._without_verb.add(where)
        else:
            self.logger.warning(
                'No comparison with the partners in %s: %s; their partitions '
                'are looked at', node_to_string(node, replication=True),
                reply.error or reply.answer)
        return set()
