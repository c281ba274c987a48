# SPDX-License-Identifier: Apache-2.0
"""Plots whose rows are names: coloured cells, their legend, and long bars.

Like those of ``svg``, they are inline SVG with a title and a description, and
every word is escaped. What a cell or a bar is, the pointer over it says.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from swift_lightsync.common.svg import picture, text

#: Pixels of a cell, and of a character of a name.
CELL = 14
CHARACTER = 7
#: Pixels of the longest bar, and of the space for its number.
_LONGEST, _NUMBER = 400, 80
#: The style that makes names as wide as CHARACTER.
_STYLE = 'names'


@dataclass(frozen=True)
class Cell:
    """A cell of a grid.

    :param row: a name of the grid
    :param column: another
    :param fill: its colour, as in CSS
    :param tip: what it is
    :param is_crossed: whether it has a cross
    """
    row: str
    column: str
    fill: str
    tip: str
    is_crossed: bool = False


def grid(title: str, description: str, names: Sequence[str],
         cells: Iterable[Cell]) -> str:
    """Draw a square of cells: each name has a row and a column.

    :param title: of the plot
    :param description: what it shows, in a sentence
    :param names: of the rows, at least one, in order
    :param cells: those whose row or column is not among the names are left
        out
    :returns: SVG
    """
    at = {name: number for number, name in enumerate(names)}
    margin = _margin(names)
    shapes = [text(margin - 6, margin + CELL * at[name] + 11, name, 'end')
              for name in names]
    shapes += ['<text x="0.0" y="0.0" transform="translate(%.1f %.1f) '
               'rotate(-90)">%s</text>' % (
                   margin + CELL * at[name] + 11, margin - 6, escape(name))
               for name in names]
    for cell in cells:
        if cell.row in at and cell.column in at:
            shapes += _cell(margin + CELL * at[cell.column],
                            margin + CELL * at[cell.row], cell)
    size = margin + CELL * len(names) + 2
    return picture(title, description, size, size, shapes, _STYLE)


def legend(title: str, entries: Iterable[tuple[str, str]]) -> str:
    """Draw what the colours of a grid mean.

    :param title: what is coloured
    :param entries: (words, colour)
    :returns: SVG
    """
    shapes: list[str] = []
    x = 0
    for words, colour in entries:
        shapes += [_rect(x, 2, CELL - 1, CELL - 1, colour, words),
                   text(x + CELL + 3, 13, words)]
        x += CELL + 14 + len(words) * CHARACTER
    return picture(title, 'The colours, and what they mean.', x, CELL + 4,
                   shapes, _STYLE)


def bars(title: str, description: str, rows: Sequence[tuple[str, float]],
         fill: str) -> str:
    """Draw a bar for each name, with its number behind it.

    :param title: of the plot
    :param description: what it shows, in a sentence
    :param rows: (name, number above 0), in order
    :param fill: the colour of the bars, as in CSS
    :returns: SVG; '' without rows
    """
    if not rows:
        return ''
    margin = _margin([name for name, _ in rows])
    scale = _LONGEST / max(number for _, number in rows)
    shapes: list[str] = []
    for index, (name, number) in enumerate(rows):
        y = index * (CELL + 2)
        shapes += [text(margin - 6, y + 11, name, 'end'),
                   _rect(margin, y, max(1, number * scale), CELL, fill,
                         '%s: %s' % (name, number)),
                   text(margin + number * scale + 6, y + 11, str(number))]
    return picture(title, description, margin + _LONGEST + _NUMBER,
                   len(rows) * (CELL + 2), shapes, _STYLE)


def _margin(names: Sequence[str]) -> int:
    return max(map(len, names)) * CHARACTER + 12


def _rect(x: float, y: float, width: float, height: float, fill: str,
          tip: str) -> str:
    return ('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s">'
            '<title>%s</title></rect>' % (x, y, width, height, escape(fill),
                                          escape(tip)))


def _cell(x: float, y: float, cell: Cell) -> Iterator[str]:
    yield _rect(x, y, CELL - 1, CELL - 1, cell.fill, cell.tip)
    if cell.is_crossed:
        yield '<path class="cross" d="M%.1f %.1fl%d %dm0 -%dl-%d %d"/>' % (
            x + 3, y + 3, *[CELL - 7] * 5)
