# SPDX-License-Identifier: Apache-2.0
"""
How far a long run has come: on a terminal a line that changes, else a line
every ten seconds.
"""

import datetime
import sys
import time

TERMINAL_INTERVAL = 0.5
LOG_INTERVAL = 10
#: records between two looks at the clock
_STRIDE = 256


class Progress:
    """
    Shows how far a run has come.

    :param stream: to write to
    :param clock: a function that returns seconds
    """

    def __init__(self, stream=None, clock=time.monotonic):
        self._stream = stream or sys.stderr
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._interval = TERMINAL_INTERVAL if self._terminal \
            else LOG_INTERVAL
        self._width = 0
        self.begin('starting', 0)

    def begin(self, what, total):
        """
        Begin the next part of the run.

        :param what: is being done
        :param total: of records, bytes or whatever advance() is told
        """
        self._what = what
        self._total = total
        self._records = self._done = self._looked = 0
        self._began = self._said = self._clock()

    def step(self, records=1):
        """So many records more have been done."""
        self._records += records
        if self._records - self._looked >= _STRIDE:
            self._looked = self._records
            self._maybe_say(self._records)

    def advance(self, done, records):
        """
        Note how much of the total has been done.

        :param done: of the total
        :param records: done, altogether
        """
        self._records = records
        self._maybe_say(done)

    def _maybe_say(self, done):
        now = self._clock()
        if now - self._said < self._interval:
            return
        self._said = now
        self._say(self.text(done, now - self._began))

    def text(self, done, seconds):
        """Return records, rate, percent, and the time that is left."""
        text = '%s: %d records, %d/s' % (
            self._what, self._records, self._records / seconds)
        if not self._total:
            return text
        share = min(done / self._total, 1)
        text += ', %d%%' % (100 * share)
        if share:
            left = round(seconds / share - seconds)
            text += ', %s left' % datetime.timedelta(seconds=left)
        return text

    def _say(self, text):
        if self._terminal:
            self._stream.write('\r' + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + '\n')
        self._stream.flush()

    def clear(self):
        """Make room for a line of something else."""
        if self._terminal and self._width:
            self._stream.write('\r' + ' ' * self._width + '\r')
            self._stream.flush()
            self._width = 0
