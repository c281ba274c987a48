# SPDX-License-Identifier: Apache-2.0
"""How much a primary role may hold alone. PROTOCOL.md, "Writes".

The log is measured beside the writes, not in them.
"""

import time
from contextlib import suppress
from dataclasses import dataclass

from swift.common.concurrency import sleep, spawn_n, tpool

from swift_lightsync.common.options import Options, integer, option, seconds

#: Seconds from a write to the measurement that it asks for.
SOON = 0.1


@dataclass(frozen=True)
class LagOptions(Options):
    """How much a primary role may hold alone before it refuses writes.

    :param max_lag_entries: operations; 0: any number
    :param max_lag_seconds: age of the oldest of them; 0: any
    """
    max_lag_entries: int = option(10000, integer(0))
    max_lag_seconds: float = option(300.0, seconds)

    def exceeded(self, exposure, now):
        """Return which bound an Exposure exceeds, '' if none.

        :param now: Unix time in seconds
        """
        if 0 < self.max_lag_entries <= exposure.entries:
            return '%d operations, max_lag_entries is %d' % (
                exposure.entries, self.max_lag_entries)
        if exposure.since is not None and \
                0 < self.max_lag_seconds < now - exposure.since:
            return 'an operation of %d s ago, max_lag_seconds is %g' % (
                now - exposure.since, self.max_lag_seconds)
        return ''


class LagBounds:
    """Tells whether a log may take another operation.

    :param options: LagOptions
    """

    def __init__(self, options):
        self._options = options
        #: the DeviceLogs that are about to be measured
        self._due = set()

    def excess(self, log):
        """Return what a device holds alone, if that is too much, or ''.

        :param log: the DeviceLog of the device
        :raises OSError: if it cannot be read
        """
        exposure = log.estimate()
        if exposure is None or self._options.exceeded(exposure, time.time()):
            exposure = tpool.execute(log.exposure)
        elif not log.is_fresh() and log not in self._due:
            self._due.add(log)
            spawn_n(self._measure, log)
        return self._options.exceeded(exposure, time.time())

    def _measure(self, log):
        try:
            sleep(SOON)
            with suppress(OSError):
                # A write that needs it tells what is wrong.
                tpool.execute(log.exposure)
        finally:
            self._due.discard(log)
