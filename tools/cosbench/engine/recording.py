# SPDX-License-Identifier: Apache-2.0
"""What a mission has measured, and the reports of it.

Tallies are since the start; a timeline is what is new since the report that
the controller has confirmed.
"""

import time

from cosbench.engine.core.mission import PART_ROW
from cosbench.measure.drivers import Stragglers
from cosbench.measure.sample import Sample
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline


class Recording:
    """Counts samples from the begin of a run on.

    :param window: a ``Window``
    :param interval: of the timeline, seconds
    :param rows: the ``Operation`` of each row of the results
    :param log: a ``RequestLog``, or None
    """

    def __init__(self, window, interval, rows, log=None):
        self._log = log
        if log is not None:
            log.begin(window.origin)
        self._window = window
        self._interval = interval
        self._tallies = {each.id: Tally(window.origin) for each in rows}
        self._used = [0, 0]
        self._stragglers = Stragglers()
        self._timeline = self._new_timeline()
        #: Numbers of reports: made, and (number, timeline) unconfirmed.
        self.sequence = 0
        self._deltas = []

    def record(self, sample):
        """Count an operation that has ended.

        :param sample: a ``Sample``
        """
        self._used[0] += 1
        self._used[1] += sample.size
        self._count(sample.operation, sample)
        if sample.rows:
            for row in sample.rows:
                self._count(row, sample)
        if self._log is not None:
            self._log.add(sample)
        if sample.ended > self._window.end:
            overrun = self._window.overrun(sample.started, sample.ended)
            if overrun:
                self._stragglers += Stragglers(
                    1, int(sample.error is not None), overrun)

    def part(self, operation):
        """Return what counts the parts of an operation's uploads.

        :param operation: its id
        :returns: a function, see ``Storage.upload``
        """
        row = operation + PART_ROW

        def note(started, transfer, error):
            ended = time.monotonic()
            first_byte, size = ended, 0
            if transfer is not None:
                first_byte, size = transfer.first_byte, transfer.size
            sample = Sample(row, started, started, first_byte, ended, size,
                            error)
            self._count(row, sample)
            if self._log is not None:
                self._log.add(sample)
        return note

    def _count(self, row, sample):
        self._timeline.add(sample, row)
        if self._window.counts(sample.started, sample.ended):
            self._tallies[row].add(sample)

    def note(self):
        """Make a report of what is new."""
        self.sequence += 1
        self._deltas.append((self.sequence, self._timeline))
        self._timeline = self._new_timeline()

    def confirm(self, after):
        """Forget what was new until a report that the controller has."""
        self._deltas = [each for each in self._deltas if each[0] > after]

    def report(self):
        """Return what was measured, as a dict for JSON."""
        timeline = self._new_timeline()
        for _, delta in self._deltas:
            timeline.merge(delta)
        return {
            'sequence': self.sequence,
            'operations': {key: tally.to_json()
                           for key, tally in self._tallies.items()},
            'timeline': timeline.to_json(),
            'used': {'operations': self._used[0], 'volume': self._used[1]},
            'late': self._stragglers.to_json(),
        }

    def _new_timeline(self):
        return Timeline(self._interval, self._window.origin)
