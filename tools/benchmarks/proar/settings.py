# SPDX-License-Identifier: Apache-2.0
"""What one invocation of ``bench proar`` is to do: one checked value."""

import math
import os
from dataclasses import dataclass

from tools.benchmarks.errors import names, require
from tools.benchmarks.sizes import MIB, parse_size
from tools.cluster import ClusterSpec, Policy, free_base_port

NODES = REPLICAS = 3
#: of the paper's Figure 6, and a small one
SIZES = '4K,4M,8M,16M,32M,64M'
#: In each half of a measurement, however large and slow they are.
LEAST_REQUESTS = 4
#: bytes of an image, which is sparse
IMAGE = 8 * 2 ** 30
#: site -> the policies of its cluster
SITES = {
    'stock': (Policy('stock', 0, REPLICAS),),
    'proar': (Policy('proar', 0, REPLICAS, proar=True),
              Policy('sync2', 1, REPLICAS, proar=True)),
}
#: the options of what is compared
OPTIONS = {
    'stock': {},
    'proar': {'proxy-server': {
        'proxy-server:policy:1': {'min_sync_copies': 2}},
        # As OPERATING.md advises: clients wait for none of these.
        'object-server': {'object-converger': {
            'nice_priority': 10, 'disk_chunk_size': 262144}},
        'replication-server': {'app:object-server': {
            'nice_priority': 10, 'disk_chunk_size': 262144,
            'network_chunk_size': 262144}}},
}


@dataclass(frozen=True)
class Mode:
    """
    A way in which objects are written.

    :param site: one of SITES
    :param policy: the name of one of its policies
    :param is_slow: whether the disk of one node is slow
    :param reference: the mode that it is compared with, or None
    """
    site: str
    policy: str
    is_slow: bool = False
    reference: str = None


MODES = {
    'stock': Mode('stock', 'stock'),
    'proar': Mode('proar', 'proar', reference='stock'),
    'proar-sync2': Mode('proar', 'sync2', reference='stock'),
    'stock-slow': Mode('stock', 'stock', is_slow=True),
    'proar-slow': Mode('proar', 'proar', is_slow=True,
                       reference='stock-slow'),
}


@dataclass(frozen=True)
class Settings:
    """
    :param sizes: of the objects, bytes, a tuple
    :param modes: what is compared, in the order of MODES
    :param requests: of each half of a measurement, at most
    :param budget: bytes that each half writes, at most, unless that were
        less than LEAST_REQUESTS objects
    :param seconds: after which each half has enough requests
    :param runs: how often all is measured
    :param clients: requests at the same time, in the half that loads
    :param slow_iops: reads, and writes, a second of the slow disk
    :param patience: seconds that convergence may take
    :param seed: of the bytes that are written
    """
    sizes: tuple = tuple(map(parse_size, SIZES.split(',')))
    modes: tuple = tuple(MODES)
    requests: int = 1800
    budget: int = 256 * MIB
    seconds: float = 2.5
    runs: int = 3
    clients: int = 4
    slow_iops: int = 30
    patience: float = 120.0
    seed: int = 1

    def __post_init__(self):
        for size in self.sizes:
            require('--sizes', size, '1 byte to 1024 MiB',
                    1 <= size <= 1024 * MIB)
        require('--requests', self.requests, 'at least 1',
                self.requests >= 1)
        require('--budget', self.budget // MIB, '1 to 1024 MiB',
                MIB <= self.budget <= 1024 * MIB)
        require('--runs', self.runs, 'at least 1', self.runs >= 1)
        require('--clients', self.clients, '1 to 64', 1 <= self.clients <= 64)
        require('--slow-iops', self.slow_iops, 'at least 10',
                self.slow_iops >= 10)
        for name in ('seconds', 'patience'):
            value = getattr(self, name)
            require('--' + name, value, 'more than 0', 0 < value < math.inf)

    def requests_of(self, size):
        """:returns: how many objects of a size each half may write"""
        return min(self.requests, max(LEAST_REQUESTS, self.budget // size))

    def sites(self):
        """:returns: the names of the sites that the modes need"""
        return list(dict.fromkeys(MODES[mode].site for mode in self.modes))

    @staticmethod
    def databases(root, site):
        """:returns: the directory of a site's accounts and containers"""
        return os.path.join(root, site, 'databases')

    def cluster_spec(self, root, site):
        """
        :param root: a directory
        :param site: one of SITES
        :returns: the ClusterSpec of its cluster, whose databases are not on
            the objects' disks
        """
        databases = {'DEFAULT': {'devices': self.databases(root, site),
                                 'mount_check': False}}
        return ClusterSpec(
            root=os.path.join(root, site), nodes=NODES,
            base_port=free_base_port(NODES), policies=SITES[site],
            replicator='stock', disks='xfs', disk_size=IMAGE,
            options={'account-server': databases,
                     'container-server': databases, **OPTIONS[site]})


def from_arguments(args):
    """
    :param args: what argparse made of the command line
    :returns: the Settings
    :raises BenchError: for a value that is not allowed
    """
    chosen = names('--modes', args.modes, tuple(MODES))
    return Settings(
        sizes=tuple(dict.fromkeys(map(parse_size, args.sizes.split(',')))),
        modes=tuple(mode for mode in MODES if mode in chosen),
        requests=args.requests, budget=args.budget * MIB,
        seconds=args.seconds, runs=args.runs, clients=args.clients,
        slow_iops=args.slow_iops, patience=args.patience, seed=args.seed)
