# SPDX-License-Identifier: Apache-2.0
"""``bench proar``: primary-role writes against writes to a quorum."""

import os
import time
from collections import Counter, defaultdict
from math import sqrt
from statistics import pstdev
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Tuple

from tools.benchmarks import record, request_log, workload
from tools.benchmarks.bench import Bench, add_common
from tools.benchmarks.measure import Device, cpu_of
from tools.benchmarks.record import Metric, Record, in_turn, percentile
from tools.benchmarks.settings import (
    GIB,
    MIB,
    names,
    number,
    size_text,
    sizes,
)
from tools.benchmarks.site import Site, apart
from tools.benchmarks.throttle import Throttle
from tools.benchmarks.workload import Stage
from tools.cluster import ClusterSpec, Policy, commands, free_base_port

NODES = REPLICAS = 3
#: The disk of this node is the slow one.
SLOW_NODE = 1
SLOW = ' slow disk'
#: site -> the policies of its cluster
SITES = {
    'stock': (Policy('stock', 0, REPLICAS),),
    'proar': (Policy('proar', 0, REPLICAS, proar=True),
              Policy('sync2', 1, REPLICAS, proar=True)),
}
#: The options of what is compared; those of PROAR are what OPERATING.md
#: advises, for no client waits for converger and replication server.
_NICE = {'nice_priority': 10, 'disk_chunk_size': 262144}
OPTIONS: Dict[str, Dict[str, Any]] = {
    'stock': {},
    'proar': {
        'proxy-server': {'proxy-server:policy:1': {'min_sync_copies': 2}},
        'object-server': {'object-converger': _NICE},
        'replication-server': {'app:object-server': {
            **_NICE, 'network_chunk_size': 262144}}},
}


class Mode(NamedTuple):
    """
    A way to write: a site, the index of one of its policies, and whose writes
    it does.
    """

    site: str
    policy: int = 0
    contestant: str = 'stock'
    is_slow: bool = False


MODES = {
    'stock': Mode('stock'),
    'proar': Mode('proar', 0, 'proar'),
    'proar-sync2': Mode('proar', 1, 'proar-sync2'),
    'stock-slow': Mode('stock', is_slow=True),
    'proar-slow': Mode('proar', 0, 'proar', True),
}


def add_arguments(parser: Any) -> None:
    """Add the options of this benchmark."""
    add = parser.add_argument
    add('--sizes', type=sizes, default='4K,4M,8M,16M,32M,64M',
        metavar='SIZE,…', help='of the objects')
    add('--modes', type=names(MODES), default=','.join(MODES),
        metavar='NAME,…', help='what is compared')
    add('--requests', type=number(1), default=1800,
        help='of each half of a measurement, at most')
    add('--budget', type=number(1, 4096), default=256, metavar='MIB',
        help='that each half writes, at most, but four objects')
    add('--seconds', type=number(1), default=10,
        help='after which each half of a measurement has enough requests')
    add('--rate', type=number(0.01, kind=float), default=2.0,
        help='writes a second of the paced half, fewer of more than 8 MiB')
    add('--clients', type=number(1, 64), default=4,
        help='requests at the same time, in the half that loads')
    add('--slow-iops', type=number(10), default=30, metavar='LIMIT',
        help='reads, and writes, a second of the slow disk')
    add('--patience', type=number(1, kind=float), default=120.0,
        metavar='SECONDS', help='that convergence may take')
    add_common(parser)


def arrivals(directories: Iterable[str]) -> Dict[str, List[float]]:
    """
    Find out when the replicas of objects, each written once, were stored.

    The inode of a data file changes last when it gets its name, which is when
    the object-server has it.

    :param directories: of the objects of each device
    :returns: an object's hash -> Unix times, one for each replica
    """
    found: Dict[str, List[float]] = defaultdict(list)
    for top in directories:
        for path, _, files in os.walk(top):
            for each in files:
                if each.endswith('.data'):
                    found[os.path.basename(path)].append(
                        os.stat(os.path.join(path, each)).st_ctime)
    return found


def lags(found: Dict[str, List[float]]) -> Tuple[List[float], int]:
    """
    Return how long objects took from their first replica to their last.

    :param found: from ``arrivals``
    :returns: the seconds of each object that has all replicas; how many
        objects lack one
    """
    whole = [max(times) - min(times) for times in found.values()
             if len(times) == REPLICAS]
    return whole, len(found) - len(whole)


class Trio(Site):
    """
    A cluster of three nodes, of which one has a disk that can be slow.

    :param args: of the command line
    """

    def __init__(self, args: Any, root: str, name: str,
                 throttle: Throttle) -> None:
        root = os.path.join(root, name)
        options = {**apart(root), **OPTIONS[name]}
        options['object-server'] = {
            **request_log.options('object-server',
                                  'healthcheck recon object-server')[
                                      'object-server'],
            **options.get('object-server', {})}
        super().__init__(name, ClusterSpec(
            root=root, nodes=NODES, base_port=free_base_port(NODES),
            policies=SITES[name], replicator='stock', disks='xfs',
            disk_size=8 * GIB, options=options))
        self._args, self._throttle = args, throttle

    def begin(self) -> None:
        device, = self.cluster.devices(SLOW_NODE)
        self._slow = Device(self.cluster.device_path(SLOW_NODE, device))
        self._throttle.add(each.pid for each in self.cluster.daemons.all())
        self.logs = [request_log.path(self.cluster.layout.cache_dir(node))
                     for node in self.nodes]

    def __exit__(self, *exc_info: Any) -> None:
        self.slow_down(False)
        super().__exit__(*exc_info)

    def slow_down(self, is_slow: bool) -> None:
        """Have the slow disk be slow from now on, or like the others."""
        self._throttle.limit(self._slow.number,
                             self._args.slow_iops if is_slow else 0)

    def converged(self, policy: int) -> Tuple[List[float], int]:
        """Wait for all replicas; return their lags, and what lacks some."""
        deadline = time.monotonic() + self._args.patience
        while True:
            found = lags(arrivals(self.object_dirs(policy)))
            if not found[1] or time.monotonic() > deadline:
                return found
            time.sleep(0.2)


