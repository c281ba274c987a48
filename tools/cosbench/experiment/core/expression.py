# SPDX-License-Identifier: Apache-2.0
"""The conditions of ``--fail-if``: ``p99(read) > 1.05 * base``.

::

    either      both ('or' both)*
    both        single ('and' single)*
    single      'not' single | comparison | '(' either ')'
    comparison  sum ('<' | '<=' | '>' | '>=') sum
    sum         product (('+' | '-') product)*
    product     factor (('*' | '/') factor)*
    factor      '-' factor | number unit? | figure | 'base' | '(' sum ')'
    figure      'base.'? name '(' operation? ')'

``base`` alone is the same figure of the base configuration. Nothing is
evaluated here but what this grammar has.
"""

import re

from cosbench.errors import ConfigError
from cosbench.experiment.core.condition import (
    Base,
    Comparison,
    Condition,
    Logic,
    Named,
    Number,
    Sum,
    Truth,
    Value,
    named,
)
from cosbench.experiment.core.figures import FIGURES
from swift_lightsync.common.text import shown

#: Characters of a condition, and things that are in each other.
MAX_LENGTH, MAX_DEPTH = 1000, 30
#: What a number with a unit is worth: response times are in milliseconds.
UNITS = {'us': 0.001, 'ms': 1.0, 's': 1000.0, '%': 0.01, 'B': 1.0,
         'KB': 1e3, 'MB': 1e6, 'GB': 1e9, 'KiB': 2.0 ** 10,
         'MiB': 2.0 ** 20, 'GiB': 2.0 ** 30}
_TOKEN = re.compile(r'''\s*(?:
    (?P<figure>(?:base\s*\.\s*)?[A-Za-z]\w*\s*\([^()]*\)) |
    (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?) |
    (?P<word>[A-Za-z]+) | (?P<sign><=|>=|[-+*/<>()%]))''', re.VERBOSE)
_CALL = re.compile(r'(base\s*\.\s*)?(\w+)\s*\(\s*(.*?)\s*\)', re.DOTALL)
_KEYWORDS = ('and', 'or', 'not', 'base')
_COMPARE = ('<', '<=', '>', '>=')


def parse(text: str) -> Condition:
    """Parse a condition.

    :raises ConfigError: if it is none; it names the place
    """
    if len(text) > MAX_LENGTH:
        raise ConfigError('a condition has %d characters: must be at most %d'
                          % (len(text), MAX_LENGTH))
    return Condition(text.strip(), _Parser(text).whole())


