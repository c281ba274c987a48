# SPDX-License-Identifier: Apache-2.0
"""The clusters that ``bench proar`` writes to, and what bounds writes."""

import os
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, NamedTuple

from tools.arguments import GIB
from tools.benchmarks import request_log
from tools.benchmarks.site import Site, apart, auth_of
from tools.benchmarks.throttle import Throttle
from tools.cluster import (
    ClusterSpec,
    Policy,
    commands,
    free_base_port,
    processes,
)

NODES = REPLICAS = 3
#: Where flushes bound, of each policy: few writes meet in one.
PARTITIONS = 1024
#: site -> the policies of its cluster
SITES = {
    'stock': (Policy('stock', 0, REPLICAS),),
    'proar': (Policy('proar', 0, REPLICAS, proar=True),
              Policy('sync2', 1, REPLICAS, proar=True)),
}
#: The options of what is compared; those of PROAR are what OPERATING.md
#: advises, for no client waits for converger and replication server.
_NICE = {'nice_priority': 10, 'disk_chunk_size': 262144}
OPTIONS: dict[str, dict[str, Any]] = {
    'stock': {},
    'proar': {
        'proxy-server': {'proxy-server:policy:1': {'min_sync_copies': 2}},
        'object-server': {'object-converger': _NICE},
        'replication-server': {'app:object-server': {
            **_NICE, 'network_chunk_size': 262144}}},
}


class Bound(NamedTuple):
    """What bounds a write.

    :param network: of the clusters
    :param part_power: of their rings
    :param flush_seconds: how much longer a flush takes on object-servers
    """

    network: str = 'loopback'
    part_power: int = 8
    flush_seconds: str = ''


BOUNDS = {
    'cpu': Bound(), 'nic': Bound('namespaces'),
    'flush': Bound(part_power=PARTITIONS.bit_length() - 1,
                   flush_seconds='0.025')}
#: of each node's network where that bounds, and of the client's
RATE = '100mbit'


def arrivals(directories: Iterable[str]) -> dict[str, list[float]]:
    """Find out when the replicas of objects, each written once, were stored.

    The inode of a data file changes last when it gets its name, which is when
    the object-server has it.

    :param directories: of the objects of each device
    :returns: an object's hash -> Unix times, one for each replica
    """
    found: dict[str, list[float]] = defaultdict(list)
    for top in directories:
        for path, _, files in os.walk(top):
            for each in files:
                if each.endswith('.data'):
                    found[os.path.basename(path)].append(
                        os.stat(os.path.join(path, each)).st_ctime)
    return found


def lags(found: dict[str, list[float]], replicas: int = REPLICAS
         ) -> tuple[list[float], int]:
    """Return how long objects took from their first replica to their last.

    :param found: from ``arrivals``
    :param replicas: that each of them is to have
    :returns: the seconds of each object that has all replicas; how many
        objects lack one
    """
    whole = [max(times) - min(times) for times in found.values()
             if len(times) >= replicas]
    return whole, len(found) - len(whole)


class Trio(Site):
    """A cluster of three nodes, of which one has a disk that can be slow.

    :param args: of the command line
    """

    def __init__(self, args: Any, root: str, name: str,
                 throttle: Throttle) -> None:
        root = os.path.join(root, name)
        bound = BOUNDS[args.bound]
        options = {**apart(root), **OPTIONS[name]}
        slow = {'flush_seconds': bound.flush_seconds} \
            if bound.flush_seconds else {}
        options['object-server'] = {
            **request_log.options(
                'object-server', 'healthcheck recon object-server', **slow)[
                    'object-server'],
            **options.get('object-server', {})}
        super().__init__(name, ClusterSpec(
            root=root, nodes=NODES, base_port=free_base_port(NODES),
            policies=tuple(
                replace(each, part_power=bound.part_power)
                for each in SITES[name]), replicator='stock', disks='xfs',
            disk_size=8 * GIB,
            network=bound.network, options=options), throttle)
        self._patience = args.patience
        self._is_hidden = False
        #: what runs a client of this cluster
        self.client_command: list[str] = []

    def begin(self) -> None:
        super().begin()
        network = self.cluster.network
        if network.namespaces:
            self.client_command = network.command(None, [])
            network.shape(RATE)

    def _log_in(self) -> None:
        if self.cluster.network.namespaces:
            # The client runs where the proxy-server is.
            self.auth = auth_of(self.cluster)
        else:
            super()._log_in()

    def hide_disk(self, is_hidden: bool) -> None:
        """Have the first disk be dead, or not.

        A read-only, empty filesystem stands before it: each write fails.
        """
        path = next(iter(self.cluster.device_paths().values()))
        if is_hidden and not self._is_hidden:
            commands.run(['mount', '-t', 'tmpfs', '-o', 'ro', 'dead', path])
        elif self._is_hidden and not is_hidden:
            commands.run(['umount', path])
        self._is_hidden = is_hidden

    def convergers_stand(
            self, are_stopped: bool) -> AbstractContextManager[None]:
        """Return a context in which convergers do nothing, if so asked."""
        return processes.stopped(*[
            pid for node in self.cluster.spec.node_numbers()
            for pid in self.cluster.pids(node, 'object-converger')
            if are_stopped])

    def recover(self, policy: int | None) -> None:
        """Have all be as if the disk had never been dead.

        The proxies no longer avoid it, and nothing waits to be pushed to it.

        :param policy: the one that was written; None: nobody brings the disk
            what it lacks
        """
        self.cluster.swift_init('proxy-server', 'restart')
        if policy is not None:
            self.converged(policy)

    def __exit__(self, *exc_info: Any) -> None:
        self.hide_disk(False)
        super().__exit__(*exc_info)

    def converged(self, policy: int, replicas: int = REPLICAS
                  ) -> tuple[list[float], int]:
        """Wait for all replicas; return their lags, and what lacks some.

        :param replicas: of each object
        """
        deadline = time.monotonic() + self._patience
        while True:
            found = lags(arrivals(self.object_dirs(policy)), replicas)
            if not found[1] or time.monotonic() > deadline:
                return found
            time.sleep(0.2)
