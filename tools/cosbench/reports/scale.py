# SPDX-License-Identifier: Apache-2.0
"""From values to places on a plot, and the ticks in between."""

import math
from dataclasses import dataclass

from cosbench.reports.numbers import short


@dataclass(frozen=True)
class Scale:
    """low < high; both greater than 0 if it is logarithmic."""

    low: float
    high: float
    log: bool = False

    @classmethod
    def over(cls, values, log=False):
        """
        :param values: at least one; linear ones also show 0
        :returns: a scale that has room for all, with round ends
        """
        values = list(values)
        if log:
            values = [value for value in values if value > 0] or [1]
            low = 10 ** math.floor(math.log10(min(values)) + 1e-9)
            high = 10 ** math.ceil(math.log10(max(values)) - 1e-9)
            return cls(low, high if high > low else low * 10, True)
        high = max(max(values), 0)
        step = _step(high)
        return cls(0, step * max(1, math.ceil(high / step - 1e-9)))

    def at(self, value):
        """
        :returns: 0 at the low end, 1 at the high one; what is outside is
            at the end
        """
        if self.log:
            value, low, high = (math.log(max(each, 1e-300)) for each in (
                value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(1, max(0, (value - low) / (high - low)))

    def ticks(self):
        """
        :returns: a list of (value, label)
        """
        if not self.log:
            step = _step(self.high)
            count = round(self.high / step)
            values = [step * number for number in range(count + 1)]
        else:
            first = math.floor(math.log10(self.low) + 1e-9)
            last = math.ceil(math.log10(self.high) - 1e-9)
            every = max(1, -(-(last - first) // 8))
            steps = (1, 2, 5) if self.high <= 200 * self.low else (1,)
            values = [step * 10.0 ** power
                      for power in range(first, last + 1, every)
                      for step in steps]
            values = [value for value in values
                      if self.low * 0.9999 <= value <= self.high * 1.0001]
        return [(value, short(value)) for value in values]


def _step(high):
    """About five steps of 1, 2 or 5 times a power of ten up to ``high``."""
    if high <= 0:
        return 1
    power = 10 ** math.floor(math.log10(high / 5))
    return next(step * power for step in (1, 2, 5, 10)
                if step * power >= high / 5 * 0.999)
