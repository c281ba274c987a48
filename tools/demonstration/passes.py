# SPDX-License-Identifier: Apache-2.0
"""
Replication passes, and what they cost.

In a pass every node replicates once, all at the same time. Nothing else of
the cluster uses the network then: all bytes that the loopback interface
carries meanwhile are the pass's.
"""

import json
import os
import resource
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from tools.benchmarks import request_log
from tools.benchmarks.measure import cpu_seconds
from tools.demonstration.errors import DemoError

#: verbs with which nodes talk about replicas
VERBS = ('LIGHTSYNC', 'REPLICATE', 'SSYNC')
#: arguments of a replicator that is to start and find nothing to do
NOTHING = ('--devices', 'none')


@dataclass(frozen=True)
class Cost:
    """
    What one pass, or several, took.

    :param passes: how many
    :param messages: a tuple of counts, one a verb of VERBS
    :param loopback_bytes: what the loopback interface carried, with headers
    :param seconds: of the slowest node, by its replicator's own account
    :param cpu_seconds: of the replicators, servers and rsync daemons, with
        the start of the replicators
    """

    passes: int = 0
    messages: tuple = (0,) * len(VERBS)
    loopback_bytes: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __add__(self, other):
        return Cost(self.passes + other.passes,
                    tuple(mine + others for mine, others in
                          zip(self.messages, other.messages)),
                    self.loopback_bytes + other.loopback_bytes,
                    self.seconds + other.seconds,
                    self.cpu_seconds + other.cpu_seconds)

    @property
    def all_messages(self):
        return sum(self.messages)


def loopback_bytes():
    """:returns: bytes sent over loopback since the machine came up"""
    with open('/proc/net/dev') as interfaces:
        for line in interfaces:
            name, _, counters = line.partition(':')
            if name.strip() == 'lo':
                return int(counters.split()[8])
    raise DemoError('/proc/net/dev lists no loopback interface')


class Meter:
    """
    Measures the passes of one cluster.

    :param cluster: a Cluster whose servers log requests, which is up
    """

    def __init__(self, cluster):
        self.cluster = cluster
        self.nodes = cluster.spec.node_numbers()
        self.logs = [request_log.path(cluster.layout.cache_dir(node))
                     for node in self.nodes]

    def one_pass(self):
        """
        Replicate once on every node.

        :returns: its Cost
        :raises ClusterError: if a replicator fails
        """
        begin = time.time()
        cost = self._measure()
        return replace(cost, seconds=max(
            self._pass_seconds(node, begin) for node in self.nodes))

    def idle_pass(self):
        """:returns: the Cost of a pass that looks at nothing"""
        return self._measure(NOTHING)

    def _measure(self, args=()):
        pids = [pid for node in self.nodes
                for pid in self.cluster.pids(node)]
        logged = [request_log.position(log) for log in self.logs]
        cpu, sent = self._cpu(pids), loopback_bytes()
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(lambda node: self.cluster.replicate_once(
                node, args=args), self.nodes))
        cpu, sent = self._cpu(pids) - cpu, loopback_bytes() - sent
        counts = sum(map(request_log.since, self.logs, logged), Counter())
        return Cost(passes=1, messages=tuple(counts[verb] for verb in VERBS),
                    loopback_bytes=sent, cpu_seconds=cpu)

    @staticmethod
    def _cpu(pids):
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cpu_seconds(pids) + ended.ru_utime + ended.ru_stime

    def _pass_seconds(self, node, begin):
        path = os.path.join(self.cluster.layout.cache_dir(node),
                            'object.recon')
        try:
            with open(path) as recon:
                report = json.load(recon)
        except FileNotFoundError:
            report = {}
        if report.get('object_replication_last', 0) < begin:
            raise DemoError('%s: node %d has not reported its pass; '
                            'its log is %s' % (
                                path, node, self.cluster.layout.log(
                                    'object-replicator.%d' % node)))
        return report['object_replication_time'] * 60
