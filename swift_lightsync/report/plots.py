# SPDX-License-Identifier: Apache-2.0
"""The plots of the report's page, as inline SVG."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from swift_lightsync.common import grid
from swift_lightsync.common.address import DeviceTuple, place_name
from swift_lightsync.report.health import Pair, PairState
from swift_lightsync.report.text import duration, pair_name

#: Most rows of a plot: if there are more devices, those of a node, and then
#: those of a host, share a row.
MOST_ROWS = 80
#: How old an agreement may be, in parts of the age at which it is stale, and
#: its colour.
SHADES = ((1 / 60, '#e3eef8'), (1 / 12, '#bfd8ed'), (1 / 4, '#8fbfe0'),
          (1 / 2, '#5a9fcf'), (1, '#2a74b0'))
STALE = '#e0701a'
NEVER = '#8e2a8b'
BAR = '#2a74b0'


@dataclass(frozen=True)
class _Worst:
    """The pair of a cell that has not agreed for longest, of so many."""
    pair: Pair
    pairs: int


def _names(pairs: Iterable[Pair]) -> Callable[[DeviceTuple], str]:
    """Return a function of a device that returns the name of its row."""
    devices = {where for pair in pairs
               for where in (pair.record.device, pair.record.neighbour)}
    for name in (place_name, lambda where: place_name(where[:2])):
        if len({name(where) for where in devices}) <= MOST_ROWS:
            return name
    return lambda where: where[0]


def _by_number(name: str) -> list[object]:
    """Return a key that sorts names as people do: sda2 before sda10."""
    # Every second part consists of digits.
    return [int(part) if index % 2 else part
            for index, part in enumerate(re.split('([0-9]+)', name))]


def _rank(pair: Pair) -> tuple[bool, float]:
    return (pair.state is PairState.UNREACHABLE,
            float('inf') if pair.age is None else pair.age)


def _cells(pairs: Iterable[Pair], name: Callable[[DeviceTuple], str]
           ) -> dict[tuple[str, str], _Worst]:
    """Return the worst pair of each cell, by its row and column."""
    cells: dict[tuple[str, str], _Worst] = {}
    for pair in sorted(pairs, key=_rank):
        where = name(pair.record.device), name(pair.record.neighbour)
        before = cells.get(where)
        cells[where] = _Worst(pair, before.pairs + 1 if before else 1)
    return cells


def _shade(age: float | None, stale_after: float) -> str:
    if age is None:
        return NEVER
    return next((colour for part, colour in SHADES
                 if age <= part * stale_after), STALE)


def _tip(worst: _Worst) -> str:
    pair = worst.pair
    return '%s: %s, agreed %s%s; %d of %d partitions differ%s' % (
        pair_name(pair), pair.state.value, duration(pair.age),
        '' if pair.age is None else ' ago', pair.record.differing,
        pair.record.partitions, '' if worst.pairs == 1 else
        ' (the worst of %d pairs)' % worst.pairs)


def heat_map(pairs: Sequence[Pair], stale_after: float, title: str) -> str:
    """Draw who agreed with whom how long ago: a row a device, a column a
    neighbour.

    :param pairs: pairs that are in use, at least one
    :param stale_after: seconds
    :param title: of the plot
    :returns: SVG
    """
    cells = _cells(pairs, _names(pairs))
    worst = sorted(cells, key=lambda where: _rank(cells[where].pair),
                   reverse=True)
    rows = sorted(list(dict.fromkeys(
        name for where in worst for name in where))[:MOST_ROWS],
        key=_by_number)
    return grid.grid(
        title, 'Each cell is a device and a neighbour of it; the darker it '
        'is, the longer ago they agreed.', rows, [
            grid.Cell(row, column, _shade(each.pair.age, stale_after),
                      _tip(each), each.pair.state is PairState.UNREACHABLE)
            for (row, column), each in cells.items()])


def legend(stale_after: float) -> str:
    """Return SVG that explains the colours of a heat map."""
    return grid.legend('Time since agreement', [
        *(('within ' + duration(part * stale_after), colour)
          for part, colour in SHADES),
        ('stale', STALE), ('never', NEVER)])


def bar_chart(pairs: Sequence[Pair], title: str) -> str:
    """Draw how many partitions are known to differ, a bar a device.

    :param pairs: pairs that are in use
    :param title: of the plot
    :returns: SVG, or '' if none differ
    """
    name = _names(pairs)
    counts: dict[str, int] = {}
    for pair in pairs:
        row = name(pair.record.device)
        counts[row] = counts.get(row, 0) + pair.record.differing
    bars = sorted(((row, number) for row, number in counts.items() if number),
                  key=lambda bar: (-bar[1], bar[0]))[:MOST_ROWS]
    return grid.bars(title, 'Each bar is the number of partitions that differ '
                     'between a device and its neighbours.', bars, BAR)
