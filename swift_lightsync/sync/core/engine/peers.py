# SPDX-License-Identifier: Apache-2.0
"""The other nodes, as a pass knows them and compares with them.

PROTOCOL.md, "A sync round", "A conversation", "Rejoining".
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from swift_lightsync.common.address import DeviceTuple, NodeTuple, PlaceTuple
from swift_lightsync.sync.core.conversation import Condition, SharedTold, Told
from swift_lightsync.sync.core.device_keys import device_key, endpoint
from swift_lightsync.sync.core.engine.actions import (
    Knock,
    Outcome,
    Pause,
    Process,
    Reply,
    Sender,
    Together,
)
from swift_lightsync.sync.core.engine.charging import (
    MAX_NOTIFIED,
    Chance,
    Charging,
)
from swift_lightsync.sync.core.failures import Failures
from swift_lightsync.sync.core.idleness import Idleness, Rounds
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.shared_set import SharedItem
from swift_lightsync.sync.core.sync_round import Answer


@dataclass(frozen=True)
class AskNode:
    """Compares the roots of partitions with the devices of a node. The value
    of its Reply is a SharedTold.

    :param sender: the local node, if the ring names it
    :param node: any device of the node
    :param roots: the root of each partition
    :param hand_offs: whether they are hand-offs here
    """
    sender: Sender
    node: RingDevice
    roots: Mapping[SharedItem, str]
    hand_offs: bool = False


class Peers(Charging):
    """The nodes and devices that share partitions with the local ones.

    :param failures: the failure table
    :param clock: returns the time of one clock, seconds
    :param chance: chooses who is told, and when to ask again
    :param rounds: when the rounds of the local devices were played
    """

    def __init__(self, failures: Failures, clock: Callable[[], float],
                 chance: Chance, rounds: Rounds) -> None:
        super().__init__(failures, clock, chance)
        self.idleness = Idleness(rounds)
        #: Nodes that answered like stock Swift in this pass.
        self.without_verb: set[NodeTuple] = set()
        #: When keys came back, as this was last looked up.
        self._rejoined: dict[PlaceTuple, float] = {}

    def beginning(self, sharing: Mapping[DeviceTuple, RingDevice],
                  batched: bool, partial: bool = False) -> Process[None]:
        """Forget what holds for one pass only, and look who has come back.

        :param sharing: the devices that share partitions with the local ones
        :param batched: whether the pass asks a node about all at once
        :param partial: whether it leaves out some partitions of its devices
        """
        self._begin_pass(sharing, batched)
        self.idleness.begin_pass(partial)
        self.without_verb.clear()
        yield from self._knock()
        self._rejoined = dict(self.failures.rejoined())

    def own(self, policy: Any, device: str) -> RingDevice | None:
        """Return a local device as the ring describes it.

        :param policy: the policy
        :param device: name of the device
        :returns: the device, or None if the ring does not name it
        """
        raise NotImplementedError

    def note(self, device: str, node: RingDevice, policy: Any,
             partitions: Collection[int], told: Told) -> bool:
        """Note what a neighbour said about partitions.

        :param device: name of the local device that holds them
        :param node: the neighbour
        :param policy: the policy of the partitions
        :param partitions: their numbers
        :param told: what it said
        :returns: whether the neighbour is found to be idle now
        """
        counts, tally = told.counts(len(partitions)), self.tally
        tally.asked += len(partitions)
        tally.differing += counts.get(Answer.DIFFER, 0)
        tally.busy += sum(counts.get(answer, 0)
                          for answer in (Answer.BUSY, Answer.NOT_YET))
        return self.idleness.note_answer(device, device_key(node), told.idle)

    def has_verb(self, node: RingDevice) -> bool:
        """Return False if a node answered like stock Swift in this pass."""
        return endpoint(node) not in self.without_verb

    def is_cut(self, device: str, node: RingDevice,
               other: RingDevice) -> bool:
        """
        Return whether what a device holds does not reach another through it.

        That is so if it is idle, or has put us off for as long, or if its node
        has said that it cannot reach the other.

        :param device: name of the local device that asked the first
        :param node: the first
        :param other: the other
        """
        reporter, now = endpoint(node), self.clock()
        return (self.idleness.is_idle(device, device_key(node))
                or any(self.postponed.since(key, now)
                       > self.idleness.patience(device)
                       for key in (reporter, device_key(node)))
                or self.failures.is_reported(reporter, endpoint(other))
                or self.failures.is_reported(reporter, device_key(other)))

    def looking_for_rejoined(self, nodes: Iterable[RingDevice]
                             ) -> Process[list[RingDevice]]:
        """Find out which devices have come back.

        :param nodes: the devices in question
        :returns: a process, whose result are those that have come back since
            the pass began, or since it was last found out
        """
        yield from self._knock()
        rejoined = dict(self.failures.rejoined())
        new = rejoined.items() - self._rejoined.items()
        self._rejoined = rejoined
        keys = {key for key, _ in new}
        return [node for node in nodes
                if keys & {endpoint(node), device_key(node)}]

    def _knock(self) -> Process[None]:
        """See whether nodes that refused connections accept them again.

        A further refusal costs nothing, so there is no need to wait for ESI
        to pass.
        """
        refusing = self.failures.refusing()
        if not refusing:
            return
        nodes = {endpoint(node): node for node in self.sharing.values()
                 if endpoint(node) in refusing}
        yield Together([self._knock_at(node) for node in nodes.values()],
                       MAX_NOTIFIED)

    def _knock_at(self, node: RingDevice) -> Process[None]:
        reply: Reply = yield Knock(node)
        if reply.outcome is Outcome.SILENT:
            yield from self._charge(None, node, reply)
        elif reply.outcome is Outcome.ANSWERED:
            self.failures.contact(endpoint(node))

    def asking_node(self, sender: Sender, node: RingDevice,
                    roots: Mapping[SharedItem, str],
                    hand_offs: bool = False
                    ) -> Process[SharedTold | Told]:
        """Send the roots of partitions to a node that shares them with us.

        Devices that have not read theirs are asked again, as far as the pass
        has time.

        :param sender: the local node, if the ring names it
        :param node: any device of the node
        :param roots: the root of each partition
        :param hand_offs: whether they are hand-offs here
        :returns: a process, whose result is what the node says, or a Told
            that holds for all devices
        """
        told, where = SharedTold(), endpoint(node)
        if where in self.without_verb:
            return Told(Answer.UNSUPPORTED)
        # Those that have put us off for longer are left out of the set.
        resting = {device for device in {item[1] for item in roots}
                   if self.postponed.turn((*where, device),
                                          self.clock()) is None}
        left = {item: root for item, root in roots.items()
                if item[1] not in resting}
        while left:
            reply = yield from self.calling(
                sender, node, AskNode(sender, node, left, hand_offs),
                whole_node=True)
            if reply.answer is not None:
                if reply.answer is Answer.UNSUPPORTED:
                    self.without_verb.add(where)
                return told if told.states else Told(reply.answer)
            told.add(reply.value)
            left = yield from self._awaiting_devices(where, reply.value, left)
        return told

    def _awaiting_devices(self, where: NodeTuple, found: SharedTold,
                          roots: Mapping[SharedItem, str]
                          ) -> Process[dict[SharedItem, str]]:
        """Wait for devices that put us off; return what to ask again."""
        again: set[str] = set()
        waits = [0.0]
        for device, state in found.states.items():
            key = (*where, device)
            if state.condition is not Condition.NOT_YET:
                self.postponed.answered(key)
                continue
            now = self.clock()
            self.postponed.put_off(key, now, state.seconds)
            wait = self.postponed.turn(key, now)
            if wait is not None:
                again.add(device)
                waits.append(wait)
        yield Pause(max(waits))
        return {item: root for item, root in roots.items()
                if item[1] in again}
