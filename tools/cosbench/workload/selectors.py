# SPDX-License-Identifier: Apache-2.0
"""Selectors: which container, which object, how large.

WORKLOAD.md has their forms. A selector is immutable. ``picker`` binds it to
what changes: the worker's random generator, the mission's counter and the
worker's share. The same seed and order of calls give the same numbers.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count

from cosbench.workload.division import Share
from cosbench.workload.zipf import RandomSource, zipf

#: The upper end of a range that names none.
OPEN_END = 2 ** 31 - 1

#: Up to here a fraction of 53 bits is even enough to pick by, and takes a
#: fifth of the time of ``randrange``.
MOST_BY_FRACTION = 2 ** 32

#: Returns the next number of one worker.
Picker = Callable[[], int]


@dataclass(frozen=True)
class Selector:
    """The integers that can be picked, and how a worker picks them."""

    def spans(self) -> tuple[range, ...]:
        """Return the integers that can be picked."""
        raise NotImplementedError

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        """Return what picks for one worker.

        :param shared: an iterator over 0, 1, 2, ... that all workers of the
            mission on this driver take from
        :param share: the worker's share under division, else None
        :returns: a function that returns the next integer
        """
        raise NotImplementedError

    @property
    def least(self) -> int:
        """The lowest integer that can be picked."""
        return min(span.start for span in self.spans())

    @property
    def most(self) -> int:
        """The highest integer that can be picked."""
        return max(span.stop - 1 for span in self.spans())


@dataclass(frozen=True)
class Constant(Selector):
    """``c(n)``"""

    value: int

    def spans(self) -> tuple[range, ...]:
        return (range(self.value, self.value + 1),)

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        value = self.value
        return lambda: value


@dataclass(frozen=True)
class _Ranged(Selector):

    lower: int
    upper: int

    @property
    def _span(self) -> range:
        return range(self.lower, self.upper + 1)

    def spans(self) -> tuple[range, ...]:
        return (self._span,)


@dataclass(frozen=True)
class Uniform(_Ranged):
    """``u(a,b)``"""

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        return uniform(_part_of(self._span, share), rng)


@dataclass(frozen=True)
class Sequential(_Ranged):
    """``s(a,b)``"""

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        return _cycle(self._span, shared)


@dataclass(frozen=True)
class Cyclic(_Ranged):
    """``r(a,b)``"""

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        return _cycle(_part_of(self._span, share),
                      shared if share is None else count())


@dataclass(frozen=True)
class Bucket:
    """A range of a histogram, and how often it is picked from."""

    lower: int
    upper: int
    weight: int


@dataclass(frozen=True)
class Histogram(Selector):
    """``h(lo|hi|w,...)``"""

    buckets: tuple[Bucket, ...]

    def spans(self) -> tuple[range, ...]:
        return tuple(range(bucket.lower, bucket.upper + 1)
                     for bucket in self.buckets)

    @cached_property
    def _bounds(self) -> tuple[int, ...]:
        return tuple(accumulate(bucket.weight for bucket in self.buckets))

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        # A bucket of weight 0 has the bound of the one before it: it is
        # never the first that is greater.
        bounds = self._bounds
        spans = [_part_of(span, share) for span in self.spans()]

        def pick() -> int:
            span = spans[bisect_right(bounds, rng.randrange(bounds[-1]))]
            return rng.randrange(span.start, span.stop)
        return pick


@dataclass(frozen=True)
class Zipf(_Ranged):
    """``zipf(a,b,e)``"""

    exponent: float

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        span = _part_of(self._span, share)
        rank, before = zipf(len(span), self.exponent, rng), span.start - 1
        return lambda: before + rank()


@dataclass(frozen=True)
class Hotspot(_Ranged):
    """``hot(a,b,p,q)``"""

    #: Percent of the integers, from the first on; of the picks.
    hot: int
    picks: int

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        span, picks = _part_of(self._span, share), self.picks
        # At least one is hot, and where there are several, one is not.
        cold = span.start + max(1, min(
            len(span) - 1, round(len(span) * self.hot / 100)))

        def pick() -> int:
            if rng.randrange(100) < picks or cold >= span.stop:
                return rng.randrange(span.start, cold)
            return rng.randrange(cold, span.stop)
        return pick


@dataclass(frozen=True)
class Sizes:
    """A selector times a unit."""

    selector: Selector
    #: Bytes.
    unit: int

    @property
    def least(self) -> int:
        """The smallest size that can be picked, in bytes."""
        return self.selector.least * self.unit

    def picker(self, rng: RandomSource, shared: Iterator[int],
               share: Share | None = None) -> Picker:
        """Return what picks sizes for one worker, as ``Selector.picker``.

        :returns: a function that returns the next size in bytes
        """
        pick, unit = self.selector.picker(rng, shared, share), self.unit
        return lambda: pick() * unit


def uniform(span: range, rng: RandomSource) -> Picker:
    """Return what picks each integer of a range equally often.

    :param span: at least one integer
    :returns: a function that returns the next integer
    """
    start, size, random = span.start, len(span), rng.random
    if size <= MOST_BY_FRACTION:
        return lambda: start + int(random() * size)
    return lambda: rng.randrange(start, span.stop)


def _part_of(span: range, share: Share | None) -> range:
    return span if share is None else share.to_pick_from(span)


def _cycle(span: range, counter: Iterator[int]) -> Picker:
    start, size = span.start, len(span)
    return lambda: start + next(counter) % size
