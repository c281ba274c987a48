# SPDX-License-Identifier: Apache-2.0
"""The plots of the report's page, as inline SVG."""

import re
from dataclasses import dataclass
from html import escape

from swift_lightsync.common.recon_record import place_name
from swift_lightsync.report.health import PairState
from swift_lightsync.report.text import duration, pair_name

#: Rows of a plot at most: where there are more devices, those of a node, then
#: those of a host share a row.
MOST_ROWS = 80
CELL = 14
CHARACTER = 7
#: How old an agreement may be, in parts of the age at which it is stale, and
#: its colour.
SHADES = ((1 / 60, '#e3eef8'), (1 / 12, '#bfd8ed'), (1 / 4, '#8fbfe0'),
          (1 / 2, '#5a9fcf'), (1, '#2a74b0'))
STALE = '#e0701a'
NEVER = '#8e2a8b'
BAR = '#2a74b0'


@dataclass(frozen=True)
class Cell:
    """The pair that has not agreed for longest, of those in a cell."""
    pair: object
    pairs: int


def _names(pairs):
    """
    :returns: a function of a device, to the name of its row
    """
    devices = {where for pair in pairs
               for where in (pair.record.device, pair.record.neighbour)}
    for name in (place_name, lambda where: place_name(where[:2])):
        if len({name(where) for where in devices}) <= MOST_ROWS:
            return name
    return lambda where: where[0]


def _by_number(name):
    """Sorts names as people do: sda2 before sda10."""
    # Every second part is one of digits.
    return [int(part) if index % 2 else part
            for index, part in enumerate(re.split('([0-9]+)', name))]


def _rank(pair):
    return (pair.state is PairState.UNREACHABLE,
            float('inf') if pair.age is None else pair.age)


def _cells(pairs, name):
    """:returns: a dict of (row, column) to Cell"""
    cells = {}
    for pair in sorted(pairs, key=_rank):
        where = name(pair.record.device), name(pair.record.neighbour)
        before = cells.get(where)
        cells[where] = Cell(pair, before.pairs + 1 if before else 1)
    return cells


def _shade(age, stale_after):
    if age is None:
        return NEVER
    return next((colour for part, colour in SHADES
                 if age <= part * stale_after), STALE)


def _text(x, y, words, **attributes):
    return '<text x="%.1f" y="%.1f"%s>%s</text>' % (
        x, y, _attributes(attributes), escape(words))


def _rect(x, y, width, height, fill, tip=''):
    return ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s">'
            '<title>%s</title></rect>' % (x, y, width, height, fill,
                                          escape(tip)))


def _attributes(values):
    return ''.join(' %s="%s"' % (name.replace('_', '-'), escape(value))
                   for name, value in values.items())


def _svg(width, height, shapes, label):
    return ('<svg role="img" aria-label="%s" width="%d" height="%d" '
            'viewBox="0 0 %d %d">%s</svg>' % (
                escape(label), width, height, width, height,
                ''.join(shapes)))


def _width(names):
    return max(map(len, names)) * CHARACTER + 12


def heat_map(pairs, stale_after, label):
    """
    Who agreed with whom how long ago: a row a device, a column a neighbour.

    :param pairs: Pairs that are in use, at least one
    :param stale_after: seconds
    :param label: what it is called for those who cannot see it
    :returns: SVG
    """
    cells = _cells(pairs, _names(pairs))
    worst = sorted(cells, key=lambda where: _rank(cells[where].pair),
                   reverse=True)
    rows = sorted(list(dict.fromkeys(
        name for where in worst for name in where))[:MOST_ROWS],
        key=_by_number)
    at = {name: number for number, name in enumerate(rows)}
    margin = _width(rows)
    shapes = [_text(margin - 6, margin + CELL * at[name] + 11, name,
                    text_anchor='end') for name in rows]
    shapes += [_text(0, 0, name, transform='translate(%.1f %.1f) rotate(-90)'
                     % (margin + CELL * at[name] + 11, margin - 6))
               for name in rows]
    for (row, column), cell in cells.items():
        if row in at and column in at:
            shapes += _cell(margin + CELL * at[column],
                            margin + CELL * at[row], cell, stale_after)
    size = margin + CELL * len(rows) + 2
    return _svg(size, size, shapes, label)


def _cell(x, y, cell, stale_after):
    pair = cell.pair
    tip = '%s: %s, agreed %s%s; %d of %d partitions differ%s' % (
        pair_name(pair), pair.state.value, duration(pair.age),
        '' if pair.age is None else ' ago', pair.record.differing,
        pair.record.partitions, '' if cell.pairs == 1 else
        ' (the worst of %d pairs)' % cell.pairs)
    yield _rect(x, y, CELL - 1, CELL - 1, _shade(pair.age, stale_after), tip)
    if pair.state is PairState.UNREACHABLE:
        yield ('<path class="cross" d="M%.1f %.1fl%d %dm0 -%dl-%d %d"/>' % (
            x + 3, y + 3, *[CELL - 7] * 5))


def legend(stale_after):
    """:returns: SVG that explains the colours of a heat map"""
    entries = [('within ' + duration(part * stale_after), colour)
               for part, colour in SHADES]
    entries += [('stale', STALE), ('never', NEVER)]
    shapes = []
    x = 0
    for words, colour in entries:
        shapes += [_rect(x, 2, CELL - 1, CELL - 1, colour, words),
                   _text(x + CELL + 3, 13, words)]
        x += CELL + 14 + len(words) * CHARACTER
    return _svg(x, CELL + 4, shapes, 'Time since agreement')


def bar_chart(pairs, label):
    """
    How many partitions are known to differ, a bar a device.

    :param pairs: Pairs that are in use
    :param label: what it is called for those who cannot see it
    :returns: SVG, or '' if none differ
    """
    name = _names(pairs)
    counts = {}
    for pair in pairs:
        row = name(pair.record.device)
        counts[row] = counts.get(row, 0) + pair.record.differing
    bars = sorted(((number, row) for row, number in counts.items() if number),
                  key=lambda bar: (-bar[0], bar[1]))[:MOST_ROWS]
    if not bars:
        return ''
    margin = _width([row for _, row in bars])
    scale = 400 / bars[0][0]
    shapes = []
    for index, (number, row) in enumerate(bars):
        y = index * (CELL + 2)
        shapes += [_text(margin - 6, y + 11, row, text_anchor='end'),
                   _rect(margin, y, max(1, number * scale), CELL, BAR,
                         '%s: %d' % (row, number)),
                   _text(margin + number * scale + 6, y + 11, str(number))]
    return _svg(margin + 480, len(bars) * (CELL + 2), shapes, label)
