# SPDX-License-Identifier: Apache-2.0
"""Exchanges of many partitions with one neighbour, done together.

Partitions that it does not complete, for whatever reason, are left to be
exchanged one by one. PROTOCOL.md, "An exchange".
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from swift_lightsync.common.address import DeviceTuple, NodeTuple
from swift_lightsync.sync.core.device_keys import device_key, endpoint
from swift_lightsync.sync.core.engine.actions import (
    Process,
    Reply,
    Sender,
    Together,
)
from swift_lightsync.sync.core.engine.exchange_actions import (
    AskMissing,
    AskRehash,
    AskSuffixes,
    Batch,
    Compare,
    Differences,
    GaveUp,
    MayGoOn,
    PushPaths,
    PushSuffixes,
)
from swift_lightsync.sync.core.engine.peers import Peers
from swift_lightsync.sync.core.engine.rounds import Round
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import Answer

#: Most partitions, and most suffixes of theirs, that are exchanged at once.
PARTITIONS = 64
SUFFIXES = 8192


class _Unanswered(Exception):
    """A message of an exchange has no value."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply)
        self.reply = reply


class Exchanging:
    """The exchanges that some rounds want, done in batches.

    :param peers: whom to exchange with
    :param concurrency: how many exchanges are under way at once
    :param in_pieces: whether one push is for many partitions, object by
        object (rsync), or each partition is pushed by itself (ssync)
    :param partitions: most partitions of a batch
    :param suffixes: most suffixes of theirs
    """

    def __init__(self, peers: Peers, concurrency: int, in_pieces: bool,
                 partitions: int = PARTITIONS,
                 suffixes: float = SUFFIXES) -> None:
        self.peers = peers
        self.concurrency = concurrency
        self.in_pieces = in_pieces
        self.partitions = partitions
        self.suffixes = suffixes
        #: Nodes that have the verb, but not ``missing``.
        self._without_missing: set[NodeTuple] = set()

    def running(self, rounds: Collection[Round]) -> Process[None]:
        """Exchange what can be exchanged, and tell the rounds.

        :param rounds: rounds of one or several devices; those that want no
            exchange are passed over
        """
        groups = self._groups(rounds)
        while groups:
            yield Together([self._group(node, group)
                            for node, group in groups], self.concurrency)
            groups = self._groups(rounds)

    @staticmethod
    def _groups(rounds: Iterable[Round]
                ) -> list[tuple[RingDevice, list[Round]]]:
        """Return devices with the rounds that want an exchange with them."""
        nodes: dict[DeviceTuple, RingDevice] = {}
        groups: dict[Any, list[Round]] = defaultdict(list)
        for each in rounds:
            for node in each.exchangeable():
                key = device_key(node)
                nodes[key] = node
                groups[each.device, each.policy, key].append(each)
                each.trying(key)
        return [(nodes[key], group)
                for (_, _, key), group in groups.items()]

    def _batches(self, rounds: Iterable[Round]) -> Iterator[list[Round]]:
        """Cut rounds into lists that are exchanged at once."""
        batch: list[Round] = []
        suffixes = 0
        for each in rounds:
            if batch and (len(batch) == self.partitions
                          or suffixes + each.suffixes > self.suffixes):
                yield batch
                batch, suffixes = [], 0
            batch.append(each)
            suffixes += each.suffixes
        if batch:
            yield batch

    def _group(self, node: RingDevice, group: list[Round]) -> Process[None]:
        left = list(group)
        for rounds in self._batches(group):
            batch = Batch(node, rounds)
            if not (yield MayGoOn(batch)):
                return
            if rounds[0].around.cannot_push(node):
                # It has failed since the group was made.
                return
            try:
                done = yield from self._exchange(batch)
            except _Unanswered as unanswered:
                if unanswered.reply.is_postponement:
                    for each in left:
                        each.put_off(device_key(node))
                else:
                    yield from self._give_up(batch, unanswered.reply)
                return
            for each, pushed, count in done:
                each.exchanged(device_key(node), pushed, count)
                self.peers.tally.pushed += bool(pushed)
            left = left[len(rounds):]

    def _give_up(self, batch: Batch, reply: Reply) -> Process[None]:
        if reply.answer is Answer.UNSUPPORTED:
            # Stock Swift: treat it like one that refused a sync message.
            self.peers.without_verb.add(endpoint(batch.node))
        yield GaveUp(batch, reply)

    def _ask(self, batch: Batch, request: object) -> Process[Any]:
        own = self.peers.own(batch.policy, batch.device)
        sender: Sender = endpoint(own) if own else None
        reply = yield from self.peers.calling(sender, batch.node, request)
        if reply.answer is not None:
            raise _Unanswered(reply)
        return reply.value

    def _exchange(self, batch: Batch
                  ) -> Process[list[tuple[Round, int, int]]]:
        """Exchange a batch.

        :returns: each round of which the device now holds everything, the
            number of suffixes pushed to, and the number of its suffixes
        """
        theirs = yield from self._suffix_hashes(batch)
        found: Differences = {}
        if theirs:
            found = yield Compare(batch, theirs)
        differing = {each: difference for each, difference in found.items()
                     if difference.suffixes}
        pushed: Mapping[Round, int] = {}
        if differing:
            pushed = yield from self._push(batch, differing)
        return [(each, pushed.get(each, 0), difference.count)
                for each, difference in found.items()
                if each in pushed or each not in differing]

    def _suffix_hashes(self, batch: Batch) -> Process[dict[int, Any]]:
        """Return the suffix hashes that a device has of partitions.

        It is asked again about those that it had no time for, as long as it
        gets on; those that it cannot read are left out.
        """
        found: dict[int, Any] = {}
        left = [each.partition for each in batch.rounds]
        while left:
            more = yield from self._ask(batch, AskSuffixes(batch, left))
            if not more:
                break
            found.update(more)
            left = [partition for partition in left if partition not in more]
        return found

    def _push(self, batch: Batch,
              differing: Differences) -> Process[dict[Round, int]]:
        """Push what the device lacks.

        :returns: for each round of which nothing is left to push, the number
            of suffixes that were pushed to
        """
        pushed: dict[Round, int] = {}
        if self.in_pieces:
            pushed = yield from self._push_pieces(batch, differing)
        else:
            for each, difference in differing.items():
                if (yield PushSuffixes(batch, each, difference.suffixes)):
                    pushed[each] = len(difference.suffixes)
        if pushed:
            yield from self._ask(batch, AskRehash(batch, {
                each.partition: differing[each].suffixes for each in pushed}))
        return pushed

    def _push_pieces(self, batch: Batch,
                     differing: Differences) -> Process[dict[Round, int]]:
        paths = yield from self._missing(batch, differing)
        known: dict[Round, Sequence[str]] = {
            each: paths[each.partition] for each in differing
            if each.partition in paths}
        to_push = {each: found for each, found in known.items() if found}
        if to_push and not (yield PushPaths(
                batch, {each: differing[each] for each in to_push}, to_push)):
            known = {each: () for each in known if each not in to_push}
        return {each: len({path.split('/')[1] for path in found})
                for each, found in known.items()}

    def _missing(self, batch: Batch, differing: Differences
                 ) -> Process[Mapping[int, Sequence[str]]]:
        """Return the paths that a device lacks, by partition."""
        where = endpoint(batch.node)
        reply: Reply = yield AskMissing(batch, differing,
                                        where in self._without_missing)
        if reply.answer is Answer.UNSUPPORTED \
                and where not in self._without_missing:
            self._without_missing.add(where)
            reply = yield AskMissing(batch, differing, True)
        if reply.answer is not None:
            raise _Unanswered(reply)
        found: Mapping[int, Sequence[str]] = reply.value
        return found
