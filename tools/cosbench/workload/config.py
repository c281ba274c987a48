# SPDX-License-Identifier: Apache-2.0
"""``key=value;...``: the text in which COSBench keeps what is open-ended.

``;`` separates, the first ``=`` splits, both sides are trimmed, of two equal
keys the later wins. Keys match without regard to case: files that are in use
spell ``hashCheck`` and ``hashcheck``. A value is any other text, also a
``<placeholder>``.
"""

from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar

from cosbench.errors import ConfigError

#: The default of a key that must be there.
REQUIRED: Any = object()
FLAGS = {'true': True, 'yes': True, 'on': True, '1': True,
         'false': False, 'no': False, 'off': False, '0': False}
MAX_LONG = 2 ** 63 - 1

_E = TypeVar('_E', bound=Enum)
#: Makes a value of a key and its text; raises ``ConfigError``.
Parser = Callable[[str, str], Any]


class Config(Mapping[str, str]):
    """A parsed text: an immutable mapping of lower-case key to value.

    :param pairs: (key, value) pairs
    :param ignored: entries without ``=``, which have no meaning
    :param asked: gets each key that is asked for, there or not; configs
        that are laid over each other share it
    """

    __slots__ = ('_values', 'ignored', 'asked')

    def __init__(self, pairs: Iterable[tuple[str, str]] = (),
                 ignored: Iterable[str] = (),
                 asked: set[str] | None = None) -> None:
        self._values = {key.lower(): value for key, value in pairs}
        self.ignored = tuple(ignored)
        self.asked: set[str] = set() if asked is None else asked

    @classmethod
    def parse(cls, text: str | None,
              asked: set[str] | None = None) -> 'Config':
        """Return the config that a text means.

        :param text: what stands in an attribute; None: nothing
        :param asked: see the class
        """
        pairs, ignored = [], []
        for entry in (text or '').split(';'):
            key, equals, value = entry.partition('=')
            if equals and key.strip():
                pairs.append((key.strip(), value.strip()))
            elif entry.strip():
                ignored.append(entry.strip())
        return cls(pairs, ignored, asked)

    def over(self, other: 'Config') -> 'Config':
        """Lay this config over another: where both have a key, this wins.

        :returns: a new config
        """
        return Config([*other.items(), *self.items()], asked=self.asked)

    def __getitem__(self, key: str) -> str:
        key = key.lower()
        self.asked.add(key)
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        # Values may be passwords, and this ends in logs.
        return 'Config(%s)' % ', '.join(self._values)

    def __str__(self) -> str:
        return ';'.join('%s=%s' % pair for pair in self._values.items())

    def items(self) -> ItemsView[str, str]:
        """Return keys and values; this asks for none of them."""
        return self._values.items()

    def text(self, key: str, default: Any = REQUIRED) -> Any:
        """Return the value of a key as it was written, trimmed.

        :param default: what stands for a key that is absent; without a
            default the key must be there
        :returns: a text, or the default
        :raises ConfigError: if a key is absent that must be there
        """
        if key in self:
            return self[key]
        if default is REQUIRED:
            raise ConfigError('%s is missing from the config' % key)
        return default

    def parsed(self, key: str, parse: Parser,
               default: Any = REQUIRED) -> Any:
        """Return what a function makes of the value of a key, as ``text``.

        :param parse: makes the value of the key and its text
        """
        if key not in self and default is not REQUIRED:
            return default
        return parse(key, self.text(key))

    def integer(self, key: str, default: Any = REQUIRED, least: int = 0,
                most: int = MAX_LONG) -> Any:
        """Return the value as an integer in these bounds, as ``text``."""
        return self.parsed(
            key, lambda key, text: integer(key, text, least, most), default)

    def fraction(self, key: str, default: Any = REQUIRED) -> Any:
        """Return the value as a number from 0 to 1, as ``text``."""
        return self.parsed(key, fraction, default)

    def flag(self, key: str, default: Any = REQUIRED) -> Any:
        """Return the value as a bool, one of ``FLAGS``, as ``text``."""
        return self.parsed(key, flag, default)

    def choice(self, key: str, kind: type[_E],
               default: Any = REQUIRED) -> Any:
        """Return the value of a key as a member of an Enum, as ``text``.

        :param kind: an Enum whose values are texts in lower case
        """
        return self.parsed(
            key, lambda key, text: choice(key, text, kind), default)


def integer(key: str, text: str, least: int = 0,
            most: int = MAX_LONG) -> int:
    """Parse a decimal integer; see ``Config.integer``."""
    text = text.strip()
    # Not isdigit(): it takes digits that int() refuses, and endless ones.
    if text.isascii() and text.isdigit() and len(text) <= 19:
        if least <= int(text) <= most:
            return int(text)
    raise ConfigError.of(key, text, 'an integer from %d to %d'
                         % (least, most))


def fraction(key: str, text: str) -> float:
    """Parse a probability; see ``Config.fraction``."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if 0 <= value <= 1:
        return value
    raise ConfigError.of(key, text, 'a number from 0 to 1')


def flag(key: str, text: str) -> bool:
    """Parse a bool; see ``Config.flag``."""
    value = FLAGS.get(text.strip().lower())
    if value is None:
        raise ConfigError.of(key, text, 'one of ' + ', '.join(FLAGS))
    return value


def choice(key: str, text: str, kind: type[_E]) -> _E:
    """Parse a member of an Enum of texts; see ``Config.choice``."""
    for member in kind:
        if member.value == text.strip().lower():
            return member
    raise ConfigError.of(key, text, 'one of ' + ', '.join(
        member.value for member in kind))
