# SPDX-License-Identifier: Apache-2.0
"""What of a run counts, and when it ends (COSBench's ramps)."""

import math
from dataclasses import dataclass

from cosbench.workload.model import Work


@dataclass(frozen=True)
class Window:
    """The times of a run that matter to what counts.

    All are on the driver's monotonic clock, in seconds.
    """

    #: When the work began.
    origin: float
    #: Samples that start before this do not count.
    begin: float
    #: Samples that end after this do not count.
    end: float
    #: No operation starts from here on.
    close: float

    @classmethod
    def of(cls, work: Work, origin: float) -> 'Window':
        """Return the window of a work.

        :param work: without a run time, everything of it counts
        """
        if not work.runtime:
            return cls(origin, origin, math.inf, math.inf)
        begin = origin + work.rampup
        end = begin + work.runtime
        return cls(origin, begin, end, end + work.rampdown)

    def counts(self, started: float, ended: float) -> bool:
        """Return whether a sample starts and ends inside the run time."""
        return self.begin <= started and ended <= self.end

    def overrun(self, started: float, ended: float) -> float:
        """Return how long after the run time a sample ends that starts in it.

        :returns: seconds; 0 if it does not start in it, or ends in it
        """
        if not self.begin <= started <= self.end:
            return 0.0
        return max(0.0, ended - self.end)

    def counted_until(self, now: float) -> float:
        """Return how many seconds of the run time are over."""
        return max(0.0, min(now, self.end) - self.begin)
