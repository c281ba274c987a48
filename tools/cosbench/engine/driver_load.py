# SPDX-License-Identifier: Apache-2.0
"""Whether the driver itself is what limits a run.

A driver whose processor is busy, or whose event loop is late, measures
itself: its figures stand beside the results.
"""

import asyncio
import time

from cosbench.measure.histogram import Histogram

#: Seconds between two looks at the loop and at the processor.
LAG_PERIOD, CPU_PERIOD = 0.05, 1.0


def busy_seconds():
    """Return how long this process was busy, or would have been.

    That is the time on processors, and the time in which its event loop
    waited for one that others had: who never gets a whole core is a limit,
    too.
    """
    waited = 0
    try:
        with open('/proc/self/schedstat', encoding='ascii') as source:
            waited = int(source.read().split()[1])
    except (OSError, IndexError, ValueError):
        # A kernel without these statistics.
        pass
    return time.process_time() + waited / 10 ** 9


class Health:
    """Of one process, from ``watch`` on."""

    def __init__(self, clock=time.monotonic, cpu_clock=busy_seconds):
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._lag = Histogram()
        #: Of shares of a core, not of seconds.
        self._cpu = Histogram()
        self._seen = (clock(), cpu_clock())

    async def watch(self):
        """Look until cancelled."""
        while True:
            due = self._clock() + LAG_PERIOD
            await asyncio.sleep(LAG_PERIOD)
            now = self._clock()
            self.record_lag(now - due)
            if now - self._seen[0] >= CPU_PERIOD:
                self.record_cpu(now, self._cpu_clock())

    def record_lag(self, seconds):
        """Count how late the event loop came back.

        :param seconds: how much later than asked the loop came back
        """
        self._lag.record(seconds)

    def record_cpu(self, now, cpu_seconds):
        """Count how busy the processor was since the last look.

        :param now: on the clock
        :param cpu_seconds: of ``busy_seconds``, until now
        """
        before, used = self._seen
        self._cpu.record((cpu_seconds - used) / (now - before))
        self._seen = (now, cpu_seconds)

    def to_json(self):
        """Return the figures; None for those without a sample yet."""
        return {
            'cpu_percent_p95': _percentile(self._cpu, 95, 10000),
            'loop_lag_ms_p99': _percentile(self._lag, 99, 1000),
        }


def _percentile(histogram, percentile, unit):
    value, = histogram.percentiles([percentile])
    return value and value / unit
