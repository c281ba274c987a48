# SPDX-License-Identifier: Apache-2.0
"""Replication passes, in which every node replicates once, and their costs.

Messages are counted in the logs of the replication servers of one cluster,
and bytes in those of its rsync daemons: nothing else on the machine counts.
"""

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from resource import RUSAGE_CHILDREN
from typing import Any

from cosbench.reports.numbers import size
from tools import ToolError
from tools.benchmarks.measure import cpu_seconds, own_cpu_seconds
from tools.cluster import Cluster
from tools.demonstration.show import Show

#: the replication servers log every request
OPTIONS = {'replication-server': {'DEFAULT': {'log_level': 'DEBUG'}}}
#: methods with which nodes talk about replicas
VERBS = ('LIGHTSYNC', 'REPLICATE', 'SSYNC')
MESSAGE = re.compile(r'"(%s) /' % '|'.join(VERBS))
RSYNC_BYTES = re.compile(r'sent (\d+) bytes  received (\d+) bytes')
SERVERS = ('object-server', 'replication-server', 'rsync')


@dataclass(frozen=True)
class Cost:
    """What one pass, or several, took.

    :param passes: how many
    :param messages: requests of each of VERBS
    :param rsync_bytes: what rsync moved, both ways
    :param seconds: of the slowest node, by its replicator's own account
    :param cpu_seconds: of the replicators, with their start, and of the
        object-servers and rsync daemons
    """

    passes: int = 0
    messages: Counter = field(default_factory=Counter)
    rsync_bytes: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0

    def __add__(self, other: 'Cost') -> 'Cost':
        return Cost(**{name: value + getattr(other, name)
                       for name, value in vars(self).items()})

    @property
    def all_messages(self) -> int:
        return sum(self.messages.values())

    def __str__(self) -> str:
        return '%.1f s, %s' % (self.seconds, ', '.join(
            '%d %s' % (self.messages[verb], verb) for verb in VERBS
            if self.messages[verb]) or 'no messages')


def read_log(path: str, begin: int) -> tuple[Counter, int]:
    """Return the messages, and the bytes of rsync, after a position."""
    messages, moved = Counter[str](), 0
    if os.path.exists(path):
        with open(path, errors='replace') as log:
            log.seek(begin)
            for line in log:
                messages.update(MESSAGE.findall(line))
                moved += sum(int(sent) + int(received) for sent, received
                             in RSYNC_BYTES.findall(line))
    return messages, moved


def _pass_seconds(cluster: Cluster, node: int, begin: float) -> float:
    path = os.path.join(cluster.layout.cache_dir(node), 'object.recon')
    with open(path) as recon:
        report = json.load(recon)
    if report.get('object_replication_last', 0) < begin:
        raise ToolError('%s: node %d has not reported its pass; its log is %s'
                        % (path, node, cluster.layout.log(
                            'object-replicator.%d' % node)))
    return report['object_replication_time'] * 60


def one_pass(cluster: Cluster) -> Cost:
    """Replicate once on every node, on all at the same time.

    :param cluster: a Cluster that is up and has the OPTIONS
    :raises ToolError: if a replicator fails
    """
    nodes = list(cluster.spec.node_numbers())
    begin = time.time()
    pids = [pid for node in nodes for name in SERVERS
            for pid in cluster.pids(node, name)]
    logs = {path: os.path.getsize(path) if os.path.exists(path) else 0
            for node in nodes for path in (
                cluster.layout.log('replication-server.%d' % node),
                cluster.layout.log('rsyncd.%d' % node))}
    cpu = cpu_seconds(pids) + own_cpu_seconds(RUSAGE_CHILDREN)
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(cluster.replicate_once, nodes))
    cpu = cpu_seconds(pids) + own_cpu_seconds(RUSAGE_CHILDREN) - cpu
    messages, moved = zip(*map(read_log, logs, logs.values()))
    return Cost(1, sum(messages, Counter()), sum(moved), max(
        _pass_seconds(cluster, node, begin) for node in nodes), cpu)


def print_comparison(show: Show, title: str, lightsync: Cost, stock: Cost
                     ) -> None:
    """Print what LightSync and stock Swift took, side by side."""
    seconds = '{:.1f}'.format
    rows: list[tuple[str, Callable[[Any], str], Callable[[Cost], Any]]] = [
        ('passes', str, lambda cost: cost.passes),
        ('messages', str, lambda cost: cost.all_messages),
        *(('  ' + verb, str, lambda cost, verb=verb: cost.messages[verb])
          for verb in VERBS if (lightsync + stock).messages[verb]),
        ('bytes of rsync', size, lambda cost: cost.rsync_bytes),
        ('seconds, slowest node', seconds, lambda cost: cost.seconds),
        ('CPU seconds', seconds, lambda cost: cost.cpu_seconds)]
    show.table([title, 'LightSync', 'stock', 'ratio'], [
        [name, form(mine), form(others),
         '%.2g' % (mine / others) if others else '-']
        for name, form, of in rows for mine, others in [
            (of(lightsync), of(stock))]])
    if lightsync.cpu_seconds > 0.9 * stock.cpu_seconds:
        show.say('Little CPU is saved here: most of it is the start of a '
                 'Python process a node and pass, the same for both.')
