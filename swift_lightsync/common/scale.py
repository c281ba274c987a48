# SPDX-License-Identifier: Apache-2.0
"""From values to places on a plot, and the ticks in between."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from swift_lightsync.common.text import short

#: What a logarithm is taken of instead of 0.
_TINY = 1e-300


@dataclass(frozen=True)
class Scale:
    """The values of one axis.

    :param low: where the axis begins
    :param high: where it ends, more than ``low``
    :param log: whether it is logarithmic; then both are greater than 0
    """

    low: float
    high: float
    log: bool = False

    @classmethod
    def over(cls, values: Iterable[float], log: bool = False) -> 'Scale':
        """Make a scale with room for some values, and with round ends.

        :param values: at least one; a linear scale also shows 0, a
            logarithmic one has no room for what is not above 0
        :param log: whether it is logarithmic
        :returns: the scale
        """
        found = list(values)
        if log:
            found = [value for value in found if value > 0] or [1]
            low = 10.0 ** math.floor(math.log10(min(found)) + 1e-9)
            high = 10.0 ** math.ceil(math.log10(max(found)) - 1e-9)
            return cls(low, high if high > low else low * 10, True)
        high = max(max(found), 0)
        step = _step(high)
        return cls(0, step * max(1, math.ceil(high / step - 1e-9)))

    def at(self, value: float) -> float:
        """Return where a value stands.

        :param value: any number
        :returns: 0 at the low end to 1 at the high one; what is outside is at
            the end
        """
        low, high = self.low, self.high
        if self.log:
            value, low, high = (math.log(max(each, _TINY))
                                for each in (value, low, high))
        return min(1, max(0, (value - low) / (high - low)))

    def ticks(self) -> list[tuple[float, str]]:
        """Return the round values of the scale.

        :returns: (value, label), ascending
        """
        if self.log:
            values = self._log_ticks()
        else:
            step = _step(self.high)
            values = [step * number
                      for number in range(round(self.high / step) + 1)]
        return [(value, short(value)) for value in values]

    def _log_ticks(self) -> list[float]:
        first = math.floor(math.log10(self.low) + 1e-9)
        last = math.ceil(math.log10(self.high) - 1e-9)
        every = max(1, -(-(last - first) // 8))
        steps = (1, 2, 5) if self.high <= 200 * self.low else (1,)
        values = [step * 10.0 ** power
                  for power in range(first, last + 1, every)
                  for step in steps]
        return [value for value in values
                if self.low * 0.9999 <= value <= self.high * 1.0001]


def _step(high: float) -> float:
    """About five steps of 1, 2 or 5 times a power of ten up to ``high``."""
    if high <= 0:
        return 1
    power = 10.0 ** math.floor(math.log10(high / 5))
    return next(step * power for step in (1, 2, 5, 10)
                if step * power >= high / 5 * 0.999)
