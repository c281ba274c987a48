# SPDX-License-Identifier: Apache-2.0
"""``bench sync``: the object replicators, LightSync and stock."""

import argparse
import math
import os
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Tuple

from swift.common.utils import set_swift_dir

from tools.benchmarks import request_log
from tools.benchmarks.bench import Bench, add_common
from tools.benchmarks.measure import cpu_seconds
from tools.benchmarks.record import Metric, in_turn
from tools.benchmarks.settings import (
    KIB,
    BenchError,
    names,
    number,
    require,
)
from tools.benchmarks.sync_data import DataSet, Storage, restore
from tools.benchmarks.sync_probe import Probes
from tools.cluster import Cluster, ClusterSpec, Policy
from tools.cluster.spec import MAX_NODES, SYNC_METHODS

REPLICATORS = ('stock', 'lightsync')
OBJECTS_PER_PARTITION = 8
POLICY = 'bench'
#: how long before the start the data set was written, in its timestamps
AGE = 3600
#: Passes after which replicas that still differ count as not converged.
MAX_ROUNDS = 10
#: scenario -> its steps, methods of a Trial; LightSync §3 and §6 measure
#: these states
SCENARIOS = {
    'stable': (),
    'create': ('create',),
    'delete': ('delete',),
    'dead-refused': ('kill',),
    'dead-silent': ('silence',),
    'rejoin': ('kill', 'rewrite', 'replicate', 'find'),
}


def _sizes(text: str) -> Tuple[int, int]:
    low, _, high = text.partition('-')
    good = low.isdecimal() and (high.isdecimal() or high == '')
    found = (int(low), int(high or low)) if good else (0, 0)
    if not 1 <= found[0] <= found[1] <= 5242880:
        raise argparse.ArgumentTypeError(
            '%r; allowed: LOW-HIGH in KiB, such as 6-10, from 1 to 5242880'
            % text)
    return found[0] * KIB, found[1] * KIB


def add_arguments(parser: Any) -> None:
    """Add the options of this benchmark."""
    add = parser.add_argument
    add('--nodes', type=number(2, MAX_NODES), default=5,
        help='storage nodes')
    add('--replicas', type=number(2, MAX_NODES), default=3,
        help='replicas of each object')
    add('--part-power', type=number(1, 32), help='of the ring; None: about '
        '%d objects a partition' % OBJECTS_PER_PARTITION)
    add('--objects', type=number(1), default=500, metavar='PER_NODE',
        help='object replicas that a node holds')
    add('--size', type=_sizes, default='6-10', metavar='LOW-HIGH',
        help='size of an object, KiB')
    add('--scenarios', type=names(SCENARIOS), default=','.join(SCENARIOS),
        metavar='NAME,…', help='what is measured')
    add('--sync-method', choices=SYNC_METHODS, default='rsync',
        help='how data is pushed')
    add('--replicators', type=names(REPLICATORS),
        default=','.join(REPLICATORS), metavar='NAME,…',
        help='what is compared')
    add('--timeout', type=number(1, kind=float), default=600.0,
        metavar='SECONDS', help='that one replication pass may take')
    add_common(parser)


@dataclass(frozen=True)
class Pass:
    """
    A pass of all live nodes; all but the first and the last are the means
    of these nodes.

    :param seconds: the slowest node's
    :param requests: that the object servers received, by their verbs
    :param bytes_sent: through the nodes' network interfaces
    :param cpu_seconds: of replicators, object servers and rsync
    :param max_rss_mib: of the largest replicator
    """

    seconds: float
    requests: Dict[str, float]
    bytes_sent: float
    cpu_seconds: float
    max_rss_mib: float

    @property
    def messages(self) -> float:
        """All requests."""
        return sum(self.requests.values())


