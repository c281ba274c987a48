# SPDX-License-Identifier: Apache-2.0
"""One mission on one driver, as the controller sees it."""

import asyncio
import time

from cosbench.controller.core.plan import Progress
from cosbench.controller.driver_client import Denied, Gone, Lost
from cosbench.engine.core.mission_states import MissionState
from cosbench.measure.document import Node, ResultError
from cosbench.measure.drivers import WorkDriver
from cosbench.measure.stragglers import Late
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline

#: Seconds that a driver may wait before it says that nothing is new.
HEARTBEAT = 1.0
#: Of one work, at most.
MAX_OPERATIONS = 1000
#: What a report says of the driver itself.
HEALTH = ('cpu_percent_p95', 'loop_lag_ms_p99')


class Share:
    """
    What a driver does of a work, and what it has reported.

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
        self.lost = self.is_recalled = False
        self.progress = Progress()
        self.health = {}
        self.aborted = 0
        self.late = Late()
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
        """
        :returns: a ``WorkDriver`` of what it has reported
        """
        return WorkDriver(
            self.driver.address.name, self.mission.count,
            *(self.health.get(key) for key in HEALTH), self.resent)

    async def submit(self):
        """
        :raises Lost, Denied:
        """
        answer = await self.driver.insist('POST', '/v1/missions',
                                          self.mission.to_json())
        self.accepted = True
        self._understand(answer, self._see)

    async def until_ready(self):
        """
        :returns: whether it is ready; else it has ended
        :raises Lost, Denied:
        """
        while self.state is MissionState.AUTHING:
            await self.news()
        return self.state is MissionState.READY

    async def start(self, begin):
        """
        :param begin: when to, on this process's monotonic clock; the way
            there, half the round trip, is taken off
        """
        way = self.driver.offset.round_trip / 2 if self.driver.offset else 0
        delay = max(0.0, begin - time.monotonic() - way)
        self._understand(await self.driver.insist(
            'POST', self._path + '/start', {'delay': delay}), self._see)

    async def follow(self):
        """
        Take its reports until it has ended, then have it forgotten.

        :raises Lost, Denied:
        """
        while not self.state.final:
            await self.news()
        try:
            await self.driver.ask('DELETE', self._path)
        except (Gone, Denied):
            # It forgets by itself when its lease is over.
            pass

    async def news(self):
        """
        :raises Lost: also if the process is another one than before
        """
        try:
            answer = await self.driver.insist(
                'GET', '%s/news?after=%d&state=%s&wait=%g' % (
                    self._path, self.sequence, self.state.value, HEARTBEAT),
                wait=HEARTBEAT)
        except Denied as err:
            if err.status != 404:
                raise
            raise Lost('driver %s does not know mission %s any more: it was '
                       'started again' % (self.driver.address.name,
                                          self.mission.id)) from err
        self._understand(answer, self._take)

    async def cancel(self):
        """Ask it to end; what comes of that, ``follow`` sees."""
        if self.lost or self.state.final:
            return
        try:
            await self.driver.insist('POST', self._path + '/cancel')
        except (Lost, Denied):
            # ``follow`` finds the same.
            await asyncio.sleep(0)

    async def recall(self):
        """
        Ask a lost driver to end it, once.

        :raises Gone, Denied:
        """
        await self.driver.ask('POST', self._path + '/cancel')
        self.is_recalled = True

    def _see(self, answer):
        self.state = MissionState(answer['state'])
        self.reason = str(answer['reason'])

    def _take(self, answer):
        report = answer.get('report')
        if report is not None and report['sequence'] > self.sequence:
            self._add(report)
        self._see(answer)

    def _understand(self, answer, take):
        """
        :param take: a function of the answer
        :raises Lost: if the answer is none to what was asked
        """
        try:
            take(answer)
        except (ResultError, KeyError, TypeError, ValueError) as err:
            raise Lost('driver %s answers what is no answer: %s: %s' % (
                self.driver.address.name, type(err).__name__, err)) from err

    def _add(self, report):
        """Take all of a report, or nothing if something in it is wrong."""
        node = Node(report, 'report')
        tallies = {
            key: Tally.from_json(tally.value, tally.place) for key, tally
            in node.member('operations').items(MAX_OPERATIONS)}
        used = node.member('used')
        progress = Progress(used.member('operations').integer(),
                            used.member('volume').integer())
        health = {key: _number(node.member('health').member(key))
                  for key in HEALTH}
        aborted = node.member('aborted').integer()
        late = Late.from_json(node.member('late'))
        counted = _number(node.member('counted'))
        resent = node.optional('resent', 0).integer()
        sequence = node.member('sequence').integer()
        self._measured.take(self.mission.id, tallies,
                            Timeline.from_json(report['timeline']))
        self.progress, self.health, self.resent = progress, health, resent
        self.aborted, self.late = aborted, late
        self.counted = counted or 0.0
        self.sequence = sequence


def _number(node):
    return None if node.value is None else node.number(0, 1e12)
