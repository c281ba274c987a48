# SPDX-License-Identifier: Apache-2.0
"""A storage node that replicates as stock Swift does: each partition is
compared with each of its other replicas, suffix by suffix.
"""

from itertools import chain

from swift_lightsync.sync.keys import device_key
from tools.simulation.costs import (
    FILE_HEAD,
    FRAME,
    HASHES_BASE,
    HASHES_EACH,
    REPLICATE_HEADS,
    RSYNC_BASE,
    UNANSWERED,
    on_wire,
)
from tools.simulation.network import Reach

#: Seconds after which Swift gives up an rsync.
RSYNC_TIMEOUT = 900


class Node:
    """A device of a node of a world.

    :param world: the :class:`World` it is in
    :param number: its number
    """

    def __init__(self, world, number):
        self.world = world
        self.number = number
        #: All devices of the node; the first one runs its passes.
        self.mates = [self]
        #: The object ring that it has: a :class:`Placement`.
        self.ring = world.placement
        self.device = self.ring.devices[number]
        #: Seconds that the node's last pass took, or None if it did not end.
        self.pass_seconds = None

    def join(self, leader):
        """Become one of the devices of the leader's node."""

    @property
    def now(self):
        return self.world.events.now

    def shuffled(self):
        """Return the partitions held here, in the order of a pass (§5.4.3)."""
        partitions = sorted(self.world.disks.held[self.number])
        self.world.rng.shuffle(partitions)
        return partitions

    def is_ours(self, partition):
        """Check whether the ring names this node for a partition."""
        return self.number in self.ring.rows[partition]

    def others(self, partition):
        """Return the devices that the ring names besides this one."""
        return [device for device in self.ring.part_nodes(partition)
                if device['id'] != self.number]

    def timed_pass(self):
        """A process: one pass of the node's replicator."""
        begin = self.now
        self.pass_seconds = None
        network = self.world.network
        working = [mate for mate in self.mates
                   if network.is_live(mate.number)
                   and not network.hangs(mate.number)]
        if working:
            yield from self.run_pass(working)
        self.pass_seconds = self.now - begin

    def run_pass(self, mates):
        """A process: a pass over some of the node's devices."""
        for mate in mates:
            yield from mate.run_own_pass()

    def run_own_pass(self):
        ring = self.ring
        for partition in self.shuffled():
            if self.ring is not ring:
                return
            if self.is_ours(partition):
                yield self.hash(partition)
                others = self.others(partition)
                self.world.rng.shuffle(others)
                yield from self.exchange_all(partition, others)
            else:
                yield from self.revert(partition)

    def hash(self, partition):
        """Bring the suffix hashes of a replica here up to date.

        :returns: the seconds it takes
        """
        hashed = self.world.disks.replica(self.number, partition).hash()
        return self.world.network.work(
            self.number,
            hashed * self.world.costs.rehash * self.world.weight)

    def attempt(self, other, silence, number=1.0):
        """Send to a node.

        :param silence: seconds until an unanswered connection attempt is given
            up
        :param number: how many requests this stands for
        :returns: a pair, a Reach and the seconds until the request arrives, or
            until the sender gives it up
        """
        network, costs = self.world.network, self.world.costs
        reach = network.reach(self.number, other)
        if reach in (Reach.REFUSED, Reach.SILENT, Reach.LOST):
            network.count('unanswered', self.number, other,
                          UNANSWERED * FRAME, number)
        return reach, {Reach.ANSWERED: network.latency,
                       Reach.UNMOUNTED: 2 * network.latency,
                       Reach.REFUSED: 2 * network.latency,
                       Reach.SILENT: silence,
                       Reach.LOST: costs.conn_timeout,
                       Reach.UNANSWERED: costs.http_timeout}[reach]

    def exchange_all(self, partition, devices):
        """A process: compare with devices, and with a hand-off for each that
        is not mounted.

        :returns: whether all went well
        """
        well, left = True, len(devices)
        for device in chain(devices, self.ring.more_nodes(partition)):
            if not left:
                break
            reach = yield from self.exchange(partition, device['id'])
            well = well and reach is Reach.ANSWERED
            left -= reach is not Reach.UNMOUNTED
        return well

    def exchange(self, partition, other):
        """A process: compare suffix by suffix with a node, and push the
        differing suffixes.

        :returns: a Reach: ANSWERED if all went well
        """
        world, weight = self.world, self.world.weight
        reach, seconds = self.attempt(other, world.costs.silence, weight)
        yield seconds * weight
        if reach is Reach.UNMOUNTED:
            world.network.count('REPLICATE', self.number, other, on_wire(
                REPLICATE_HEADS, 0, 0, kept=False), weight)
        if reach not in (Reach.ANSWERED, Reach.UNANSWERED):
            return reach
        hashes = HASHES_BASE + HASHES_EACH * world.disks.suffixes(
            other, partition)
        world.network.count('REPLICATE', self.number, other, on_wire(
            REPLICATE_HEADS, 0, hashes, kept=False), weight)
        if reach is Reach.UNANSWERED:
            return reach
        theirs = world.nodes[other].hash(partition) + world.network.work(
            other, world.costs.message * weight)
        if theirs > world.costs.http_timeout * weight:
            yield world.costs.http_timeout * weight
            return Reach.UNANSWERED
        yield theirs + world.network.latency * weight
        differ = world.disks.lacking(self.number, other, partition)
        if not differ:
            return Reach.ANSWERED
        return (yield from self._push(partition, other, differ))

    def revert(self, partition, held=()):
        """A process: push a partition that this node holds as a hand-off to
        the nodes that the ring names, and delete it once all of them have it.

        :param held: the ``device_key`` of those that are known to have it
        """
        yield self.hash(partition)
        reached = []
        for device in self.others(partition):
            if device_key(device) in held:
                continue
            reached.append((yield from self._push(
                partition, device['id'], self.world.disks.lacking(
                    self.number, device['id'], partition))))
        if all(reach is Reach.ANSWERED for reach in reached):
            self.world.disks.remove(self.number, partition)

    def pushed_bytes(self, partition, differ):
        """Return the bytes of suffixes, a dict to versions."""
        return sum(FILE_HEAD + self.world.costs.object_bytes
                   * self.world.disks.has_contents(partition, suffix, version)
                   for suffix, version in differ.items())

    def _push(self, partition, other, differ):
        """A process: rsync, and send REPLICATE again to make the peer hash."""
        world, weight = self.world, self.world.weight
        reach, seconds = self.attempt(other, world.costs.silence, weight)
        if reach is not Reach.ANSWERED:
            yield seconds * weight
            return reach
        size = RSYNC_BASE + self.pushed_bytes(partition, differ)
        world.network.count('push', self.number, other, on_wire(
            (0, 0), size, 0, kept=False), weight)
        seconds = (world.network.work(other, world.costs.push)
                   + size / world.costs.bandwidth)
        yield min(seconds, RSYNC_TIMEOUT) * weight
        if seconds > RSYNC_TIMEOUT or not world.network.is_live(other):
            return Reach.UNANSWERED
        world.disks.store(other, partition, differ)
        world.network.count('REPLICATE', self.number, other, on_wire(
            REPLICATE_HEADS, 0, HASHES_BASE, kept=False), weight)
        yield min(world.nodes[other].hash(partition) + world.network.work(
            other, world.costs.message * weight),
            world.costs.http_timeout * weight)
        return Reach.ANSWERED
