# SPDX-License-Identifier: Apache-2.0
"""How reports write numbers and times."""

from datetime import datetime, timezone

#: What stands where there is nothing, as in COSBench.
NOTHING = 'N/A'
_SIZES = ('B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB')


def number(value, digits=2):
    """
    :returns: at most so many digits after the point, as ``0.##``
    """
    if value is None:
        return NOTHING
    text = '%.*f' % (digits, value)
    text = text.rstrip('0').rstrip('.') if '.' in text else text
    return '0' if text == '-0' else text


def ratio(value):
    """
    :param value: 0 to 1, or None
    """
    return NOTHING if value is None else number(100 * value) + '%'


def short(value):
    """
    :returns: three significant digits, for people
    """
    if value is None:
        return NOTHING
    if value and abs(value) < 0.001:
        return '%.3g' % value
    digits = max(0, 3 - len(str(int(abs(value)))) if abs(value) >= 1 else 3)
    text = '{:,.{}f}'.format(value, digits)
    return text.rstrip('0').rstrip('.') if '.' in text else text


def size(value):
    """
    :param value: bytes
    """
    if value is None:
        return NOTHING
    value, unit = float(value), 0
    while abs(value) >= 999.5 and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    return '%s %s' % (short(value), _SIZES[unit])


def moment(when, zone=None, pattern='%Y-%m-%d %H:%M:%S'):
    """
    :param when: unix seconds, or None
    :param zone: a ``tzinfo``; None: the local one
    """
    if when is None:
        return ''
    return datetime.fromtimestamp(when, timezone.utc).astimezone(
        zone).strftime(pattern)


def printable(text):
    """
    :returns: lines for a terminal: names come from anyone, and may not
        steer it
    """
    return ''.join(each if each.isprintable() or each == '\n' else '?'
                   for each in text)
