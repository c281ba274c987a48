# SPDX-License-Identifier: Apache-2.0
"""Partitions that do not belong to the device that holds them.

All devices that the ring names are asked about many of them at once, and
pushed what they lack. PROTOCOL.md, "Hand-offs".
"""

from collections.abc import Callable, Collection, Iterable

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.core.device_keys import device_key
from swift_lightsync.sync.core.engine.actions import Process
from swift_lightsync.sync.core.engine.exchanging import Exchanging
from swift_lightsync.sync.core.engine.peers import Peers
from swift_lightsync.sync.core.engine.playing import playing_together
from swift_lightsync.sync.core.engine.rounds import Actions, Round
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import (
    NEXT,
    Answer,
    Check,
    Exchange,
    Next,
)


def bring_home(nodes: Iterable[RingDevice],
               has_failed: Callable[[RingDevice], bool]) -> Actions:
    """Have each of some devices hold what a hand-off holds.

    :param nodes: the devices
    :param has_failed: returns whether to skip a device
    """
    for node in nodes:
        if not has_failed(node) \
                and NEXT[(yield Check(node))] is Next.EXCHANGE:
            yield Exchange((node,))


class HandOff(Round):
    """One hand-off partition's part in a pass; as ``Round``."""

    __slots__ = ('held',)
    is_hand_off = True

    def bring_home(self, nodes: Iterable[RingDevice]) -> None:
        """Begin to play.

        :param nodes: the devices that the partition belongs to
        """
        #: The devices that hold all that the partition has here.
        self.held: frozenset[DeviceTuple] = frozenset()
        self.begin(bring_home(nodes, self.has_failed))

    def answer(self, answer: Answer) -> None:
        """Take the answer to the pending Check."""
        if answer is Answer.MATCH and isinstance(self.pending, Check):
            self.held |= {device_key(self.pending.device)}
        super().answer(answer)

    def exchanged(self, key: DeviceTuple, pushed: int, suffixes: int) -> int:
        """Take the success of the pending Exchange."""
        self.held |= {key}
        return super().exchanged(key, pushed, suffixes)


def bringing_home(peers: Peers, rounds: Collection[Round], limit: int,
                  exchanging: Exchanging) -> Process[None]:
    """Play the rounds of hand-offs to their ends.

    :param peers: whom to ask
    :param rounds: the rounds
    :param limit: partitions of one message, at most
    :param exchanging: exchanges what differs
    """
    while rounds:
        yield from playing_together(peers, rounds, limit, exchanging)
        rounds = [each for each in rounds if each.pending]
        for each in rounds:
            # With this device it did not go well; the others have their turn.
            each.exchanged_alone(False)
