# SPDX-License-Identifier: Apache-2.0
"""One scenario of ``bench sync``, played by the cluster of one replicator."""

import os
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

from tools import ToolError
from tools.benchmarks import request_log
from tools.benchmarks.measure import (
    cpu_ms,
    cpu_seconds,
    rss_mib,
    syscalls,
    written_bytes,
)
from tools.benchmarks.request_log import Since
from tools.benchmarks.sync_data import DataSet, Storage, Version, restore
from tools.benchmarks.sync_probe import Probes
from tools.benchmarks.sync_steps import Scenario, Steps
from tools.cluster import Cluster


class Contestant:
    """The cluster of a replicator, in network namespaces, and its probes.

    :param cluster: the Cluster
    :param timeout: seconds that a pass may take
    """

    def __init__(self, cluster: Cluster, timeout: float) -> None:
        self.cluster, self.timeout = cluster, timeout
        self.probes = Probes(cluster)
        self.nodes = list(cluster.spec.node_numbers())

    def __enter__(self) -> 'Contestant':
        self.cluster.up()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        try:
            self.probes.stop()
        finally:
            self.cluster.down()

    def replicate(self, nodes: list[int], follows: bool = False,
                  seconds: int = 0) -> dict[str, Any]:
        """Have the live nodes, whose probes run, make a pass together.

        :param nodes: their numbers
        :param follows: whether it may know what the passes before it found
        :param seconds: that passed, for the replicators, since the one before
        :returns: the figures of the pass: ``pass_seconds`` of the slowest
            node, ``max_rss_mib`` of the largest replicator, of the others
            the means of the nodes
        :raises ToolError: if it takes too long
        """
        logged = Since(request_log.path(self.cluster.layout.cache_dir(node))
                       for node in nodes)
        servers = [pid for node in nodes for pid in self.cluster.pids(node)]
        sides = {'receiver': servers, 'sender': self.probes.pids()}
        counts: dict[str, Any] = {}
        with ExitStack() as stack:
            if follows:
                counts = {side: stack.enter_context(syscalls(pids))
                          for side, pids in sides.items()}
            before = self._used(nodes, sides)
            usages = self.probes.run(self.timeout, follows, seconds)
            used = {name: total - before[name]
                    for name, total in self._used(nodes, sides).items()}
        used['cpu_seconds'] += sum(usage.cpu_seconds for usage in usages)
        used.update((side + '_syscalls', count() or 0)
                    for side, count in counts.items())
        requests = logged.methods()
        return {
            'pass_seconds': max(usage.seconds for usage in usages),
            'messages': sum(requests.values()) / len(nodes),
            'requests': {verb: count / len(nodes)
                         for verb, count in sorted(requests.items())},
            **{name: total / len(nodes) for name, total in used.items()},
            'max_rss_mib': max(usage.max_rss_mib for usage in usages),
            'server_rss_mib': max(rss_mib([pid]) for pid in servers)}

    def _used(self, nodes: list[int],
              sides: dict[str, list[int]]) -> dict[str, float]:
        """Return what nodes have used so far, under the figures' names."""
        return {
            'bytes_sent': sum(self.cluster.counters(node).tx_bytes
                              for node in nodes),
            'kib_written': sum(map(written_bytes, sides.values())) / 1024,
            'cpu_seconds': cpu_seconds(sides['receiver']),
            **{side + '_cpu_ms': cpu_ms(pids)
               for side, pids in sides.items()}}


class Trial:
    """One scenario, played once.

    :param contestant: whose cluster is up
    :param storage: the Storage
    :param data_set: the DataSet, which the master copy holds
    :param seed: of its choices
    """

    def __init__(self, contestant: Contestant, storage: Storage,
                 data_set: DataSet, seed: str) -> None:
        self.contestant, self.storage = contestant, storage
        self.data_set, self.seed = data_set, seed
        #: The nodes that take part.
        self.live = list(contestant.nodes)
        #: Of the replicators, in any pass.
        self._peak = 0.0
        self._versions = {each.name: each for each in data_set.objects}
        self._scenario = Scenario()

    def play(self, master: str, scenario: Scenario) -> dict[str, Any]:
        """Play the scenario, then passes until all replicas are equal.

        :param master: the directory of the master copy
        :param scenario: the scenario
        :returns: the figures
        :raises ToolError: if a pass took too long, or the cluster is not
            what it should be
        """
        self._scenario = scenario
        for device, path in self.paths().items():
            restore(os.path.join(master, device), path)
        steps = Steps(self)
        try:
            self.contestant.probes.start(self.live)
            self.replicate()
            if self._stale():
                raise ToolError('%d replicas are not as they were written, '
                                'before anything was changed'
                                % self._stale())
            for step in scenario.steps:
                steps.do(step)
            least, most = scenario.passes
            passes = [self.replicate() for _ in range(least)]
            while self._stale() and len(passes) < most:
                passes.append(self.replicate())
            return dict(summary(passes, len(self.live), self._stale()),
                        peak_rss_mib=self._peak)
        finally:
            self.contestant.probes.stop()
            steps.end()

    def expect(self, versions: Iterable[Version]) -> None:
        """Take versions for the latest ones of their objects."""
        self._versions.update((each.name, each) for each in versions)

    def _stale(self) -> int:
        return self.storage.stale(self._versions.values(), self.paths().get)

    def paths(self) -> dict[str, str]:
        """Return the devices of the nodes that take part: name -> path."""
        return self.contestant.cluster.device_paths(*self.live)

    def replicate(self) -> dict[str, Any]:
        """Have the nodes that take part make a pass."""
        found = self.contestant.replicate(
            self.live, self._scenario.follows, self._scenario.seconds)
        self._peak = max(self._peak, found['max_rss_mib'])
        return found


def summary(passes: list[dict[str, Any]], live: int,
            stale: int) -> dict[str, Any]:
    """Return the figures of a trial.

    :param passes: all after the change; the first one's figures count
    :param live: how many nodes took part in the last one
    :param stale: replicas that are not as they should be after it
    """
    return {
        **passes[0], 'rounds': len(passes), 'converged': int(not stale),
        'stale_replicas': stale, 'live_nodes': live,
        **{'total_' + name: sum(each[name] for each in passes) for name in (
            'pass_seconds', 'messages', 'bytes_sent', 'cpu_seconds',
            'kib_written')}}
