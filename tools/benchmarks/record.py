# SPDX-License-Identifier: Apache-2.0
"""The results of a benchmark: records of runs, their table, and one JSON
document.

A ratio divides run by run, so that a disturbance that slows both sides of one
run down cancels out; the table has its median and, in brackets, the least and
the greatest.
"""

import json
import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from statistics import median, quantiles
from typing import Any

import psutil

MISSING = '-'


@dataclass(frozen=True)
class Record:
    """One measurement.

    :param contestant: who was measured, such as ``kv``
    :param case: the operation, such as ``get``
    :param run: its number, from 1
    :param figures: name -> number, or a dict of numbers (JSON only)
    """

    contestant: str
    case: str
    run: int
    figures: dict[str, Any]


@dataclass(frozen=True)
class Metric:
    """A row of the table.

    :param field: the name of a figure
    :param title: what the table calls it, with the unit
    :param digits: decimal places
    :param has_ratio: whether ratios of it mean something
    """

    field: str
    title: str
    digits: int = 0
    has_ratio: bool = True


@dataclass(frozen=True)
class Spread:
    """The median of several numbers, the least and the greatest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> 'Spread':
        found = list(values)
        return cls(median(found), min(found), max(found))


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the number below which so many percent of some numbers lie."""
    if len(values) == 1:
        return values[0]
    return quantiles(values, n=100, method='inclusive')[percent - 1]


def ratios(values: Mapping[int, float],
           references: Mapping[int, float]) -> Spread | None:
    """Divide run by run.

    :param values: run -> number
    :param references: run -> the number it is compared with
    :returns: None if no run has both
    """
    found = [values[run] / references[run] for run in values
             if references.get(run)]
    return Spread.of(found) if found else None


def cell(spread: Spread | None, digits: int) -> str:
    """Return ``median [low - high]``, or the median if all are one."""
    if spread is None:
        return MISSING
    middle, low, high = ('{:,.{}f}'.format(value, digits) for value in (
        spread.median, spread.low, spread.high))
    return middle if low == high else '%s [%s - %s]' % (middle, low, high)


def lines(rows: Sequence[Sequence[str]], left: int = 3) -> str:
    """Lay cells out in columns.

    :param rows: of as many cells each, the first one the heading
    :param left: how many columns are aligned to the left
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    return '\n'.join(
        '  '.join(text.ljust(width) if column < left else text.rjust(width)
                  for column, (text, width) in enumerate(zip(row, widths))
                  ).rstrip()
        for row in [rows[0], ['-' * width for width in widths], *rows[1:]])


#: (case, metric, contestant, reference) -> a ratio's confidence interval
Intervals = Mapping[tuple[str, str, str, str], Spread]


def table(records: Sequence[Record], metrics: Sequence[Metric],
          references: Sequence[str],
          intervals: Intervals | None = None) -> str:
    """Set the contestants side by side, case by case.

    :param references: the contestants that the others are compared with
    :param intervals: shown for a ratio of which there is one run only
    :returns: medians of the runs with least and greatest, and ratios
    """
    contestants = list(dict.fromkeys(each.contestant for each in records))
    references = [each for each in references if each in contestants]
    rows = [['case', 'each', '', 'median',
             *('/%s' % name for name in references)]]
    for case in dict.fromkeys(each.case for each in records):
        for metric in metrics:
            runs = {name: _runs(records, name, case, metric.field)
                    for name in contestants}
            for name, mine in runs.items():
                if not mine:
                    continue
                rows.append([case, metric.title, name, cell(
                    Spread.of(mine.values()), metric.digits)])
                for reference in references:
                    interval = (intervals or {}).get((
                        case, metric.field, name, reference))
                    found = interval if interval and len(mine) == 1 \
                        else ratios(mine, runs[reference])
                    rows[-1].append(cell(
                        found if metric.has_ratio and name != reference
                        else None, 3))
    return lines(rows)


def _runs(records: Iterable[Record], contestant: str, case: str,
          field: str) -> dict[int, float]:
    return {each.run: float(each.figures[field]) for each in records
            if (each.contestant, each.case) == (contestant, case)
            and each.figures.get(field) is not None}


def machine() -> dict[str, Any]:
    """
    Return what a stranger needs to know about this machine and its software.
    """
    return {'date': time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime()),
            'cores': len(os.sched_getaffinity(0)),
            'load': os.getloadavg()[0], 'memory_kib':
            psutil.virtual_memory().total // 1024,
            'kernel': platform.release(),
            'python': platform.python_version(), 'swift': version('swift')}


def write_json(path: str, benchmark: str, settings: Mapping[str, Any],
               records: Sequence[Record]) -> None:
    """Write a run down: machine, versions, settings and all records."""
    document: dict[str, Any] = {
        'benchmark': benchmark, 'machine': machine(),
        'settings': dict(settings),
        # So that a reader need not know which figures are names.
        'records': [{**each.figures, **asdict(each)} for each in records]}
    with open(path, 'w') as output:
        json.dump(document, output, indent=2, default=str)
        output.write('\n')


def in_turn(contestants: Iterable[str], run: int) -> list[str]:
    """Return them in the other order every second run, which is fair."""
    return list(contestants)[::1 if run % 2 else -1]
