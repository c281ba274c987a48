# SPDX-License-Identifier: Apache-2.0
"""Plots as inline SVG: no scripts, colours from the page's style.

Each has a title and a description for those who cannot see it; series
differ by dashes too, not by colour alone. Every word is escaped.
"""

from dataclasses import dataclass
from html import escape
from typing import Optional, Tuple

from cosbench.reports.numbers import short
from cosbench.reports.scale import Scale

WIDTH, HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 16, 34, 48
#: Colours in the style; further series begin again, with other dashes.
COLOURS = 6
_DASHES = ('', '6 3', '2 3', '8 3 2 3')
_LEGEND = 150
#: Series of so many points show each.
MOST_MARKED = 20


@dataclass(frozen=True)
class Series:

    label: str
    #: (x, y); a y of None is a gap.
    points: Tuple


@dataclass(frozen=True)
class Axis:

    label: str
    log: bool = False
    scale: Optional[Scale] = None
    #: The values that have ticks; None: round ones.
    at: Optional[Tuple] = None

    def over(self, values):
        return self.scale or Scale.over(values, self.log)

    def ticks(self, scale):
        """
        :returns: a list of (value, label) on the scale
        """
        if self.at is None:
            return scale.ticks()
        return [(value, short(value)) for value in self.at]


def line_plot(title, description, x_axis, y_axis, series, marks=()):
    """
    :param series: ``Series``, at least one with points
    :param marks: (x, words) of places on the x axis
    :returns: SVG; '' if there is nothing to plot
    """
    known = [point for each in series for point in each.points
             if point[1] is not None]
    if not known:
        return ''
    x_scale = x_axis.over(x for x, _ in known)
    y_scale = y_axis.over(y for _, y in known)
    shapes = _frame(x_axis, y_axis, x_scale, y_scale)
    for x, words in marks:
        place = _x(x_scale, x)
        shapes.append('<line class="mark" x1="%.1f" y1="%d" x2="%.1f" '
                      'y2="%d"/>' % (place, _TOP, place, HEIGHT - _BOTTOM))
        # On its other side where there is no room on this.
        room = place < WIDTH - _RIGHT - 60
        shapes.append(_text(place + (4 if room else -4), _TOP + 12, words,
                            'start' if room else 'end'))
    for number, each in enumerate(series):
        shapes += _line(number, each, x_scale, y_scale)
    shapes += _legend([each.label for each in series])
    return _svg(title, description, shapes, _lines(series))


def bar_plot(title, description, x_axis, y_axis, edges, counts):
    """
    :param edges: of the bars, ascending, one more than counts
    :returns: SVG; '' without counts
    """
    if not any(counts):
        return ''
    x_scale = x_axis.scale or Scale(edges[0], edges[-1], x_axis.log)
    y_scale = y_axis.over(counts)
    shapes = _frame(x_axis, y_axis, x_scale, y_scale)
    base = _y(y_scale, y_scale.low)
    for low, high, count in zip(edges, edges[1:], counts):
        if count:
            left, top = _x(x_scale, low), _y(y_scale, count)
            shapes.append(
                '<rect class="b0" x="%.1f" y="%.1f" width="%.1f" '
                'height="%.1f"/>' % (
                    left, top, max(1, _x(x_scale, high) - left - .5),
                    base - top))
    return _svg(title, description, shapes, 0)


def _x(scale, value):
    return _LEFT + scale.at(value) * (WIDTH - _LEFT - _RIGHT)


def _y(scale, value):
    return HEIGHT - _BOTTOM - scale.at(value) * (HEIGHT - _TOP - _BOTTOM)


def _line(number, series, x_scale, y_scale):
    style = 'l%d' % (number % COLOURS)
    path, up = [], True
    for x, y in series.points:
        if y is None:
            up = True
            continue
        path.append('%s%.1f %.1f' % ('M' if up else 'L', _x(x_scale, x),
                                     _y(y_scale, y)))
        up = False
    yield '<path class="%s"%s d="%s"/>' % (
        style, _dash(number), ''.join(path))
    # A line of one point is nothing that could be seen.
    marked = len(series.points) <= MOST_MARKED
    for x, y in series.points if marked else ():
        if y is not None:
            yield '<circle class="%s" cx="%.1f" cy="%.1f" r="3"/>' % (
                style, _x(x_scale, x), _y(y_scale, y))


def _dash(number):
    dash = _DASHES[number % len(_DASHES)]
    return ' stroke-dasharray="%s"' % dash if dash else ''


def _frame(x_axis, y_axis, x_scale, y_scale):
    shapes = []
    bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    for value, words in y_axis.ticks(y_scale):
        place = _y(y_scale, value)
        shapes.append('<line class="grid" x1="%d" y1="%.1f" x2="%d" '
                      'y2="%.1f"/>' % (_LEFT, place, right, place))
        shapes.append(_text(_LEFT - 6, place + 4, words, 'end'))
    for value, words in x_axis.ticks(x_scale):
        place = _x(x_scale, value)
        shapes.append('<line class="grid" x1="%.1f" y1="%d" x2="%.1f" '
                      'y2="%d"/>' % (place, bottom, place, bottom + 4))
        shapes.append(_text(place, bottom + 17, words, 'middle'))
    shapes.append(_text((_LEFT + right) / 2, HEIGHT - 10, x_axis.label,
                        'middle'))
    shapes.append(_text(_LEFT - 6, _TOP - 14, y_axis.label))
    return shapes


def _lines(series):
    """Lines of the legend, below the plot."""
    across = (WIDTH - _LEFT) // _LEGEND
    return -(-len(series) // across) if len(series) > 1 else 0


def _legend(labels):
    if len(labels) < 2:
        return
    across = (WIDTH - _LEFT) // _LEGEND
    for number, words in enumerate(labels):
        left = _LEFT + number % across * _LEGEND
        top = HEIGHT + 10 + number // across * 18
        yield '<path class="l%d"%s d="M%d %dh22"/>' % (
            number % COLOURS, _dash(number), left, top)
        yield _text(left + 28, top + 4,
                    words if len(words) <= 18 else words[:17] + '\u2026')


def _text(x, y, words, anchor='start'):
    return '<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>' % (
        x, y, anchor, escape(words))


def _svg(title, description, shapes, lines):
    height = HEIGHT + 18 * lines + (4 if lines else 0)
    return ('<svg role="img" viewBox="0 0 %d %d" width="%d" height="%d">'
            '<title>%s</title><desc>%s</desc>%s</svg>' % (
                WIDTH, height, WIDTH, height, escape(title),
                escape(description), ''.join(shapes)))
