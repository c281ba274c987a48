# SPDX-License-Identifier: Apache-2.0
"""Plots as inline SVG: lines over an axis, and bars of a histogram.

There are no scripts; the colours come from the page, which has ``STYLE`` in
its style and sets --ink, --line and --soft, the colours of words, lines and
marks. Each plot has a title and a description for those who cannot see
it; series differ by dashes too, not by colour alone. Every word is escaped.
``grid`` has the plots whose rows are names, ``svg_heat`` heat maps.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from swift_lightsync.common.scale import Scale
from swift_lightsync.common.text import short

WIDTH, HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 72, 16, 34, 48
#: Colours in the style; further series begin again, with other dashes.
COLOURS = 6
_DASHES = ('', '6 3', '2 3', '8 3 2 3')
#: Pixels of an entry of the legend, of a line of it, and its characters.
_LEGEND, _LEGEND_LINE, _LEGEND_LENGTH = 150, 18, 18
#: Series of so many points show each, and of so many tell the values of the
#: one that is pointed at.
MOST_MARKED, MOST_TOLD = 20, 150

#: The part of a page's style that plots need, light and dark.
STYLE = '''
:root { --c0: #1f6cb0; --c1: #d16161; --c2: #374904; --c3: #919108;
  --c4: #730bda; --c5: #77224d; }
@media (prefers-color-scheme: dark) {
  :root { --c0: #6cb2f0; --c1: #f2b90d; --c2: #f20d46; --c3: #d7f4d7;
    --c4: #993df5; --c5: #c63980; } }
svg { max-width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg.names { max-width: none; }
svg.names text { font-family: ui-monospace, monospace; }
svg path, svg circle { fill: none; stroke-width: 1.8; }
svg .hit { fill: transparent; stroke: none; }
svg .hit:hover { fill: var(--soft); fill-opacity: .5; }
svg .grid { stroke: var(--line); } svg .mark { stroke: var(--soft);
  stroke-dasharray: 3 3; }
svg .cross { stroke: #d62728; stroke-width: 2; }
''' + '\n'.join(
    '.l%d { stroke: var(--c%d); } .b%d { fill: var(--c%d); }' % (
        (number,) * 4) for number in range(COLOURS))


@dataclass(frozen=True)
class Series:
    """A line.

    :param label: what the legend calls it
    :param points: (x, y), in order; a y of None is a gap
    """
    label: str
    points: Sequence[tuple[float, float | None]]


@dataclass(frozen=True)
class Axis:
    """One direction of a plot.

    :param label: what its values are, with the unit
    :param log: whether it is logarithmic
    :param scale: its scale; None: one with room for all values
    :param at: the values that have ticks; None: round ones
    """
    label: str
    log: bool = False
    scale: Scale | None = None
    at: Sequence[float] | None = None

    def over(self, values: Iterable[float]) -> Scale:
        """Return the axis's scale.

        :param values: that are shown, at least one
        :returns: its own, or one with room for all
        """
        return self.scale or Scale.over(values, self.log)

    def ticks(self, scale: Scale) -> list[tuple[float, str]]:
        """Return what is written along the axis.

        :param scale: as from ``over``
        :returns: (value, label)
        """
        if self.at is None:
            return scale.ticks()
        return [(value, short(value)) for value in self.at]


@dataclass(frozen=True)
class Plane:
    """Two axes, and the scales on which values become pixels."""
    x_axis: Axis
    y_axis: Axis
    x_scale: Scale
    y_scale: Scale

    def x(self, value: float) -> float:
        """Return pixels from the left."""
        return _LEFT + self.x_scale.at(value) * (WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        """Return pixels from the top."""
        return HEIGHT - _BOTTOM - self.y_scale.at(value) * (
            HEIGHT - _TOP - _BOTTOM)

    def frame(self) -> Iterator[str]:
        """Draw grid, ticks and labels."""
        bottom, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
        for value, words in self.y_axis.ticks(self.y_scale):
            place = self.y(value)
            yield ('<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>'
                   % (_LEFT, place, right, place))
            yield text(_LEFT - 6, place + 4, words, 'end')
        for value, words in self.x_axis.ticks(self.x_scale):
            place = self.x(value)
            yield ('<line class="grid" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>'
                   % (place, bottom, place, bottom + 4))
            yield text(place, bottom + 17, words, 'middle')
        yield text((_LEFT + right) / 2, HEIGHT - 10, self.x_axis.label,
                   'middle')
        yield text(_LEFT - 6, _TOP - 14, self.y_axis.label)


def line_plot(title: str, description: str, x_axis: Axis, y_axis: Axis,
              series: Sequence[Series],
              marks: Iterable[tuple[float, str]] = ()) -> str:
    """Draw a line for each series; a cumulated share is such a line.

    :param title: of the plot
    :param description: what it shows, in a sentence
    :param x_axis: from left to right
    :param y_axis: upwards
    :param series: the lines
    :param marks: (x, words) of places on the x axis
    :returns: SVG; '' if there is no point
    """
    known = [(x, y) for each in series for x, y in each.points
             if y is not None]
    if not known:
        return ''
    plane = Plane(x_axis, y_axis, x_axis.over(x for x, _ in known),
                   y_axis.over(y for _, y in known))
    shapes = list(plane.frame())
    for x, words in marks:
        shapes += _mark(plane.x(x), words)
    for number, each in enumerate(series):
        shapes += _line(number, each, plane)
    shapes += _legend([each.label for each in series])
    return drawn(title, description, shapes, _legend_lines(len(series)))


def bar_plot(title: str, description: str, x_axis: Axis, y_axis: Axis,
             edges: Sequence[float], counts: Sequence[float]) -> str:
    """Draw the bars of a histogram.

    :param title: of the plot
    :param description: what it shows, in a sentence
    :param x_axis: from left to right
    :param y_axis: upwards
    :param edges: of the bars, ascending, one more than counts
    :param counts: how high each bar is
    :returns: SVG; '' if all counts are 0
    """
    if not any(counts):
        return ''
    plane = Plane(
        x_axis, y_axis,
        x_axis.scale or Scale(edges[0], edges[-1], x_axis.log),
        y_axis.over(counts))
    shapes = list(plane.frame())
    base = plane.y(plane.y_scale.low)
    for low, high, count in zip(edges, edges[1:], counts):
        if count:
            left, top = plane.x(low), plane.y(count)
            shapes.append(
                '<rect class="b0" x="%.1f" y="%.1f" width="%.1f" '
                'height="%.1f"/>' % (
                    left, top, max(1, plane.x(high) - left - .5),
                    base - top))
    return drawn(title, description, shapes, 0)


def text(x: float, y: float, words: str, anchor: str = 'start') -> str:
    """Write words on a plot.

    :param x: pixels from the left
    :param y: pixels from the top
    :param words: any
    :param anchor: what of the words stands there: start, middle or end
    :returns: SVG
    """
    return '<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>' % (
        x, y, anchor, escape(words))


def picture(title: str, description: str, width: float, height: float,
            shapes: Iterable[str], style: str = '') -> str:
    """Put shapes into an SVG element.

    :param title: of the picture
    :param description: what it shows, in a sentence
    :param width: pixels
    :param height: pixels
    :param shapes: SVG
    :param style: class of the element
    :returns: SVG
    """
    return ('<svg role="img"%s viewBox="0 0 %d %d" width="%d" height="%d">'
            '<title>%s</title><desc>%s</desc>%s</svg>' % (
                ' class="%s"' % style if style else '', width, height, width,
                height, escape(title), escape(description), ''.join(shapes)))


def drawn(title: str, description: str, shapes: Iterable[str],
          lines: int) -> str:
    """Return a plot of shapes that has so many lines of a legend."""
    return picture(title, description, WIDTH, HEIGHT + _LEGEND_LINE * lines
                   + (4 if lines else 0), shapes)


def _mark(place: float, words: str) -> Iterator[str]:
    yield '<line class="mark" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>' % (
        place, _TOP, place, HEIGHT - _BOTTOM)
    # On its other side where there is no room on this.
    room = place < WIDTH - _RIGHT - 60
    yield text(place + (4 if room else -4), _TOP + 12, words,
               'start' if room else 'end')


def _line(number: int, series: Series, plane: Plane) -> Iterator[str]:
    style = 'l%d' % (number % COLOURS)
    path, places, up = [], [], True
    for x, y in series.points:
        if y is None:
            up = True
            continue
        place = plane.x(x), plane.y(y)
        path.append('%s%.1f %.1f' % ('M' if up else 'L', *place))
        places.append(place)
        up = False
    yield '<path class="%s"%s d="%s"/>' % (
        style, _dash(number), ''.join(path))
    # A line of one point is nothing that could be seen.
    if len(series.points) <= MOST_MARKED:
        for place in places:
            yield '<circle class="%s" cx="%.1f" cy="%.1f" r="3"/>' % (
                style, *place)
    if len(series.points) <= MOST_TOLD:
        yield from _told(series, plane)


def _told(series: Series, plane: Plane) -> Iterator[str]:
    """Say the values of each point to who points at it."""
    for x, y in series.points:
        if y is not None:
            yield '<circle class="hit" cx="%.1f" cy="%.1f" r="6"><title>' \
                '%s: %s (%s)</title></circle>' % (
                    plane.x(x), plane.y(y), escape(series.label), short(y),
                    escape(short(x)))


def _dash(number: int) -> str:
    dash = _DASHES[number % len(_DASHES)]
    return ' stroke-dasharray="%s"' % dash if dash else ''


def _legend_lines(entries: int) -> int:
    """Lines of the legend, below the plot."""
    across = (WIDTH - _LEFT) // _LEGEND
    return -(-entries // across) if entries > 1 else 0


def _legend(labels: Sequence[str]) -> Iterator[str]:
    if len(labels) < 2:
        return
    across = (WIDTH - _LEFT) // _LEGEND
    for number, words in enumerate(labels):
        left = _LEFT + number % across * _LEGEND
        top = HEIGHT + 10 + number // across * _LEGEND_LINE
        yield '<path class="l%d"%s d="M%d %dh22"/>' % (
            number % COLOURS, _dash(number), left, top)
        yield text(left + 28, top + 4, words if len(words) <= _LEGEND_LENGTH
                   else words[:_LEGEND_LENGTH - 1] + '\u2026')
