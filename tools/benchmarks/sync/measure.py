# SPDX-License-Identifier: Apache-2.0
"""Measures one replication pass of a whole cluster."""

import os
from collections import Counter
from dataclasses import dataclass

from tools.benchmarks.sync import request_log

TICKS = os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class Pass:
    """
    A pass of all live nodes; all but the first and the last are the means
    of these nodes.

    :param seconds: the slowest node's
    :param requests: that the object servers received; a dict of their verbs
    :param bytes_sent: through the nodes' network interfaces
    :param cpu_seconds: of replicators, object servers and rsync
    :param max_rss_mib: of the largest replicator
    """
    seconds: float
    requests: dict
    bytes_sent: float
    cpu_seconds: float
    max_rss_mib: float

    @property
    def messages(self):
        """All requests."""
        return sum(self.requests.values())


def cpu_seconds(pids):
    """:returns: what processes and their late children have used so far"""
    ticks = 0
    for pid in pids:
        with open('/proc/%d/stat' % pid) as stat:
            # utime, stime, cutime, cstime are the fields 14 to 17.
            ticks += sum(map(int, stat.read().rpartition(')')[2]
                             .split()[11:15]))
    return ticks / TICKS


class PassMeter:
    """
    :param cluster: the Cluster
    :param probes: its Probes
    """

    def __init__(self, cluster, probes):
        self.cluster = cluster
        self.probes = probes

    def _request_logs(self, nodes):
        return [request_log.path(self.cluster.layout.cache_dir(node))
                for node in nodes]

    def _bytes_sent(self, nodes):
        return sum(self.cluster.counters(node).tx_bytes for node in nodes)

    def measure(self, nodes, timeout):
        """
        :param nodes: the numbers of the live nodes
        :param timeout: seconds that the pass may take
        :returns: the Pass
        :raises BenchError: if it takes longer
        """
        logs = {log: request_log.position(log)
                for log in self._request_logs(nodes)}
        servers = [pid for node in nodes for pid in self.cluster.pids(node)]
        sent, cpu = self._bytes_sent(nodes), cpu_seconds(servers)
        usages = self.probes.run(timeout)
        cpu = cpu_seconds(servers) - cpu
        sent = self._bytes_sent(nodes) - sent
        requests = sum((request_log.since(log, begin)
                        for log, begin in logs.items()), Counter())
        return Pass(
            max(usage.seconds for usage in usages),
            {verb: count / len(nodes)
             for verb, count in sorted(requests.items())},
            sent / len(nodes),
            (cpu + sum(usage.cpu_seconds for usage in usages)) / len(nodes),
            max(usage.max_rss_kib for usage in usages) / 1024)
