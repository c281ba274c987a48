# SPDX-License-Identifier: Apache-2.0
"""How reports write numbers, times and, on a terminal, tables."""

from datetime import datetime, timezone

from swift_lightsync.common import text

#: What stands where there is nothing, as in COSBench.
NOTHING = 'N/A'
_SIZES = ('B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB')


def number(value, digits=2):
    """Write a number with at most so many digits after the point."""
    if value is None:
        return NOTHING
    found = '%.*f' % (digits, value)
    found = found.rstrip('0').rstrip('.') if '.' in found else found
    return '0' if found == '-0' else found


def ratio(value):
    """Write a share as a percentage.

    :param value: 0 to 1, or None
    """
    return NOTHING if value is None else number(100 * value) + '%'


def short(value):
    """Write a number with three significant digits, for people."""
    return NOTHING if value is None else text.short(value)


def size(value):
    """Write a number of bytes with a unit.

    :param value: bytes
    """
    if value is None:
        return NOTHING
    value, unit = float(value), 0
    while abs(value) >= 999.5 and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    return '%s %s' % (short(value), _SIZES[unit])


def moment(when, zone=None, pattern='%Y-%m-%d %H:%M:%S'):
    """Write a time of day.

    :param when: unix seconds, or None
    :param zone: a ``tzinfo``; None: the local one
    """
    if when is None:
        return ''
    return datetime.fromtimestamp(when, timezone.utc).astimezone(
        zone).strftime(pattern)


def aligned(rows, right=False):
    """Return a line for each row, its cells below those of the others.

    :param rows: of cells, as text; each has as many
    :param right: whether cells stand at the right of their column
    """
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    put = str.rjust if right else str.ljust
    return ['  '.join(put(cell, width) for cell, width
                      in zip(row, widths)).rstrip() for row in rows]
