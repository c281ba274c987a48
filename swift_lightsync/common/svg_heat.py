# SPDX-License-Identifier: Apache-2.0
"""Heat maps as inline SVG."""

from collections.abc import Sequence
from math import log1p

from swift_lightsync.common.scale import Scale
from swift_lightsync.common.svg import Axis, Plane, drawn


def heat_plot(title: str, description: str, x_axis: Axis, y_axis: Axis,
              edges: tuple[Sequence[float], Sequence[float]],
              counts: Sequence[Sequence[float]]) -> str:
    """Draw a heat map: the darker a cell, the more is in it.

    :param title: of the plot
    :param description: what it shows, in a sentence
    :param x_axis: from left to right
    :param y_axis: upwards
    :param edges: of the columns and of the rows, ascending, one more each
        than there are
    :param counts: of each column those of its rows
    :returns: SVG; '' if all counts are 0
    """
    most = max((count for column in counts for count in column), default=0)
    if not most:
        return ''
    across, upwards = edges
    plane = Plane(
        x_axis, y_axis,
        x_axis.scale or Scale(across[0], across[-1], x_axis.log),
        Scale(upwards[0], upwards[-1], y_axis.log))
    shapes = list(plane.frame())
    for column, left, right in zip(counts, across, across[1:]):
        for count, low, high in zip(column, upwards, upwards[1:]):
            if count:
                # Few that are slow are what one looks for: not by the
                # count, but by how many digits it has.
                shade = .15 + .85 * log1p(count) / log1p(most)
                shapes.append(
                    '<rect class="b0" fill-opacity="%.2f" x="%.1f" y="%.1f" '
                    'width="%.1f" height="%.1f"/>' % (
                        shade, plane.x(left), plane.y(high),
                        plane.x(right) - plane.x(left),
                        plane.y(low) - plane.y(high)))
    return drawn(title, description, shapes, 0)
