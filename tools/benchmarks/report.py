# SPDX-License-Identifier: Apache-2.0
"""Turns records of runs into a table of medians, and into JSON."""

import json
from dataclasses import asdict, dataclass

from tools.benchmarks.spread import Spread, ratios

REFERENCE = 'stock'
MISSING = '-'


@dataclass(frozen=True)
class Metric:
    """
    A column of the records that becomes rows of the table.

    :param field: its name in a record
    :param title: its name in the table, with the unit
    :param digits: decimal places
    """
    field: str
    title: str
    digits: int = 0


def _number(value, digits):
    return '{:,.{}f}'.format(value, digits)


def cell(spread, digits):
    """:returns: ``median [low - high]``, or the median if all are one"""
    if spread is None:
        return MISSING
    middle, low, high = (_number(value, digits) for value in (
        spread.median, spread.low, spread.high))
    return middle if low == high else '%s [%s - %s]' % (middle, low, high)


def lines(rows):
    """
    :param rows: tuples of as many cells each, the first one the heading
    :returns: the text of a table, the first two columns left-aligned
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    rows = [rows[0], tuple('-' * width for width in widths), *rows[1:]]
    return '\n'.join(
        '  '.join(text.ljust(width) if column < 2 else text.rjust(width)
                  for column, (text, width) in enumerate(zip(row, widths))
                  ).rstrip()
        for row in rows)


def table(records, metrics):
    """
    Set the contestants side by side, scenario by scenario.

    :param records: objects with ``replicator``, ``scenario``, ``run`` and
        the fields of the metrics
    :param metrics: a sequence of Metric
    :returns: the text of a table: medians of the runs, their least and
        greatest; and the same of the ratios, run by run, to REFERENCE
    """
    contestants = list(dict.fromkeys(each.replicator for each in records))
    others = [name for name in contestants if name != REFERENCE]
    if REFERENCE not in contestants:
        others = []
    rows = [('scenario', 'metric', *contestants, *(
        '%s/%s' % (name, REFERENCE) for name in others))]
    for scenario in dict.fromkeys(each.scenario for each in records):
        for metric in metrics:
            runs = {name: {
                each.run: float(getattr(each, metric.field))
                for each in records
                if (each.replicator, each.scenario) == (name, scenario)}
                for name in contestants}
            rows.append((scenario, metric.title, *(
                cell(Spread.of(values.values()) if values else None,
                     metric.digits) for values in runs.values()), *(
                cell(ratios(runs[name], runs[REFERENCE]), 3)
                for name in others)))
    return lines(rows)


def write_json(path, records):
    """
    :param path: of the file; it is replaced
    :param records: dataclasses; they become a list of objects
    """
    with open(path, 'w') as output:
        json.dump([asdict(record) for record in records], output, indent=2)
        output.write('\n')
