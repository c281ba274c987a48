# SPDX-License-Identifier: Apache-2.0
"""What a driver process does for its controller: PROTOCOL.md, part 1."""

import asyncio
import os
import secrets
import time
from collections import Counter
from typing import Any

from cosbench import adaptors
from cosbench.document.reader import read
from cosbench.driver.signed_server import Failure, application
from cosbench.driver.triggers import TriggerRequests
from cosbench.engine import upload_files
from cosbench.engine.core.mission import (
    Mission,
    MissionState,
    find,
    operations,
)
from cosbench.engine.mission_run import MissionRun
from cosbench.engine.request_log import RequestLog
from cosbench.errors import ConfigError
from cosbench.workload.model import OperationType
from cosbench.workload.pacing import log_share
from swift_lightsync.common.openmetrics import Family

#: How long a request for news may wait, seconds.
MAX_WAIT = 30.0
MAX_DELAY = 60.0
#: Missions that a driver keeps, running or ended.
MAX_MISSIONS = 64


class Held:
    """A mission, and when the controller last asked for it."""

    def __init__(self, run):
        self.run = run
        self.heard = time.monotonic()
        self.opening = None

    @property
    def overdue(self):
        return time.monotonic() - self.heard > self.run.mission.lease


class Service:
    """Answers a controller, and holds its missions.

    :param gate: a ``Gate``
    :param files_root: where filewrite may read files, or None
    :param triggers_root: where scripts are that may be run, or None
    :param log_root: where logs of requests may be written, or None
    """

    def __init__(self, gate, files_root=None, triggers_root=None,
                 log_root=None):
        self._log_root = log_root
        self._gate = gate
        self._files_root = files_root
        self._triggers = TriggerRequests(triggers_root, self._head)
        #: A process that was started anew is another.
        self.instance = secrets.token_hex(8)
        self._held = {}

    def application(self):
        mission = '/v1/missions/{id}'
        return application(self._gate, (
            ('GET', '/v1/status', self._status),
            ('POST', '/v1/missions', self._accept),
            ('POST', mission + '/start', self._start),
            ('GET', mission + '/news', self._news),
            ('POST', mission + '/cancel', self._cancel),
            ('DELETE', mission, self._forget)) + self._triggers.routes())

    def metrics(self):
        """Return what a monitor may know, as ``Family`` objects."""
        states = Counter(held.run.state.value
                         for held in self._held.values())
        missions = Family('cosbench_driver_missions', 'gauge',
                          'Missions that are kept, by their state.')
        for state in MissionState:
            missions.add(states[state.value], state=state.value)
        return [
            missions,
            Family('cosbench_driver_cpu_seconds', 'counter',
                   'Seconds of processor that the driver has used.').add(
                       time.process_time())]

    async def watch_leases(self, period=0.5):
        """Cancel what no controller asks for, for ever."""
        while True:
            await asyncio.sleep(period)
            for held in list(self._held.values()):
                if held.overdue and not held.run.state.final and \
                        not held.run.stopping:
                    await held.run.cancel(
                        'no word from the controller for %d s'
                        % held.run.mission.lease)
            await self._triggers.end_overdue()

    async def close(self):
        """Cancel all missions and triggers, and wait for their ends."""
        for held in self._held.values():
            if not held.run.state.final:
                await held.run.cancel('the driver was stopped')
        for held in self._held.values():
            await held.run.wait()
        await self._triggers.close()

    def _head(self):
        return {'instance': self.instance, 'time': time.time(),
                'cpu_seconds': time.process_time()}

    async def _status(self, request, body):
        return 200, {**self._head(), 'pid': os.getpid(), 'missions': {
            key: held.run.state.value for key, held in self._held.items()},
            'triggers': self._triggers.ids}

    async def _accept(self, request, body):
        mission = Mission.from_json(body, 'mission')
        held = self._held.get(mission.id)
        if held is not None:
            if held.run.mission != mission:
                raise Failure(409, 'another mission is called %s'
                              % mission.id)
            # Its first answer was lost on the way.
            return 200, self._state(held)
        self._make_room()
        run = self._run(mission)
        held = self._held[mission.id] = Held(run)
        held.opening = asyncio.ensure_future(run.prepare())
        return 201, self._state(held)

    def _make_room(self):
        for key, held in list(self._held.items()):
            if len(self._held) < MAX_MISSIONS:
                return
            if held.run.state.final and held.overdue:
                del self._held[key]
        if len(self._held) >= MAX_MISSIONS:
            raise Failure(503, 'the driver has %d missions, and takes no '
                          'more' % len(self._held))

    def _run(self, mission):
        """Make a mission ready to run.

        :raises WorkloadError, ConfigError: for what is refused
        """
        document = read(mission.document.encode('utf8'),
                        adaptors.installed(makes=False))
        work = find(mission, document.workload)
        paths = {
            each.id: upload_files.find(self._files_root, each.files)
            for each in operations(work, mission.step)
            if each.type is OperationType.FILEWRITE}
        storage = adaptors.storage_of(work.auth, work.storage)
        share = log_share(work.config)
        log = RequestLog(self._log_root, share, mission,
                         self.instance) if share else None
        return MissionRun(mission, work, storage, paths, request_log=log)

    async def _start(self, request, body):
        held = self._mission(request)
        delay: Any = (body or {}).get('delay') if isinstance(
            body or {}, dict) else None
        if type(delay) not in (int, float) or not 0 <= delay <= MAX_DELAY:
            raise ConfigError.of('delay', delay, 'seconds from 0 to %d'
                                 % MAX_DELAY)
        if held.run.state is MissionState.AUTHING:
            raise Failure(409, 'mission %s is not ready to start'
                          % held.run.mission.id)
        if held.run.state is MissionState.READY:
            held.run.start(delay)
        return 202, self._state(held)

    async def _news(self, request, body):
        held = self._mission(request)
        after = _number(request, 'after', 2 ** 53, int)
        await held.run.news(after, request.query.get('state'),
                            _number(request, 'wait', MAX_WAIT, float))
        held.heard = time.monotonic()
        return 200, {**self._state(held), 'report': held.run.report(after)}

    async def _cancel(self, request, body):
        held = self._mission(request)
        if not held.run.state.final:
            await held.run.cancel('cancelled by the controller')
        return 202, self._state(held)

    async def _forget(self, request, body):
        held = self._mission(request)
        if not held.run.state.final:
            raise Failure(409, 'mission %s is %s: cancel it first' % (
                held.run.mission.id, held.run.state.value))
        del self._held[held.run.mission.id]
        return 200, self._head()

    def _state(self, held):
        return {**self._head(), 'state': held.run.state.value,
                'reason': held.run.reason}

    def _mission(self, request):
        held = self._held.get(request.match_info['id'])
        if held is None:
            raise Failure(404, 'there is no such mission')
        held.heard = time.monotonic()
        return held


def _number(request, key, most, kind):
    text = request.query.get(key, '0')
    try:
        value = kind(text)
    except ValueError:
        value = -1
    if 0 <= value <= most:
        return value
    raise ConfigError.of(key, text, 'a number from 0 to %d' % most)
