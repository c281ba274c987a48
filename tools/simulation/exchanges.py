# SPDX-License-Identifier: Apache-2.0
"""Performs the exchanges of the product's engine in a simulated world.

One that does not complete is done partition by partition, as a stock node
does it.
"""

from swift_lightsync.sync import missing_message
from swift_lightsync.sync.core.engine.exchange_actions import (
    AskMissing,
    AskRehash,
    AskSuffixes,
    Compare,
    Difference,
    GaveUp,
    MayGoOn,
    PushPaths,
)
from swift_lightsync.sync.core.engine.exchanging import (
    PARTITIONS,
    SUFFIXES,
    Exchanging,
)
from swift_lightsync.sync.wire import exchange_message as message
from tools.simulation.costs import RSYNC_BASE, on_wire
from tools.simulation.network import Reach
from tools.simulation.node import RSYNC_TIMEOUT
from tools.simulation.placement import Sample

#: Bytes of a message about no partition.
EMPTY = len(message.encode_suffixes([]))
#: Bytes of the line that offers an object.
LINE = 50


class Exchanges:
    """The exchanges of a node's passes.

    :param neighbours: the node's Neighbours
    """

    def __init__(self, neighbours):
        self.neighbours = neighbours
        self.world = world = neighbours.world
        # Suffixes of partitions that are simulated alike are as many.
        self._most = max(1, min(PARTITIONS, SUFFIXES // max(
            1, world.settings.objects)))
        self.exchanging = Exchanging(
            neighbours, 1, True, max(1, int(
                self._most * world.placement.pairs / world.weight)),
            float('inf'))
        self._perform = {
            MayGoOn: self._may_go_on, AskSuffixes: self._suffix_hashes,
            Compare: self._compare, AskMissing: self._missing,
            PushPaths: self._rsync, AskRehash: self._rehash,
            GaveUp: self._give_up}

    def perform(self, action):
        """A process: perform an action, and return its result."""
        perform = self._perform.get(type(action), self.neighbours.perform)
        return (yield from perform(action))

    def _may_go_on(self, action):
        yield from ()
        return self.neighbours.keeps_ring

    def _give_up(self, action):
        yield from ()

    def _sample(self, batch):
        weight = self.world.weight
        return Sample(weight, max(self.world.placement.pairs, len(
            batch.rounds) * weight / self._most))

    def _scale(self, batch):
        """Return how many of a message's partitions one stands for."""
        return self.world.weight / self._sample(batch).messages

    def _suffix_hashes(self, action):
        """A process: have the peer hash, and return its hashes."""
        world, batch = self.world, action.batch
        other, scale = batch.node['id'], self._scale(batch)
        asked = action.partitions
        suffixes = sum(world.disks.suffixes(other, partition)
                       for partition in asked)
        peer = world.nodes[other]
        work = sum(map(peer.hash, asked)) + world.network.work(
            other, world.costs.fingerprint * len(asked) * world.weight)
        answer = (round(len(asked) * message.PARTITION.size * scale)
                  + round(suffixes * message.SUFFIX_HASH.size * scale))
        return (yield from self._request(
            batch, EMPTY + round(len(asked) * message.NUMBER.size * scale),
            answer, work / self._sample(batch).messages,
            dict.fromkeys(asked, ())))

    def _request(self, batch, request, answer, work, value=None):
        """A process: send LIGHTSYNC messages, one after the other.

        :param work: seconds that the peer takes for one, besides the message
        :param value: of the Reply
        """
        neighbours, device = self.neighbours, batch.node
        sample = self._sample(batch)
        work += self.world.network.work(device['id'],
                                        self.world.costs.message)
        reach, seconds = neighbours.reach(device)
        if reach in (Reach.ANSWERED, Reach.UNANSWERED, Reach.UNMOUNTED):
            neighbours.count(device['id'], sample, request,
                             answer if reach is Reach.ANSWERED else 0)
        reach, seconds = neighbours.in_time(reach, seconds, work)
        yield seconds * (1 if reach in (Reach.SILENT, Reach.REFUSED)
                         else sample.messages)
        return neighbours.reply(reach, value)

    def _compare(self, action):
        """A process: find out which suffixes differ."""
        yield from ()
        world, other, found = self.world, action.batch.node['id'], {}
        for each in action.batch.rounds:
            differ = world.disks.lacking(each.number, other, each.partition)
            found[each] = Difference(
                ['%04x' % suffix for suffix in differ], frozenset(),
                world.disks.suffixes(each.number, each.partition))
        return found

    def _newer(self, each, other):
        """Return the suffixes that another lacks or has older."""
        disks = self.world.disks
        theirs = disks.replica(other, each.partition)
        return {suffix: version for suffix, version in disks.lacking(
            each.number, other, each.partition).items()
            if version > theirs.version(suffix)}

    def _missing(self, action):
        """A process: offer objects; those that are newer are wanted."""
        batch, differing = action.batch, action.differing
        scale, other = self._scale(batch), batch.node['id']
        newer = {each.partition: ['%d/%04x' % (each.partition, suffix)
                                  for suffix in self._newer(each, other)]
                 for each in differing}
        offered = sum(len(each.suffixes) for each in differing.values())
        wanted = sum(map(len, newer.values()))
        own = self.neighbours.own(0, batch.device)
        process = self.neighbours.calling(
            self.neighbours.endpoint if own else None, batch.node,
            (self._request, batch, EMPTY + round(
                len(differing) * missing_message.OFFERED.size * scale
                + offered * scale * (LINE + 1)),
             round(sum(map(bool, newer.values()))
                   * missing_message.LOOKED.size * scale
                   + wanted * scale * message.NUMBER.size), 0, newer))
        return (yield from self.neighbours.play(process))

    def _rehash(self, action):
        """A process: make the peer hash what was pushed."""
        batch, scale = action.batch, self._scale(action.batch)
        peer = self.world.nodes[batch.node['id']]
        hashed = sum(map(peer.hash, action.suffixes))
        return (yield from self._request(
            batch, EMPTY + round(
                len(action.suffixes) * message.PARTITION.size * scale
                + sum(map(len, action.suffixes.values())) * scale
                * message.SUFFIX.size), 0,
            hashed / self._sample(batch).messages))

    def _rsync(self, action):
        """A process: push everything by one rsync."""
        world, batch, other = self.world, action.batch, action.batch.node[
            'id']
        node, sample = self.neighbours.node, self._sample(action.batch)
        reach, seconds = node.attempt(other, world.costs.silence,
                                      sample.messages)
        if reach is not Reach.ANSWERED:
            yield seconds * sample.messages
            return False
        newer = {each: self._newer(each, other) for each in action.paths}
        scale = self._scale(batch)
        suffixes = sum(map(len, newer.values())) * scale
        size = RSYNC_BASE + sum(
            node.pushed_bytes(each.partition, differ)
            for each, differ in newer.items()) * scale
        world.network.count('push', node.number, other, on_wire(
            (0, 0), round(size), 0, kept=False), sample.messages)
        seconds = world.network.work(
            other, world.costs.push + world.costs.push_suffix * max(
                0, suffixes - 1)) + size / world.costs.bandwidth
        yield min(seconds, RSYNC_TIMEOUT) * sample.messages
        if seconds > RSYNC_TIMEOUT or not world.network.is_live(other):
            return False
        for each, differ in newer.items():
            world.disks.store(other, each.partition, differ)
        return True
