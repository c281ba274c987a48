# SPDX-License-Identifier: Apache-2.0
"""A mission as it runs: its workers, what they measured, its end.

1. ``prepare`` opens the storage, which logs in.
2. ``start`` waits the agreed delay, then runs all workers at once.
3. Until the end a report is made each interval: tallies since the start,
   the timeline since the report that the controller has confirmed.
4. When no operation may start any more, those that run have ``GRACE``
   seconds; then they are aborted, and counted as such.

Nothing here knows of HTTP; ``driver`` gives it a port.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

from cosbench.adaptors.base import OperationError
from cosbench.engine.core.mission import (
    FOLLOWERS,
    MissionState,
    operations,
    rows,
)
from cosbench.engine.core.window import Window
from cosbench.engine.driver_load import Health
from cosbench.engine.recording import Recording
from cosbench.engine.worker import workers
from cosbench.errors import ConfigError
from cosbench.tasks import beside, ended, within

#: Seconds.
GRACE = 30.0
log = logging.getLogger('cosbench.mission')


class MissionRun:
    """A mission as it runs.

    :param mission: a ``Mission``
    :param work: its ``Work``
    :param storage: a ``Storage``, not yet open
    :param files: paths by operation id, for filewrite
    :param grace: seconds that operations have at the end
    :param request_log: a ``RequestLog``, or None
    """

    def __init__(self, mission, work, storage, files=None, grace=GRACE,
                 request_log=None):
        self.mission = mission
        self.work = work
        self.state = MissionState.AUTHING
        self.reason = ''
        #: Read by the workers.
        self.stopping = False
        #: From the begin of the run on.
        self.window: Any = None
        self.recording: Any = None
        self._storage = storage
        self._files = files or {}
        self._grace = grace
        #: What opens the storage, what runs, and the workers' tasks.
        self._opening: Any = None
        self._task: Any = None
        self._tasks: Sequence[asyncio.Task] = ()
        self._workers = []
        self._log = request_log
        self._aborted = 0
        self._warned = set()
        self._health = Health()
        self._ended = None
        self._changed = asyncio.Event()

    # What the controller asks for

    async def prepare(self):
        """Open the storage; never raises: it ends READY or FAILED."""
        if self.state.final:
            # It was cancelled before this began.
            return
        self._opening = asyncio.current_task()
        try:
            await self._storage.open()
        except (OperationError, ConfigError, OSError) as err:
            await self._fail('the storage cannot be opened: %s' % err)
        except Exception as err:
            log.exception('mission %s: storage', self.mission.id)
            await self._fail('the storage cannot be opened: %s: %s'
                             % (type(err).__name__, err))
        else:
            self._enter(MissionState.READY)

    def start(self, delay):
        """Start the workers after a delay.

        :param delay: seconds from now
        """
        self._enter(MissionState.LAUNCHING)
        self._task = asyncio.ensure_future(
            self._run(time.monotonic() + delay))

    async def cancel(self, reason):
        """No operation starts any more; those that run have the grace."""
        self.stopping = True
        self.reason = self.reason or reason
        if self.state in (MissionState.AUTHING, MissionState.READY):
            opening = self.state is MissionState.AUTHING and self._opening
            self._enter(MissionState.CANCELLED)
            if opening:
                await ended(opening)
            await self._close()
        elif self.state is MissionState.LAUNCHING:
            await self._withdraw()
        for worker, task in zip(self._workers, self._tasks):
            if worker.idle:
                task.cancel()

    async def _withdraw(self):
        await ended(self._task)
        if not self.state.final:
            # It had not come to its first line.
            self._enter(MissionState.CANCELLED)
            await self._close()

    async def wait(self):
        """Until the mission has ended."""
        while not self.state.final:
            await self._change(None)

    async def news(self, after, known, seconds):
        """Wait for a report or a change of state.

        :param after: the last report that the controller has
        :param known: the value of the last state that it has
        :param seconds: to wait at most
        """
        if self.recording is not None:
            self.recording.confirm(after)
        end = time.monotonic() + seconds
        while self.sequence <= after and self.state.value == known:
            left = end - time.monotonic()
            if left <= 0 or not await self._change(left):
                return

    def report(self, after):
        """Return what was measured, as a dict for JSON.

        None if nothing is newer than the report ``after``.
        """
        if self.sequence <= after:
            return None
        now = self._ended or time.monotonic()
        return {
            **self.recording.report(),
            'elapsed': now - self.window.origin,
            'counted': self.window.counted_until(now),
            'aborted': self._aborted,
            'resent': self._storage.resent,
            'health': self._health.to_json(),
        }

    @property
    def sequence(self):
        """The number of the last report; 0: there is none yet."""
        return self.recording.sequence if self.recording else 0

    # What the workers call

    def unexpected(self, operation, err):
        """Log a bug, once of each kind."""
        kind = (operation, type(err))
        if kind not in self._warned:
            self._warned.add(kind)
            log.error('mission %s: %s: an unexpected error, counted as a '
                      'failure', self.mission.id, operation, exc_info=err)

    # The run

    async def _run(self, begin):
        try:
            await asyncio.sleep(max(0.0, begin - time.monotonic()))
            self._begin(time.monotonic())
            async with beside(self._watch(), self._health.watch()):
                await self._finish([asyncio.ensure_future(each.work())
                                    for each in self._workers])
            self._end(MissionState.CANCELLED if self.stopping
                      else MissionState.COMPLETED)
        except asyncio.CancelledError:
            self._enter(MissionState.CANCELLED)
        except Exception as err:
            log.exception('mission %s', self.mission.id)
            await self._fail('%s: %s' % (type(err).__name__, err))
        finally:
            await self._close()

    def _begin(self, now):
        self.window = Window.of(self.work, now - self.mission.elapsed)
        step = self.mission.step
        self.recording = Recording(self.window, self.work.interval,
                                   rows(self.work, step), self._log)
        self._workers = workers(self, operations(self.work, step),
                                self._storage, self._files)
        self._enter(MissionState.RUNNING)

    async def _finish(self, tasks):
        """Wait for the workers, and no longer than the grace at the end."""
        self._tasks = tasks
        pending = set(tasks)
        closed = None
        while pending:
            now = time.monotonic()
            if closed is None and (self.stopping or
                                   now >= self.window.close):
                closed = now
                self._enter(MissionState.CLOSING)
            if closed is not None and now >= closed + self._grace:
                break
            until = closed + self._grace if closed is not None else min(
                now + 1.0, self.window.close)
            # A second at most: cancel() cannot wake this.
            done, pending = await asyncio.wait(
                pending, timeout=min(1.0, max(0.001, until - now)),
                return_when=asyncio.FIRST_EXCEPTION)
            if any(not task.cancelled() and task.exception()
                   for task in done):
                self.stopping = True
        for task in pending:
            task.cancel()
        self._aborted = len(pending)
        for found in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(found, Exception):
                raise found
        if self.state is MissionState.RUNNING:
            self._enter(MissionState.CLOSING)

    async def _watch(self):
        """Make a report each interval."""
        while True:
            await asyncio.sleep(self.work.interval)
            self._note()

    def _end(self, state):
        self._ended = time.monotonic()
        self._note()
        self._enter(state)

    async def _fail(self, reason):
        if self.state.final:
            return
        self.reason = reason
        self.stopping = True
        if self.recording is not None:
            self._ended = time.monotonic()
            self._note()
        self._enter(MissionState.FAILED)
        if self._task is None:
            await self._close()

    async def _close(self):
        if self._log is not None:
            self._log.close()
        await self._storage.close()

    # Reports

    def _note(self):
        self.recording.note()
        self._changed.set()

    def _enter(self, state):
        if state not in FOLLOWERS[self.state]:
            raise ValueError('mission %s is %s: it cannot become %s' % (
                self.mission.id, self.state.value, state.value))
        self.state = state
        self._changed.set()

    async def _change(self, seconds):
        """Wait for a change; return whether one came in these seconds."""
        self._changed.clear()
        try:
            await within(seconds, self._changed.wait())
        except asyncio.TimeoutError:
            return False
        return True
