# SPDX-License-Identifier: Apache-2.0
"""
Exchanges of many partitions with one neighbour, done together (PROTOCOL.md,
"An exchange").

An exchange that does not complete here is done partition by partition, as a
stock node does it.
"""

from collections import defaultdict

from swift_lightsync.sync import missing_message
from swift_lightsync.sync.exchange_batch import PARTITIONS, SUFFIXES
from swift_lightsync.sync.wire import exchange_message as message
from tools.simulation.costs import RSYNC_BASE, on_wire
from tools.simulation.network import Reach
from tools.simulation.node import RSYNC_TIMEOUT
from tools.simulation.placement import Sample

#: Bytes of a message about no partition.
EMPTY = len(message.encode_suffixes([]))
#: Bytes of the line that offers an object.
LINE = 50


class ExchangeBatch:
    """
    The exchanges that some rounds wait for, by neighbour.

    :param node: the :class:`LightSyncNode`
    :param rounds: a list of PartitionRounds; those that want an exchange are
        dealt with
    """

    def __init__(self, node, rounds):
        self.node = node
        self.world = node.world
        self.groups = defaultdict(list)
        for each in rounds:
            for device in each.wanted():
                self.groups[device['id']].append(each)

    def run(self):
        """
        A process: exchange with one neighbour after the other, as concurrency
        is 1.
        """
        placement = self.world.placement
        # Suffixes of partitions that are simulated alike are as many.
        most = max(1, min(PARTITIONS, SUFFIXES // max(
            1, self.world.settings.objects)))
        size = max(1, int(most * placement.pairs / placement.weight))
        for number, group in self.groups.items():
            device = self.node.ring.devices[number]
            for start in range(0, len(group), size):
                batch = group[start:start + size]
                messages = max(placement.pairs,
                               len(batch) * placement.weight / most)
                if not (yield from self._exchange(
                        device, batch, Sample(placement.weight, messages))):
                    break

    def _exchange(self, device, batch, sample):
        """
        A process: exchange a batch of partitions with a neighbour.

        :returns: whether it was done
        """
        world, other = self.world, device['id']
        work = sum(world.nodes[other].hash(each.partition) for each in batch)
        work += world.network.work(
            other, world.costs.fingerprint * len(batch) * world.weight)
        if not (yield from self._request(
                device, sample, EMPTY + self._share(
                    batch, message.NUMBER.size, sample),
                self._answer_bytes(device, batch, sample),
                work / sample.messages)):
            return False
        differing = {}
        for each in batch:
            differ = world.disks.lacking(self.node.number, other,
                                         each.partition)
            if differ:
                differing[each.partition] = differ
        if differing and not (yield from self._push(
                device, differing, sample)):
            return False
        for each in batch:
            each.exchanged(other)
        return True

    def _share(self, batch, each, sample):
        """
        Return the bytes of one message with so many bytes for each partition.
        """
        return round(len(batch) * each * self.world.weight / sample.messages)

    def _answer_bytes(self, device, batch, sample):
        suffixes = sum(self.world.disks.suffixes(device['id'],
                                                 each.partition)
                       for each in batch)
        return (self._share(batch, message.PARTITION.size, sample)
                + round(suffixes * message.SUFFIX_HASH.size
                        * self.world.weight / sample.messages))

    def _request(self, device, sample, request, answer, work):
        """
        A process: send LIGHTSYNC messages, one after the other.

        :param work: seconds that the peer takes for one, besides the message
        :returns: whether it was answered
        """
        neighbours = self.node.neighbours
        work += self.world.network.work(device['id'],
                                        self.world.costs.message)
        reach, seconds = neighbours.reach(device)
        if reach in (Reach.ANSWERED, Reach.UNANSWERED, Reach.UNMOUNTED):
            neighbours.count(device['id'], sample, request,
                             answer if reach is Reach.ANSWERED else 0)
        reach, seconds = neighbours.in_time(reach, seconds, work)
        yield seconds * (1 if reach in (Reach.SILENT, Reach.REFUSED)
                         else sample.messages)
        return neighbours.charge(device, reach) is None

    def _newer(self, other, differing):
        """
        Return the differing suffixes that the other node lacks or has older.
        """
        newer = {}
        for partition, differ in differing.items():
            theirs = self.world.disks.replica(other, partition)
            lacks = {suffix: version for suffix, version in differ.items()
                     if version > theirs.version(suffix)}
            if lacks:
                newer[partition] = lacks
        return newer

    def _push(self, device, differing, sample):
        """
        A process: offer objects, push the wanted ones by one rsync, and make
        the peer hash.

        :returns: whether it was done
        """
        other, scale = device['id'], self.world.weight / sample.messages
        newer = self._newer(other, differing)
        offered, wanted = (sum(map(len, each.values())) * scale
                           for each in (differing, newer))
        if not (yield from self._request(
                device, sample, EMPTY + round(
                    len(differing) * missing_message.OFFERED.size * scale
                    + offered * (LINE + 1)),
                round(len(newer) * missing_message.LOOKED.size * scale
                      + wanted * message.NUMBER.size), 0)):
            return False
        if newer and not (yield from self._rsync(other, newer, wanted,
                                                 sample)):
            return False
        hashed = sum(self.world.nodes[other].hash(partition)
                     for partition in differing)
        return (yield from self._request(
            device, sample, EMPTY + round(
                len(differing) * message.PARTITION.size * scale
                + offered * message.SUFFIX.size), 0,
            hashed / sample.messages))

    def _rsync(self, other, newer, suffixes, sample):
        """
        A process: push everything by one rsync.

        :param suffixes: how many suffixes one rsync pushes
        :returns: whether it was done
        """
        node, world = self.node, self.world
        reach, seconds = node.attempt(other, world.costs.silence,
                                      sample.messages)
        if reach is not Reach.ANSWERED:
            yield seconds * sample.messages
            return False
        size = RSYNC_BASE + sum(
            node.pushed_bytes(partition, differ)
            for partition, differ in newer.items()
        ) * world.weight / sample.messages
        world.network.count('push', node.number, other, on_wire(
            (0, 0), round(size), 0, kept=False), sample.messages)
        seconds = world.network.work(
            other, world.costs.push + world.costs.push_suffix * max(
                0, suffixes - 1)) + size / world.costs.bandwidth
        yield min(seconds, RSYNC_TIMEOUT) * sample.messages
        if seconds > RSYNC_TIMEOUT or not world.network.is_live(other):
            return False
        for partition, differ in newer.items():
            world.disks.store(other, partition, differ)
        return True