class _Parser:
    """Goes over the tokens once; a ``_Place`` of the text is in errors."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split()
        self._at = self._depth = 0

    def _split(self) -> list[tuple[str, str, int]]:
        found, place = [], 0
        end = len(self._text.rstrip())
        while place < end:
            match = _TOKEN.match(self._text, place)
            if match is None:
                rest = self._text[place:]
                skipped = len(rest) - len(rest.lstrip())
                raise self._error(place + skipped, 'a number, a figure as '
                                  'p99(read), base, and, or, not, ( ) + - * '
                                  '/ < <= > or >=')
            kind = str(match.lastgroup)
            found.append((kind, match.group(kind), match.start(kind)))
            place = match.end()
        return found

    def _error(self, place: int, allowed: str) -> ConfigError:
        rest = self._text[place:].strip()
        return ConfigError('condition %s: at character %d: %s: must be %s' % (
            shown(self._text), place + 1,
            shown(rest) if rest else 'the end', allowed))

    def _next(self) -> str:
        return self._tokens[self._at][1] if self._at < len(
            self._tokens) else ''

    def _place(self) -> int:
        return self._tokens[self._at][2] if self._at < len(
            self._tokens) else len(self._text)

    def _take(self, *wanted: str) -> str:
        """Return the next token if it is one of some, else ''."""
        found = self._next()
        if found and found in wanted:
            self._at += 1
            return found
        return ''

    def whole(self) -> Truth:
        found = self._either()
        if self._next():
            raise self._error(self._place(), 'and, or, or the end')
        return found

    def _either(self) -> Truth:
        found = self._both()
        while self._take('or'):
            found = Logic('or', (found, self._both()))
        return found

    def _both(self) -> Truth:
        found = self._single()
        while self._take('and'):
            found = Logic('and', (found, self._single()))
        return found

    def _single(self) -> Truth:
        self._deeper()
        try:
            if self._take('not'):
                return Logic('not', (self._single(),))
            before = self._at
            if self._next() == '(' and self._is_truth():
                self._at = before + 1
                found = self._either()
                self._close()
                return found
            return self._comparison()
        finally:
            self._depth -= 1

    def _is_truth(self) -> bool:
        """Whether a comparison is inside the ( that is next."""
        depth = 0
        for _, token, _ in self._tokens[self._at:]:
            depth += (token == '(') - (token == ')')
            if not depth:
                return False
            if token in _COMPARE:
                return True
        return False

    def _comparison(self) -> Comparison:
        begin = self._place()
        left = self._sum()
        sign = self._take(*_COMPARE)
        if not sign:
            raise self._error(self._place(), 'one of ' + ' '.join(_COMPARE))
        right = self._sum()
        return self._with_base(Comparison(sign, left, right), begin)

    def _with_base(self, found: Comparison, begin: int) -> Comparison:
        """Put the figure in the place of ``base``."""
        own = {Named(each.figure, each.operation, True)
               for side in (found.left, found.right)
               for each in named(side) if not each.of_base}

        def put(value: Value) -> Value:
            if isinstance(value, Base):
                if len(own) != 1:
                    raise self._error(
                        begin, 'a comparison of one figure with base; of '
                        'more, write base.p99(read)')
                return next(iter(own))
            if isinstance(value, Sum):
                return Sum(value.sign, put(value.left), put(value.right))
            return value
        found = Comparison(found.sign, put(found.left), put(found.right))
        if not named(found.left) + named(found.right):
            raise self._error(begin, 'a comparison with a figure, as '
                              'p99(read)')
        return found

    def _sum(self) -> Value:
        found = self._product()
        while sign := self._take('+', '-'):
            found = Sum(sign, found, self._product())
        return found

    def _product(self) -> Value:
        found = self._factor()
        while sign := self._take('*', '/'):
            found = Sum(sign, found, self._factor())
        return found

    def _factor(self) -> Value:
        self._deeper()
        try:
            if self._take('-'):
                return Sum('-', Number(0.0), self._factor())
            if self._take('('):
                found = self._sum()
                self._close()
                return found
            if self._take('base'):
                return Base()
            return self._leaf()
        finally:
            self._depth -= 1

    def _leaf(self) -> Value:
        place = self._place()
        kind, text = self._tokens[self._at][:2] if self._next() else ('', '')
        if kind == 'number':
            self._at += 1
            return Number(float(text) * self._unit())
        if kind == 'figure':
            self._at += 1
            return self._figure(text, place)
        raise self._error(place, 'a number, base, or a figure as p99(read)')

    def _unit(self) -> float:
        text = self._next()
        word = self._at < len(self._tokens) and (
            self._tokens[self._at][0] == 'word' or text == '%')
        if not word or text in _KEYWORDS:
            return 1.0
        if text not in UNITS:
            raise self._error(self._place(), 'a unit, one of '
                              + ', '.join(UNITS))
        self._at += 1
        return UNITS[text]

    def _figure(self, text: str, place: int) -> Named:
        match = _CALL.fullmatch(text)
        assert match is not None
        of_base, name, operation = match.groups()
        if name not in FIGURES:
            raise self._error(place, 'one of the figures '
                              + ', '.join(FIGURES))
        return Named(name, operation, bool(of_base))

    def _close(self) -> None:
        if not self._take(')'):
            raise self._error(self._place(), ')')

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self._error(self._place(), 'at most %d in each other'
                              % MAX_DEPTH)
