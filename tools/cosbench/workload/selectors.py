# SPDX-License-Identifier: Apache-2.0
"""Selectors: which container, which object, how large.

::

    c(n)          always n
    u(a,b) u(a)   uniform; without b up to 2**31 - 1
    r(a,b) a-b    cyclic; under division each worker cycles in its part
    s(a,b)        a, a+1, ... b, a ... from one counter of all workers of a
                  mission on a driver
    h(lo|hi|w,...)  a bucket by its weight, then uniform in it; ``lo||w`` is
                  open to 2**31 - 1

Integers without blanks, a and lo at least 1. A size is a selector and a
unit: B, KB, MB, GB decimal, KiB, MiB, GiB binary.

A selector is immutable. ``drawer`` binds it to what changes: the worker's
random generator, the mission's counter and the worker's share. The same
seed and the same order of calls give the same numbers.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, count

from cosbench.errors import ConfigError

MAX_BUCKETS = 1000
#: The upper end of a range that names none.
OPEN_END = 2 ** 31 - 1
FORMS = 'c(n), u(a,b), u(a), r(a,b), s(a,b), h(lo|hi|weight,...) or ' \
    'a-b, with integers 1 <= a <= b < 10**15, at most 1000 buckets, and ' \
    'without blanks'
UNITS = {'B': 1, 'KB': 10 ** 3, 'MB': 10 ** 6, 'GB': 10 ** 9,
         'KiB': 2 ** 10, 'MiB': 2 ** 20, 'GiB': 2 ** 30}
_FORM = re.compile(r'([curs])\((\d{1,15})(?:,(\d{1,15}))?\)', re.ASCII)
_DASHED = re.compile(r'(\d{1,15})-(\d{1,15})', re.ASCII)
_BUCKET = re.compile(r'(\d{1,15})\|(\d{0,15})\|(\d{1,9})', re.ASCII)
_SIZE = re.compile(r'(.*?[\d)])\s*([A-Za-z]+)', re.ASCII)


@dataclass(frozen=True)
class Selector:
    """What all have: the integers that can be drawn, and a drawer."""

    def spans(self):
        """
        :returns: the integers that can be drawn, as ``range`` objects
        """
        raise NotImplementedError

    def drawer(self, rng, shared, share=None):
        """
        :param rng: the worker's ``random.Random``
        :param shared: an iterator over 0, 1, 2, ... that all workers of the
            mission on this driver take from
        :param share: the worker's ``Share`` under division, else None
        :returns: a function that returns the next integer
        """
        raise NotImplementedError

    @property
    def least(self):
        return min(span.start for span in self.spans())

    @property
    def most(self):
        return max(span.stop - 1 for span in self.spans())


@dataclass(frozen=True)
class Constant(Selector):

    value: int

    def spans(self):
        return (range(self.value, self.value + 1),)

    def drawer(self, rng, shared, share=None):
        value = self.value
        return lambda: value


@dataclass(frozen=True)
class _Ranged(Selector):

    lower: int
    upper: int

    def spans(self):
        return (range(self.lower, self.upper + 1),)


@dataclass(frozen=True)
class Uniform(_Ranged):

    def drawer(self, rng, shared, share=None):
        span = _picked(self.spans()[0], share)
        return lambda: rng.randrange(span.start, span.stop)


@dataclass(frozen=True)
class Sequential(_Ranged):

    def drawer(self, rng, shared, share=None):
        return _cycle(self.spans()[0], shared)


@dataclass(frozen=True)
class Cyclic(_Ranged):

    def drawer(self, rng, shared, share=None):
        return _cycle(_picked(self.spans()[0], share),
                      shared if share is None else count())


@dataclass(frozen=True)
class Bucket:

    lower: int
    upper: int
    weight: int


@dataclass(frozen=True)
class Histogram(Selector):

    buckets: tuple

    def spans(self):
        return tuple(range(bucket.lower, bucket.upper + 1)
                     for bucket in self.buckets)

    @cached_property
    def _bounds(self):
        return tuple(accumulate(bucket.weight for bucket in self.buckets))

    def drawer(self, rng, shared, share=None):
        # A bucket of weight 0 has the bound of the one before it: it is
        # never the first that is greater.
        bounds = self._bounds
        spans = [_picked(span, share) for span in self.spans()]

        def draw():
            span = spans[bisect_right(bounds, rng.randrange(bounds[-1]))]
            return rng.randrange(span.start, span.stop)
        return draw


@dataclass(frozen=True)
class Sizes:
    """A selector times a unit."""

    selector: Selector
    #: Bytes.
    unit: int

    @property
    def least(self):
        """
        :returns: bytes
        """
        return self.selector.least * self.unit

    def drawer(self, rng, shared, share=None):
        """
        :returns: a function that returns the next size in bytes
        """
        draw, unit = self.selector.drawer(rng, shared, share), self.unit
        return lambda: draw() * unit


def _picked(span, share):
    return span if share is None else share.to_pick_from(span)


def _cycle(span, counter):
    start, size = span.start, len(span)
    return lambda: start + next(counter) % size


def walk(selector, share):
    """
    For the works that go through all there is, each thing once.

    :param selector: what it is chosen from
    :param share: the worker's ``Share``
    :returns: the worker's part, as disjoint ``range`` objects, ascending
    """
    done, place, parts = 0, 0, []
    spans = disjoint(selector.spans())
    mine = share.of(range(sum(len(span) for span in spans)))
    for span in spans:
        place, done = done, done + len(span)
        found = span[max(0, mine.start - place):max(0, mine.stop - place)]
        if found:
            parts.append(found)
    return tuple(parts)


def disjoint(spans):
    """The same integers, each in one span only, ascending."""
    merged = []
    for span in sorted(spans, key=lambda span: span.start):
        if merged and span.start <= merged[-1].stop:
            merged[-1] = range(merged[-1].start,
                               max(merged[-1].stop, span.stop))
        else:
            merged.append(span)
    return tuple(merged)


def _histogram(inside):
    # Counted first: each operation may inherit a text of a megabyte.
    if inside.count(',') >= MAX_BUCKETS:
        return None
    buckets = []
    for text in inside.split(','):
        match = _BUCKET.fullmatch(text)
        if match is None:
            return None
        lower, upper, weight = match.groups()
        buckets.append(Bucket(int(lower), int(upper or OPEN_END),
                              int(weight)))
    if not all(1 <= each.lower <= each.upper
               for each in buckets) or not any(
                   each.weight for each in buckets):
        return None
    return Histogram(tuple(buckets))


def _ranged(kind, lower, upper):
    if kind == 'c':
        return Constant(int(lower)) if upper is None else None
    if upper is None and kind != 'u':
        return None
    upper = OPEN_END if upper is None else int(upper)
    if not 1 <= int(lower) <= upper:
        return None
    return {'u': Uniform, 'r': Cyclic, 's': Sequential}[kind](
        int(lower), upper)


@lru_cache(maxsize=1000)
def parse(key, text):
    """
    :param key: the setting, for the error
    :param text: a selector
    :returns: a ``Selector``
    :raises ConfigError: if it is none
    """
    stripped = text.strip()
    found = None
    match, dashed = _FORM.fullmatch(stripped), _DASHED.fullmatch(stripped)
    if match:
        found = _ranged(*match.groups())
    elif dashed:
        found = _ranged('r', *dashed.groups())
    elif stripped.startswith('h(') and stripped.endswith(')'):
        found = _histogram(stripped[2:-1])
    if found is None:
        raise ConfigError.of(key, text, FORMS)
    return found


@lru_cache(maxsize=1000)
def parse_sizes(key, text):
    """
    :returns: ``Sizes``
    :raises ConfigError: if it is no selector with a unit
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None or match.group(2) not in UNITS:
        raise ConfigError.of(key, text, 'a selector and a unit of %s, such '
                             'as c(64)KB' % ', '.join(UNITS))
    return Sizes(parse(key, match.group(1)), UNITS[match.group(2)])
