# SPDX-License-Identifier: Apache-2.0
"""What of a run counts, and when it ends (COSBench's ramps)."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """Times are on the driver's monotonic clock, in seconds."""

    #: When the work began.
    origin: float
    #: Samples that start before this do not count.
    begin: float
    #: Samples that end after this do not count.
    end: float
    #: No operation starts from here on.
    close: float

    @classmethod
    def of(cls, work, origin):
        """
        :param work: a ``Work``; without a runtime everything counts
        :param origin: when it began
        """
        if not work.runtime:
            return cls(origin, origin, math.inf, math.inf)
        begin = origin + work.rampup
        end = begin + work.runtime
        return cls(origin, begin, end, end + work.rampdown)

    def counts(self, started, ended):
        """
        :returns: whether a sample starts and ends inside the run time
        """
        return self.begin <= started and ended <= self.end

    def late(self, started, ended):
        """
        :returns: seconds after the run time at which a sample ends that
            starts in it; 0 if it does not
        """
        if not self.begin <= started <= self.end:
            return 0.0
        return max(0.0, ended - self.end)

    def counted_until(self, now):
        """
        :returns: seconds of the run time that are over
        """
        return max(0.0, min(now, self.end) - self.begin)
