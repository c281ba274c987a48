# SPDX-License-Identifier: Apache-2.0
"""The limits of a record's values, and the error of one that breaks them."""

from collections.abc import Callable
from dataclasses import dataclass
from re import Pattern
from typing import Any

from swift_lightsync.common.text import shown

Function = Callable[[Any], Any]


class RecordError(ValueError):
    """A value that is not accepted.

    :param reason: the value, and what is allowed
    :param path: where the value is, in the document that was read
    """

    def __init__(self, reason: str, path: str = '') -> None:
        super().__init__(reason, path)
        self.reason = reason
        self.path = path

    def __str__(self) -> str:
        path = self.path[1:] if self.path.startswith('.') else self.path
        if not path:
            return self.reason
        return path + (' ' if self.reason.startswith('is ') else ': ') + \
            self.reason

    def within(self, place: str) -> 'RecordError':
        """Return the same error, seen from further outside.

        :param place: ``.key`` or ``[number]``, or the name of the document
        :returns: the error to raise
        """
        return type(self)(self.reason, place + self.path)


@dataclass(frozen=True)
class Between:
    """Bounds of a number, both of which are allowed."""
    least: float
    most: float


@dataclass(frozen=True)
class Length:
    """Bounds of a text's characters, or of the values in a list or object."""
    most: int
    least: int = 0


@dataclass(frozen=True)
class Utf8:
    """Most bytes of a text in UTF-8; lone surrogates have no UTF-8."""
    most: int


@dataclass(frozen=True)
class Matches:
    """A pattern that a whole text matches.

    :param allowed: the same in words that follow "must be"
    """
    pattern: Pattern[str]
    allowed: str


@dataclass(frozen=True)
class Parsed:
    """A value of any type, made of JSON by a function.

    :param parse: of a value of JSON; it raises ValueError with the value and
        what is allowed
    :param of: what the value of JSON must be: an annotation
    :param write: the inverse of ``parse``
    """
    parse: Function
    of: Any = str
    write: Function = str


def refusal(value: Any, allowed: str) -> RecordError:
    """Return the error for a value.

    :param value: of any type
    :param allowed: words that follow "must be"
    :returns: the error to raise
    """
    return RecordError('%s must be %s' % (shown(value), allowed))


def inside(place: str, read: Function, value: Any) -> Any:
    """Read a value, and name its place if it is refused.

    :param place: as of ``RecordError.within``
    :param read: a codec's function
    :param value: of JSON
    :returns: what the function returns
    :raises RecordError: if the value is not accepted
    """
    try:
        return read(value)
    except RecordError as err:
        raise err.within(place) from None
