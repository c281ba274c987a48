# SPDX-License-Identifier: Apache-2.0
"""A cluster: nodes, network and disks, and the events that befall them.

Nothing in it knows the real time; all randomness follows from the seed.
"""

import random
from collections import Counter
from dataclasses import dataclass, field

from swift_lightsync.sync.replicator_options import DEFAULT_BATCH
from tools.arguments import require
from tools.simulation import placement
from tools.simulation.costs import TODAY, Costs
from tools.simulation.disks import Disks
from tools.simulation.events import Events
from tools.simulation.lightsync_node import LightSyncNode
from tools.simulation.network import Network, Reach
from tools.simulation.node import Node

#: Name -> (topology, partitions in a sync message); stock has neither.
PROTOCOLS = {
    'stock': None,
    'lightsync': (placement.ring, DEFAULT_BATCH),
    'lightsync-unbatched': (placement.ring, 1),
    'star': (placement.star, 1),
    'chain': (placement.chain, 1),
}
MAX_NODES = 10000
MAX_DISKS = 100
MAX_REPLICAS = 9
MAX_PARTITIONS = 1 << 24


@dataclass(frozen=True)
class Settings:
    """The settings of a simulation.

    :param disks: devices of a node
    :param objects: objects of a partition
    :param sample: partitions that are simulated one by one, at most
    :param full_exchange: seconds between two; None: never
    :param interval: seconds between two passes
    :param ring: how replicas are placed: ``dealt`` by chance, or ``built`` by
        Swift's ring builder
    """
    nodes: int = 5
    replicas: int = 3
    partitions: int = 1024
    objects: int = 8
    protocol: str = 'lightsync'
    loss: float = 0.0
    latency: float = 0.0002
    seed: int = 0
    sample: int = 8192
    regions: int = 1
    full_exchange: float | None = 3600.0
    interval: float = 30.0
    costs: Costs = field(default=TODAY)
    ring: str = 'dealt'
    disks: int = 1

    def __post_init__(self):
        for name, least, most in (
                ('nodes', 2, MAX_NODES), ('replicas', 2, MAX_REPLICAS),
                ('partitions', 1, MAX_PARTITIONS), ('objects', 0, 65536),
                ('loss', 0, 0.9), ('latency', 0, 10), ('sample', 1, 1 << 20),
                ('regions', 1, MAX_NODES), ('disks', 1, MAX_DISKS),
                ('interval', 0, 86400)):
            value = getattr(self, name)
            require(name, value, '%d to %s' % (least, most),
                    least <= value <= most)
        require('replicas', self.replicas, 'at most the %d nodes'
                % self.nodes, self.replicas <= self.nodes)
        for name, allowed in (('protocol', PROTOCOLS),
                              ('ring', placement.RINGS)):
            require(name, getattr(self, name), ', '.join(allowed),
                    getattr(self, name) in allowed)


@dataclass(frozen=True)
class RoundResult:
    """
    The result of one pass of each node; means are over the nodes that were up.

    :param delay: mean seconds of a pass
    :param slowest: seconds of the longest pass
    :param messages: mean number of messages that a node sent
    :param most_messages: the most that one node sent
    :param bytes: mean of the bytes that a node sent and received
    :param kinds: messages of all nodes, by kind
    :param differing: partitions whose live replicas differ afterwards
    :param accuracy: the lowest share of suffixes that are up to date on any
        node that is up
    """
    delay: float
    slowest: float
    messages: float
    most_messages: float
    bytes: float
    kinds: dict
    differing: int
    accuracy: float


