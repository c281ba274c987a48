# SPDX-License-Identifier: Apache-2.0
"""One scenario of ``bench sync``, played by the cluster of one replicator."""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tools.benchmarks import request_log
from tools.benchmarks.measure import cpu_ms, cpu_seconds, syscalls
from tools.benchmarks.settings import BenchError
from tools.benchmarks.sync_data import DataSet, Storage, restore
from tools.benchmarks.sync_probe import Probes
from tools.benchmarks.sync_writes import write
from tools.cluster import Cluster

#: Passes after which replicas that still differ count as not converged.
MAX_ROUNDS = 10
#: What takes a node from a cluster, and what brings it back: methods of
#: Cluster. A node that is partitioned is silent, the ports of a dead one
#: refuse connections.
LOSSES = {'kill': 'start', 'partition': 'heal'}
#: scenario -> its steps: of LOSSES, of DataSet.changes, a pass, or the node's
#: return; LightSync §3 and §6 measure these states
SCENARIOS = {
    'stable': (),
    'create': ('create',),
    'delete': ('delete',),
    'dead-refused': ('kill',),
    'dead-silent': ('partition',),
    'rejoin': ('kill', 'rewrite', 'replicate', 'return'),
    'changes': ('replicate', 'replicate', 'touch'),
}
#: Scenarios whose passes follow each other, as a daemon's do.
FOLLOWING = ('changes',)
#: Partitions of a node that ``touch`` changes.
TOUCHED = 10


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
        """Start the cluster; its end ends the probes."""
        with self.cluster:
            try:
                yield self
            finally:
                self.probes.stop()

    def replicate(self, nodes: list[int],
                  follows: bool = False) -> dict[str, Any]:
        """
        Have the live nodes, whose probes run, make a pass together.

        :param nodes: their numbers
        :param follows: whether it may know what the passes before it found

        :returns: the figures of the pass: ``pass_seconds`` of the slowest
            node, ``max_rss_mib`` of the largest replicator, of the others
            the means of the nodes
        :raises BenchError: if it takes too long
        """
        logs = [request_log.path(self.cluster.layout.cache_dir(node))
                for node in nodes]
        begins = [request_log.position(log) for log in logs]
        servers = [pid for node in nodes for pid in self.cluster.pids(node)]
        sides = {'receiver': servers, 'sender': self.probes.pids()}
        counts: dict[str, Any] = {}
        with ExitStack() as stack:
            if follows:
                counts = {side: stack.enter_context(syscalls(pids))
                          for side, pids in sides.items()}
            ms = {side: cpu_ms(pids) for side, pids in sides.items()}
            sent, cpu = self._bytes_sent(nodes), cpu_seconds(servers)
            usages = self.probes.run(self.timeout, follows)
            cpu = cpu_seconds(servers) - cpu
            ms = {side: cpu_ms(pids) - ms[side]
                  for side, pids in sides.items()}
        sent = self._bytes_sent(nodes) - sent
        requests = sum(map(request_log.since, logs, begins), Counter())
        return {
            'pass_seconds': max(usage.seconds for usage in usages),
            'messages': sum(requests.values()) / len(nodes),
            'requests': {verb: count / len(nodes)
                         for verb, count in sorted(requests.items())},
            'bytes_sent': sent / len(nodes),
            'cpu_seconds': (cpu + sum(
                usage.cpu_seconds for usage in usages)) / len(nodes),
            **{side + '_cpu_ms': used / len(nodes)
               for side, used in ms.items()},
            **{side + '_syscalls': (count() or 0) / len(nodes)
               for side, count in counts.items()},
            'max_rss_mib': max(
                usage.max_rss_kib for usage in usages) / 1024}

    def _bytes_sent(self, nodes: list[int]) -> int:
        return sum(self.cluster.counters(node).tx_bytes for node in nodes)


class Trial:
    """
    One scenario, played once.

    :param contestant: whose cluster is up
    :param storage: the Storage
    :param data_set: the DataSet, which the master copy holds
    :param seed: of its choices
    """

    def __init__(self, contestant: Contestant, storage: Storage,
                 data_set: DataSet, seed: str) -> None:
        self._contestant, self._storage = contestant, storage
        self._data_set, self._seed = data_set, seed
        self._follows = False
        self._live = list(contestant.nodes)
        self._versions = {each.name: each for each in data_set.objects}
        #: what brings the lost node back, and its number
        self._lost: Any = None

    def play(self, master: str, scenario: str) -> dict[str, Any]:
        """
        Play the scenario, then passes until all replicas are equal.

        :param master: the directory of the master copy
        :returns: the figures
        :raises BenchError: if a pass took too long, or the cluster is not
            what it should be
        """
        self._follows = scenario in FOLLOWING
        for device, path in self._paths().items():
            restore(os.path.join(master, device), path)
        try:
            self._contestant.probes.start(self._live)
            self._replicate()
            if self._stale():
                raise BenchError('%d replicas are not as they were written, '
                                 'before anything was changed'
                                 % self._stale())
            for step in SCENARIOS[scenario]:
                self._do(step)
            passes = [self._replicate()]
            while self._stale() and len(passes) < MAX_ROUNDS:
                passes.append(self._replicate())
            return summary(passes, len(self._live), self._stale())
        finally:
            self._contestant.probes.stop()
            self._heal()

    def _stale(self) -> int:
        return self._storage.stale(self._versions.values(),
                                   self._paths().get)

    def _paths(self) -> dict[str, str]:
        return self._contestant.cluster.device_paths(*self._live)

    def _replicate(self) -> dict[str, Any]:
        return self._contestant.replicate(self._live, self._follows)

    def _do(self, step: str) -> None:
        cluster, probes = self._contestant.cluster, self._contestant.probes
        if step in LOSSES:
            # The last node, and its replicator.
            node = self._live.pop()
            probes.stop([node])
            getattr(cluster, step)(node)
            self._lost = getattr(cluster, LOSSES[step]), node
        elif step == 'return':
            node = self._heal()
            probes.start([node])
            self._live.append(node)
        elif step == 'replicate':
            self._replicate()
        elif step == 'touch':
            self._touch()
        else:
            # Of scenarios that lose no node, all nodes are live.
            paths = self._paths()
            writes = self._data_set.changes(
                step, self._seed, self._storage.devices_of, paths)
            self._storage.write(
                writes, lambda device: os.path.dirname(paths[device]))
            self._versions.update((each.name, each) for each, _ in writes)

    def _touch(self) -> None:
        """Overwrite objects by the servers of all their replicas."""
        versions = self._data_set.overwrites(self._seed, -(
            -TOUCHED * len(self._live) // self._storage.replicas))
        write(self._contestant.cluster, [
            each for version in versions
            for each in self._storage.puts(version)])
        self._versions.update((each.name, each) for each in versions)

    def _heal(self) -> Any:
        if self._lost is None:
            return None
        (bring_back, node), self._lost = self._lost, None
        bring_back(node)
        return node


def summary(passes: list[dict[str, Any]], live: int,
            stale: int) -> dict[str, Any]:
    """
    Return the figures of a trial.

    :param passes: all after the change; the first one's figures count
    :param live: how many nodes took part in the last one
    :param stale: replicas that are not as they should be after it
    """
    return {
        **passes[0], 'rounds': len(passes), 'converged': int(not stale),
        'stale_replicas': stale, 'live_nodes': live,
        **{'total_' + name: sum(each[name] for each in passes) for name in (
            'pass_seconds', 'messages', 'bytes_sent', 'cpu_seconds')}}
