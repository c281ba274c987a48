# SPDX-License-Identifier: Apache-2.0
"""One workload: its stages, one after the other, on the drivers."""

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Any

from cosbench.controller import trigger_calls
from cosbench.controller.core.workload_states import (
    OnLoss,
    StageState,
    WorkloadState,
)
from cosbench.controller.driver_client import DriverLost, RequestDenied
from cosbench.controller.lost_drivers import LostDrivers
from cosbench.controller.work import WorkRun
from cosbench.tasks import beside, within
from cosbench.workload.model import Workload, WorkType
from cosbench.workload.pacing import pace

#: Seconds between two looks at whether a stage may end before its time.
LOOK = 1.0
log = logging.getLogger('cosbench.workload')


@dataclass
class Context:
    """What the works of one run share."""

    id: str
    xml: str
    seed: int
    #: The drivers that answer; a lost one is taken out.
    live: list[object]
    on_loss: OnLoss = OnLoss.FAIL
    #: Seconds; see ``Mission.lease``.
    lease: float = 60.0
    warnings: list[str] = field(default_factory=list)
    #: Names of drivers to why they are lost.
    lost: dict = field(default_factory=dict)
    #: Names of the drivers that run triggers.
    triggering: set = field(default_factory=set)

    def __post_init__(self):
        self.lost_drivers = LostDrivers(self.warnings)

    def lose(self, driver, reason):
        if driver in self.live:
            self.live.remove(driver)
            self.lost[driver.address.name] = reason
            self.warnings.append(reason)
            log.error('%s: %s', self.id, reason)


class Barrier:
    """Lets works start together, when each is ready or has failed.

    :param works: ``WorkRun`` objects
    """

    def __init__(self, works):
        self._works = works
        #: Those that have not come.
        self._awaited = set(works)
        self._begin = asyncio.get_running_loop().create_future()

    async def wait(self, work):
        """Wait for the others; return when to start, in monotonic seconds."""
        self.pass_by(work)
        return await asyncio.shield(self._begin)

    def pass_by(self, work):
        """Wait no more for a work, which has come or has failed."""
        self._awaited.discard(work)
        if not self._awaited and not self._begin.done():
            self._begin.set_result(time.monotonic() + max(
                each.lead for each in self._works))


class StageRun:
    """One stage as it runs.

    :param stage: a ``Workstage``
    :param index: from 0
    """

    def __init__(self, stage, index, context):
        self.stage = stage
        self.index = index
        self.id = 's%d-%s' % (index + 1, stage.name)
        self.works = [WorkRun(work, (index, number), context, self._note)
                      for number, work in enumerate(stage.works)]
        self.history = []
        #: Unix seconds.
        self.started: float | None = None
        self.stopped: float | None = None
        self.reason = ''
        self._context = context
        self._own = StageState.WAITING
        self._cancelled = asyncio.Event()

    @property
    def state(self):
        """The state; while works run, the state of the one furthest behind."""
        if self._own is not StageState.BOOTING:
            return self._own
        order = list(StageState)
        found = min((work.state for work in self.works
                     if not work.state.final),
                    key=order.index, default=StageState.RUNNING)
        return max(found, StageState.BOOTING, key=order.index)

    def enter(self, state):
        self._own = state
        self._note()

    def _note(self):
        state = self.state.value
        if not self.history or self.history[-1][0] != state:
            self.history.append([state, time.time()])
            log.info('stage %d, %s: %s%s', self.index + 1, self.stage.name,
                     state, self.reason and ': ' + self.reason)

    async def run(self):
        self.started = time.time()
        self.enter(StageState.BOOTING)
        async with trigger_calls.around(self._context, self.stage.trigger,
                                        's%d' % (self.index + 1)):
            barrier = Barrier(self.works)
            await asyncio.gather(*(self._work(work, barrier)
                                   for work in self.works))
        self.reason = '; '.join(
            '%s: %s' % (work.work.name, work.reason)
            for work in self.works if work.reason)
        if self.stage.closure_delay and not self._cancelled.is_set():
            self.enter(StageState.CLOSING)
            await self._closure_delay()
        self.stopped = time.time()
        self.enter(self._verdict())

    async def _work(self, work, barrier):
        try:
            await work.run(barrier)
        finally:
            barrier.pass_by(work)

    async def _closure_delay(self):
        try:
            await within(self.stage.closure_delay, self._cancelled.wait())
        except asyncio.TimeoutError:
            pass

    def _verdict(self):
        if self._cancelled.is_set():
            return StageState.CANCELLED
        failed = any(work.state is StageState.FAILED for work in self.works)
        return StageState.FAILED if failed else StageState.COMPLETED

    async def cancel(self):
        self._cancelled.set()
        await asyncio.gather(*(work.cancel() for work in self.works))


