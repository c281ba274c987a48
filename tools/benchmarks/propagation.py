# SPDX-License-Identifier: Apache-2.0
"""Measures how fast new versions of many containers reach the other sites.

The first site's propagators are down while its clients write one version into
each container; the time runs from the moment at which they are started until
the last of the other sites has acknowledged the last version.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from swift_lightsync.versioning.sites.sync_state import read
from tools.benchmarks.site import ask, log_in
from tools.cluster.cluster import Cluster
from tools.cluster.processes import wait_until
from tools.cluster.sites import Sites

PROPAGATOR = 'container-propagator'
#: Seconds for which all sites may need to have the containers, and then the
#: versions.
PATIENCE = 3600
#: Requests of clients at the same time.
CLIENTS = 8


class Propagation:
    """Sites with containers that have versions.

    :param root: a directory for all sites
    :param sites: how many
    :param nodes: of each site; as many replicas has each container and object
    :param containers: how many
    :param say: writes a line of progress
    """

    def __init__(self, root: str, sites: int, nodes: int, containers: int,
                 say: Callable[[str], None]) -> None:
        self.sites = Sites(root, sites, nodes=nodes)
        self.first: Cluster = self.sites.clusters[self.sites.names[0]]
        self._containers = ['c%05d' % each for each in range(containers)]
        self._say = say

    def __enter__(self) -> 'Propagation':
        self.sites.up()
        self._login = log_in(self.first)
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
        login = log_in(cluster) if cluster else self._login

        def some(number: int) -> None:
            ask(login.address, method,
                ['%s/%s' % (login.path, path)
                 for path in paths[number::CLIENTS]],
                {'X-Auth-Token': login.token, **headers})
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(some, range(CLIENTS)))

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
