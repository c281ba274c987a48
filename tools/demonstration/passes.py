# SPDX-License-Identifier: Apache-2.0
"""Replication passes, in which every node replicates once, and their costs."""

import json
import os
import resource
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tools.cluster import Cluster
from tools.demonstration import traffic
from tools.demonstration.errors import DemoError
from tools.demonstration.show import Show, byte_count

#: methods with which nodes talk about replicas
VERBS = ('LIGHTSYNC', 'REPLICATE', 'SSYNC')
SERVERS = ('object-server', 'replication-server', 'rsync')
TICKS = os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class Cost:
    """
    What one pass, or several, took.

    :param passes: how many
    :param messages: requests of each of VERBS
    :param sizes: bytes of the bodies of these, and what rsync moved
    :param seconds: of the slowest node, by its replicator's own account
    :param cpu_seconds: of the replicators, with their start, and of the
        object-servers and rsync daemons
    """

    passes: int = 0
    messages: Counter = field(default_factory=Counter)
    sizes: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __add__(self, other: 'Cost') -> 'Cost':
        return Cost(self.passes + other.passes,
                    self.messages + other.messages, self.sizes + other.sizes,
                    self.seconds + other.seconds,
                    self.cpu_seconds + other.cpu_seconds)

    def __str__(self) -> str:
        return '%.1f s, %s' % (self.seconds, ', '.join(
            '%d %s' % (self.messages[verb], verb) for verb in VERBS
            if self.messages[verb]) or 'no messages')


def _cpu_seconds(pids: list[int]) -> float:
    """Return what processes, and the ended children of this one, have used."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = 0
    for pid in pids:
        with open('/proc/%d/stat' % pid) as stat:
            # utime, stime, cutime, cstime are the fields 14 to 17.
            ticks += sum(map(int, stat.read().rpartition(')')[2]
                             .split()[11:15]))
    return ticks / TICKS + ended.ru_utime + ended.ru_stime


def _pass_seconds(cluster: Cluster, node: int, begin: float) -> float:
    path = os.path.join(cluster.layout.cache_dir(node), 'object.recon')
    report = {}
    if os.path.exists(path):
        with open(path) as recon:
            report = json.load(recon)
    if report.get('object_replication_last', 0) < begin:
        raise DemoError('%s: node %d has not reported its pass; its log is %s'
                        % (path, node, cluster.layout.log(
                            'object-replicator.%d' % node)))
    return report['object_replication_time'] * 60


def one_pass(cluster: Cluster) -> Cost:
    """
    Replicate once on every node, on all at the same time.

    :param cluster: a Cluster that is up and has the filter of traffic
    :raises ClusterError: if a replicator fails
    """
    nodes = list(cluster.spec.node_numbers())
    begin = time.time()
    pids = [pid for node in nodes for name in SERVERS
            for pid in cluster.pids(node, name)]
    logs = {path: traffic.position(path) for node in nodes for path in (
        traffic.log_path(cluster.layout.cache_dir(node)),
        cluster.layout.log('rsyncd.%d' % node))}
    cpu = _cpu_seconds(pids)
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(cluster.replicate_once, nodes))
    cpu = _cpu_seconds(pids) - cpu
    messages: Counter = Counter()
    sizes: Counter = Counter()
    for path, position in logs.items():
        for total, more in zip((messages, sizes),
                               traffic.since(path, position)):
            total.update({name: more[name] for name in more
                          if name in (*VERBS, traffic.RSYNC)})
    return Cost(1, messages, sizes, max(
        _pass_seconds(cluster, node, begin) for node in nodes), cpu)


def print_comparison(show: Show, title: str, lightsync: Cost, stock: Cost
                     ) -> None:
    """Print what LightSync and stock Swift took, side by side."""
    rows = []
    for name, form, measure in (
            ('passes', str, lambda cost: cost.passes),
            ('messages', str, lambda cost: sum(cost.messages.values())),
            *(('  ' + verb, str, lambda cost, verb=verb: cost.messages[verb])
              for verb in VERBS),
            ('bytes of messages', byte_count,
             lambda cost: sum(cost.sizes[verb] for verb in VERBS)),
            ('bytes of rsync', byte_count,
             lambda cost: cost.sizes[traffic.RSYNC]),
            ('seconds, slowest node', '{:.1f}'.format,
             lambda cost: cost.seconds),
            ('CPU seconds', '{:.1f}'.format, lambda cost: cost.cpu_seconds)):
        mine, others = measure(lightsync), measure(stock)
        if mine or others:
            rows.append([name, form(mine), form(others), '%.2g' % (
                mine / others) if others else '-'])
    show.table([title, 'LightSync', 'stock', 'ratio'], rows)
    if lightsync.cpu_seconds > 0.9 * stock.cpu_seconds:
        show.say('Little CPU is saved here: most of it is the start of a '
                 'Python process a node and pass, the same for both.')
