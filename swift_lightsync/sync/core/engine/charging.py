# SPDX-License-Identifier: Apache-2.0
"""Charges what becomes of requests to nodes and devices.

LightSync §5.4. PROTOCOL.md, "Failed neighbours", "Busy neighbours", "Notices".
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from swift_lightsync.common.address import DeviceTuple, NodeTuple, PlaceTuple
from swift_lightsync.sync.core.device_keys import device_key, endpoint
from swift_lightsync.sync.core.engine.actions import (
    Failed,
    Outcome,
    Pause,
    Process,
    Reply,
    Sender,
)
from swift_lightsync.sync.core.failures import Failures
from swift_lightsync.sync.core.postponed import Postponed
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.wire.notice import Notice


@dataclass
class Tally:
    """What a pass did.

    :param asked: partitions that neighbours were asked about one by one, once
        for each neighbour
    :param differing: those of them that differed
    :param busy: those that were put off to a later pass
    :param pushed: those that were pushed something, likewise
    :param scrubbed: partitions that were listed anew
    :param closed: nodes and devices over which rings were closed
    """
    asked: int = 0
    differing: int = 0
    busy: int = 0
    pushed: int = 0
    scrubbed: int = 0
    closed: int = 0


#: Most nodes that one notice goes to.
MAX_NOTIFIED = 128


class Chance(Protocol):
    """Makes random choices, as the module ``random`` does."""

    def random(self) -> float:
        """Return a number from 0 to 1."""

    def sample(self, population: Sequence[RingDevice],
               k: int) -> list[RingDevice]:
        """Return so many of the devices."""


class Charging:
    """Requests to other nodes, whose outcome goes into the failure table.

    :param failures: the failure table
    :param clock: returns the time of one clock, seconds
    :param chance: chooses who is told, and when to ask again
    """

    def __init__(self, failures: Failures, clock: Callable[[], float],
                 chance: Chance) -> None:
        self.failures = failures
        self.clock = clock
        self.postponed = Postponed(chance.random)
        self._chance = chance
        #: The devices that share partitions with us.
        self.sharing: Mapping[DeviceTuple, RingDevice] = {}
        #: Whether a message is about all that a node is asked in the pass.
        self.batched = False
        #: When nodes let a pass that batches wait for a connection.
        self._silent: dict[NodeTuple, float] = {}
        #: What the pass has done so far.
        self.tally = Tally()
        #: Keys that this pass has already sent a notice about.
        self._notified: set[PlaceTuple] = set()

    def _begin_pass(self, sharing: Mapping[DeviceTuple, RingDevice],
                    batched: bool) -> None:
        self.sharing = sharing
        self.batched = batched
        self._silent.clear()
        self._notified.clear()
        self.tally = Tally()
        self.postponed.begin_pass()

    def has_failed(self, node: RingDevice) -> bool:
        """Return whether to skip a device for now (§5.4.1)."""
        where = endpoint(node)
        return (self._is_silent(where) or self.failures.has_failed(where)
                or self.failures.has_failed(device_key(node)))

    def _is_silent(self, where: NodeTuple) -> bool:
        then = self._silent.get(where)
        return then is not None \
            and self.clock() - then < self.failures.interval

    def calling(self, sender: Sender, node: RingDevice, request: object,
             whole_node: bool = False) -> Process[Reply]:
        """Send a request, again and again while the node puts us off, as far
        as the pass has time.

        :param sender: the local node
        :param node: the device to talk to
        :param request: an action whose result is a Reply
        :param whole_node: whether it is about all devices of the node
        :returns: the process of it, whose result is the Reply
        """
        keys: dict[Answer, PlaceTuple] = {Answer.BUSY: endpoint(node)}
        if not whole_node:
            keys[Answer.NOT_YET] = device_key(node)
        while True:
            for answer, key in keys.items():
                wait = self.postponed.turn(key, self.clock())
                if wait is None:
                    return Reply(Outcome.ANSWERED, refusal=answer)
                if wait:
                    yield Pause(wait)
            reply: Reply = yield request
            yield from self._charge(sender, node, reply, whole_node)
            put_off = keys.get(reply.answer) if reply.answer else None
            if put_off is None:
                break
            self.postponed.put_off(put_off, self.clock())
        if reply.answer is None:
            for key in keys.values():
                self.postponed.answered(key)
        return reply

    def _charge(self, sender: Sender, node: RingDevice, reply: Reply,
                whole_node: bool = False) -> Iterator[Failed]:
        """Record the outcome of a request."""
        # Message by message, what a hanging disk keeps waiting is known.
        about = endpoint(node) if whole_node and self.batched \
            else device_key(node)
        if reply.outcome is Outcome.ANSWERED:
            self.contact(node)
        elif reply.outcome is Outcome.REFUSED:
            yield self._failed(sender, node, endpoint(node), 1, reply)
        elif reply.outcome is Outcome.SILENT:
            if self.batched:
                self._silent[endpoint(node)] = self.clock()
            yield self._failed(sender, node, endpoint(node), self.patience,
                               reply)
        elif reply.outcome is Outcome.BROKEN:
            yield self._failed(sender, node, about, 1, reply)
        else:
            yield self._failed(sender, node, about, self.costly, reply)

    @property
    def patience(self) -> int:
        """The weight of a time-out, which holds up the pass.

        A refusal, which has weight 1, costs next to nothing.
        """
        return max(2, -(-self.failures.limit // 5))

    @property
    def costly(self) -> int:
        """The weight of what has held up the pass: once is enough."""
        return max(self.failures.limit, self.patience)

    def contact(self, node: RingDevice) -> None:
        """Note that a device, and so its node, answered."""
        self._silent.pop(endpoint(node), None)
        self.failures.contact(endpoint(node))
        self.failures.contact(device_key(node))

    def _failed(self, sender: Sender, node: RingDevice, key: PlaceTuple,
                weight: int, reply: Reply) -> Failed:
        closes = self.failures.record(key, weight)
        self.tally.closed += closes
        # To find out about a refusal costs the others nothing.
        if not sender or not (closes or weight > 1) or key in self._notified:
            return Failed(node, key, closes, reply.error)
        self._notified.add(key)
        notice = Notice(sender, key)
        return Failed(node, key, closes, reply.error, notice,
                      self._to_tell(notice))

    def _to_tell(self, notice: Notice) -> Sequence[RingDevice]:
        """Return a device of each node of the closed rings (§5.4.2)."""
        sharing = {endpoint(node): node for node in self.sharing.values()
                   if not self.has_failed(node)}
        others = [
            node for where, node in sharing.items()
            if where not in (notice.reporter, notice.failed[:2])]
        return self._chance.sample(others, min(len(others), MAX_NOTIFIED))
