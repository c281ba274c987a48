# SPDX-License-Identifier: Apache-2.0
"""Ranks of Zipf's distribution: rank k as often as 1 / k ** exponent.

Rejection-inversion (W. Hörmann, G. Derflinger: Rejection-inversion to
generate variates from monotone discrete distributions, 1996): a draw costs
the same for ten ranks and for 10 ** 15, and nothing is summed up before.
"""

from collections.abc import Callable
from math import exp, expm1, log, log1p
from typing import Protocol

#: Below it the quotients of ``_expm1_over`` and ``_log1p_over`` are cut off.
_SMALL = 1e-8


class RandomSource(Protocol):
    """The part of ``random.Random`` that is used here."""

    def randrange(self, start: int, stop: int | None = None) -> int:
        """Return an integer from start, or 0, to below the end."""

    def expovariate(self, lambd: float) -> float:
        """Return a number of the exponential distribution."""

    def random(self) -> float:
        """Return a number from 0 to below 1."""


def _expm1_over(x: float) -> float:
    return expm1(x) / x if abs(x) > _SMALL else 1 + x / 2


def _log1p_over(x: float) -> float:
    return log1p(x) / x if abs(x) > _SMALL else 1 - x / 2


def zipf(ranks: int, exponent: float,
         rng: RandomSource) -> Callable[[], int]:
    """Return what draws ranks.

    :param ranks: how many there are, at least 1
    :param exponent: more than 0
    :returns: a function that returns a rank, 1 to ``ranks``
    """
    def weight(x: float) -> float:
        return exp(-exponent * log(x))

    def integral(x: float) -> float:
        return _expm1_over((1 - exponent) * log(x)) * log(x)

    def inverse(x: float) -> float:
        # Rounding may lead below -1, where there is no logarithm.
        return exp(_log1p_over(max(-1.0, x * (1 - exponent))) * x)

    low, high = integral(1.5) - 1, integral(ranks + 0.5)
    sure = 2 - inverse(integral(2.5) - weight(2))

    def draw() -> int:
        while True:
            place = high + rng.random() * (low - high)
            found = inverse(place)
            rank = min(max(int(found + 0.5), 1), ranks)
            if rank - found <= sure or \
                    place >= integral(rank + 0.5) - weight(rank):
                return rank
    return draw
