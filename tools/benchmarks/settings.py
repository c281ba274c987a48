# SPDX-License-Identifier: Apache-2.0
"""The values that the benchmarks take, each checked once; and their error."""

import argparse
import re
from collections.abc import Callable, Iterable
from typing import Any, Optional

KIB, MIB, GIB = 2 ** 10, 2 ** 20, 2 ** 30
_UNITS = {'': 1, 'K': KIB, 'M': MIB}


class BenchError(Exception):
    """
    A benchmark cannot go on; the text says what is wrong and what is allowed.
    """


def require(name: str, value: Any, allowed: str, good: bool) -> None:
    """Raise an error unless a value is good.

    :param name: the option, as the user writes it
    :param allowed: in words, the values that it may have
    :raises BenchError: if it is not good
    """
    if not good:
        raise BenchError('%s is %s; allowed: %s' % (name, value, allowed))


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


def number(low: float, high: Optional[float] = None,
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


def sizes(text: str) -> tuple[int, ...]:
    """Return the bytes of a list such as ``4K,64M,100``, each of them once."""
    found = []
    for each in text.split(','):
        match = re.fullmatch(r'([1-9][0-9]*)([KM]?)', each.strip())
        size = int(match[1]) * _UNITS[match[2]] if match else 0
        if not 1 <= size <= GIB:
            raise argparse.ArgumentTypeError(
                '%r; allowed: a comma-separated list of bytes, KiB (4K) and '
                'MiB (4M), up to 1024M' % each)
        found.append(size)
    return tuple(dict.fromkeys(found))


def size_text(size: int) -> str:
    """Return a number of bytes in words, such as ``4 KiB``."""
    for unit, name in ((MIB, 'MiB'), (KIB, 'KiB')):
        if size % unit == 0:
            return '%d %s' % (size // unit, name)
    return '%d B' % size
