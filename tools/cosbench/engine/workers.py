# SPDX-License-Identifier: Apache-2.0
"""The workers of a mission, each with its own choices."""

import random

from cosbench.engine.actions import ACTIONS, pass_of
from cosbench.engine.core.choices import Choices, Counters, chooser, seed_of
from cosbench.engine.core.mission import Step
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

    :param run: the ``MissionRun``, whose window is set
    :param operations: of the mission's step
    :param files: paths by operation id
    :returns: a list of ``Worker``
    """
    mission, work = run.mission, run.work
    counters = Counters()
    special = work.type is not WorkType.NORMAL
    found = []
    for number in range(mission.first, mission.first + mission.count):
        share = Share(number, work.workers)
        place = (mission.stage, mission.work, mission.step.value,
                 mission.attempt, number)
        rng = random.Random(seed_of(mission.seed, *place))
        if special:
            actions = pass_of(operations[0], storage, rng, counters, share)
            found.append(Worker(actions, NO_QUOTA, None, run))
        else:
            actions = _choices(operations, storage, rng, counters, share,
                               files)
            found.append(Worker(actions, mission.quota(work, number),
                                _due(run, number, seed_of(
                                    mission.seed, 'pace', *place)), run))
    return found


def _choices(operations, storage, rng, counters, share, files):
    """Return an endless iterator of (operation id, coroutine function)."""
    actions = []
    for operation in operations:
        choices = Choices(operation, rng, counters, share)
        if operation.type is OperationType.FILEWRITE:
            choices.path = picker(files[operation.id], operation, rng,
                                  counters.get(operation, 'files'))
        actions.append((operation.id, ACTIONS[operation.type](
            operation, storage, choices, rng)))
    choose = chooser(operations, rng)
    while True:
        yield actions[choose()]


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
