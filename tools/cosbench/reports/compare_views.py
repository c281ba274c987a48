# SPDX-License-Identifier: Apache-2.0
"""A comparison as text, as JSON, as a page."""

from dataclasses import asdict

from cosbench.experiment.core.figures import FIGURES
from cosbench.reports.numbers import NOTHING, aligned, ratio, short
from cosbench.reports.page import heading, page, paragraph, plots, table
from cosbench.reports.run_plots import both
from swift_lightsync.common.text import printable

VERSION = 2
_CHANGES = ('Key', 'First', 'Second')


def caveat(comparison):
    """Return what the numbers in brackets are, and are not."""
    words = 'In brackets the %s%% confidence interval, ' % short(
        100 * comparison.confidence)
    if comparison.is_repeated:
        return words + 'across runs; all verdicts together are wrong by ' \
            'chance in at most %s%% of comparisons.' % short(
                100 - 100 * comparison.confidence)
    return words + 'from how each run varied in its time; none where that ' \
        'was too short. How runs differ from each other only repeated runs ' \
        'tell: cosbench experiment.'


def verdict(row):
    """Return in words what a row allows to say."""
    if row.ratio is None:
        return ''
    if row.differs is None:
        return 'not known' if row.ratio_low is None else 'not judged'
    if not row.differs:
        return 'no difference shown'
    return 'better' if row.is_better else 'worse'


def value(row):
    """Write the mean of a row."""
    return ratio(row.mean) if row.figure == 'success' else short(row.mean)


def to_base(row, nothing=NOTHING):
    """Write the ratio of a row, and its interval."""
    if row.ratio is None:
        return nothing
    if row.ratio_low is None:
        return '%.3f' % row.ratio
    return '%.3f [%.3f, %.3f]' % (row.ratio, row.ratio_low, row.ratio_high)


def _rows(comparison):
    """(operation, figure, first, second, ratio, verdict), as text."""
    for base, row in zip(comparison.base, comparison.rows):
        yield (row.operation, FIGURES[row.figure].words, value(base),
               value(row), to_base(row), verdict(row))


def _columns(comparison):
    return ('Operation', 'Figure', *comparison.names, 'Ratio', 'Verdict')


def _changes(comparison):
    return [(each.place, each.first, each.second)
            for each in comparison.changes]


def _missing(comparison):
    """What only one has, and what is against the comparison."""
    for name, operations in zip(comparison.names, (
            comparison.only_first, comparison.only_second)):
        if operations:
            yield 'only in %s: %s' % (name, ', '.join(operations))
    for each in comparison.warnings:
        yield 'WARNING: ' + each


def _title(comparison):
    one, other = ('%s %s' % (ids, side[0].name) for ids, side in zip(
        comparison.names, (comparison.first, comparison.second)))
    return '%s compared with %s' % (other, one)


def as_text(comparison):
    """Return lines for a terminal."""
    lines = [_title(comparison), *_missing(comparison),
             *aligned([_columns(comparison), *_rows(comparison)])]
    if comparison.changes:
        lines += ['', *aligned([_CHANGES, *_changes(comparison)]), '']
    return printable('\n'.join([*lines, caveat(comparison)]),
                     keep='\n') + '\n'


def as_json(comparison):
    """Return a document: ratios are second to first."""
    return {
        'version': VERSION, 'confidence': comparison.confidence,
        'first': [each.id for each in comparison.first],
        'second': [each.id for each in comparison.second],
        'across_runs': comparison.is_repeated,
        'warnings': list(comparison.warnings),
        'figures': [{
            'operation': row.operation, 'figure': row.figure,
            'first': base.mean, 'second': row.mean, 'ratio': row.ratio,
            'low': row.ratio_low, 'high': row.ratio_high,
            'differs': row.differs}
            for base, row in zip(comparison.base, comparison.rows)],
        'only_first': list(comparison.only_first),
        'only_second': list(comparison.only_second),
        'differences': [asdict(each) for each in comparison.changes]}


def as_page(comparison):
    """Return the page, as HTML."""
    return page(_title(comparison), sections(comparison))


def sections(comparison):
    """Return the parts of the page, HTML, as a list."""
    parts = [paragraph(words, 'bad') for words in _missing(comparison)]
    parts += [
        paragraph('Ratios are of %s to %s. %s' % (
            *reversed(comparison.names), caveat(comparison))),
        table('By operation', _columns(comparison), _rows(comparison)),
        table('What differs in their documents', _CHANGES,
              _changes(comparison))]
    found = both(comparison.first[0], comparison.second[0])
    if found:
        parts += [heading('Response-time distribution (CDF)'), plots(found)]
    return [each for each in parts if each]
