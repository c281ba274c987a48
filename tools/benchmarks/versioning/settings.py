# SPDX-License-Identifier: Apache-2.0
"""What one invocation of ``bench versioning`` is to do: one checked value."""

import os
import re
from dataclasses import dataclass

from swift_lightsync.versioning.proxy.filter_options import FilterOptions
from tools.benchmarks.errors import BenchError, names, require
from tools.benchmarks.sizes import MIB, parse_size
from tools.benchmarks.versioning import delay
from tools.cluster import ClusterSpec, Policy, free_base_port

NODES = REPLICAS = 3
POLICY = Policy('gold', 0, REPLICAS)
SIZES = '4K,1M,16M'
BATCHES = '1000,10000'
IMAGE = 8 * 2 ** 30
LEAST_REQUESTS = 4
#: of a batch, one of so many requests is under way at any time
BATCH_SHARE = 100
#: of each object, where there are requests enough
VERSIONS = 10
FILTER = 'delay'
CONTAINERS = 'container-server'
DELAYED = (CONTAINERS, 'object-server')
STOCK = 'stock'
SITE = 'here'


@dataclass(frozen=True)
class Mode:
    """
    A way in which objects are kept.

    :param site: the cluster that does
    :param versioned: whether their container has versions
    """
    site: str
    versioned: bool = True


MODES = {
    'write-repair': Mode('write-repair'),
    'read-repair': Mode('read-repair'),
    'object_versioning': Mode(STOCK),
    'none': Mode(STOCK, versioned=False),
}
REFERENCES = ('object_versioning', 'none')


def parse_batches(text):
    """
    :param text: such as ``1000,10000``; empty for none
    :returns: a tuple of numbers
    :raises BenchError: if it is anything else
    """
    found = [each.strip() for each in text.split(',')] if text.strip() else []
    for each in found:
        if not re.fullmatch('[1-9][0-9]{0,6}', each):
            raise BenchError('--batches has %r; allowed: a comma-separated '
                             'list of 1 to 9999999, or nothing' % each)
    return tuple(dict.fromkeys(map(int, found)))


@dataclass(frozen=True)
class Settings:
    """
    :param sizes: of the objects, bytes, a tuple
    :param modes: what is compared, in the order of MODES
    :param requests: PUTs, and GETs, of each size, one after the other
    :param budget: bytes that these write, at most, unless that were less
        than LEAST_REQUESTS objects
    :param batches: requests of each concurrent batch, of the least size
    :param clients: of a batch, at the same time, at most
    :param rounds: how often the delays that count round trips come round;
        0: they are not counted
    :param delay_ms: that container- and object-servers let each request
        wait, as a network would
    :param latest_hint_time: the filter's option, seconds
    :param latest_cache_time: the filter's option, seconds
    :param runs: how often all but the round trips is measured
    :param seed: of the bytes that are written
    """
    sizes: tuple = tuple(map(parse_size, SIZES.split(',')))
    modes: tuple = tuple(MODES)
    requests: int = 1000
    budget: int = 1024 * MIB
    batches: tuple = parse_batches(BATCHES)
    clients: int = 32
    rounds: int = 3
    delay_ms: float = 0.0
    latest_hint_time: int = FilterOptions.latest_hint_time
    latest_cache_time: int = FilterOptions.latest_cache_time
    runs: int = 3
    seed: int = 1

    def __post_init__(self):
        for size in self.sizes:
            require('--sizes', size, '1 byte to 1024 MiB',
                    1 <= size <= 1024 * MIB)
        require('--requests', self.requests, 'at least 1',
                self.requests >= 1)
        require('--budget', self.budget // MIB, '1 to 2048 MiB',
                MIB <= self.budget <= 2048 * MIB)
        for batch in self.batches:
            require('--batches', '%d objects of %d bytes' % (
                batch, self.batch_size), '4096 MiB in all',
                batch * self.batch_size <= 4096 * MIB)
        require('--clients', self.clients, '2 to 256',
                2 <= self.clients <= 256)
        require('--rounds', self.rounds, '0 to 1000',
                0 <= self.rounds <= 1000)
        require('--delay', self.delay_ms, '0 to 1000',
                0 <= self.delay_ms <= 1000)
        require('--latest-hint-time', self.latest_hint_time, '0 to 86400',
                0 <= self.latest_hint_time <= 86400)
        require('--latest-cache-time', self.latest_cache_time, '0 to 3600',
                0 <= self.latest_cache_time <= 3600)
        require('--runs', self.runs, 'at least 1', self.runs >= 1)

    @property
    def batch_size(self):
        """Of the objects of batches, bytes."""
        return min(self.sizes)

    def requests_of(self, size):
        """:returns: how many PUTs of a size follow one another"""
        return min(self.requests, max(LEAST_REQUESTS, self.budget // size))

    def clients_of(self, batch):
        """:returns: how many of a batch's requests there are at a time"""
        return min(self.clients, max(2, batch // BATCH_SHARE))

    def sites(self):
        """:returns: the names of the clusters that the modes need"""
        return list(dict.fromkeys(MODES[mode].site for mode in self.modes))

    def memcache_of(self, site):
        """:returns: the options of memcache that a site's filter has"""
        return {} if site == STOCK else {
            'latest_hint_time': self.latest_hint_time,
            'latest_cache_time': self.latest_cache_time}

    @staticmethod
    def delay_file(root, site, server):
        """:returns: the path of what delays a site's servers of a kind"""
        return os.path.join(root, '%s.%s.delay' % (site, server))

    def cluster_spec(self, root, site):
        """
        :param root: a directory
        :param site: of one of MODES
        :returns: the ClusterSpec; only the versioning differs
        """
        versioning = {} if site == STOCK else {
            'site': SITE, 'site_preference': SITE, 'mode': site,
            **self.memcache_of(site)}
        return ClusterSpec(
            root=os.path.join(root, site), nodes=NODES,
            base_port=free_base_port(NODES), policies=(POLICY,),
            replicator='stock', replication_ports=False, disk_size=IMAGE,
            versioning=versioning, options={
                server: self._delayed(root, site, server)
                for server in DELAYED})

    def _delayed(self, root, site, server):
        """:returns: the sections of a server's conf that delay it"""
        return {
            'pipeline:main': {'pipeline': '%s healthcheck recon %s' % (
                FILTER, server)},
            'filter:' + FILTER: {
                'paste.filter_factory': '%s:filter_factory' % delay.__name__,
                'delay_file': self.delay_file(root, site, server)}}


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
        batches=parse_batches(args.batches), clients=args.clients,
        rounds=args.rounds, delay_ms=args.delay,
        latest_hint_time=args.latest_hint_time,
        latest_cache_time=args.latest_cache_time,
        runs=args.runs, seed=args.seed)
