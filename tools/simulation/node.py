# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""
A storage node that replicates as stock Swift does: each partition is compared
with each of its other replicas, suffix by suffix.
"""

from tools.simulation.costs import FILE_HEAD, FRAME, HASHES_BASE, \
    HASHES_EACH, REPLICATE_HEADS, RSYNC_BASE, UNANSWERED, on_wire
from tools.simulation.network import Reach


class Node:
    """
    :param world: the :class:`World` it is in
    :param number: its number
    """

    def __init__(self, world, number):
        self.world = world
        self.number = number
        self.device = world.placement.devices[number]
        #: Seconds that its last pass took, or None if it did not end.
        self.pass_seconds = None

    @property
    def now(self):
        return self.world.events.now

    def shuffled(self):
        """The partitions held here, in the order of a pass (§5.4.3)."""
        partitions = list(self.world.held[self.number])
        self.world.rng.shuffle(partitions)
        return partitions

    def timed_pass(self):
        """A process: one pass of the replicator."""
        begin = self.now
        self.pass_seconds = None
        yield from self.run_pass()
        self.pass_seconds = self.now - begin

    def run_pass(self):
        for partition in self.shuffled():
            yield self.hash(partition)
            others = [other for other in self.world.placement.rows[partition]
                      if other != self.number]
            self.world.rng.shuffle(others)
            for other in others:
                yield from self.exchange(partition, other)

    def hash(self, partition):
        """
        Bring the suffix hashes of a replica here up to date.

        :returns: the seconds it takes
        """
        hashed = self.world.disks.replica(self.number, partition).hash()
        return hashed * self.world.costs.rehash * self.world.weight

    def attempt(self, other, silence, number=1.0):
        """
        Send to a node.

        :param silence: seconds that no answer to a connection attempt takes
        :param number: how many requests this stands for
        :returns: a pair, a Reach and the seconds until the request arrives,
            or until the sender gives it up
        """
        network, costs = self.world.network, self.world.costs
        reach = network.reach(self.number, other)
        if reach in (Reach.REFUSED, Reach.SILENT, Reach.LOST):
            network.count('unanswered', self.number, other,
                          UNANSWERED * FRAME, number)
        return reach, {Reach.ANSWERED: network.latency,
                       Reach.REFUSED: 2 * network.latency,
                       Reach.SILENT: silence,
                       Reach.LOST: costs.conn_timeout,
                       Reach.UNANSWERED: costs.http_timeout}[reach]

    def exchange(self, partition, other):
        """
        A process: compare suffix by suffix with a node, and push what
        differs.

        :returns: whether all went well
        """
        world, weight = self.world, self.world.weight
        reach, seconds = self.attempt(other, world.costs.silence, weight)
        if reach is not Reach.ANSWERED and reach is not Reach.UNANSWERED:
            yield seconds * weight
            return False
        hashes = HASHES_BASE + HASHES_EACH * world.disks.suffixes(
            other, partition)
        world.network.count('REPLICATE', self.number, other, on_wire(
            REPLICATE_HEADS, 0, hashes, kept=False), weight)
        if reach is Reach.UNANSWERED:
            yield seconds * weight
            return False
        yield seconds * weight
        theirs = world.nodes[other].hash(partition)
        yield theirs + (world.costs.message + world.network.latency) * weight
        differ = world.disks.lacking(self.number, other, partition)
        if not differ:
            return True
        return (yield from self._push(partition, other, differ))

    def _push(self, partition, other, differ):
        """A process: rsync, and REPLICATE again to have the peer hash."""
        world, weight = self.world, self.world.weight
        reach, seconds = self.attempt(other, world.costs.silence, weight)
        if reach is not Reach.ANSWERED:
            yield seconds * weight
            return False
        size = RSYNC_BASE + sum(
            FILE_HEAD + world.costs.object_bytes * world.disks.has_contents(
                partition, suffix, version)
            for suffix, version in differ.items())
        world.network.count('push', self.number, other, on_wire(
            (0, 0), size, 0, kept=False), weight)
        yield (world.costs.push + size / world.costs.bandwidth) * weight
        if other in world.network.down:
            return False
        theirs = world.disks.replica(other, partition)
        for suffix, version in differ.items():
            theirs.store(suffix, version)
        world.network.count('REPLICATE', self.number, other, on_wire(
            REPLICATE_HEADS, 0, HASHES_BASE, kept=False), weight)
        yield world.nodes[other].hash(partition) + (
            world.costs.message * weight)
        return True

    def take_roots(self, sender, data, messages):
        raise NotImplementedError('a stock node is not sent sync messages')
