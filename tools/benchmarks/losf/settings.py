# SPDX-License-Identifier: Apache-2.0
"""What one invocation of ``bench losf`` is to do: one checked value."""

import math
import os
import time
from dataclasses import dataclass, field

from tools.benchmarks.errors import names, require
from tools.cluster import ClusterSpec, Policy, free_base_port

#: backend -> whether its objects are in volumes; the one that the other is
#: compared with comes first
BACKENDS = {'fs': False, 'kv': True}
#: in the order in which they are measured
OPS = ('get', 'head', 'put', 'put_over', 'delete', 'list', 'audit', 'walk')
#: walk is an audit to its end, which may take long
DEFAULT_OPS = OPS[:-1]
CACHES = ('cold', 'warm')
POLICY = 'bench'
OBJECTS_PER_PARTITION = 200
#: the samples of a run that no other measurement touches
SAMPLES = 5
#: how long before the start the data set was written, in its timestamps
AGE = 3600
#: bytes of an image, which is sparse: in any case, and for each object
IMAGE, IMAGE_PER_OBJECT = 2 ** 30, 32 * 2 ** 10


def default_part_power(objects):
    """:returns: the part power that gives about 200 objects a partition"""
    return max(1, round(math.log2(objects / OBJECTS_PER_PARTITION)))


@dataclass(frozen=True)
class Settings:
    """
    :param objects: of the data set
    :param runs: how often all is measured
    :param iops: reads, and writes, a second of each device; None: all it can
    :param ops: what is measured, in the order of OPS
    :param operations: of one measurement; None: 2000, less for few objects
    :param seconds: after which a measurement has enough operations
    :param clients: requests at the same time
    :param seed: all random choices follow from it
    :param epoch: timestamp of the oldest object
    """
    objects: int = 200000
    runs: int = 3
    iops: int = None
    ops: tuple = DEFAULT_OPS
    operations: int = None
    seconds: float = 10.0
    clients: int = 4
    seed: int = 1
    epoch: float = field(default_factory=lambda: time.time() - AGE)

    def __post_init__(self):
        require('--runs', self.runs, 'at least 1', self.runs >= 1)
        most = self.objects // (SAMPLES * self.runs)
        require('--objects', self.objects, 'at least %d with %d runs, and few '
                'enough for the disk' % (100 * SAMPLES * self.runs, self.runs),
                most >= 100)
        if self.operations is None:
            object.__setattr__(self, 'operations', min(2000, most))
        require('--operations', self.operations, '1 to %d, with %d runs of %d '
                'objects' % (most, self.runs, self.objects),
                1 <= self.operations <= most)
        require('--iops', self.iops, 'at least 10, or nothing',
                self.iops is None or self.iops >= 10)
        require('--seconds', self.seconds, 'more than 0',
                0 < self.seconds < math.inf)
        require('--clients', self.clients, '1 to 64', 1 <= self.clients <= 64)

    @property
    def part_power(self):
        return default_part_power(self.objects)

    def cluster_spec(self, root, backend, options):
        """:returns: the ClusterSpec of a backend's cluster"""
        return ClusterSpec(
            root=os.path.join(root, backend), nodes=1,
            base_port=free_base_port(), replication_ports=False,
            replicator='stock', sync_method='ssync',
            services=('object',), disks='xfs',
            disk_size=IMAGE + self.objects * IMAGE_PER_OBJECT,
            options=options,
            policies=(Policy(POLICY, 0, 1, self.part_power,
                             kv=BACKENDS[backend]),))


def from_arguments(args):
    """
    :param args: what argparse made of the command line
    :returns: the Settings
    :raises BenchError: for a value that is not allowed
    """
    chosen = names('--ops', args.ops, OPS)
    return Settings(
        objects=args.objects, runs=args.runs, iops=args.iops,
        ops=tuple(each for each in OPS if each in chosen),
        operations=args.operations, seconds=args.seconds,
        clients=args.clients, seed=args.seed)