class Contestant:
    """
    The cluster of a replicator, in network namespaces, and its probes.

    :param cluster: the Cluster
    :param timeout: seconds that a pass may take
    """

    def __init__(self, cluster: Cluster, timeout: float) -> None:
        self.cluster, self.timeout = cluster, timeout
        self.probes = Probes(cluster)
        self.nodes = list(cluster.spec.node_numbers())

    @contextmanager
    def running(self) -> Iterator['Contestant']:
        with self.cluster:
            try:
                yield self
            finally:
                self.probes.stop()

    def devices_dir(self, device: str) -> str:
        return self.cluster.layout.node_dir(self.cluster.node_of(device))

    def devices(self, nodes: List[int]) -> Dict[str, str]:
        """Return the devices of nodes: name -> path."""
        return {device: self.cluster.device_path(node, device)
                for node in nodes for device in self.cluster.devices(node)}

    def replicate(self, nodes: List[int]) -> Pass:
        """
        Have the live nodes, whose probes run, make a pass together.

        :raises BenchError: if it takes too long
        """
        logs = [request_log.path(self.cluster.layout.cache_dir(node))
                for node in nodes]
        begins = [request_log.position(log) for log in logs]
        servers = [pid for node in nodes for pid in self.cluster.pids(node)]
        sent, cpu = self._bytes_sent(nodes), cpu_seconds(servers)
        usages = self.probes.run(self.timeout)
        cpu = cpu_seconds(servers) - cpu
        sent = self._bytes_sent(nodes) - sent
        requests = sum(map(request_log.since, logs, begins), Counter())
        return Pass(
            max(usage.seconds for usage in usages),
            {verb: count / len(nodes)
             for verb, count in sorted(requests.items())},
            sent / len(nodes),
            (cpu + sum(usage.cpu_seconds for usage in usages)) / len(nodes),
            max(usage.max_rss_kib for usage in usages) / 1024)

    def _bytes_sent(self, nodes: List[int]) -> int:
        return sum(self.cluster.counters(node).tx_bytes for node in nodes)


class Trial:
    """
    One scenario, played once by one contestant.

    :param contestant: whose cluster is up
    :param storage: the Storage
    :param data_set: the DataSet, which the master copy holds
    :param seed: of its choices
    """

    def __init__(self, contestant: Contestant, storage: Storage,
                 data_set: DataSet, seed: str) -> None:
        self._contestant, self._storage = contestant, storage
        self._data_set, self._seed = data_set, seed
        self.live = list(contestant.nodes)
        self._versions = {each.name: each for each in data_set.objects}
        self._lost: Any = None

    def play(self, master: str, scenario: str) -> Dict[str, Any]:
        """
        Play the scenario, then passes until all replicas are equal.

        :param master: the directory of the master copy
        :returns: the figures
        :raises BenchError: if a pass took too long, or the cluster is not
            what it should be
        """
        for device, path in self._contestant.devices(self.live).items():
            restore(os.path.join(master, device), path)
        try:
            self._contestant.probes.start(self.live)
            self.replicate()
            if self._stale():
                raise BenchError('%d replicas are not as they were written, '
                                 'before anything was changed'
                                 % self._stale())
            for step in SCENARIOS[scenario]:
                getattr(self, step)()
            passes = [self.replicate()]
            while self._stale() and len(passes) < MAX_ROUNDS:
                passes.append(self.replicate())
            return figures(passes, len(self.live), self._stale())
        finally:
            self._contestant.probes.stop()
            self._heal()

    def _stale(self) -> int:
        return self._storage.stale(
            self._versions.values(),
            self._contestant.devices(self.live).get)

    def replicate(self) -> Pass:
        return self._contestant.replicate(self.live)

    def _change(self, kind: str) -> None:
        writes = self._data_set.changes(
            kind, self._seed, self._storage.devices_of,
            self._contestant.devices(self.live))
        self._storage.write(writes, self._contestant.devices_dir)
        self._versions.update((each.name, each) for each, _ in writes)

    def create(self) -> None:
        """10 % new objects, each at a quorum of its replicas."""
        self._change('create')

    def delete(self) -> None:
        """10 % of the objects deleted, each at a quorum of its replicas."""
        self._change('delete')

    def rewrite(self) -> None:
        """10 % of the objects deleted and created anew on live nodes."""
        self._change('rewrite')

    def _lose(self) -> int:
        """Take the last node, and its replicator, from the cluster."""
        node = self.live.pop()
        self._contestant.probes.stop([node])
        return node

    def kill(self) -> None:
        """One node dies; its ports refuse."""
        node, cluster = self._lose(), self._contestant.cluster
        cluster.kill(node)
        self._lost = node, cluster.start

    def silence(self) -> None:
        """One node falls silent: no packet goes in or out."""
        node, cluster = self._lose(), self._contestant.cluster
        cluster.partition(node, refuse=False)
        self._lost = node, cluster.heal

    def find(self) -> None:
        """The lost node comes back, and its replicator."""
        node = self._heal()
        self._contestant.probes.start([node])
        self.live.append(node)

    def _heal(self) -> Any:
        if self._lost is None:
            return None
        (node, find), self._lost = self._lost, None
        find(node)
        return node


