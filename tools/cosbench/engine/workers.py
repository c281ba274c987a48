# SPDX-License-Identifier: Apache-2.0
"""The workers of a mission, each with its own choices."""

import itertools
import random

from cosbench.engine.actions import ACTIONS, Setting, pass_of
from cosbench.engine.core.choices import Choices, Counters, chooser, seed_of
from cosbench.engine.core.mission import Step, endpoint_rows
from cosbench.engine.known import Known
from cosbench.engine.upload_files import picker
from cosbench.engine.worker import Worker
from cosbench.workload.division import Share
from cosbench.workload.model import OperationType, Quota, WorkType
from cosbench.workload.pacing import pace

#: A special work ends when each worker is through with its part.
NO_QUOTA = Quota(None, None)


def workers(run, operations, storage, files):
    """
    Make the workers of a mission.

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
    """
    Return an endless iterator of what a worker does next.

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
    """
    Return the times at which a worker is meant to begin operations, on the
    clock of the run's window; None: closed loop.
    """
    found = pace(run.work.config)
    if found is None or run.mission.step is not Step.MAIN:
        return None
    offsets = found.offsets(number, run.work.workers, random.Random(seed))
    origin, elapsed = run.window.origin, run.mission.elapsed
    return (origin + offset for offset in offsets if offset >= elapsed)
