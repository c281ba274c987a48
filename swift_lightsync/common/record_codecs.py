# SPDX-License-Identifier: Apache-2.0
"""What the annotations of a record's fields accept, and how it is written.

``codec`` turns an annotation into two functions, from JSON and back. The
limits stand in ``Annotated``; see ``records``.
"""

import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from itertools import repeat
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
)

from swift_lightsync.common.record_limits import (
    Between,
    Function,
    Length,
    Matches,
    Parsed,
    RecordError,
    Utf8,
    refusal,
)
from swift_lightsync.common.text import shown

#: The keys of an object that are whole numbers.
_NUMBER_KEY = re.compile(r'0|[1-9][0-9]{0,18}', re.ASCII)


class Codec(NamedTuple):
    """How a value is made of JSON, and how it becomes JSON again."""
    read: Function
    write: Function


@functools.cache
def codec(kind: Any) -> Codec:
    """Return how values of an annotation are read and written.

    :param kind: the annotation
    :returns: its codec
    :raises TypeError: if it is none that a record may have
    """
    return _limited(kind, ())


def _limited(kind: Any, limits: tuple[Any, ...]) -> Codec:
    if get_origin(kind) is Annotated:
        kind, *inner = get_args(kind)
        limits = (*inner, *limits)
    if limits and isinstance(limits[0], Parsed):
        return _parsed(limits[0])
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType) and len(args) == 2 and \
            args[1] is type(None):
        return Codec(*map(_unless_none, _limited(args[0], limits)))
    make = _MAKERS.get(origin or kind)
    if make is not None:
        return make(args, limits)
    if not limits and isinstance(kind, type) and issubclass(kind, Enum):
        return Codec(_enum(kind), lambda value: value.value)
    if not limits and hasattr(kind, 'record_codec'):
        found: Codec = kind.record_codec()
        return found
    raise TypeError('%r cannot be a field of a record' % (kind,))


def _limits(limits: Sequence[Any], *kinds: Any) -> list[Any]:
    """Return the limit of each kind, or None; others are a mistake."""
    found = {type(each): each for each in limits}
    if not set(found) <= set(kinds):
        raise TypeError('a limit is %r, must be of %r' % (limits, kinds))
    return [found.get(each) for each in kinds]


def unchanged(value: Any) -> Any:
    """Write what is JSON already; who finds this need not call it."""
    return value


def _unless_none(function: Function) -> Function:
    if function is unchanged:
        return unchanged
    return lambda value: None if value is None else function(value)


def _parsed(limit: Parsed) -> Codec:
    inner = codec(limit.of)

    def read(value: Any) -> Any:
        try:
            return limit.parse(inner.read(value))
        except RecordError:
            raise
        except ValueError as err:
            raise RecordError(str(err)) from None
    return Codec(read, lambda value: inner.write(limit.write(value)))


def _enum(kind: Any) -> Function:
    allowed = 'one of ' + ', '.join(str(each.value) for each in kind)

    def read(value: Any) -> Any:
        try:
            # A list is no value of an enum, nor is True that of 1.
            if isinstance(value, str):
                return kind(value)
        except ValueError:
            pass
        raise refusal(value, allowed)
    return read


def _any(args: Any, limits: Any) -> Codec:
    _limits(limits)
    return Codec(unchanged, unchanged)


def _literal(args: Any, limits: Any) -> Codec:
    _limits(limits)
    allowed = ' or '.join(map(shown, args))

    def read(value: Any) -> Any:
        if any(type(value) is type(each) and value == each for each in args):
            return value
        raise refusal(value, allowed)
    return Codec(read, unchanged)


def _boolean(args: Any, limits: Any) -> Codec:
    _limits(limits)

    def read(value: Any) -> Any:
        if type(value) is not bool:
            raise refusal(value, 'true or false')
        return value
    return Codec(read, unchanged)


