# SPDX-License-Identifier: Apache-2.0
"""The results of ``bench versioning``: records, and their tables."""

from dataclasses import dataclass
from statistics import median

from tools.benchmarks.report import MISSING, cell, lines
from tools.benchmarks.sizes import size_text
from tools.benchmarks.spread import Spread, ratios
from tools.benchmarks.versioning.settings import REFERENCES

#: (mode, op, of which mode's latency) -> what p50 of single requests is to be
GOALS = {('read-repair', 'PUT', 'object_versioning'): 0.5,
         ('write-repair', 'GET', 'none'): 1.1}


@dataclass(frozen=True)
class Record:
    """
    The requests of one mode, op, size and concurrency. Times and rates are
    the medians of the runs.

    :param mode: one of MODES
    :param op: the name of an Op
    :param size: of the objects, bytes
    :param requests: of each run
    :param concurrency: how many at the same time
    :param p50_ms: half of the waits were shorter
    :param p99_ms: as p50_ms
    :param ops_per_second: of all clients
    :param metadata_round_trips: of one request, measured as a slope; None
        if they were not counted
    :param delay_ms: that container- and object-servers let each request wait
    :param latest_hint_time: seconds that memcache keeps a hint what is the
        latest; 0: there is none
    :param latest_cache_time: seconds that this is taken for the truth; 0:
        never
    :param failed: requests that did not succeed, of all runs
    :param runs: a tuple of Run
    """
    mode: str
    op: str
    size: int
    requests: int
    concurrency: int
    p50_ms: float
    p99_ms: float
    ops_per_second: float
    metadata_round_trips: float
    delay_ms: float
    latest_hint_time: int
    latest_cache_time: int
    failed: int
    runs: tuple

    @classmethod
    def of(cls, what, runs, round_trips=None, delay_ms=0.0,
           latest_hint_time=0, latest_cache_time=0):
        """
        :param what: the What
        :param runs: one or more Run
        """
        def middle(field):
            return median(getattr(run, field) for run in runs)

        return cls(what.mode, what.op, what.size, what.requests,
                   what.concurrency, middle('p50_ms'), middle('p99_ms'),
                   middle('ops_per_second'), round_trips,
                   delay_ms, latest_hint_time, latest_cache_time,
                   sum(run.failed for run in runs), tuple(runs))

    @property
    def work(self):
        """What is the same in all modes."""
        return self.op, self.size, self.requests, self.concurrency


def _values(record, field):
    """:returns: a dict of run -> value"""
    return {run.run: getattr(run, field) for run in record.runs}


def _spread(record, field, digits=1):
    return cell(Spread.of(_values(record, field).values()), digits)


def p50_ratio(record, reference):
    """:returns: the Spread of p50 by that of the reference, run by run"""
    return ratios(_values(record, 'p50_ms'), _values(reference, 'p50_ms'))


def _ratio(record, found, name):
    reference = found.get((name, record.work))
    if reference is None or name == record.mode:
        return MISSING
    text = cell(p50_ratio(record, reference), 2)
    goal = GOALS.get((record.mode, record.op, name))
    return '%s (<= %g)' % (text, goal) if goal and record.concurrency == 1 \
        else text


def table(records):
    """
    :param records: a sequence of Record
    :returns: the text of a table: medians of the runs with least and
        greatest, and the ratios of p50, run by run, with the goals
    """
    found = {(each.mode, each.work): each for each in records}
    rows = [('op', 'mode', 'size', 'requests', 'at once', 'p50, ms',
             'p99, ms', 'requests/s', 'round trips',
             *('p50 / %s' % name for name in REFERENCES))]
    works = dict.fromkeys(each.work for each in records)
    for each in (each for work in works for each in records
                 if each.work == work):
        rows.append((
            each.op, each.mode, size_text(each.size), str(each.requests),
            str(each.concurrency), _spread(each, 'p50_ms'),
            _spread(each, 'p99_ms'), _spread(each, 'ops_per_second'),
            MISSING if each.metadata_round_trips is None
            else '%.2f' % each.metadata_round_trips,
            *(_ratio(each, found, name) for name in REFERENCES)))
    return lines(rows)
