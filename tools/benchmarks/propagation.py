# SPDX-License-Identifier: Apache-2.0
"""Measures how fast new versions of many containers reach the other sites.

The first site's propagators are down while its clients write one version into
each container; the time runs from the moment at which they are started until
the last of the other sites has acknowledged the last version.
"""

import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

from swift_lightsync.versioning.sites.sync_state import read
from tools.arguments import number
from tools.benchmarks.bench import Bench, Options
from tools.benchmarks.site import Login
from tools.cluster.cluster import Cluster
from tools.cluster.processes import wait_until
from tools.cluster.sites import Sites

#: of ``bench versioning``
OPTIONS: Options = {
    'sites': (number(0, 6), 0, None, 'measure how fast versions reach '
              'the other ones of so many sites; 0: one site alone'),
    'site-nodes': (number(1, 3), 1, None, 'of each of these sites'),
    'containers': (number(1, 100000), 1000, None,
                   'with one new version each'),
    'rtt': (number(0, 60000, float), 200.0, 'MS',
            'of a round trip between two sites')}
PROPAGATOR = 'container-propagator'
#: Seconds for which all sites may need to have the containers, and then the
#: versions.
PATIENCE = 3600
#: Requests of clients at the same time.
CLIENTS = 8


class Propagation:
    """Sites with containers that have versions.

    Each container and object has as many replicas as its site has nodes.
    """

    def __init__(self, bench: Bench) -> None:
        args = bench.args
        self.sites = Sites(os.path.join(bench.root, 'sites'), args.sites,
                           nodes=args.site_nodes)
        self.first: Cluster = self.sites.clusters[self.sites.names[0]]
        self._containers = ['c%05d' % each for each in range(args.containers)]
        self._say = bench.say

    def __enter__(self) -> 'Propagation':
        self.sites.up()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.sites.down()

    def prepare(self, seconds: float) -> None:
        """Make the containers, and let all sites have them.

        :param seconds: of one round trip between two sites, from then on
        """
        self._say('making %d containers' % len(self._containers))
        before = self._shipped()
        self._request('PUT', self._containers, {'X-Versions-Enabled': 'true'})
        self._request('PUT', self._objects('first'))
        self._say('waiting until all sites have them')
        # The life record of each, and a version.
        self._wait(before, 2 * len(self._containers))
        since = time.time()
        wait_until(lambda: not self._busy(since), PATIENCE,
                   'each knows what the others have')
        names = self.sites.names
        for one in names:
            for other in names:
                if one < other:
                    self.sites.delay(one, other, seconds / 2)

    def play(self, run: int) -> float:
        """Write one version into each container, and let the sites get it.

        :returns: seconds until all sites had acknowledged all
        """
        self._propagators('stop')
        self._request('PUT', self._objects('run%d' % run))
        # They count what they have shipped since they were started.
        since = time.time()
        before = self._shipped(since)
        begin = time.monotonic()
        self._propagators('start')
        self._wait(before, len(self._containers), since)
        return time.monotonic() - begin

    def check(self, run: int) -> None:
        """Check that each site serves all versions of a run.

        :raises ToolError: if it does not
        """
        for name in self.sites.names[1:]:
            self._request('HEAD', self._objects('run%d' % run),
                          cluster=self.sites.clusters[name])

    def _objects(self, name: str) -> list[str]:
        return ['%s/%s' % (each, name) for each in self._containers]

    def _request(self, method: str, paths: list[str],
                 headers: dict[str, str] = {},
                 cluster: Any = None) -> None:
        login = Login.of(cluster or self.first)
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda number: login.request(
                method, paths[number::CLIENTS], headers), range(CLIENTS)))

    def _propagators(self, command: str) -> None:
        for node in self.first.spec.node_numbers():
            self.first.swift_init('%s.%d' % (PROPAGATOR, node), command)

    def _shipped(self, since: float = 0) -> dict[str, int]:
        """Return how many versions each other site was sent so far, also by
        the third ones: they pass on what the first is late with.

        :param since: Unix time; what the first site's propagators recorded
            before does not count
        """
        sent = dict.fromkeys(self.sites.names[1:], 0)
        for name, state in self._states():
            if not state or name == self.sites.names[0] and \
                    state.updated <= since:
                continue
            for peer in state.peers:
                if peer.site in sent:
                    sent[peer.site] += peer.shipped
        return sent

    def _states(self) -> list[tuple[str, Any]]:
        """Return (site, what its propagator has recorded) of each node."""
        return [(name, read(cluster.layout.cache_dir(node)))
                for name, cluster in self.sites.clusters.items()
                for node in cluster.spec.node_numbers()]

    def _busy(self, since: float) -> bool:
        """Return whether a site has not told since then that all have what it
        has, or that it knows of all containers.
        """
        states = [state for _, state in self._states()]
        return len({state and state.databases for state in states}) > 1 or \
            any(state.updated <= since or any(
                peer.rows for peer in state.peers) for state in states)

    def _wait(self, before: dict[str, int], count: int,
              since: float = 0) -> None:
        """Wait until other sites were sent so many versions more."""
        def has_all() -> bool:
            sent = self._shipped(since)
            return all(sent[name] >= before[name] + count for name in sent)
        wait_until(has_all, PATIENCE, 'all were sent %d versions' % count)


def measure(bench: Bench, stack: ExitStack) -> None:
    """Measure how fast versions reach the other sites."""
    args = bench.args
    sites = stack.enter_context(Propagation(bench))
    sites.prepare(args.rtt / 1000)
    case = 'propagate %d containers, %d sites, %g ms' % (
        args.containers, args.sites, args.rtt)
    for run in range(1, args.runs + 1):
        bench.attempt('write-repair', case, run, lambda: {
            'mode': 'write-repair', 'op': 'propagate',
            'containers': args.containers, 'sites': args.sites,
            'seconds': sites.play(run)})
        sites.check(run)
