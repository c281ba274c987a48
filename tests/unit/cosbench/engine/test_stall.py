# SPDX-License-Identifier: Apache-2.0
"""A storage that stands still for a while under a fixed rate: what is measured
from when operations were due is what queueing says, on any number of drivers.
"""

import unittest

from cosbench.measure.heat import heat_map
from cosbench.measure.summary import Metrics
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline
from tests.unit.cosbench.documents import operation, work, wrapped
from tests.unit.cosbench.engine.runs import Recorder, ran
from tests.unit.cosbench.engine.virtual_time import VirtualTime
from tests.unit.cosbench.measure import oracle

RATE, WORKERS, RUNTIME, DELAY = 100, 8, 24, 0.02
#: Seconds after the begin.
STALL = (5, 8)
DOCUMENT = wrapped(work(
    operation('containers=c(1);objects=u(1,9)', 'read'),
    'workers="%d" runtime="%d" interval="1" config="rate=%d"' % (
        WORKERS, RUNTIME, RATE)))


class Stalls(Recorder):
    """A storage that answers nothing in a span of time.

    :param clock: a ``VirtualTime``
    """

    def __init__(self, clock):
        super().__init__()
        self._clock = clock
        self._begin = clock()

    async def _done(self, *args):
        now = self._clock() - self._begin
        self._delay = DELAY + (max(0, STALL[1] - now)
                               if now >= STALL[0] else 0)
        return await super()._done(*args)


def theory():
    """Return what each worker's queue does, first come, first served.

    :returns: a list of (due, ended), seconds, of what ended in time
    """
    found = []
    for worker in range(WORKERS):
        free = 0.0
        for number in range(worker, RATE * RUNTIME, WORKERS):
            due = number / RATE
            free = max(due, free)
            free = (max(STALL[1], free) if free >= STALL[0] else free) + DELAY
            if free <= RUNTIME:
                found.append((due, free))
    return found


class TestStall(unittest.TestCase):

    def measured(self, drivers):
        """:returns: (``Tally``, ``Timeline``) of all drivers together"""
        tally, line = Tally(), Timeline(1)
        count = WORKERS // drivers
        for driver in range(drivers):
            clock = VirtualTime()
            report = ran(DOCUMENT, Stalls(clock), clock=clock,
                         first=driver * count, count=count).report(0)
            tally.merge(Tally.from_json(report['operations']['op1']))
            line.merge(Timeline.from_json(report['timeline']))
        return tally, line

    def assertNear(self, expected, found):
        self.assertAlmostEqual(expected, found, delta=expected / 50)

    def test_every_figure_is_what_queueing_says(self):
        ended = theory()
        times = [oracle.microseconds(end - due) for due, end in ended]
        for drivers in (1, 2, 4):
            tally, line = self.measured(drivers)
            found = Metrics.of(tally, WORKERS, RUNTIME).intended
            self.assertNear(len(ended), tally.count)
            self.assertNear(sum(times) / len(times) / 1000, found.average)
            for percent, value in ((50, found.p50), (80, found.p80),
                                   (90, found.p90), (95, found.p95),
                                   (99, found.p99), (100, found.p100)):
                self.assertNear(oracle.percentile(times, percent) / 1000,
                                value)
            # From its start each took no longer than a turn of its queue.
            self.assertLess(Metrics.of(tally, WORKERS, RUNTIME).p95,
                            found.p95 / 10)

    def test_so_is_every_point_over_time_and_the_heat_map(self):
        ended = theory()
        for drivers in (1, 2, 4):
            _, line = self.measured(drivers)
            points = list(line.points('op1'))
            # The last has those that began in time and ended after it.
            self.assertGreaterEqual(len(points), RUNTIME)
            for point in points[:RUNTIME]:
                here = [oracle.microseconds(end - due) for due, end in ended
                        if point.start <= end < point.start + 1]
                if not here:
                    self.assertEqual(0, point.count)
                    continue
                self.assertAlmostEqual(len(here), point.count, delta=max(
                    WORKERS, len(here) / 50))
                self.assertNear(sum(here) / len(here) / 1000,
                                point.mean_intended)
                self.assertNear(oracle.percentile(here, 99) / 1000,
                                point.p99_intended)
            self.assertEqual(sum(point.count for point in points), sum(
                map(sum, heat_map(line, 'op1', 24, True).counts)))
            self.assertGreater(heat_map(line, 'op1', 24, True).edges[-1],
                               2900)
