# SPDX-License-Identifier: Apache-2.0
"""A comparison as text, as JSON, as a page."""

from cosbench.reports.compare import TIMES
from cosbench.reports.lines import aligned
from cosbench.reports.numbers import NOTHING, ratio, short
from cosbench.reports.page import heading, page, paragraph, plots, table
from cosbench.reports.run_plots import both
from swift_lightsync.common.text import printable

_NAMES = ('mean', '50%', '90%', '95%', '99%')
VERSION = 1


def caveat(comparison):
    """Return what the numbers in brackets are, and are not."""
    percent = short(100 * comparison.confidence)
    return 'In brackets the %s%% confidence interval, from how each run ' \
        'varied in its time; none where that was too short. How runs differ ' \
        'from each other only repeated runs tell.' % percent


def _estimate(estimate):
    if estimate.ratio is None:
        return NOTHING
    if estimate.low is None:
        return '%.3f' % estimate.ratio
    return '%.3f [%.3f, %.3f]' % (estimate.ratio, estimate.low,
                                  estimate.high)


def verdict(estimate, more_is_better):
    """Return in words what the confidence interval allows to say."""
    if estimate.low is None:
        return 'not known'
    if not estimate.differs:
        return 'no difference shown'
    return 'better' if (estimate.ratio > 1) == more_is_better else 'worse'


def _rows(comparison):
    """(operation, what, first, second, estimate, verdict), as text."""
    for pair in comparison.pairs:
        name = '%s/%s/%s' % (pair.stage, pair.work, pair.operation)
        yield (name, 'operations/s', short(pair.first.throughput),
               short(pair.second.throughput), _estimate(pair.throughput),
               verdict(pair.throughput, True))
        for words, (attribute, _), estimate in zip(_NAMES, TIMES,
                                                   pair.times):
            yield (name, words + ' ms', short(getattr(
                pair.first, attribute)), short(getattr(
                    pair.second, attribute)), _estimate(estimate),
                verdict(estimate, False))
        yield (name, 'success', ratio(pair.first.success_ratio),
               ratio(pair.second.success_ratio), '', '')


def _columns(comparison):
    return ('Operation', 'What', comparison.first.id, comparison.second.id,
            'Ratio', 'Verdict')


def _missing(comparison):
    for result, names in ((comparison.first, comparison.only_first),
                          (comparison.second, comparison.only_second)):
        for name in names:
            yield 'only in %s: %s' % (result.id, name)


def _title(comparison):
    return '%s %s compared with %s %s' % (
        comparison.second.id, comparison.second.name, comparison.first.id,
        comparison.first.name)


def as_text(comparison):
    """Return lines for a terminal."""
    lines = [_title(comparison),
             *aligned([_columns(comparison), *_rows(comparison)])]
    return printable('\n'.join([*lines, *_missing(comparison),
                                caveat(comparison)]), keep='\n') + '\n'


def as_json(comparison):
    """Return a document: ratios are second to first."""
    return {
        'version': VERSION, 'confidence': comparison.confidence,
        'first': comparison.first.id, 'second': comparison.second.id,
        'operations': [{
            'stage': pair.stage, 'work': pair.work,
            'operation': pair.operation,
            'throughput': _figure(pair, 'throughput', pair.throughput),
            'response_ms': {
                attribute: _figure(pair, attribute, estimate)
                for (attribute, _), estimate in zip(TIMES, pair.times)},
            'success_ratio': {'first': pair.first.success_ratio,
                              'second': pair.second.success_ratio},
        } for pair in comparison.pairs],
        'only_first': list(comparison.only_first),
        'only_second': list(comparison.only_second)}


def _figure(pair, attribute, estimate):
    return {'first': getattr(pair.first, attribute),
            'second': getattr(pair.second, attribute),
            'ratio': estimate.ratio, 'low': estimate.low,
            'high': estimate.high, 'differs': estimate.differs}


def as_page(comparison):
    """Return the page, as HTML."""
    return page(_title(comparison), sections(comparison))


def sections(comparison):
    """Return the parts of the page, HTML, as a list."""
    parts = [paragraph('Ratios are of %s to %s. %s' % (
        comparison.second.id, comparison.first.id, caveat(comparison)))]
    parts.append(table('By operation', _columns(comparison),
                       _rows(comparison)))
    parts += [paragraph(words, 'bad') for words in _missing(comparison)]
    found = both(comparison.first, comparison.second)
    if found:
        parts += [heading('How many took at most so long'), plots(found)]
    return [each for each in parts if each]