def figures(passes: List[Pass], live: int, stale: int) -> Dict[str, Any]:
    """
    Return the figures of a trial.

    :param passes: all after the change; the first one's figures count
    :param live: how many nodes took part in the last one
    :param stale: replicas that are not as they should be after it
    """
    first = passes[0]
    return {
        'pass_seconds': first.seconds, 'messages': first.messages,
        'requests': first.requests, 'bytes_sent': first.bytes_sent,
        'cpu_seconds': first.cpu_seconds, 'max_rss_mib': first.max_rss_mib,
        'rounds': len(passes), 'converged': int(not stale),
        'stale_replicas': stale, 'live_nodes': live,
        **{'total_' + name: sum(getattr(each, field) for each in passes)
           for name, field in (
               ('pass_seconds', 'seconds'), ('messages', 'messages'),
               ('bytes_sent', 'bytes_sent'),
               ('cpu_seconds', 'cpu_seconds'))}}


class Sync(Bench):
    """All trials of one invocation."""

    name = 'sync'
    references = ('stock',)
    metrics = (
        Metric('pass_seconds', 'pass, s (slowest node)', 3),
        Metric('messages', 'messages/node', 1),
        Metric('messages_per_partition', 'messages/partition', 2),
        Metric('bytes_sent', 'bytes sent/node'),
        Metric('cpu_seconds', 'CPU s/node', 3),
        Metric('max_rss_mib', 'max RSS, MiB', 1),
        Metric('rounds', 'rounds'),
        Metric('total_pass_seconds', 'all rounds: passes, s', 3),
        Metric('total_bytes_sent', 'all rounds: bytes/node'),
        Metric('total_cpu_seconds', 'all rounds: CPU s/node', 3),
        Metric('total_messages', 'all rounds: messages', 1),
        Metric('converged', 'converged', has_ratio=False))

    def measure(self, stack: Any) -> None:
        args = self.args
        require('--replicas', args.replicas, 'up to --nodes, %d'
                % args.nodes, args.replicas <= args.nodes)
        unique = args.objects * args.nodes // args.replicas
        power = args.part_power or max(1, round(math.log2(
            max(1, unique) / OBJECTS_PER_PARTITION)))
        self._data_set = DataSet(args.seed, unique, args.size,
                                 time.time() - AGE)
        contestants = {}
        for name in args.replicators:
            self.say('starting %d nodes for %s' % (args.nodes, name))
            contestants[name] = stack.enter_context(Contestant(
                Cluster(ClusterSpec(
                    root=os.path.join(self.root, name), nodes=args.nodes,
                    network='namespaces', services=('object',),
                    disks='directory', replicator=name,
                    sync_method=args.sync_method,
                    options=request_log.REPLICATION, policies=(Policy(
                        POLICY, 0, args.replicas, power),))),
                args.timeout).running())
        self._write_master(contestants[args.replicators[0]])
        for run in range(1, args.runs + 1):
            for scenario in args.scenarios:
                for name in in_turn(args.replicators, run):
                    self.attempt(name, scenario, run, lambda: self._play(
                        contestants[name], scenario, run))

    def _write_master(self, contestant: Contestant) -> None:
        # Rings and the paths of objects depend on swift.conf.
        cluster, args = contestant.cluster, self.args
        set_swift_dir(cluster.layout.etc)
        self._storage = Storage(cluster.layout.etc, cluster.ring(POLICY),
                                args.seed)
        self._master = os.path.join(self.root, 'master')
        for device in contestant.devices(contestant.nodes):
            os.makedirs(os.path.join(self._master, device))
        objects = self._data_set.objects
        suffixes = {os.path.dirname(self._storage.place(each.name)[2])
                    for each in objects}
        self._partitions = len({os.path.dirname(path) for path in suffixes})
        share = args.replicas / args.nodes
        args.shape = {
            'objects_per_node': len(objects) * share,
            'partitions_per_node': self._partitions * share,
            'suffixes_per_partition': len(suffixes) / self._partitions}
        self.say('writing %d objects, %d replicas each; a node holds %.0f '
                 'partitions' % (len(objects), args.replicas,
                                 args.shape['partitions_per_node']))
        self._storage.write(
            [(each, self._storage.devices_of(each.name))
             for each in objects], lambda device: self._master, rehash=True)

    def _play(self, contestant: Contestant, scenario: str,
              run: int) -> Dict[str, Any]:
        found = Trial(contestant, self._storage, self._data_set,
                      '%s/%d' % (scenario, run)).play(self._master, scenario)
        return {**found, 'messages_per_partition':
                found['messages'] * found['live_nodes'] / self._partitions}
