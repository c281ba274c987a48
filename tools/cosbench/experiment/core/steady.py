# SPDX-License-Identifier: Apache-2.0
"""Whether a work has run long enough: its own batches agree.

What lasts for seconds stays in one batch. This says how one run varied, and
ends it; what is concluded of a configuration is across runs.
"""

import math
from collections.abc import Sequence
from typing import Any

from cosbench.experiment.core.intervals import of_one
from cosbench.measure.interval import Interval

BATCHES = 10
#: Fewer tell nothing: a batch has two at least.
LEAST_INTERVALS = 2 * BATCHES


def width(intervals: Sequence[Interval], confidence: float
          ) -> float | None:
    """Return how well throughput and mean time of an operation are known.

    :param intervals: of the run time, whole ones, in their order
    :returns: half of the wider confidence interval, as a share of the
        value; None: too little is known yet
    """
    if len(intervals) < LEAST_INTERVALS:
        return None
    counts, times = [], []
    for batch in _batches(intervals):
        count = sum(each.count for each in batch)
        if not count:
            return None
        counts.append(count / len(batch))
        times.append(sum(each.due.total for each in batch) / count)
    return max(_share(values, confidence) for values in (counts, times))


def _batches(intervals: Sequence[Interval]) -> list[Sequence[Interval]]:
    # The same length each; what is left over is at the begin.
    length = len(intervals) // BATCHES
    first = len(intervals) - BATCHES * length
    return [intervals[first + number * length:first + (number + 1) * length]
            for number in range(BATCHES)]


def _share(values: Sequence[float], confidence: float) -> float:
    mean = of_one(values)
    low, high = mean.interval(confidence) or (-math.inf, math.inf)
    return (high - low) / 2 / mean.value if mean.value else math.inf


#: Seconds: what drivers have measured and not reported yet.
UNTOLD = 3.0
CONFIDENCE = 0.95


class Steady:
    """Says whether the works of a stage may end.

    :param precision: how well throughput and mean time must be known
    """

    def __init__(self, precision: float) -> None:
        self._precision = precision

    def __call__(self, stage: Any) -> str:
        """Return why a stage may end; '': it goes on.

        :param stage: a ``StageRun`` that runs
        """
        found: list[float | None] = []
        for work in stage.works:
            if not work.work.runtime:
                return ''
            line, begin = work.measured.timeline, work.work.rampup
            end = (work.elapsed - UNTOLD) // line.seconds * line.seconds
            found += [width(line.intervals(each.id, begin, end),
                            CONFIDENCE) if end > begin else None
                      for each in work.work.operations]
        widest = max(math.inf if each is None else each for each in found) \
            if found else math.inf
        if widest > self._precision:
            return ''
        return 'ended early: throughput and mean time are known to ±%.1f%%' \
            % (100 * widest)