class WorkloadRun:
    """One workload as it runs.

    :param workload: a ``Workload``
    :param context: its ``Context``
    :param skip: a function of (this, ``StageRun``) that says whether a
        stage is left out; None: none is
    :param enough: a function of a ``StageRun`` that says why its works may
        end before their time is over, or '' while they may not; None: they
        do not
    """

    def __init__(self, workload: Workload, context, skip=None, enough=None):
        self.workload = workload
        self.context = context
        self.state = WorkloadState.QUEUING
        #: Unix seconds.
        self.started: float | None = None
        self.stopped: float | None = None
        self.history: list[Any] = []
        self.stages = [StageRun(stage, number, context) for number, stage
                       in enumerate(workload.stages)]
        #: Name of driver -> CPU seconds it had used when this began.
        self.cpu_before: dict[str, float] = {}
        #: ``Node`` objects: of the storage, as far as they are watched.
        self.nodes: list[Any] = []
        #: All of them, also the lost ones.
        self.drivers = list(context.live)
        self._skip = skip
        self._enough = enough
        self._cancelled = False

    @property
    def current(self):
        """The ``StageRun`` that runs, or None."""
        return next((stage for stage in self.stages
                     if stage.started and not stage.stopped), None)

    def enter(self, state):
        self.state = state
        self.history.append([state.value, time.time()])
        log.info('%s, %s: %s', self.context.id, self.workload.name,
                 state.value)

    async def run(self):
        self.started = time.time()
        self.enter(WorkloadState.PROCESSING)
        log.info('the seed is %d', self.context.seed)
        await self._greet()
        try:
            async with trigger_calls.around(
                    self.context, self.workload.trigger, 'workload'):
                for stage in self.stages:
                    await self._run_stage(stage)
        finally:
            await self.context.lost_drivers.close()
        self.stopped = time.time()
        self.enter(self._verdict())

    async def _run_stage(self, stage):
        if self._cancelled or self._skip and self._skip(self, stage):
            stage.enter(StageState.SKIPPED)
            return
        watches = [self._end_early(stage)] if self._enough else []
        async with beside(*watches):
            await stage.run()
        for text in ('%s, %s' % (stage.id, text) for work in stage.works
                     for text in work.warnings):
            self.context.warnings.append(text)
            log.warning('%s', text)

    async def _end_early(self, stage):
        reason = ''
        while not reason:
            await asyncio.sleep(LOOK)
            if stage.state is StageState.RUNNING:
                reason = self._enough(stage)
        await asyncio.gather(*(each.end_early(reason)
                               for each in stage.works))

    async def cancel(self):
        self._cancelled = True
        stage = self.current
        if stage is not None:
            await stage.cancel()

    def _verdict(self):
        if self._cancelled:
            return WorkloadState.CANCELLED
        failed = any(stage.state is StageState.FAILED
                     for stage in self.stages)
        return WorkloadState.FAILED if failed else WorkloadState.FINISHED

    async def _greet(self):
        """Measure all drivers, and end what an earlier run left on them."""
        await asyncio.gather(*(self._greet_one(driver)
                               for driver in self.drivers))
        trigger_calls.warn(self.context, self.workload)

    async def _greet_one(self, driver):
        try:
            _, status = await driver.measure()
            self.cpu_before[driver.address.name] = status['cpu_seconds']
            for key, state in status['missions'].items():
                if state not in ('completed', 'failed', 'cancelled'):
                    await driver.insist(
                        'POST', '/v1/missions/%s/cancel' % key)
            await trigger_calls.greet(self.context, driver, status)
        except (DriverLost, RequestDenied) as err:
            self.context.lose(driver, str(err))


def rate_of(work):
    """Return operations a second that are wanted; None: a closed loop."""
    if work.type is not WorkType.NORMAL:
        return None
    found = pace(work.config)
    return found and found.rate
