# SPDX-License-Identifier: Apache-2.0
"""Answers the Checks of many rounds with few messages.

PROTOCOL.md, "Batches", "A conversation".
"""

from collections import defaultdict
from collections.abc import Collection, Iterable

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.core.conversation import Told, told_of
from swift_lightsync.sync.core.device_keys import endpoint
from swift_lightsync.sync.core.engine.actions import Process, Together
from swift_lightsync.sync.core.engine.grouping import (
    Pair,
    messages_of,
    pairs_of,
)
from swift_lightsync.sync.core.engine.peers import Peers
from swift_lightsync.sync.core.engine.rounds import Round
from swift_lightsync.sync.core.sync_round import Answer

#: Messages under way at once.
MESSAGES = 16


def asking(peers: Peers, rounds: Collection[Round],
           limit: int) -> Process[None]:
    """Answer the Checks of rounds, until none is pending.

    What goes to one node is one conversation.

    :param peers: whom to ask
    :param rounds: the rounds
    :param limit: partitions of one message, at most
    """
    while True:
        nodes: dict[NodeTuple, list[Pair]] = defaultdict(list)
        for pair in pairs_of(rounds):
            nodes[endpoint(pair.node)].append(pair)
        if not nodes:
            return
        messages = [message for pairs in nodes.values()
                    for message in messages_of(pairs, limit)]
        ended = yield Together([asking_node(peers, message)
                                for message in messages], MESSAGES)
        for message, well in zip(messages, ended):
            for pair in () if well else message:
                pair.give_up()


def asking_node(peers: Peers, pairs: Iterable[Pair]) -> Process[None]:
    """Ask a node about all that its devices share with ours.

    :param peers: whom to ask
    :param pairs: the rounds to be answered, by the neighbours, which are
        devices of one node
    """
    able = []
    for pair in pairs:
        # It may have failed since the round chose it.
        if peers.has_failed(pair.node):
            pair.answer(Told(Answer.REFUSED))
        else:
            able.append(pair)
    if not able:
        return
    first = able[0]
    own = peers.own(first.policy, first.device)
    found = yield from peers.asking_node(
        endpoint(own) if own else None, first.node,
        {item: each.root for pair in able for item, each in pair.items()},
        first.hand_offs)
    for pair in able:
        told = found if isinstance(found, Told) else told_of(
            found, int(pair.policy), pair.node['device'], pair.partitions)
        peers.note(pair.device, pair.node, pair.policy, pair.partitions,
                   told)
        pair.answer(told)
