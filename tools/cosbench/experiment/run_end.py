# SPDX-License-Identifier: Apache-2.0
"""Ends a stage once its figures are known well enough."""

import math

from cosbench.experiment.core.steady import width

#: Seconds: what drivers have measured and not reported yet.
UNTOLD = 3.0


class Steady:
    """
    Says whether the works of a stage may end.

    :param precision: how well throughput and mean time must be known
    :param confidence: 0 to 1
    """

    def __init__(self, precision, confidence=0.95):
        self._precision = precision
        self._confidence = confidence

    def __call__(self, stage):
        """
        Return why a stage may end; '': it goes on.

        :param stage: a ``StageRun`` that runs
        """
        found: list[float | None] = []
        for work in stage.works:
            if not work.work.runtime:
                return ''
            line, begin = work.measured.timeline, work.work.rampup
            end = (work.elapsed - UNTOLD) // line.seconds * line.seconds
            found += [width(line.intervals(each.id, begin, end),
                            self._confidence) if end > begin else None
                      for each in work.work.operations]
        widest = max(math.inf if each is None else each for each in found) \
            if found else math.inf
        if widest > self._precision:
            return ''
        return 'ended early: throughput and mean time are known to ±%.1f%%' \
            % (100 * widest)
