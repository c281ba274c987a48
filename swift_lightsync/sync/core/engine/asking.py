# SPDX-License-Identifier: Apache-2.0
"""Answers the Checks of many rounds with few messages.

PROTOCOL.md, "Batches", "A conversation".
"""

from collections import defaultdict
from collections.abc import Collection, Sequence

from swift_lightsync.common.address import NodeTuple
from swift_lightsync.sync.core.conversation import Told, told_of
from swift_lightsync.sync.core.device_keys import device_key, endpoint
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

    What goes to one node is one conversation; with a node that has none it is
    a message a device.

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
        messages: list[Sequence[Pair]] = []
        processes: list[Process[None]] = []
        for where, pairs in nodes.items():
            if peers.converses(where):
                shared = messages_of(pairs, limit)
                messages += shared
                processes += [_asking_node(peers, each) for each in shared]
            else:
                parts = [part for pair in pairs for part in pair.parts(limit)]
                messages += [[part] for part in parts]
                processes += [asking_pair(peers, part) for part in parts]
        ended = yield Together(processes, MESSAGES)
        for message, well in zip(messages, ended):
            for pair in () if well else message:
                pair.give_up()


def asking_pair(peers: Peers, pair: Pair) -> Process[None]:
    """Ask a neighbour about the partitions of one device.

    :param peers: whom to ask
    :param pair: the rounds to be answered
    """
    # It may have failed since the round chose it.
    told = Told(Answer.REFUSED)
    if not peers.has_failed(pair.node):
        own = peers.own(pair.policy, pair.device)
        told = yield from peers.asking_device(
            device_key(own) if own else None, pair.node, pair.policy,
            {each.partition: each.root for each in pair.rounds},
            pair.hand_offs)
        peers.note(pair.device, pair.node, pair.policy, pair.partitions,
                   told)
    pair.answer(told)


def _asking_node(peers: Peers, pairs: Sequence[Pair]) -> Process[None]:
    """Ask a node about all that its devices share with ours."""
    able = []
    for pair in pairs:
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
    if endpoint(first.node) in peers.without_shared:
        # The rounds still wait, and are asked device by device.
        return
    for pair in able:
        told = found if isinstance(found, Told) else told_of(
            found, int(pair.policy), pair.node['device'], pair.partitions)
        peers.note(pair.device, pair.node, pair.policy, pair.partitions,
                   told)
        pair.answer(told)
