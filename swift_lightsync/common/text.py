# SPDX-License-Identifier: Apache-2.0
"""Numbers, values and names as people read them."""

import reprlib
from typing import Any

#: Characters of a value in an error.
MAX_SHOWN = 80


def shown(value: Any) -> str:
    """Write any value for an error: on one line, printable and not too long.

    :param value: of any type and size; only its first parts are looked at
    :returns: at most ``MAX_SHOWN`` characters
    """
    short_repr = reprlib.Repr()
    short_repr.maxlevel = 2
    short_repr.maxstring = short_repr.maxlong = short_repr.maxother = MAX_SHOWN
    text = short_repr.repr(value)
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN - 3] + '...'


def printable(text: str, keep: str = '') -> str:
    """Replace what could steer a terminal by question marks.

    :param text: from anyone
    :param keep: characters that stay although they are not printable, such
        as a line feed
    :returns: the text, of the same length
    """
    return ''.join(each if each.isprintable() or each in keep else '?'
                   for each in text)


def short(value: float) -> str:
    """Write a number with three significant digits.

    :param value: a finite number
    :returns: ``1,230``, ``12.3``, ``0.012`` or, below 0.001, ``1e-05``
    """
    if value and abs(value) < 0.001:
        return '%.3g' % value
    digits = max(0, 3 - len(str(int(abs(value)))) if abs(value) >= 1 else 3)
    text = '{:,.{}f}'.format(value, digits)
    return text.rstrip('0').rstrip('.') if '.' in text else text
