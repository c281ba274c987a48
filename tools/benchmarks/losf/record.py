# SPDX-License-Identifier: Apache-2.0
"""The results of ``bench losf``: records, and the table with its goals."""

from dataclasses import dataclass, fields
from statistics import median

from tools.benchmarks.losf.measure import Measured
from tools.benchmarks.losf.settings import BACKENDS
from tools.benchmarks.report import Metric, cell, lines
from tools.benchmarks.spread import Spread, ratios

METRICS = (
    Metric('reads', 'reads', 2),
    Metric('writes', 'writes', 2),
    Metric('flushes', 'flushes', 2),
    Metric('sectors', 'sectors', 1),
    Metric('rpcs', 'RPCs', 2),
    Metric('cpu_ms', 'CPU ms', 2),
    Metric('ops_per_second', 'operations/s', 1),
    Metric('p50_ms', 'p50, ms', 2),
    Metric('p99_ms', 'p99, ms', 2),
    Metric('rss_mib', 'RSS, MiB', 1),
)
INDEX = Metric('index_bytes_per_object', 'bytes/object', 1)
#: (op, cache, field) -> what kv is to reach; None: any
GOALS = {
    ('get', 'cold', 'reads'): 'kv <= 1.5',
    ('head', 'cold', 'reads'): 'kv <= 1.5',
    ('put', None, 'flushes'): 'kv <= 2',
    ('delete', None, 'flushes'): 'kv <= 2',
    ('list', 'cold', 'reads'): 'kv/fs <= 0.05',
    ('audit', 'cold', 'reads'): 'kv/fs <= 0.05',
    ('walk', 'cold', 'reads'): 'kv/fs <= 0.05',
    (None, None, 'cpu_ms'): 'kv/fs <= 1.3',
    (None, None, INDEX.field): 'kv <= 48',
}
#: of a device that is as slow as a hard disk
THROTTLED_GOALS = {
    ('get', 'cold', 'ops_per_second'): 'kv/fs >= 3',
    ('put', None, 'ops_per_second'): 'kv/fs >= 3',
}


@dataclass(frozen=True)
class Run(Measured):
    """
    A measurement of one run.

    :param run: its number, from 1
    """
    run: int


@dataclass(frozen=True)
class Subject:
    """
    What is measured.

    :param backend: ``fs`` or ``kv``
    :param op: which operation
    :param cache: ``cold`` or ``warm``
    :param objects: of the data set
    :param clients: requests at the same time
    :param iops: reads, and writes, a second of the device; None: all it can
    :param direct_io: whether the image is read past the page cache
    :param index_bytes_per_object: what finding one of the data set takes on
        the device
    """
    backend: str
    op: str
    cache: str
    objects: int
    clients: int
    iops: int
    direct_io: bool
    index_bytes_per_object: float


@dataclass(frozen=True)
class Record(Measured, Subject):
    """
    An operation of a backend: the medians of its runs, and all of them.

    :param runs: a tuple of Run
    """
    runs: tuple

    @classmethod
    def of(cls, site, op, cache, runs):
        """
        :param site: the Site
        :param op: the operation
        :param cache: cold or warm
        :param runs: one or more Run
        """
        settings = site.settings
        return cls(
            backend=site.backend, op=op, cache=cache,
            objects=settings.objects, clients=settings.clients,
            iops=settings.iops, direct_io=site.direct_io,
            index_bytes_per_object=site.index_bytes_per_object,
            runs=tuple(runs),
            **{each.name: median(getattr(run, each.name) for run in runs)
               for each in fields(Measured)})


def goal(op, cache, field, throttled):
    """:returns: what kv is to reach, or ''"""
    goals = {**GOALS, **THROTTLED_GOALS} if throttled else GOALS
    for key in ((op, cache, field), (op, None, field), (None, None, field)):
        if key in goals:
            return goals[key]
    return ''


def _numbers(values, metric):
    """
    :param values: for each of BACKENDS, a dict of run -> value
    :returns: the cells of a row: one for each of BACKENDS, and the ratio
    """
    fs, kv = values
    return (*(cell(Spread.of(each.values()) if each else None, metric.digits)
              for each in values), cell(ratios(kv, fs), 3))


def table(records):
    """
    Set fs and kv side by side.

    :param records: a sequence of Record
    :returns: the text of a table: medians of the runs, their least and
        greatest, the same of the ratios run by run, and the goals
    """
    rows = [('operation', 'each', *BACKENDS, 'kv/fs', 'goal')]
    found = {(each.op, each.cache, each.backend): each for each in records}
    for op, cache in dict.fromkeys((each.op, each.cache)
                                   for each in records):
        pair = [found.get((op, cache, backend)) for backend in BACKENDS]
        throttled = any(each and each.iops for each in pair)
        for metric in METRICS:
            rows.append(('%s %s' % (op, cache), metric.title, *_numbers(
                [{run.run: getattr(run, metric.field) for run in each.runs}
                 if each else {} for each in pair], metric),
                goal(op, cache, metric.field, throttled)))
    bytes_of = {each.backend: each.index_bytes_per_object for each in records}
    rows.append(('index', INDEX.title, *_numbers(
        [{0: bytes_of[each]} if each in bytes_of else {}
         for each in BACKENDS], INDEX), GOALS[None, None, INDEX.field]))
    return lines(rows)
