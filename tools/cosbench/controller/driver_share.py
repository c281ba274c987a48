# SPDX-License-Identifier: Apache-2.0
"""One mission on one driver, as the controller sees it."""

import asyncio
import time
from dataclasses import dataclass
from typing import Annotated

from cosbench.controller.core.plan import Progress
from cosbench.controller.driver_client import (
    DriverLost,
    NoAnswer,
    RequestDenied,
)
from cosbench.engine.core.mission import MissionState
from cosbench.measure.drivers import Stragglers, WorkDriver
from cosbench.measure.limits import MAX_OPERATIONS, Count
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline
from swift_lightsync.common.records import Between, Length, Record

#: Seconds that a driver may wait before it says that nothing is new.
HEARTBEAT = 1.0
_Figure = Annotated[float, Between(0, 1e12)]


@dataclass(frozen=True)
class Health(Record):
    """What a report says of the driver itself; None: not known yet."""

    cpu_percent_p95: _Figure | None
    loop_lag_ms_p99: _Figure | None


@dataclass(frozen=True)
class _Report(Record):
    """A report of a mission: PROTOCOL.md, part 1."""

    sequence: Count
    counted: _Figure | None
    operations: Annotated[dict[Annotated[str, Length(200)], Tally],
                          Length(MAX_OPERATIONS)]
    timeline: Timeline
    used: Progress
    aborted: Count
    late: Stragglers
    health: Health
    resent: Count = 0


@dataclass(frozen=True)
class _State(Record):
    """What each answer about a mission has."""

    state: MissionState
    reason: str


class DriverShare:
    """What a driver does of a work, and what it has reported.

    :param driver: a ``Driver``
    :param mission: a ``Mission``
    :param measured: the ``Measured`` that its reports go to
    """

    def __init__(self, driver, mission, measured):
        self.driver = driver
        self.mission = mission
        self.state = MissionState.AUTHING
        self.reason = ''
        #: Whether the driver was lost, and has been told to end it since.
        self.lost = self.is_ended_late = False
        self.progress = Progress()
        self.health = Health(None, None)
        self.aborted = 0
        self.stragglers = Stragglers()
        #: Requests that went out once more on a new connection.
        self.resent = 0
        #: Seconds of the run time that samples counted for.
        self.counted = 0.0
        self.sequence = 0
        #: Whether the driver has taken it.
        self.accepted = False
        self._measured = measured
        self._path = '/v1/missions/%s' % mission.id

    @property
    def summary(self):
        """What the driver has reported of itself, as a ``WorkDriver``."""
        return WorkDriver(
            self.driver.address.name, self.mission.count,
            self.health.cpu_percent_p95, self.health.loop_lag_ms_p99,
            self.resent)

    async def submit(self):
        """Give the mission to the driver.

        :raises DriverLost, RequestDenied:
        """
        answer = await self.driver.insist('POST', '/v1/missions',
                                          self.mission.to_json())
        self.accepted = True
        self._understand(answer, self._see)

    async def until_ready(self):
        """Wait until the driver has logged in.

        :returns: whether it is ready; else it has ended
        :raises DriverLost, RequestDenied:
        """
        while self.state is MissionState.AUTHING:
            await self.news()
        return self.state is MissionState.READY

    async def start(self, begin):
        """Tell the driver when to start.

        :param begin: when to, on this process's monotonic clock; the way
            there, half the round trip, is taken off
        """
        way = self.driver.offset.round_trip / 2 if self.driver.offset else 0
        delay = max(0.0, begin - time.monotonic() - way)
        self._understand(await self.driver.insist(
            'POST', self._path + '/start', {'delay': delay}), self._see)

    async def follow(self):
        """Take its reports until it has ended, then have it forgotten.

        :raises DriverLost, RequestDenied:
        """
        while not self.state.final:
            await self.news()
        try:
            await self.driver.ask('DELETE', self._path)
        except (NoAnswer, RequestDenied):
            # It forgets by itself when its lease is over.
            pass

    async def news(self):
        """Wait for a report or another state, and take it.

        :raises DriverLost: also if the process is another one than before
        """
        try:
            answer = await self.driver.insist(
                'GET', '%s/news?after=%d&state=%s&wait=%g' % (
                    self._path, self.sequence, self.state.value, HEARTBEAT),
                wait=HEARTBEAT)
        except RequestDenied as err:
            if err.status != 404:
                raise
            raise DriverLost(
                'driver %s does not know mission %s any more: it was started '
                'again' % (self.driver.address.name,
                           self.mission.id)) from err
        self._understand(answer, self._take)

    async def cancel(self):
        """Ask it to end; what comes of that, ``follow`` sees."""
        if self.lost or self.state.final:
            return
        try:
            await self.driver.insist('POST', self._path + '/cancel')
        except (DriverLost, RequestDenied):
            # ``follow`` finds the same.
            await asyncio.sleep(0)

    async def end_lost(self):
        """Ask a lost driver to end it, once.

        :raises NoAnswer, RequestDenied:
        """
        await self.driver.ask('POST', self._path + '/cancel')
        self.is_ended_late = True

    def _see(self, answer):
        found = _State.from_json(answer)
        self.state, self.reason = found.state, found.reason

    def _take(self, answer):
        report = answer.get('report')
        if report is not None:
            self._add(_Report.from_json(report, 'report'))
        self._see(answer)

    def _understand(self, answer, take):
        """Take an answer.

        :param take: a function of the answer
        :raises DriverLost: if the answer is none to what was asked
        """
        try:
            take(answer)
        except ValueError as err:
            raise DriverLost('driver %s answers what is no answer: %s: %s' % (
                self.driver.address.name, type(err).__name__, err)) from err

    def _add(self, report):
        """Take all of a report that is new, or nothing if it is wrong."""
        if report.sequence <= self.sequence:
            return
        self._measured.take(self.mission.id, report.operations,
                            report.timeline)
        self.progress, self.health = report.used, report.health
        self.resent = report.resent
        self.aborted, self.stragglers = report.aborted, report.late
        self.counted = report.counted or 0.0
        self.sequence = report.sequence
