# SPDX-License-Identifier: Apache-2.0
"""What the choices of a worker need of its random generator."""

from typing import Protocol


class RandomSource(Protocol):
    """The part of ``random.Random`` that is used here."""

    def randrange(self, start: int, stop: int | None = None) -> int:
        """Return an integer from start, or 0, to below the end."""

    def expovariate(self, lambd: float) -> float:
        """Return a number of the exponential distribution."""

    def random(self) -> float:
        """Return a number from 0 to below 1."""
