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
A cluster: nodes, network and disks, and what happens to them.

Nothing in it knows the real time; all that is random follows from the seed.
"""

import random
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Optional

from swift_lightsync.sync.replicator import DEFAULT_BATCH
from tools.simulation import topology
from tools.simulation.costs import TODAY, Costs
from tools.simulation.disks import Disks
from tools.simulation.errors import SimulationError
from tools.simulation.events import Events
from tools.simulation.lightsync_node import LightSyncNode
from tools.simulation.network import Network, Reach
from tools.simulation.node import Node
from tools.simulation.placement import place

#: Name -> (topology, partitions in a sync message); stock has neither.
PROTOCOLS = {
    'stock': None,
    'lightsync': (topology.ring, DEFAULT_BATCH),
    'lightsync-unbatched': (topology.ring, 1),
    'star': (topology.star, 1),
    'chain': (topology.chain, 1),
}
MAX_NODES = 10000
MAX_REPLICAS = 9
MAX_PARTITIONS = 1 << 24


@dataclass(frozen=True)
class Settings:
    """
    :param objects: objects of a partition
    :param sample: partitions that are simulated one by one, at most
    :param full_exchange: seconds; None: never
    :param interval: seconds between two passes
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
    full_exchange: Optional[float] = 3600.0
    interval: float = 30.0
    costs: Costs = field(default=TODAY)

    def __post_init__(self):
        for name, least, most in (
                ('nodes', 2, MAX_NODES), ('replicas', 2, MAX_REPLICAS),
                ('partitions', 1, MAX_PARTITIONS), ('objects', 0, 65536),
                ('loss', 0, 0.9), ('latency', 0, 10), ('sample', 1, 1 << 20),
                ('regions', 1, MAX_NODES), ('interval', 0, 86400)):
            value = getattr(self, name)
            if not least <= value <= most:
                raise SimulationError('%s is %r, must be %d to %s'
                                      % (name, value, least, most))
        if self.replicas > self.nodes:
            raise SimulationError(
                'replicas is %d, must be at most the %d nodes'
                % (self.replicas, self.nodes))
        if self.protocol not in PROTOCOLS:
            raise SimulationError('protocol is %r, must be one of %s' % (
                self.protocol, ', '.join(PROTOCOLS)))


@dataclass(frozen=True)
class RoundResult:
    """
    One pass of each node; means are over the nodes that were up.

    :param delay: mean seconds of a pass
    :param slowest: seconds of the longest pass
    :param messages: mean of messages that a node sent
    :param most_messages: the most that one sent
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
    """:param settings: :class:`Settings`"""

    def __init__(self, settings):
        self.settings = settings
        self.costs = settings.costs
        self.rng = random.Random(settings.seed)
        self.events = Events()
        self.network = Network(self.rng, settings.loss, settings.latency)
        self.placement = place(
            settings.nodes, settings.replicas, settings.partitions,
            settings.sample, self.rng, settings.regions)
        self.weight = self.placement.weight
        rows = self.placement.rows
        self.disks = Disks(rows, settings.objects)
        self.held = [[] for _ in range(settings.nodes)]
        for partition, row in enumerate(rows):
            for node in row:
                self.held[node].append(partition)
        how = PROTOCOLS[settings.protocol]
        self.nodes = [LightSyncNode(self, number, *how) if how
                      else Node(self, number)
                      for number in range(settings.nodes)]
        self._tasks = {}

    @lru_cache(maxsize=None)
    def sharing(self, number):
        """The nodes that share partitions with a node."""
        return sorted({other for partition in self.held[number]
                       for other in self.placement.rows[partition]}
                      - {number})

    def crash(self, number, how=Reach.SILENT):
        """A node stops; how it is found: SILENT or REFUSED."""
        self.network.down[number] = how
        if number in self._tasks:
            self._tasks[number].kill()

    def restart(self, number):
        """A node comes back, with its disk and its failure table."""
        self.network.down.pop(number, None)

    def differing(self):
        """How many partitions have live replicas that differ."""
        down = self.network.down
        return round(self.weight * sum(
            self.disks.differs(partition, down)
            for partition in range(len(self.placement.rows))))

    def accuracy(self):
        """The paper's accuracy (Fig. 38), of the node that has the least."""
        suffixes, stale = Counter(), Counter()
        for partition, row in enumerate(self.placement.rows):
            newest = self.disks.newest(partition)
            for node in row:
                held = self.disks.replica(node, partition).versions
                suffixes[node] += max(len(newest), self.settings.objects)
                stale[node] += sum(held.get(suffix, 0) < version
                                   for suffix, version in newest.items())
        return min((1 - stale[node] / suffixes[node] for node in suffixes
                    if node not in self.network.down and suffixes[node]),
                   default=1.0)

    def run_round(self):
        """
        After a pause, let each node that is up run a pass, all at once.

        :returns: a :class:`RoundResult`
        """
        self.events.wait(self.settings.interval)
        self.network.reset()
        begin = self.events.now
        going = [node for node in self.nodes
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
        sent = self.network.sent
        return RoundResult(
            delay=sum(times) / len(times) if times else 0.0,
            slowest=self.events.now - begin,
            messages=sum(sent.values()) / max(len(going), 1),
            most_messages=max(sent.values(), default=0),
            bytes=sum(self.network.bytes[node.number] for node in going)
            / max(len(going), 1),
            kinds=dict(Counter(self.network.messages)),
            differing=self.differing(), accuracy=self.accuracy())
