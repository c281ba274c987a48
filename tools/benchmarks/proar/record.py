# SPDX-License-Identifier: Apache-2.0
"""The results of ``bench proar``: records, and the tables with the goals."""

from collections import Counter
from dataclasses import dataclass
from math import sqrt
from operator import attrgetter
from statistics import median, pstdev

from tools.benchmarks.proar.settings import MODES
from tools.benchmarks.report import MISSING, Metric, cell, lines
from tools.benchmarks.sizes import MIB, size_text
from tools.benchmarks.spread import Spread, ratios

METRICS = (
    Metric('single.p50_ms', 'p50, ms', 1),
    Metric('single.p95_ms', 'p95, ms', 1),
    Metric('single.p99_ms', 'p99, ms', 1),
    Metric('loaded.p50_ms', 'loaded p50', 1),
    Metric('loaded.p99_ms', 'loaded p99', 1),
    Metric('loaded.ops_per_second', 'writes/s', 1),
    Metric('loaded.converged_per_second', 'converged/s', 1),
    Metric('loaded.lag_p99_s', 'lag p99, s', 2),
    Metric('cpu_ms', 'CPU ms/write', 1),
)
#: what is also shown as a ratio to the reference
RATIOS = {'single.p50_ms': 'p50', 'single.mean_ms': 'mean',
          'loaded.p50_ms': 'loaded p50'}
LARGE = 4 * MIB


@dataclass(frozen=True)
class Record:
    """
    The writes of one mode and size. Times, rates and lags are the medians
    of the runs; counts and CPU seconds are sums.

    :param mode: one of MODES
    :param size: of the objects, bytes
    :param requests: of both phases
    :param p50_ms: of one write at a time
    :param p95_ms: as p50_ms
    :param p99_ms: as p50_ms
    :param ops_per_second: under load
    :param backend_requests: PUTs that object-servers got from the proxy
    :param per_device: the same by device, a dict
    :param lag_p99_s: under load
    :param cpu_seconds: of all processes of the cluster, to the last replica
    :param clients: under load: requests at the same time
    :param slow_iops: of the slow disk; None if there was none
    :param runs: a tuple of Run
    """
    mode: str
    size: int
    requests: int
    p50_ms: float
    p95_ms: float
    p99_ms: float
    ops_per_second: float
    backend_requests: int
    per_device: dict
    lag_p99_s: float
    cpu_seconds: float
    clients: int
    slow_iops: int
    runs: tuple

    @classmethod
    def of(cls, settings, mode, size, runs):
        """
        :param settings: the Settings
        :param mode: the name of the mode
        :param size: bytes
        :param runs: one or more Run
        """
        def middle(path):
            return median(map(attrgetter(path), runs))

        per_device = sum((Counter(run.per_device) for run in runs),
                         Counter())
        return cls(
            mode=mode, size=size, runs=tuple(runs),
            requests=sum(run.requests for run in runs),
            p50_ms=middle('single.p50_ms'), p95_ms=middle('single.p95_ms'),
            p99_ms=middle('single.p99_ms'),
            ops_per_second=middle('loaded.ops_per_second'),
            backend_requests=sum(per_device.values()),
            per_device=dict(per_device),
            lag_p99_s=middle('loaded.lag_p99_s'),
            cpu_seconds=sum(run.cpu_seconds for run in runs),
            clients=settings.clients,
            slow_iops=settings.slow_iops if MODES[mode].is_slow else None)


def goal(mode, size):
    """:returns: what p50 is to be, of the reference's, or None"""
    if mode == 'proar-slow' or mode == 'proar' and size >= LARGE:
        return 0.5
    return 1.0 if mode == 'proar' else None


def _values(record, field):
    """:returns: a dict of run -> value"""
    return {run.run: float(attrgetter(field)(run)) for run in record.runs}


def _ratio(record, reference, field):
    if reference is None:
        return MISSING
    return cell(ratios(_values(record, field), _values(reference, field)), 2)


def latency_table(records):
    """
    :param records: a sequence of Record
    :returns: the text of a table: medians of the runs, and the ratios, run
        by run, to the same size of the reference, with least and greatest
    """
    found = {(each.mode, each.size): each for each in records}
    rows = [('size', 'mode', 'writes', *(each.title for each in METRICS),
             *('%s ratio' % name for name in RATIOS.values()), 'goal p50')]
    for each in sorted(records, key=lambda record: record.size):
        reference = found.get((MODES[each.mode].reference, each.size))
        aim = goal(each.mode, each.size)
        rows.append((
            size_text(each.size), each.mode, '%d' % each.requests,
            *('{:,.{}f}'.format(Spread.of(_values(
                each, metric.field).values()).median, metric.digits)
              for metric in METRICS),
            *(_ratio(each, reference, field) for field in RATIOS),
            MISSING if aim is None else '<= %g' % aim))
    return lines(rows)


@dataclass(frozen=True)
class Balance:
    """
    How even the writes were on the devices.

    :param mean: requests of a device
    :param deviation: the standard deviation of the devices
    :param noise: what chance alone makes of it
    """
    mean: float
    deviation: float
    noise: float

    @classmethod
    def of(cls, requests, counts):
        """
        :param requests: of clients
        :param counts: of each device
        """
        counts = list(counts)
        mean = sum(counts) / len(counts)
        # Each request is one of a device's with this probability.
        share = min(1, mean / requests)
        return cls(mean, pstdev(counts),
                   sqrt(requests * share * (1 - share)))


def balance_table(records):
    """
    :param records: a sequence of Record
    :returns: the text of a table: the requests of each device, of all sizes
        and runs together, with mean, standard deviation and expected noise
    """
    devices = sorted({name for each in records for name in each.per_device})
    rows = [('mode', 'writes', 'requests', *devices, 'mean', 'deviation',
             'sampling noise')]
    for mode in dict.fromkeys(each.mode for each in records):
        mine = [each for each in records if each.mode == mode]
        counts = sum((Counter(each.per_device) for each in mine), Counter())
        writes = sum(each.requests for each in mine)
        balance = Balance.of(writes, [counts[name] for name in devices])
        rows.append((mode, '%d' % writes, '%d' % sum(counts.values()),
                     *('%d' % counts[name] for name in devices),
                     *('%.1f' % value for value in (
                         balance.mean, balance.deviation, balance.noise))))
    return lines(rows)
