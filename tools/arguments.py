# SPDX-License-Identifier: Apache-2.0
"""The values that the tools take, each checked once."""

import argparse
import re
from collections.abc import Callable, Iterable
from typing import Any

from tools import ToolError

KIB, MIB, GIB = 2 ** 10, 2 ** 20, 2 ** 30
_UNITS = {'': 1, 'K': KIB, 'M': MIB}


def require(name: str, value: Any, allowed: str, good: object) -> None:
    """Raise an error unless a value is good.

    :param name: the option, as the user writes it
    :param allowed: in words, the values that it may have
    :raises ToolError: if it is not good
    """
    if not good:
        raise ToolError('%s is %r; allowed: %s' % (name, value, allowed))


def names(allowed: Iterable[str]) -> Callable[[str], tuple[str, ...]]:
    """Return an argparse type: a list of allowed names, in their order."""
    known = tuple(allowed)

    def parse(text: str) -> tuple[str, ...]:
        found = [each.strip() for each in text.split(',')]
        for name in found:
            if name not in known:
                raise argparse.ArgumentTypeError(
                    '%r; allowed: a comma-separated list of %s' % (
                        name, ', '.join(known)))
        return tuple(each for each in known if each in found)
    return parse


def number(low: float, high: float | None = None,
           kind: Callable[[str], Any] = int) -> Callable[[str], Any]:
    """Return an argparse type: a number in a range.

    :param high: the greatest; None: there is none
    :param kind: ``int`` or ``float``
    """
    allowed = '%g to %g' % (low, high) if high is not None \
        else 'at least %g' % low

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = None
        # Infinity and NaN are no number of anything here.
        if value is None or not low <= value <= (
                1e15 if high is None else high):
            raise argparse.ArgumentTypeError('%r; allowed: %s' % (
                text, allowed))
        return value
    return parse


def several(parse: Callable[[str], Any]) -> Callable[[str], tuple]:
    """Return an argparse type: values with commas between, each once."""
    return lambda text: tuple(dict.fromkeys(
        parse(each.strip()) for each in text.split(',') if each.strip()))


def _size(text: str) -> int:
    """Return the bytes of a text such as ``4K``, ``64M`` or ``100``."""
    match = re.fullmatch(r'([1-9][0-9]*)([KM]?)', text)
    found = int(match[1]) * _UNITS[match[2]] if match else 0
    if not 1 <= found <= GIB:
        raise argparse.ArgumentTypeError(
            '%r; allowed: a comma-separated list of bytes, KiB (4K) and MiB '
            '(4M), up to 1024M' % text)
    return found


sizes = several(_size)


def size_text(size: int) -> str:
    """Return a number of bytes in words, such as ``4 KiB``."""
    for unit, name in ((MIB, 'MiB'), (KIB, 'KiB')):
        if size % unit == 0:
            return '%d %s' % (size // unit, name)
    return '%d B' % size
