# SPDX-License-Identifier: Apache-2.0
"""Options of a conf file: parsed, or refused with their names.

The options of a section are a frozen dataclass. Each field has a default and
a parser, and its name is the option's::

    @dataclass(frozen=True)
    class ConvergerOptions(Options):
        concurrency: int = option(4, integer(1, 1000))
        log_idle: float = option(30.0, seconds)

    ConvergerOptions.from_conf(conf)

A parser is a function of a value, which is a text of the file or the default,
that returns the option's value or raises ValueError with what is allowed.
Options that no field names are not looked at: a section has others' too.
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, ClassVar, TypeVar

#: As Swift's config_true_value has it.
TRUE_VALUES = ('true', '1', 'yes', 'on', 't', 'y')
FALSE_VALUES = ('false', '0', 'no', 'off', 'f', 'n')

_T = TypeVar('_T')
_Options = TypeVar('_Options', bound='Options')
_Enum = TypeVar('_Enum', bound=Enum)


class OptionError(SystemExit, ValueError):
    """An option with a value that is not allowed, saying which and why.

    Stock Swift's daemons catch no error of a class that they make: this one
    ends them with status 1 and one line instead of a traceback.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.code = 'Error: %s' % reason


def read_option(conf: Mapping[str, Any], name: str, default: Any,
                parse: Callable[[Any], _T]) -> _T:
    """Read one option of a section.

    :param conf: the section's options; ``__file__`` is named in errors
    :param name: the option's name
    :param default: what is parsed if the option is not set
    :param parse: a parser
    :returns: the parsed value
    :raises OptionError: if the value is not allowed
    """
    value = conf.get(name, default)
    try:
        return parse(value)
    except (TypeError, ValueError) as err:
        raise OptionError('%s: %s = %s: %s' % (
            conf.get('__file__', 'configuration'), name, value, err)) from err


def option(default: Any, parse: Callable[[Any], Any]) -> Any:
    """Declare an option as a field of a dataclass.

    :param default: the value if the option is not set
    :param parse: its parser
    :returns: the field
    """
    return field(default=default, metadata={'parse': parse})


@dataclass(frozen=True)
class Options:
    """A frozen dataclass of which the fields are options of a section."""

    #: What stands before each field's name in the file.
    PREFIX: ClassVar[str] = ''

    @classmethod
    def from_conf(cls: type[_Options], conf: Mapping[str, Any],
                  **others: Any) -> _Options:
        """Read the options of a section.

        :param conf: the section's options
        :param others: the values of fields that are not options
        :returns: the options
        :raises OptionError: if a value is not allowed
        """
        values = {each.name: read_option(conf, cls.PREFIX + each.name,
                                         each.default, each.metadata['parse'])
                  for each in fields(cls) if 'parse' in each.metadata}
        return cls(**values, **others)


def integer(least: int, most: int | None = None) -> Callable[[Any], int]:
    """Make a parser of whole numbers.

    :param least: the smallest that is allowed
    :param most: the largest; None: any
    :returns: the parser
    """
    allowed = 'must be a whole number, ' + (
        'at least %d' % least if most is None else '%d to %d' % (least, most))

    def parse(value: Any) -> int:
        try:
            number = int(value)
        except (OverflowError, TypeError, ValueError):
            raise ValueError(allowed) from None
        if number < least or (most is not None and number > most):
            raise ValueError(allowed)
        return number
    return parse


def number(least: float, most: float) -> Callable[[Any], float]:
    """Make a parser of numbers.

    :param least: the smallest that is allowed
    :param most: the largest
    :returns: the parser
    """
    def parse(value: Any) -> float:
        found = _float(value)
        # A NaN is in no range.
        if not least <= found <= most:
            raise ValueError('must be %s to %s' % (least, most))
        return found
    return parse


def _float(value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def seconds(value: Any) -> float:
    """Parse a duration that may be 0.

    :param value: of an option
    :returns: seconds
    :raises ValueError: unless it is a finite number from 0
    """
    found = _float(value)
    if not 0 <= found < math.inf:
        raise ValueError('must be a number of seconds from 0')
    return found


def positive_seconds(value: Any) -> float:
    """Parse a duration.

    :param value: of an option
    :returns: seconds
    :raises ValueError: unless it is a finite number above 0
    """
    found = _float(value)
    if not 0 < found < math.inf:
        raise ValueError('must be a number of seconds above 0')
    return found


def boolean(value: Any) -> bool:
    """Parse a switch.

    :param value: one of ``TRUE_VALUES`` or ``FALSE_VALUES``, in any case
    :returns: whether it is on
    :raises ValueError: if it is none of them
    """
    text = str(value).strip().lower()
    if text not in TRUE_VALUES and text not in FALSE_VALUES:
        raise ValueError('must be true or false')
    return text in TRUE_VALUES


def choice(kind: type[_Enum]) -> Callable[[Any], _Enum]:
    """Make a parser of the values of an enum.

    :param kind: the enum, whose values are texts
    :returns: the parser
    """
    def parse(value: Any) -> _Enum:
        try:
            return kind(value)
        except ValueError:
            raise ValueError('must be ' + ' or '.join(
                each.value for each in kind)) from None
    return parse


def comma_list(parse: Callable[[str], _T]) -> Callable[[Any], tuple[_T, ...]]:
    """Make a parser of texts with commas between them.

    :param parse: of each text, without the space around it
    :returns: the parser
    """
    def parse_list(value: Any) -> tuple[_T, ...]:
        return tuple(parse(each.strip()) for each in value.split(','))
    return parse_list


def absolute_path(value: Any) -> str:
    """Parse the path of a file or a directory.

    :param value: of an option
    :returns: the path, or '' for none
    :raises ValueError: if it is relative
    """
    if value and not os.path.isabs(value):
        raise ValueError('must be an absolute path, or empty')
    return str(value)
