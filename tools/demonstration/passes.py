# SPDX-License-Identifier: Apache-2.0
"""
Replication passes, in which every node replicates once, and their costs.

Messages are counted in the logs of the replication servers of one cluster,
and bytes in those of its rsync daemons: nothing else on the machine counts.
"""

import json
import os
import re
import resource
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tools.cluster import Cluster
from tools.demonstration.errors import DemoError
from tools.demonstration.show import Show, byte_count

#: the replication servers log every request
OPTIONS = {'replication-server': {'DEFAULT': {'log_level': 'DEBUG'}}}
#: methods with which nodes talk about replicas
VERBS = ('LIGHTSYNC', 'REPLICATE', 'SSYNC')
MESSAGE = re.compile(r'"(%s) /' % '|'.join(VERBS))
RSYNC_BYTES = re.compile(r'sent (\d+) bytes  received (\d+) bytes')
SERVERS = ('object-server', 'replication-server', 'rsync')
TICKS = os.sysconf('SC_CLK_TCK')


@dataclass(frozen=True)
class Cost:
    """
    What one pass, or several, took.

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
        return Cost(self.passes + other.passes,
                    self.messages + other.messages,
                    self.rsync_bytes + other.rsync_bytes,
                    self.seconds + other.seconds,
                    self.cpu_seconds + other.cpu_seconds)

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

    :param cluster: a Cluster that is up and has the OPTIONS
    :raises ClusterError: if a replicator fails
    """
    nodes = list(cluster.spec.node_numbers())
    begin = time.time()
    pids = [pid for node in nodes for name in SERVERS
            for pid in cluster.pids(node, name)]
    logs = {path: os.path.getsize(path) if os.path.exists(path) else 0
            for node in nodes for path in (
                cluster.layout.log('replication-server.%d' % node),
                cluster.layout.log('rsyncd.%d' % node))}
    cpu = _cpu_seconds(pids)
    with ThreadPoolExecutor(len(nodes)) as pool:
        list(pool.map(cluster.replicate_once, nodes))
    cpu = _cpu_seconds(pids) - cpu
    messages, moved = zip(*map(read_log, logs, logs.values()))
    return Cost(1, sum(messages, Counter()), sum(moved), max(
        _pass_seconds(cluster, node, begin) for node in nodes), cpu)


def print_comparison(show: Show, title: str, lightsync: Cost, stock: Cost
                     ) -> None:
    """Print what LightSync and stock Swift took, side by side."""
    def row(name, form, mine, others):
        return [name, form(mine), form(others),
                '%.2g' % (mine / others) if others else '-']

    seconds = '{:.1f}'.format
    show.table([title, 'LightSync', 'stock', 'ratio'], [
        row('passes', str, lightsync.passes, stock.passes),
        row('messages', str, lightsync.all_messages, stock.all_messages),
        *(row('  ' + verb, str, lightsync.messages[verb],
              stock.messages[verb]) for verb in VERBS
          if lightsync.messages[verb] or stock.messages[verb]),
        row('bytes of rsync', byte_count, lightsync.rsync_bytes,
            stock.rsync_bytes),
        row('seconds, slowest node', seconds, lightsync.seconds,
            stock.seconds),
        row('CPU seconds', seconds, lightsync.cpu_seconds,
            stock.cpu_seconds)])
    if lightsync.cpu_seconds > 0.9 * stock.cpu_seconds:
        show.say('Little CPU is saved here: most of it is the start of a '
                 'Python process a node and pass, the same for both.')
