# SPDX-License-Identifier: Apache-2.0
"""``bench proar``: primary-role writes against writes to a quorum."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from math import sqrt
from statistics import pstdev
from typing import Any, NamedTuple

from cosbench.measure.result import Result
from tools.arguments import MIB, names, number, size_text, sizes
from tools.benchmarks import record, workload
from tools.benchmarks.bench import Bench
from tools.benchmarks.measure import cpu_of
from tools.benchmarks.record import Metric, Record, percentile
from tools.benchmarks.request_log import Since
from tools.benchmarks.throttle import Throttle
from tools.benchmarks.trio import BOUNDS, RATE, REPLICAS, SITES, Trio
from tools.benchmarks.workload import Stage
from tools.cluster import commands

SLOW, DEAD = ' slow disk', ' dead disk'
#: the part of a measurement whose writes converge when all are made
BACKLOG = 'backlog'


class Mode(NamedTuple):
    """A way to write: a site, the index of one of its policies, whose writes
    it does, and what ails the first disk.
    """

    site: str
    policy: int = 0
    contestant: str = 'stock'
    is_slow: bool = False
    is_dead: bool = False

    @property
    def suffix(self) -> str:
        """What is said of the disk in the names of cases."""
        return SLOW * self.is_slow + DEAD * self.is_dead


MODES = {
    'stock': Mode('stock'),
    'proar': Mode('proar', 0, 'proar'),
    'proar-sync2': Mode('proar', 1, 'proar-sync2'),
    'stock-slow': Mode('stock', is_slow=True),
    'proar-slow': Mode('proar', 0, 'proar', True),
    'stock-dead': Mode('stock', is_dead=True),
    'proar-dead': Mode('proar', 0, 'proar', is_dead=True),
}


class Proar(Bench):
    """All measurements of one invocation."""

    name = 'proar'
    options = {
        'bound': (tuple(BOUNDS), 'cpu', None, 'what bounds a write: the '
                  'processors that all nodes share, a network of ' + RATE +
                  ' for each node and the client, or flushes of %s s more'
                  % BOUNDS['flush'].flush_seconds),
        'sizes': (sizes, '4K,4M,8M,16M,32M,64M', 'SIZE,…', 'of the objects'),
        'modes': (names(MODES), ','.join(MODES), 'NAME,…',
                  'what is compared'),
        'requests': (number(1), 1800, None,
                     'of each half of a measurement, at most'),
        'budget': (number(1, 4096), 256, 'MIB',
                   'that each half writes, at most, but four objects'),
        'seconds': (number(1), 10, None, 'after which each half of a '
                    'measurement has enough requests'),
        'rate': (number(0.01, kind=float), 2.0, None, 'writes a second of '
                 'the paced half, fewer of more than 8 MiB'),
        'clients': (number(1, 64), 4, None,
                    'requests at the same time, in the half that loads'),
        'slow-iops': (number(10), 30, 'LIMIT',
                      'reads, and writes, a second of the slow disk'),
        'patience': (number(1, kind=float), 120.0, 'SECONDS',
                     'that convergence may take')}
    references = ('stock',)
    metrics = (*workload.METRICS, Metric('lag_p50_s', 'lag p50, s', 2),
               Metric('lag_p99_s', 'lag p99, s', 2),
               Metric('cpu_ms', 'CPU ms/write', 1),
               Metric('converger_cpu_ms', 'converger ms/write', 2, False),
               Metric('flushes', 'flushes/copy', 2, False),
               Metric('converged_per_s', 'converged/s', 0, False),
               Metric('converged_per_core_s',
                      "converged/s of a converger's core", 0, False))

    def measure(self, stack: Any) -> None:
        commands.need_root('bench proar')
        args, throttle = self.args, Throttle.find()
        stack.callback(throttle.close)
        trios = self.start(
            stack, (MODES[each].site for each in args.modes),
            lambda name: Trio(args, self.root, name, throttle))
        for name, trio in trios.items():
            for policy in SITES[name]:
                self.client.run(workload.document(
                    trio.auth, 'warm-' + policy.name, [Stage(
                        'warm', 'write', (1, 60), total=60)], policy.name),
                    'warm-up', trio.client_command)
            trio.forget()
        for run, (size, half), name in self.turns(
                product(args.sizes, ('paced', 'loaded', BACKLOG)),
                args.modes):
            mode = MODES[name]
            if half == BACKLOG and (mode.site != 'proar' or mode.suffix):
                continue
            case = '%s %s%s' % (size_text(size), half, mode.suffix)
            self.attempt(mode.contestant, case, run, lambda: self._measure(
                trios[mode.site], mode, size, self._stage(case, size, half),
                run))

    def _stage(self, case: str, size: int, half: str) -> Stage:
        args = self.args
        least = dict(seconds=args.seconds, total=args.requests,
                     total_bytes=max(4 * size, args.budget * MIB))
        if half != 'paced':
            return Stage(case, 'write', (1, 10 ** 6), 'c(%d)B' % size,
                         args.clients, **least)
        # Time to converge: the next write does not meet the one before.
        rate = min(args.rate, args.rate * 8 * MIB / size)
        least['total'] = max(4, int(args.seconds * rate))
        least['seconds'] = 0
        return Stage(case, 'write', (1, 10 ** 6), 'c(%d)B' % size,
                     args.clients, rate=rate, **least)

    def _measure(self, trio: Trio, mode: Mode, size: int, stage: Stage,
                 run: int) -> dict[str, Any]:
        """Return the figures of writes, of their convergence included."""
        logged, before = Since(trio.logs), cpu_of(trio.cluster)
        result, seconds, found, lacking = self._converged(
            trio, mode, stage, run)
        cpu = cpu_of(trio.cluster, before)
        converging = cpu.get('object-converger', 0)
        figures = workload.figures(result, stage.name)
        counted, per_device = logged.methods(), logged.devices('PUT')
        if mode.is_dead:
            trio.recover(mode.policy if mode.site == 'proar' else None)
        trio.forget()
        if lacking:
            self.failures.append(
                '%s, %s, run %d: %d objects lacked a replica after %g s' % (
                    mode.contestant, stage.name, run, lacking,
                    self.args.patience))
        return {**figures, 'mode': mode.contestant, 'bound': self.args.bound,
                'size': size, 'incomplete': lacking,
                'flushes': counted['FLUSH'] / counted['PUT']
                if counted['FLUSH'] else None,
                'converger_cpu_ms': converging * 1000 /
                figures['operations'],
                **({'converged_per_s': figures['operations'] / seconds,
                    'converged_per_core_s': figures['operations'] / converging
                    if converging else None} if BACKLOG in stage.name else {}),
                'lag_p50_s': percentile(found or [0], 50),
                'lag_p99_s': percentile(found or [0], 99),
                'cpu_ms': sum(cpu.values()) * 1000 / figures['operations'],
                'cpu_of': cpu, 'per_device': dict(per_device)}

    def _converged(self, trio: Trio, mode: Mode, stage: Stage, run: int
                   ) -> tuple[Result, float, list[float], int]:
        """Write, and wait for convergence.

        :returns: what the client tells, the seconds from its end on, and as
            ``Trio.converged``
        """
        trio.limit(self.args.slow_iops * mode.is_slow)
        trio.hide_disk(mode.is_dead)
        try:
            with trio.convergers_stand(BACKLOG in stage.name):
                result = self.play(
                    mode.contestant, stage.name, run, workload.document(
                        trio.auth, '%s-%s-%d-' % (
                            mode.contestant, stage.name, run), [stage],
                        SITES[mode.site][mode.policy].name),
                    trio.client_command)
            began = time.monotonic()
            found, lacking = trio.converged(
                mode.policy, REPLICAS - mode.is_dead)
        finally:
            trio.limit(0)
            trio.hide_disk(False)
        return result, time.monotonic() - began, found, lacking

    def tables(self) -> Iterator[str]:
        yield from super().tables()
        yield balance_table(self.records)


def balance(requests: int,
            counts: Iterable[int]) -> tuple[float, float, float]:
    """Tell how even the writes were on the devices (Figure 7).

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
    counts: dict[str, Counter] = defaultdict(Counter)
    writes: Counter = Counter()
    for each in records:
        name = each.contestant + ''.join(
            ill for ill in (SLOW, DEAD) if each.case.endswith(ill))
        counts[name].update(each.figures['per_device'])
        writes[name] += each.figures['operations']
    devices = sorted(set().union(*counts.values()))
    return record.lines([['writes of', 'number', *devices, 'mean',
                          'deviation', 'sampling noise'], *(
        [name, str(writes[name]), *(str(mine[each]) for each in devices),
         *('%.1f' % value for value in balance(
             writes[name], [mine[each] for each in devices]))]
        for name, mine in counts.items())], left=1)