def _number(whole: bool, limits: Any) -> Codec:
    bounds, = _limits(limits, Between)
    least, most = (bounds.least, bounds.most) if bounds else (
        -math.inf, math.inf)
    allowed = 'an integer' if whole else 'a finite number'
    if bounds:
        allowed = ('an integer from %d to %d' if whole
                   else 'a number from %g to %g') % (least, most)
    types = (int,) if whole else (int, float)

    def read(value: Any) -> Any:
        # A bool is no int here, and a NaN is in no range.
        if type(value) not in types or not least <= value <= most:
            raise refusal(value, allowed)
        if whole:
            return value
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if not math.isfinite(found):
            raise refusal(value, allowed)
        return found
    return Codec(read, unchanged)


def _text(args: Any, limits: Any) -> Codec:
    length, utf8, matches = _limits(limits, Length, Utf8, Matches)

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            raise refusal(value, 'a string')
        if length and not length.least <= len(value) <= length.most:
            raise refusal(value, 'a string of %d to %d characters' % (
                length.least, length.most))
        if utf8 and _utf8_length(value) > utf8.most:
            raise refusal(value, 'a string of at most %d bytes' % utf8.most)
        if matches and not matches.pattern.fullmatch(value):
            raise refusal(value, matches.allowed)
        return value
    return Codec(read, unchanged)


def _utf8_length(text: str) -> int:
    try:
        return len(text.encode('utf8'))
    except UnicodeEncodeError:
        raise refusal(text, 'a string without surrogates') from None


def _check_length(value: Any, kind: Any, name: str, length: Any) -> None:
    if not isinstance(value, kind):
        raise refusal(value, name)
    if length and not length.least <= len(value) <= length.most:
        raise RecordError('has %d values, must be %s of %d to %d' % (
            len(value), name, length.least, length.most))


def _tuple(args: Any, limits: Any) -> Codec:
    length, = _limits(limits, Length)
    if len(args) == 2 and args[1] is Ellipsis:
        inner = codec(args[0])

        def read(value: Any) -> Any:
            _check_length(value, list, 'a list', length)
            return _all_of(repeat(inner.read), value)
        return Codec(read, list if inner.write is unchanged else
                     lambda value: [inner.write(each) for each in value])
    return _fixed([codec(each) for each in args])


def _all_of(reads: Iterable[Function], values: Sequence[Any]) -> Any:
    """Read all values of a list; only a refusal costs a place's name."""
    found: list[Any] = []
    try:
        for read, value in zip(reads, values):
            found.append(read(value))
    except RecordError as err:
        raise err.within('[%d]' % len(found)) from None
    return tuple(found)


def _fixed(inners: Sequence[Codec]) -> Codec:
    """Lists of as many values as there are codecs."""
    reads = [each.read for each in inners]

    def read(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(inners):
            raise refusal(value, 'a list of %d values' % len(inners))
        return _all_of(reads, value)
    return Codec(read, lambda value: [
        each.write(value[number]) for number, each in enumerate(inners)])


def _number_key(key: str) -> int:
    if not _NUMBER_KEY.fullmatch(key):
        raise refusal(key, 'a whole number from 0')
    return int(key)


def _dict(args: Any, limits: Any) -> Codec:
    length, = _limits(limits, Length)
    inner = codec(args[1])
    read_key, write_key = (_number_key, str) if args[0] is int else codec(
        args[0])

    def read(value: Any) -> Any:
        _check_length(value, dict, 'an object', length)
        found: dict[Any, Any] = {}
        key = None
        try:
            for key, item in value.items():
                found[read_key(key)] = inner.read(item)
        except RecordError as err:
            raise err.within('[%s]' % shown(key)) from None
        return found
    return Codec(read, lambda value: {
        write_key(key): inner.write(item) for key, item in value.items()})


_MAKERS: dict[Any, Callable[[Any, Any], Codec]] = {
    Any: _any, Literal: _literal, bool: _boolean, str: _text,
    int: lambda args, limits: _number(True, limits),
    float: lambda args, limits: _number(False, limits),
    tuple: _tuple, dict: _dict}
