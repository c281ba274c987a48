# SPDX-License-Identifier: Apache-2.0
"""What one invocation of ``bench sync`` is to do: one checked value."""

import math
import time
from dataclasses import dataclass, field

from tools.benchmarks.errors import names, require
from tools.benchmarks.sync.scenarios import SCENARIOS
from tools.cluster import ClusterSpec, Policy
from tools.cluster.spec import MAX_NODES, SYNC_METHODS

#: The side that all others are compared with comes first.
REPLICATORS = ('stock', 'lightsync')
OBJECTS_PER_PARTITION = 8
KIB = 1024
POLICY = 'bench'
#: how long before the start the data set was written, in its timestamps
AGE = 3600


def default_part_power(unique_objects):
    """:returns: the part power that gives about 8 objects a partition"""
    return max(1, round(math.log2(unique_objects / OBJECTS_PER_PARTITION)))


def parse_sizes(text):
    """
    :param text: ``LOW-HIGH``, or one number, in KiB
    :returns: the tuple of the two, in bytes
    :raises BenchError: if it is anything else
    """
    low, _, high = text.partition('-')
    good = low.isdecimal() and (high.isdecimal() or high == '')
    sizes = (int(low), int(high or low)) if good else (0, 0)
    require('--size', repr(text), 'LOW-HIGH in KiB, such as 6-10, from 1 to '
            '5242880', 1 <= sizes[0] <= sizes[1] <= 5242880)
    return tuple(size * KIB for size in sizes)


@dataclass(frozen=True)
class Settings:
    """
    :param nodes: storage nodes, of one device each
    :param replicas: of each object
    :param part_power: of the ring; None: about 8 objects a partition
    :param objects: replicas that each node holds, in the mean
    :param sizes: (least, greatest) size of an object, bytes
    :param scenarios: names, in the order in which they are played
    :param sync_method: how the replicators push
    :param replicators: names of the contestants
    :param runs: how often each scenario is played with each replicator
    :param timeout: seconds that one replication pass may take
    :param seed: all random choices follow from it
    :param epoch: timestamp of the oldest object
    """
    nodes: int = 5
    replicas: int = 3
    part_power: int = None
    objects: int = 500
    sizes: tuple = (6 * KIB, 10 * KIB)
    scenarios: tuple = tuple(SCENARIOS)
    sync_method: str = 'rsync'
    replicators: tuple = REPLICATORS
    runs: int = 3
    timeout: float = 600.0
    seed: int = 1
    epoch: float = field(default_factory=lambda: time.time() - AGE)

    def __post_init__(self):
        require('--nodes', self.nodes, '2 to %d' % MAX_NODES,
                2 <= self.nodes <= MAX_NODES)
        require('--replicas', self.replicas,
                '2 to %d, the number of nodes' % self.nodes,
                2 <= self.replicas <= self.nodes)
        require('--objects', self.objects, 'at least 10, and few enough '
                'for the disk', self.objects >= 10)
        if self.part_power is None:
            object.__setattr__(self, 'part_power',
                               default_part_power(self.unique_objects))
        require('--part-power', self.part_power, '1 to 32',
                1 <= self.part_power <= 32)
        require('--runs', self.runs, 'at least 1', self.runs >= 1)
        require('--timeout', self.timeout, 'more than 0 seconds',
                0 < self.timeout < math.inf)
        require('--sync-method', repr(self.sync_method),
                ' or '.join(SYNC_METHODS), self.sync_method in SYNC_METHODS)

    @property
    def unique_objects(self):
        return self.objects * self.nodes // self.replicas

    def cluster_spec(self, root, replicator, options):
        """:returns: the ClusterSpec of a contestant's cluster"""
        return ClusterSpec(
            root=root, nodes=self.nodes, network='namespaces',
            services=('object',), disks='directory', replicator=replicator,
            sync_method=self.sync_method, options=options,
            policies=(Policy(POLICY, 0, self.replicas, self.part_power),))


def from_arguments(args):
    """
    :param args: what argparse made of the command line
    :returns: the Settings
    :raises BenchError: for a value that is not allowed
    """
    chosen = names('--replicators', args.replicators, REPLICATORS)
    return Settings(
        nodes=args.nodes, replicas=args.replicas,
        part_power=args.part_power, objects=args.objects,
        sizes=parse_sizes(args.size),
        scenarios=names('--scenarios', args.scenarios, tuple(SCENARIOS)),
        sync_method=args.sync_method, runs=args.runs, seed=args.seed,
        timeout=args.timeout,
        replicators=tuple(each for each in REPLICATORS if each in chosen))
