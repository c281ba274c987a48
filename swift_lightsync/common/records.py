# SPDX-License-Identifier: Apache-2.0
"""JSON from outside, as frozen dataclasses: what does not fit is refused.

The annotations of a record's fields say what is accepted::

    @dataclass(frozen=True)
    class DeviceLag(Record):
        device: Annotated[str, Length(255)]
        entries: Annotated[int, Between(0, 10 ** 15)]
        state: State                                    # an Enum, by value
        oldest: Optional[Annotated[float, Between(0, 1e15)]] = None
        peers: Annotated[Tuple[PeerLag, ...], Length(1000)] = ()

1. A field with a default may be missing. One without must be there, even if
   it is Optional. Keys that no field names are ignored. A class with
   ``exact=True`` refuses both what is missing and what is not known.
2. A bool is no number, and a NaN or an infinity is not accepted. A whole
   number is accepted for a float, and becomes one.
3. A list becomes a tuple; an object becomes a Record or a Dict, whose keys
   are texts or whole numbers from 0.
4. Limits are Between, Length, Utf8 and Matches; ``Parsed`` makes a value of
   another type. Literal and Any are as in ``typing``.
5. What fields mean together is checked by the dataclass's ``__post_init__``,
   which raises ValueError.
6. ``to_json`` is the inverse: ``from_json(record.to_json()) == record``.

An error names the path of the value, the value and what is allowed:
``lag.devices[3].entries: -1 must be an integer from 0 to 1000``.
"""

import functools
import json
from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, TypeVar, get_type_hints

from swift_lightsync.common.record_codecs import Codec, codec, unchanged
from swift_lightsync.common.record_limits import (
    Between,
    Length,
    Matches,
    Parsed,
    RecordError,
    Utf8,
    inside,
    refusal,
)

__all__ = ['Between', 'Length', 'Matches', 'Parsed', 'Record', 'RecordError',
           'Utf8', 'load_json', 'read_value']

_R = TypeVar('_R', bound='Record')


@dataclass(frozen=True)
class Record:
    """A frozen dataclass that is read from an object of JSON."""

    _exact: ClassVar[bool] = False

    def __init_subclass__(cls, exact: bool = False) -> None:
        super().__init_subclass__()
        cls._exact = exact

    @classmethod
    def from_json(cls: type[_R], value: Any, place: str = '') -> _R:
        """Make a record of parsed JSON.

        :param value: as from ``json.loads``
        :param place: what errors call the document
        :returns: the record
        :raises RecordError: if the value is not as the fields say
        """
        found: _R = read_value(cls, value, place)
        return found

    @classmethod
    def parse(cls: type[_R], text: bytes | str, most: int,
              place: str = '') -> _R:
        """Make a record of the text of JSON.

        :param text: of the document
        :param most: bytes or characters that it may have
        :param place: what errors call the document
        :returns: the record
        :raises RecordError: if the text is too long, no JSON, or not as the
            fields say
        """
        return cls.from_json(load_json(text, most, place), place)

    def to_json(self, brief: bool = False) -> dict[str, Any]:
        """Return the record as an object for ``json.dumps``.

        :param brief: whether fields that have their default are left out
        :returns: a dict, in the order of the fields
        """
        cls: Any = type(self)
        values = vars(self)
        return {name: values[name] if each.write is unchanged
                else each.write(values[name])
                for name, each, may_miss in _fields_of(cls)
                if not (brief and may_miss and
                        values[name] == getattr(cls, name, MISSING))}

    def encode(self) -> bytes:
        """Return the record as the text of JSON."""
        return json.dumps(self.to_json()).encode('ascii')

    @classmethod
    def record_codec(cls) -> Codec:
        """Return how a field of this type is read and written."""
        return Codec(functools.partial(_read, cls), cls.to_json)


def load_json(text: bytes | str, most: int, place: str = '') -> Any:
    """Parse the text of JSON.

    :param text: of the document
    :param most: bytes or characters that it may have
    :param place: what errors call the document
    :returns: what ``json.loads`` returns
    :raises RecordError: if the text is too long, is no JSON (NaN and Infinity
        are none), or is nested deeper than the parser can follow
    """
    if len(text) > most:
        raise RecordError('has a length of %d, must be at most %d' % (
            len(text), most), place)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as err:
        raise RecordError('must be JSON: %s' % err, place) from None


def read_value(kind: Any, value: Any, place: str = '') -> Any:
    """Check one value of parsed JSON.

    :param kind: an annotation, as of a record's field, or a Record
    :param value: as from ``json.loads``
    :param place: what errors call the value
    :returns: the value as the annotation says
    :raises RecordError: if it is not accepted
    """
    try:
        return inside(place, codec(kind).read, value)
    except RecursionError:
        raise RecordError('is nested too deeply', place) from None


def _refuse_constant(name: str) -> None:
    raise ValueError('%s is no number' % name)


@functools.cache
def _fields_of(cls: Any) -> tuple[tuple[str, Codec, bool], ...]:
    """Return each field's name, codec, and whether it may be missing."""
    hints = get_type_hints(cls, include_extras=True)
    return tuple((each.name, codec(hints[each.name]), not cls._exact and (
        each.default is not MISSING or each.default_factory is not MISSING))
        for each in fields(cls))


def _read(cls: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise refusal(value, 'an object')
    values = {}
    name = ''
    try:
        # Only a refusal costs a place's name.
        for name, each, may_miss in _fields_of(cls):
            if name in value:
                values[name] = each.read(value[name])
            elif not may_miss:
                raise RecordError('is missing')
    except RecordError as err:
        raise err.within('.' + name) from None
    if cls._exact and len(value) > len(values):
        raise refusal(next(key for key in value if key not in values),
                      'one of the keys ' + ', '.join(sorted(values)))
    try:
        return cls(**values)
    except RecordError:
        raise
    except ValueError as err:
        raise RecordError(str(err)) from None
