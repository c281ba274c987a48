# SPDX-License-Identifier: Apache-2.0
"""One work: its workers on the drivers, step by step, until all have ended.

1. The workers are shared out; each share is a mission.
2. All missions are taken and logged in before any starts.
3. They start at one agreed time.
4. Reports are taken. A driver that gives no sign for its timeout is lost:
   by policy the work fails, or the drivers that are left take over.
"""

import asyncio
import secrets
import time
from math import sqrt

from cosbench.controller.core.plan import eligible, inherited, split
from cosbench.controller.core.workload_states import OnLoss, StageState
from cosbench.controller.driver_client import DriverLost, RequestDenied
from cosbench.controller.driver_share import DriverShare
from cosbench.controller.measured import Measured
from cosbench.engine.core.mission import Mission, MissionState, Step, steps
from cosbench.measure.drivers import Stragglers, strains
from cosbench.tasks import beside
from cosbench.workload.pacing import pace

#: Seconds from the last word to the start, at least.
LEAD = 0.2
#: What part of the rate that was asked for is worth no warning, and how many
#: standard deviations of a Poisson process are none.
ENOUGH, CHANCE = 0.95, 3
#: Seconds after the run time from which operations that end are told of.
LONG = 5.0


class WorkFailed(Exception):
    """Why a work cannot go on."""