class World:
    """A simulated cluster.

    :param settings: :class:`Settings`
    """

    def __init__(self, settings):
        self.settings = settings
        self.costs = settings.costs
        self.rng = random.Random(settings.seed)
        self.events = Events()
        self.network = Network(self.rng, settings.loss, settings.latency)
        self.placement = placement.place(
            settings.nodes, settings.replicas, settings.partitions,
            settings.sample, self.rng, settings.regions, settings.ring,
            settings.disks)
        self.weight = self.placement.weight
        self.disks = Disks(self.placement, settings.objects)
        how = PROTOCOLS[settings.protocol]
        self.nodes = [LightSyncNode(self, number, *how) if how
                      else Node(self, number)
                      for number in range(settings.nodes * settings.disks)]
        #: The first device of each node.
        self.leaders = self.nodes[::settings.disks]
        for leader in self.leaders:
            leader.mates = [self.nodes[number]
                            for number in self.devices(leader.number)]
            for mate in leader.mates:
                mate.join(leader)
        self._tasks = {}

    def crash(self, number, how=Reach.SILENT):
        """Stop a node; ``how`` others find it: SILENT or REFUSED."""
        for device in self.devices(number * self.settings.disks):
            self.network.down[device] = how
        self._stop(number * self.settings.disks)

    def restart(self, number):
        """Start a node again, with its disk and its failure table."""
        for device in self.devices(number * self.settings.disks):
            self.network.down.pop(device, None)

    def devices(self, number):
        """Return the numbers of all devices of a device's node."""
        disks = self.settings.disks
        return range(number - number % disks, number - number % disks + disks)

    def unmount(self, number):
        """Take a disk away: its node answers 507, and ends its pass."""
        self.network.unmounted.add(number)
        self._stop(number)

    def mount(self, number, empty=False):
        """Give a node a disk again, or an empty one in its place."""
        self.network.unmounted.discard(number)
        if empty:
            for partition in list(self.disks.held[number]):
                self.disks.remove(number, partition)

    def _stop(self, number):
        leader = self.devices(number)[0]
        if leader in self._tasks:
            self._tasks[leader].kill()

    def rebalance(self, fraction):
        """Make a new ring, in which some partitions have moved; no node has it
        yet.
        """
        self.placement = self.placement.rebalanced(fraction, self.rng)

    def deliver_ring(self, numbers):
        """Give some nodes the new ring; this ends a pass under way."""
        for number in numbers:
            for device in self.devices(number * self.settings.disks):
                self.nodes[device].ring = self.placement

    def live(self, partition):
        """Return the nodes that should hold a partition, and can."""
        return [node for node in self.placement.rows[partition]
                if self.network.is_live(node)]

    def differs(self, partition):
        """Check whether the live replicas of a partition differ, or a disk
        that is not mounted lacks a hand-off in its place.
        """
        live = self.live(partition)
        if self.disks.differs(partition, live):
            return True
        wanted = sum(node not in self.network.down
                     for node in self.placement.rows[partition])
        return len(live) < wanted and self.copies(partition) < min(
            wanted, sum(map(self.network.is_live, range(len(self.nodes)))))

    def differing(self):
        """Return how many partitions differ."""
        return round(self.weight * sum(
            map(self.differs, range(len(self.placement.rows)))))

    def copies(self, partition):
        """Return how many live nodes hold the newest version of every suffix.
        """
        newest = self.disks.newest(partition)
        return sum(self.network.is_live(node)
                   and not self.disks.stale(node, partition, newest)
                   for node in self.disks.holders[partition])

    def hand_offs(self):
        """Return how many replicas are on nodes that the ring does not name.
        """
        return sum(len(holders.difference(self.placement.rows[partition]))
                   for partition, holders in enumerate(self.disks.holders))

    def accuracy(self):
        """Return the paper's accuracy (Fig. 38) of the node with the least."""
        suffixes, stale = Counter(), Counter()
        for partition in range(len(self.placement.rows)):
            nodes = self.live(partition)
            if not self.disks.differs(partition, self.placement.rows[
                    partition]):
                suffixes.update(dict.fromkeys(nodes, self.settings.objects))
                continue
            newest = self.disks.newest(partition)
            for node in nodes:
                suffixes[node] += max(len(newest), self.settings.objects)
                stale[node] += self.disks.stale(node, partition, newest)
        return min((1 - stale[node] / suffixes[node] for node in suffixes
                    if suffixes[node]), default=1.0)

    def run_round(self):
        """After a pause, run a pass on each node that is up, all at once.

        :returns: a :class:`RoundResult`
        """
        self.events.wait(self.settings.interval)
        self.network.reset()
        begin = self.events.now
        going = [node for node in self.leaders
                 if node.number not in self.network.down]
        self._tasks = {node.number: self.events.spawn(node.timed_pass())
                       for node in going}
        unfinished = list(self._tasks.values())

        def is_running():
            while unfinished and not unfinished[-1].alive:
                unfinished.pop()
            return bool(unfinished)

        self.events.run(is_running)
        times = [node.pass_seconds for node in going
                 if node.pass_seconds is not None]
        sent = Counter()
        for number, messages in self.network.sent.items():
            sent[self.devices(number)[0]] += messages
        return RoundResult(
            delay=sum(times) / len(times) if times else 0.0,
            slowest=self.events.now - begin,
            messages=sum(sent.values()) / max(len(going), 1),
            most_messages=max(sent.values(), default=0),
            bytes=sum(self.network.bytes[mate.number] for node in going
                      for mate in node.mates) / max(len(going), 1),
            kinds=dict(Counter(self.network.messages)),
            differing=self.differing(), accuracy=self.accuracy())
