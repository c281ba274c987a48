# SPDX-License-Identifier: Apache-2.0
"""``key=value;...``: the text in which COSBench keeps what is open-ended.

``;`` separates, the first ``=`` splits, both sides are trimmed, of two equal
keys the later wins. Keys match without regard to case: files that are in use
spell ``hashCheck`` and ``hashcheck``. A value is any other text, also a
``<placeholder>``.
"""

from collections.abc import Mapping

from cosbench.errors import ConfigError

#: The default of a key that must be there.
REQUIRED = object()
FLAGS = {'true': True, 'yes': True, 'on': True, '1': True,
         'false': False, 'no': False, 'off': False, '0': False}
MAX_LONG = 2 ** 63 - 1


class Config(Mapping):
    """
    A parsed text: an immutable mapping of lower-case key to value.

    :param pairs: (key, value) pairs
    :param ignored: entries without ``=``, which have no meaning
    """

    __slots__ = ('_values', 'ignored')

    def __init__(self, pairs=(), ignored=()):
        self._values = {key.lower(): value for key, value in pairs}
        self.ignored = tuple(ignored)

    @classmethod
    def parse(cls, text):
        """
        :param text: what stands in an attribute, or None
        """
        pairs, ignored = [], []
        for entry in (text or '').split(';'):
            key, equals, value = entry.partition('=')
            if equals and key.strip():
                pairs.append((key.strip(), value.strip()))
            elif entry.strip():
                ignored.append(entry.strip())
        return cls(pairs, ignored)

    def over(self, other):
        """This config laid over another: where both have a key, this wins."""
        return Config([*other.items(), *self.items()])

    def __getitem__(self, key):
        return self._values[key.lower()]

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def __hash__(self):
        return hash(frozenset(self._values.items()))

    def __repr__(self):
        # Values may be passwords, and this ends in logs.
        return 'Config(%s)' % ', '.join(self._values)

    def __str__(self):
        return ';'.join('%s=%s' % pair for pair in self._values.items())

    def text(self, key, default=REQUIRED):
        """
        :param key: the key, in any case
        :param default: what stands for a key that is absent; default: it
            must be there
        :returns: the value as it was written, trimmed
        :raises ConfigError: if it is absent and must be there
        """
        if key in self:
            return self[key]
        if default is REQUIRED:
            raise ConfigError('%s is missing from the config' % key)
        return default

    def parsed(self, key, parse, default=REQUIRED):
        """
        :param parse: takes the key and the text, returns the value; raises
            ConfigError
        :returns: what it returns, or the default
        """
        if key not in self and default is not REQUIRED:
            return default
        return parse(key, self.text(key))

    def integer(self, key, default=REQUIRED, least=0, most=MAX_LONG):
        """
        :param least, most: what is allowed, both included
        :raises ConfigError: if it is no decimal integer in these bounds
        """
        return self.parsed(
            key, lambda key, text: integer(key, text, least, most), default)

    def fraction(self, key, default=REQUIRED):
        """
        :returns: a float from 0 to 1
        """
        return self.parsed(key, fraction, default)

    def flag(self, key, default=REQUIRED):
        """
        :returns: a bool
        """
        return self.parsed(key, flag, default)

    def choice(self, key, kind, default=REQUIRED):
        """
        :param kind: an Enum of text values
        :returns: its member
        """
        return self.parsed(
            key, lambda key, text: choice(key, text, kind), default)


def integer(key, text, least=0, most=MAX_LONG):
    """A decimal integer; see ``Config.integer``."""
    text = text.strip()
    # Not isdigit(): it takes digits that int() refuses, and endless ones.
    if text.isascii() and text.isdigit() and len(text) <= 19:
        if least <= int(text) <= most:
            return int(text)
    raise ConfigError.of(key, text, 'an integer from %d to %d'
                         % (least, most))


def fraction(key, text):
    """A probability; see ``Config.fraction``."""
    try:
        value = float(text)
    except ValueError:
        value = -1
    if 0 <= value <= 1:
        return value
    raise ConfigError.of(key, text, 'a number from 0 to 1')


def flag(key, text):
    """True or False; see ``Config.flag``."""
    value = FLAGS.get(text.strip().lower())
    if value is None:
        raise ConfigError.of(key, text, 'one of ' + ', '.join(FLAGS))
    return value


def choice(key, text, kind):
    """A member of an Enum of texts; see ``Config.choice``."""
    for member in kind:
        if member.value == text.strip().lower():
            return member
    raise ConfigError.of(key, text, 'one of ' + ', '.join(
        member.value for member in kind))
