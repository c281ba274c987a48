# SPDX-License-Identifier: Apache-2.0
"""How sure the mean of a few runs is: Student's t, paired or Welch's.

Figures of runs are compared as logarithms, so that a difference is a ratio:
twice and half are as far from the same. EXPERIMENT.md says why runs are
paired by round.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

#: Steps of the continued fraction, and of the search for a quantile.
_STEPS, _HALVINGS = 300, 200
_TINY = 1e-300


@dataclass(frozen=True)
class Mean:
    """The mean of runs, and how far it may be off."""

    value: float
    #: The standard error; 0 if all runs were the same.
    error: float
    #: Degrees of freedom; 0: one run, which tells nothing of others.
    freedom: float

    def interval(self, confidence: float
                 ) -> tuple[float, float] | None:
        """Return the confidence interval of the mean.

        :param confidence: 0 to 1, both excluded
        :returns: its low and high end; None where there is none
        """
        if self.freedom <= 0:
            return None
        half = self.error * quantile(self.freedom, confidence)
        return self.value - half, self.value + half

    @property
    def chance(self) -> float:
        """How likely a mean so far from 0 is, if there is no difference."""
        if self.freedom <= 0:
            return 1.0
        if not self.error:
            return 0.0 if self.value else 1.0
        return tails(self.freedom, abs(self.value) / self.error)


def of_one(values: Sequence[float]) -> Mean:
    """Return the mean of runs; of paired ones these are their differences.

    :param values: one a run, at least one
    """
    number = len(values)
    mean = math.fsum(values) / number
    if number < 2:
        return Mean(mean, 0.0, 0.0)
    return Mean(mean, math.sqrt(_variance(values, mean) / number),
                number - 1)


def of_two(first: Sequence[float], second: Sequence[float]) -> Mean:
    """Return the difference of two groups of runs that are not paired.

    This is Welch's: the groups may vary differently.

    :param first: one value a run, at least one
    :returns: second less first
    """
    one, other = of_one(first), of_one(second)
    apart = other.value - one.value
    if not one.freedom or not other.freedom:
        return Mean(apart, 0.0, 0.0)
    squares = one.error ** 2, other.error ** 2
    total = sum(squares)
    if not total:
        return Mean(apart, 0.0, one.freedom + other.freedom)
    freedom = total ** 2 / (squares[0] ** 2 / one.freedom
                            + squares[1] ** 2 / other.freedom)
    return Mean(apart, math.sqrt(total), freedom)


def _variance(values: Sequence[float], mean: float) -> float:
    return math.fsum((each - mean) ** 2 for each in values) / (
        len(values) - 1)


@lru_cache(maxsize=4096)
def quantile(freedom: float, confidence: float) -> float:
    """Return how many standard errors an interval is to each side.

    :param freedom: degrees of freedom, more than 0
    :param confidence: 0 to 1, both excluded
    :returns: the quantile of Student's t distribution
    """
    low, high = 0.0, 1.0
    while tails(freedom, high) > 1 - confidence and high < 1e300:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if tails(freedom, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def tails(freedom: float, value: float) -> float:
    """Return how likely Student's t is at least so far from 0.

    :param freedom: degrees of freedom, more than 0
    :param value: 0 or more
    :returns: the share of both tails
    """
    return _beta(freedom / 2, 0.5, freedom / (freedom + value * value))


def _beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function of 0 <= x <= 1."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """Return its continued fraction, by Lentz's method."""
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _STEPS):
        for term in (
                m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                -(a + m) * (a + b + m) * x / (
                    (a + 2 * m) * (a + 2 * m + 1))):
            d = 1 / _nonzero(1 + term * d)
            c = _nonzero(1 + term / c)
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return found


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def certain(chances: Sequence[float], confidence: float) -> list[bool]:
    """Return which of several differences are more than chance (Holm).

    Among twenty figures one is beyond its own 95% interval by chance: here
    all of them together are wrong in so few cases.

    :param chances: of ``Mean.chance``
    :param confidence: 0 to 1, of all of them together
    :returns: for each whether it is a difference
    """
    found = [False] * len(chances)
    order = sorted(range(len(chances)), key=chances.__getitem__)
    for rank, place in enumerate(order):
        if chances[place] > (1 - confidence) / (len(chances) - rank):
            break
        found[place] = True
    return found
