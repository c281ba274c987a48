# SPDX-License-Identifier: Apache-2.0
"""What an experiment found: as text, as JSON, as a page."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from cosbench.experiment.core.figures import FIGURES
from cosbench.experiment.core.judgement import Answer
from cosbench.experiment.findings import Findings
from cosbench.reports.compare_views import to_base, value, verdict
from cosbench.reports.numbers import NOTHING, aligned, moment, short
from cosbench.reports.page import figure, page, paragraph, plots, table
from cosbench.reports.page import sections as page_sections
from swift_lightsync.common.svg import Axis, Series, line_plot
from swift_lightsync.common.text import printable

VERSION = 1
_COLUMNS = ('Configuration', 'Operation', 'Figure', 'Mean', 'Interval',
            'To the base', 'Verdict')
_CONDITIONS = ('Fails if', 'Configuration', 'Answer', 'Why')
_CHANGES = ('Configuration', 'Key', 'Base', 'Here')
#: What the summary and the plots over the rounds show.
_PLOTTED = ('throughput', 'mean', 'p99')


def summary(found: Findings) -> list[str]:
    """Return sentences: what was found, and what is against it."""
    lines = ['%d of %d to %d rounds of %d configurations, seed %d.' % (
        found.rounds, found.aims.least, found.aims.most, len(found.runs),
        found.plan.seed)]
    if found.widest:
        name, operation, which, width = found.widest
        lines.append('Least sure is %s of %s in %s: ±%s%%, where ±%s%% %s.'
                     % (FIGURES[which].words, operation, name,
                        short(100 * width), short(100 * found.aims.precision),
                        'is enough' if found.is_narrow else 'is wanted'))
    lines += ['DRIVER LIMIT: ' + each for each in found.limits]
    lines += ['FAILED: %s: %s (%s)' % (each.configuration, each.condition,
                                       each.why)
              for each in found.outcomes if each.answer is Answer.HOLDS]
    lines += ['NOT DECIDED: %s: %s (%s)' % (
        each.configuration, each.condition, each.why)
        for each in found.outcomes if found.is_open(each)]
    return lines


def caveat(found: Findings) -> str:
    """Return what the intervals are, and what the verdicts allow."""
    percent = short(100 * found.aims.confidence)
    return 'Intervals are those of %s%% confidence over whole runs; ratios ' \
        'are of runs of the same round. All verdicts of a configuration ' \
        'together are wrong by chance in at most %s%% of experiments. Times ' \
        'count from when an operation was due.' % (
            percent, short(100 - 100 * found.aims.confidence))


def _overview(found: Findings) -> Iterator[tuple[str, ...]]:
    """Yield what most people look for: a row each operation."""
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for row in found.rows:
        if row.figure in _PLOTTED and row.mean is not None:
            cells.setdefault((row.configuration, row.operation), {})[
                row.figure] = value(row) if row.configuration == found.base \
                else '%s %s' % (to_base(row, ''), verdict(row))
    for place, found_here in cells.items():
        yield (*place, *(found_here.get(name, NOTHING) for name in _PLOTTED))


def _between(low: float | None, high: float | None) -> str:
    return NOTHING if low is None else '%s .. %s' % (short(low), short(high))


def _rows(found: Findings) -> Iterator[tuple[str, ...]]:
    for row in found.rows:
        if row.mean is None:
            continue
        yield (row.configuration, row.operation, FIGURES[row.figure].words,
               value(row), _between(row.low, row.high), to_base(row, ''),
               verdict(row))


def _conditions(found: Findings) -> list[tuple[str, ...]]:
    return [(each.condition, each.configuration, each.answer.value
             if each.answer is not Answer.OPEN or found.is_open(each)
             else 'within the precision of the threshold', each.why)
            for each in found.outcomes]


def _changes(found: Findings) -> list[tuple[str, ...]]:
    return [(name, each.place, each.first, each.second)
            for name, changes in found.changes.items() for each in changes]


def as_text(found: Findings) -> str:
    """Return lines for a terminal."""
    lines = list(summary(found))
    for columns, rows in ((_CONDITIONS, _conditions(found)),
                          (_COLUMNS, list(_rows(found))),
                          (_CHANGES, _changes(found))):
        if rows:
            lines += ['', *aligned([columns, *rows])]
    return printable('\n'.join([*lines, '', caveat(found)]),
                     keep='\n') + '\n'


def as_json(found: Findings) -> dict[str, Any]:
    """Return a document."""
    return {
        'version': VERSION, 'seed': found.plan.seed, 'base': found.base,
        'rounds': found.rounds, 'warm_up': found.plan.warm_up,
        'confidence': found.aims.confidence,
        'precision': found.aims.precision, 'least': found.aims.least,
        'most': found.aims.most, 'enough': found.is_narrow,
        'configurations': {name: [run.id for run in runs]
                           for name, runs in found.runs.items()},
        'limits': found.limits,
        'asked': [each.text for each in found.aims.conditions],
        'conditions': [{
            'condition': each.condition,
            'configuration': each.configuration,
            'answer': each.answer.value, 'open': found.is_open(each),
            'why': each.why} for each in found.outcomes],
        'figures': [asdict(row) for row in found.rows],
        'differences': {name: [asdict(each) for each in changes]
                        for name, changes in found.changes.items()}}


def title(found: Findings) -> str:
    return 'Experiment: ' + ', '.join(found.runs)


def as_page(found: Findings) -> str:
    """Return the page, as HTML."""
    return page(title(found), sections(found))


def sections(found: Findings) -> list[str]:
    """Return the parts of the page, HTML, as a list."""
    marks = ('DRIVER LIMIT', 'FAILED', 'NOT DECIDED')
    parts = [paragraph(each, 'bad' if each.startswith(marks) else '')
             for each in summary(found)]
    over = _over_rounds(found)
    return [each for each in parts if each] + page_sections((
        ('Summary', table(
            'The base, and how others compare to it',
            ('Configuration', 'Operation',
             *(FIGURES[name].words for name in _PLOTTED)),
            list(_overview(found)))),
        ('Conditions', table('Conditions', _CONDITIONS, _conditions(found))),
        ('Differences', table('What differs in the configurations', _CHANGES,
                              _changes(found))),
        ('All figures', table('Figures of each configuration', _COLUMNS,
                              list(_rows(found))) + paragraph(caveat(found))),
        ('Each run, by round', over and plots(over)),
        ('Runs', _runs(found))))


def _over_rounds(found: Findings) -> list[str]:
    """What drifts is seen here, and what happened once."""
    if found.rounds < 2:
        return []
    figures = []
    # At most 12 have a number.
    ticks = tuple(range(1, found.rounds + 1, -(-found.rounds // 12)))
    for operation in dict.fromkeys(row.operation for row in found.rows):
        for name in _PLOTTED:
            words = '%s: %s' % (operation, FIGURES[name].words)
            rows = [(number, which, short(run.value(name, operation)))
                    for which, runs in found.runs.items()
                    for number, run in enumerate(runs, 1)]
            series = [Series(which, tuple(
                (number, run.value(name, operation))
                for number, run in enumerate(runs, 1)))
                for which, runs in found.runs.items()]
            figures.append(figure(
                words, line_plot(
                    words, 'The figure of each run, by rounds, a line each '
                    'configuration.', Axis('Round', at=ticks),
                    Axis(FIGURES[name].words), series),
                table(words, ('Round', 'Configuration', 'Value'), rows)))
    return [each for each in figures if each]


def _runs(found: Findings) -> str:
    rows = [(run.id, name, number, moment(run.started),
             '; '.join([*run.limits, *run.warnings]) or '-')
            for name, runs in found.runs.items()
            for number, run in enumerate(runs, 1)]
    return table('Runs: their reports are in the archive', (
        'Run', 'Configuration', 'Round', 'Started', 'Warnings'), rows)