class Proar(Bench):
    """All measurements of one invocation."""

    name = 'proar'
    references = ('stock',)
    metrics = (*workload.METRICS, Metric('lag_p50_s', 'lag p50, s', 2),
               Metric('lag_p99_s', 'lag p99, s', 2),
               Metric('cpu_ms', 'CPU ms/write', 1))

    def measure(self, stack: Any) -> None:
        commands.need_root('bench proar')
        args, trios = self.args, {}
        throttle = Throttle.find()
        stack.callback(throttle.close)
        for name in dict.fromkeys(MODES[each].site for each in args.modes):
            self.say('starting the cluster of %s' % name)
            trios[name] = stack.enter_context(Trio(
                args, self.root, name, throttle))
            for policy in SITES[name]:
                self.client.run(workload.document(
                    trios[name].auth, 'warm-' + policy.name, [Stage(
                        'warm', 'write', (1, 60), total=60)], policy.name),
                    'warm-up')
            trios[name].forget()
        for run in range(1, args.runs + 1):
            for size in args.sizes:
                for half in ('paced', 'loaded'):
                    for name in in_turn(args.modes, run):
                        mode = MODES[name]
                        case = '%s %s%s' % (size_text(size), half,
                                            SLOW * mode.is_slow)
                        self.attempt(
                            mode.contestant, case, run, lambda: self._measure(
                                trios[mode.site], mode, self._stage(
                                    case, size, half), run))

    def _stage(self, case: str, size: int, half: str) -> Stage:
        args = self.args
        least = dict(seconds=args.seconds, total=args.requests,
                     total_bytes=max(4 * size, args.budget * MIB))
        if half == 'loaded':
            return Stage(case, 'write', (1, 10 ** 6), 'c(%d)B' % size,
                         args.clients, **least)
        # Time to converge: the next write does not meet the one before.
        rate = min(args.rate, args.rate * 8 * MIB / size)
        least['total'] = max(4, int(args.seconds * rate))
        least['seconds'] = 0
        return Stage(case, 'write', (1, 10 ** 6), 'c(%d)B' % size,
                     args.clients, rate=rate, **least)

    def _measure(self, trio: Trio, mode: Mode, stage: Stage,
                 run: int) -> Dict[str, Any]:
        """Return the figures of writes, of their convergence included."""
        begins = [request_log.position(log) for log in trio.logs]
        before = cpu_of(trio.cluster)
        trio.slow_down(mode.is_slow)
        try:
            result = self.play(
                mode.contestant, stage.name, run, workload.document(
                    trio.auth, '%s-%s-%d-' % (
                        mode.contestant, stage.name, run), [stage],
                    SITES[mode.site][mode.policy].name))
            found, lacking = trio.converged(mode.policy)
        finally:
            trio.slow_down(False)
        cpu = {name: used - before.get(name, 0)
               for name, used in cpu_of(trio.cluster).items()}
        figures = workload.figures(result, stage.name)
        per_device = sum((request_log.per_device(log, begin, 'PUT')
                          for log, begin in zip(trio.logs, begins)),
                         Counter())
        trio.forget()
        if lacking:
            self.failures.append(
                '%s, %s, run %d: %d objects lacked a replica after %g s' % (
                    mode.contestant, stage.name, run, lacking,
                    self.args.patience))
        return {**figures, 'incomplete': lacking,
                'lag_p50_s': percentile(found or [0], 50),
                'lag_p99_s': percentile(found or [0], 99),
                'cpu_ms': sum(cpu.values()) * 1000 / figures['operations'],
                'cpu_of': cpu, 'per_device': dict(per_device)}

    def tables(self) -> Iterator[str]:
        yield from super().tables()
        yield balance_table(self.records)


def balance(requests: int,
            counts: Iterable[int]) -> Tuple[float, float, float]:
    """
    Tell how even the writes were on the devices (Figure 7).

    :param requests: of clients
    :param counts: of each device
    :returns: the mean of the devices, their standard deviation, and the
        deviation that chance alone makes
    """
    counts = list(counts)
    mean = sum(counts) / len(counts)
    # Each request is one of a device's with this probability.
    share = min(1, mean / requests)
    return mean, pstdev(counts), sqrt(requests * share * (1 - share))


def balance_table(records: Iterable[Record]) -> str:
    """Return the requests of each device, of all cases together."""
    counts: Dict[str, Counter] = defaultdict(Counter)
    writes: Counter = Counter()
    for each in records:
        name = each.contestant + SLOW * each.case.endswith(SLOW)
        counts[name].update(each.figures['per_device'])
        writes[name] += each.figures['operations']
    devices = sorted(set().union(*counts.values()))
    return record.lines([['writes of', 'number', *devices, 'mean',
                          'deviation', 'sampling noise'], *(
        [name, str(writes[name]), *(str(mine[each]) for each in devices),
         *('%.1f' % value for value in balance(
             writes[name], [mine[each] for each in devices]))]
        for name, mine in counts.items())], left=1)