class WorkRun:
    """One work as it runs.

    :param work: a ``Work``
    :param place: (stage, work), from 0
    :param context: the ``Context`` of the workload's run
    :param changed: called when its state is another
    """

    def __init__(self, work, place, context, changed=lambda: None):
        self.work = work
        self.place = place
        self.shares = []
        self.measured = Measured(work.interval)
        self._state = StageState.WAITING
        self._changed = changed
        self.reason = ''
        self.warnings = []
        #: Unix seconds and monotonic seconds.
        self.started = None
        self._begun = None
        self._context = context
        self._step = Step.MAIN
        self._cancelled = self._is_enough = False

    @property
    def state(self):
        return self._state

    def _enter(self, state):
        self._state = state
        self._changed()

    async def run(self, barrier):
        """Until it has ended; ``state`` and ``reason`` say how.

        :param barrier: the ``Barrier`` of its stage
        """
        try:
            for step in steps(self.work):
                if self._cancelled:
                    break
                self._step = step
                await self._run_step(barrier)
                barrier = None
        except (WorkFailed, DriverLost, RequestDenied) as err:
            self.reason = str(err)
            await self._abandon()
            self._enter(StageState.FAILED)
        else:
            self._judge()
        if self._cancelled:
            self._enter(StageState.CANCELLED)
        self.warnings += ['work %s: %s' % (self.work.name, each) for each in
                          strains([share.summary for share in self.shares])]

    async def cancel(self):
        self._cancelled = True
        await asyncio.gather(*(each.cancel() for each in self.shares))

    async def end_early(self, reason):
        """Let it be over, and complete, before its time is."""
        self._is_enough = True
        self.warnings.append('work %s: %s, after %.0f of %d s' % (
            self.work.name, reason, self.elapsed, self.work.runtime))
        await asyncio.gather(*(each.cancel() for each in self.shares))

    @property
    def elapsed(self):
        """Seconds since the start of its step; 0 before."""
        return time.monotonic() - self._begun if self._begun else 0.0

    @property
    def counted(self):
        """Seconds of the run time that samples counted for.

        None where it is not known.
        """
        if not self.work.runtime:
            return None
        return max((share.counted for share in self.shares), default=None)

    async def _run_step(self, barrier):
        self._enter(StageState.SUBMITTING)
        stage, number = self.place
        whole = Mission(
            '-', self._context.xml, stage, number, 0, self.work.workers,
            self._context.seed, step=self._step, lease=self._context.lease)
        self._begun = None
        shares = await self._place(whole)
        begin = await barrier.wait(self) if barrier is not None else None
        if self._cancelled:
            await asyncio.gather(*(self._ended(each) for each in shares))
            return
        self._enter(StageState.RUNNING)
        begin = begin or time.monotonic() + self.lead
        self._begun = begin
        self.started = self.started or time.time() + (
            begin - time.monotonic())
        await self._all(self._follow(each, begin) for each in shares)

    @property
    def lead(self):
        """Seconds in which each driver can be told to start."""
        trips = [each.driver.offset.round_trip for each in self.shares
                 if each.driver.offset]
        return LEAD + 4 * max(trips, default=0)

    async def _place(self, mission):
        """Find drivers for a mission, until all of it is ready somewhere.

        :returns: a list of ``Share``
        """
        drivers = eligible(self.work, self._context.live)
        if not drivers:
            raise WorkFailed('no driver is left for work %s%s' % (
                self.work.name, self.work.driver and
                ', which is pinned to %s' % self.work.driver or ''))
        shares = [DriverShare(driver, part, self.measured)
                  for driver, part in split(mission, drivers, self.place[1],
                                            self._new_id)]
        self.shares += shares
        found = await self._all(self._make_ready(each) for each in shares)
        return [share for part in found for share in part]

    async def _make_ready(self, share):
        try:
            await share.submit()
            if self._begun is None:
                self._enter(StageState.AUTHING)
            if not await share.until_ready() and not self._cancelled:
                raise WorkFailed('driver %s: %s' % (
                    share.driver.address.name, share.reason))
        except DriverLost as err:
            self._lose(share, err)
            return await self._place(share.mission)
        return [share]

    async def _follow(self, share, begin):
        try:
            await share.start(begin)
            await share.follow()
        except DriverLost as err:
            self._lose(share, err)
            await self._carry(share)
            return
        if share.state is MissionState.FAILED:
            raise WorkFailed('driver %s: %s' % (
                share.driver.address.name, share.reason))
        if share.state is MissionState.CANCELLED and not (
                self._cancelled or self._is_enough):
            raise WorkFailed('driver %s ended it: %s' % (
                share.driver.address.name, share.reason))

    def _lose(self, share, err):
        """Give a driver up; raise WorkFailed unless others take over."""
        share.lost = True
        self._context.lose(share.driver, str(err))
        self._context.lost_drivers.end_mission_of(share)
        if self._context.on_loss is OnLoss.FAIL or self._cancelled:
            raise WorkFailed('%s; it had %d of %d workers' % (
                err, share.mission.count, self.work.workers)) from err

    async def _carry(self, share):
        """Have what a lost driver left done by others."""
        again = inherited(share.mission, self.work, share.progress,
                          self.elapsed)
        if again is None:
            return
        self.warnings.append(
            'work %s: the %d workers of driver %s, which was lost, begin '
            'again elsewhere %.1f s after the start; what it did after its '
            'last report is not counted' % (
                self.work.name, share.mission.count,
                share.driver.address.name, self.elapsed))
        shares = await self._place(again)
        begin = time.monotonic() + self.lead
        await self._all(self._follow(each, begin) for each in shares)

    async def _all(self, coroutines):
        """Wait for coroutines, and return their results.

        After the first exception the others are cancelled, and it is raised.
        """
        async with beside(*coroutines) as tasks:
            return await asyncio.gather(*tasks)

    async def _abandon(self):
        """End what still runs, and take its last reports."""
        await asyncio.gather(*(self._ended(each) for each in self.shares
                               if each.accepted and not each.lost))

    async def _ended(self, share):
        await share.cancel()
        try:
            await share.follow()
        except (DriverLost, RequestDenied):
            share.lost = True

    def _judge(self):
        """Accept no more failures than afr allows."""
        late = sum((share.stragglers for share in self.shares),
                   Stragglers())
        good = self.measured.count + late.operations - late.failed
        bad = self.measured.failed + late.failed
        allowed = self.work.afr
        state = StageState.COMPLETED
        if bad * 10 ** 6 > allowed * (good + bad):
            state = StageState.FAILED
            self.reason = '%d of %d operations failed: more than the %g%% ' \
                'that afr allows' % (bad, good + bad, allowed / 10 ** 4)
        aborted = sum(share.aborted for share in self.shares)
        if aborted:
            self.warnings.append(
                'work %s: %d operations had not ended when their time was '
                'over, and were aborted' % (self.work.name, aborted))
        if late.failed or late.seconds > LONG:
            self.warnings.append(
                'work %s: %d operations that began in its run time ended up '
                'to %.1f s after it, %d of them failed: they are in no figure'
                % (self.work.name, late.operations, late.seconds,
                   late.failed))
        if self.work.runtime:
            self.warnings += self._shortfalls(
                self.measured.count + self.measured.failed)
        self._enter(state)

    def _shortfalls(self, done):
        """Yield warnings of what was asked for and not reached.

        :param done: operations that counted
        """
        name, wanted = self.work.name, pace(self.work.config)
        if not done:
            yield 'work %s: nothing began and ended in its run time' % name
        seconds = self.counted or 0
        due = wanted.rate * seconds if wanted else 0
        if wanted and done < min(ENOUGH * due, due - CHANCE * sqrt(due)):
            yield 'work %s: %.1f operations a second, where %g were asked ' \
                'for: its workers are too few, or what they use is too ' \
                'slow' % (name, done / seconds, wanted.rate)

    def _new_id(self, driver):
        return '%s-s%d-w%d-%s-%s-%s' % (
            self._context.id, self.place[0] + 1, self.place[1] + 1,
            self._step.value, driver.address.name, secrets.token_hex(4))
