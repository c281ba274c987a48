# SPDX-License-Identifier: Apache-2.0
"""Plays the rounds of partitions, together or one by one.

PROTOCOL.md, "Batches".
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from swift_lightsync.sync.core.engine.actions import Process
from swift_lightsync.sync.core.engine.asking import asking, asking_node
from swift_lightsync.sync.core.engine.exchanging import Exchanging
from swift_lightsync.sync.core.engine.grouping import Pair
from swift_lightsync.sync.core.engine.peers import Peers
from swift_lightsync.sync.core.engine.rounds import Relist, Round
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Check


@dataclass(frozen=True)
class ListAnew:
    """Lists partitions anew, and tells those of their rounds that could be.

    :param rounds: the rounds, whose pending action is Relist
    """
    rounds: Sequence[Round]


@dataclass(frozen=True)
class ExchangeAlone:
    """Exchanges a partition as stock Swift does; the result tells if all went
    well.

    :param round: the partition's round
    :param nodes: the devices to exchange it with
    """
    round: Round
    nodes: Sequence[RingDevice]


def playing_together(peers: Peers, rounds: Collection[Round], limit: int,
                     exchanging: Exchanging) -> Process[None]:
    """Play rounds as far as they can be played together.

    :param peers: whom to ask
    :param rounds: the rounds; afterwards those that have something left to do
        have an Exchange, or a Relist, pending
    :param limit: partitions of one message, at most
    :param exchanging: exchanges what differs
    """
    waiting = list(rounds)
    while waiting:
        due = [each for each in waiting if isinstance(each.pending, Relist)]
        if due:
            peers.tally.scrubbed += len(due)
            yield ListAnew(due)
        yield from asking(peers, waiting, limit)
        yield from exchanging.running(waiting)
        waiting = [each for each in waiting
                   if isinstance(each.pending, Check)]


def playing_alone(peers: Peers, each: Round,
                  exchanging: Exchanging) -> Process[None]:
    """Play a round to its end.

    :param peers: whom to ask
    :param each: the round
    :param exchanging: exchanges what differs, as far as it can
    """
    while each.pending:
        if isinstance(each.pending, Check):
            yield from asking_node(peers, [Pair(
                each.policy, each.device, each.pending.device, [each])])
        elif isinstance(each.pending, Relist):
            yield ListAnew([each])
        else:
            before = each.pending
            yield from exchanging.running([each])
            if each.pending is before:
                each.note_exchanged()
                nodes = each.able()
                each.exchanged_alone(bool(nodes) and (
                    yield ExchangeAlone(each, nodes)))
