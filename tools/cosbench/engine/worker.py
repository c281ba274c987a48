# SPDX-License-Identifier: Apache-2.0
"""The workers of a mission: each takes an action, does it, records a sample.

Each has choices of its own.
"""

import asyncio
import itertools
import math
import random
import time

from cosbench.adaptors.base import OperationError
from cosbench.engine.actions import ACTIONS, Setting, pass_of
from cosbench.engine.core.choices import Choices, Counters, chooser, seed_of
from cosbench.engine.core.mission import Step, endpoint_rows
from cosbench.engine.known import Known
from cosbench.engine.upload_files import picker
from cosbench.measure.sample import Sample
from cosbench.workload.division import Share
from cosbench.workload.model import OperationType, Quota, WorkType
from cosbench.workload.pacing import pace

#: After so many operations a worker lets others run, also where none of its
#: operations has waited for anything.
TURN = 16


class Worker:
    """Does one action after the other, and records each.

    :param actions: an iterator of (operation id, coroutine function that
        returns a ``Transfer``, further rows of the results that count it);
        it ends where the work of the worker does
    :param quota: a ``Quota``
    :param due: None, or an iterator of times at which operations are meant
        to begin
    :param run: what it belongs to: ``window``, ``stopping``, ``recording``,
        ``unexpected``
    """

    def __init__(self, actions, quota, due, run):
        self._actions = actions
        self._due = due
        self._run = run
        self._operations = _limit(quota.operations)
        self._volume = _limit(quota.volume)
        #: Whether it is in no operation, so that it can be interrupted.
        self.idle = True

    async def work(self):
        """Until the first limit; errors of operations are samples."""
        number, record = 0, self._run.recording.record
        while self._operations > 0 and self._volume > 0:
            number += 1
            if number % TURN == 0:
                await asyncio.sleep(0)
            due = self._due and next(self._due)
            if due is not None:
                await self._wait(due)
            if self._run.stopping or time.monotonic() >= \
                    self._run.window.close:
                return
            action = next(self._actions, None)
            if action is None:
                return
            self.idle = False
            sample = await self._timed(due, *action)
            self.idle = True
            record(sample)
            self._operations -= 1
            self._volume -= sample.size

    async def _wait(self, due):
        pause = min(due, self._run.window.close) - time.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)

    async def _timed(self, due, operation, act, rows):
        error, message, size, first_byte = None, '', 0, None
        started = time.monotonic()
        try:
            first_byte, size, later = await act()
            if later is not None:
                started = later
        except OperationError as err:
            error, message = err.kind, err.reason
        except Exception as err:
            error, message = 'internal ' + type(err).__name__, str(err)
            self._run.unexpected(operation, err)
        ended = time.monotonic()
        # A timer may fire early by the loop's resolution of 1 ms.
        intended = started if due is None else min(due, started)
        return Sample(operation, intended, started,
                      _within(first_byte, started, ended), ended, size,
                      error, rows, message)


def _limit(value):
    return math.inf if value is None else value


def _within(first_byte, started, ended):
    return ended if first_byte is None else max(
        started, min(first_byte, ended))


#: A special work ends when each worker is through with its part.
NO_QUOTA = Quota(None, None)


def workers(run, operations, storage, files):
    """Make the workers of a mission.

    :param run: the ``MissionRun``, whose window and recording are set
    :param operations: of the mission's step
    :param files: paths by operation id
    :returns: a list of ``Worker``
    """
    mission, work = run.mission, run.work
    counters, known = Counters(), Known()
    special = work.type is not WorkType.NORMAL
    endpoints = storage.endpoints or (storage,)
    found = []
    for number in range(mission.first, mission.first + mission.count):
        share = Share(number, work.workers)
        place = (mission.stage, mission.work, mission.step.value,
                 mission.attempt, number)
        rng = random.Random(seed_of(mission.seed, *place))

        def settings(operation, choices=None, rng=rng):
            note = run.recording.part(operation.id)
            return [Setting(each, rng, note, choices, known)
                    for each in endpoints]
        if special:
            actions = pass_of(operations[0], settings(operations[0]),
                              counters, share)
            found.append(Worker(actions, NO_QUOTA, None, run))
        else:
            actions = _choices([
                _actions(operation, Choices(operation, rng, counters, share),
                         settings, files, counters)
                for operation in operations], chooser(operations, rng),
                number)
            found.append(Worker(actions, mission.quota(work, number),
                                _due(run, number, seed_of(
                                    mission.seed, 'pace', *place)), run))
    return found


def _actions(operation, choices, settings, files, counters):
    """Return the (operation id, action, rows) of each endpoint."""
    settings = settings(operation, choices)
    if operation.type is OperationType.FILEWRITE:
        choices.path = picker(files[operation.id], operation,
                              settings[0].rng,
                              counters.get(operation, 'files'))
    return [(operation.id, ACTIONS[operation.type](operation, each), rows)
            for each, rows in zip(settings, endpoint_rows(
                operation.id, len(settings)))]


def _choices(actions, choose, first):
    """Return an endless iterator of what a worker does next.

    :param actions: of each operation, of each endpoint
    :param choose: returns the index of the next operation
    :param first: which endpoint is asked first
    """
    count = len(actions[0])
    if count == 1:
        while True:
            yield actions[choose()][0]
    for number in itertools.count(first):
        yield actions[choose()][number % count]


def _due(run, number, seed):
    """Return the times at which a worker is meant to begin operations, on the
    clock of the run's window; None: closed loop.
    """
    found = pace(run.work.config)
    if found is None or run.mission.step is not Step.MAIN:
        return None
    offsets = found.offsets(number, run.work.workers, random.Random(seed))
    origin, elapsed = run.window.origin, run.mission.elapsed
    return (origin + offset for offset in offsets if offset >= elapsed)
