# SPDX-License-Identifier: Apache-2.0
"""A mission: one work's share of workers for one driver process.

It carries the workload document itself and says which work of it is meant,
so that a driver trusts no one's reading of it: it refuses what ``validate``
refuses. Its JSON is described in ``PROTOCOL.md``.
"""

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import Annotated, Any

from cosbench.errors import ConfigError
from cosbench.workload.division import part, portion
from cosbench.workload.endpoints import endpoints, place_of
from cosbench.workload.model import (
    Operation,
    OperationType,
    Quota,
    Work,
    Workload,
)
from swift_lightsync.common.records import Between, Matches, Record, Utf8

#: Behind the id of an operation: the row of the parts of its uploads. An
#: operation's own id has no slash.
PART_ROW = '/part'
MAX_WORKERS = 2 ** 31 - 1
#: Workers that one driver can make and still answer.
MOST_HERE = 20000
MAX_LONG = 2 ** 63 - 1
#: Bytes of a text in a mission: what a driver takes in all.
_MAX_TEXT = 7 * 2 ** 20

#: A name in a URL's path.
Id = Annotated[str, Matches(
    re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}', re.ASCII),
    '1 to 128 of A-Z a-z 0-9 . _ - that begin with a letter or digit')]
#: Seconds without a word from the controller after which a driver ends what
#: it does.
Lease = Annotated[float, Between(0, 86400)]
_Text = Annotated[str, Utf8(_MAX_TEXT)]
_Index = Annotated[int, Between(0, MAX_WORKERS)]
_Long = Annotated[int, Between(0, MAX_LONG)]


class Step(Enum):
    """Containers must be there before objects, and empty before they go."""

    #: What the work is for.
    MAIN = 'main'
    #: prepare with createContainer, cleanup with deleteContainer.
    CONTAINERS = 'containers'


#: What the containers of a work are done, by the type of its operation.
CONTAINER_TYPES = {OperationType.PREPARE: OperationType.INIT,
                   OperationType.CLEANUP: OperationType.DISPOSE}
_ORDERS = {OperationType.PREPARE: (Step.CONTAINERS, Step.MAIN),
           OperationType.CLEANUP: (Step.MAIN, Step.CONTAINERS)}


def steps(work: Work) -> tuple[Step, ...]:
    """Return the steps of a work, in their order.

    :returns: at least one step
    """
    operation = work.operations[0]
    if operation.with_containers:
        return _ORDERS[operation.type]
    return (Step.MAIN,)


def operations(work: Work, step: Step) -> tuple[Operation, ...]:
    """Return what is done in a step of a work."""
    if step is Step.MAIN:
        return work.operations
    return (_on_containers(work.operations[0]),)


def rows(work: Work, step: Step) -> tuple[Operation, ...]:
    """Return what results have figures of.

    :returns: the operations of the step; behind each, with a slash in its
        id, the parts of its uploads and its requests to each endpoint,
        which are counted in the operation, too
    """
    found: list[Operation] = []
    places = [place_of(each) for each in endpoints(work.storage.config)]
    for each in operations(work, step):
        found.append(each)
        if each.parts is not None:
            found.append(replace(each, id=each.id + PART_ROW,
                                 name=each.name + ' part'))
        found += [replace(each, id=row, name='%s at %s' % (each.name, place))
                  for place, ids in zip(places, endpoint_rows(
                      each.id, len(places))) for row in ids]
    return tuple(found)


def endpoint_rows(operation: str, count: int) -> list[tuple[str, ...]]:
    """Return the rows that count the requests to each endpoint.

    :returns: a tuple for each, empty where there is one only
    """
    if count < 2:
        return [()] * count
    return [('%s/%d' % (operation, number),)
            for number in range(1, count + 1)]


def _on_containers(operation: Operation) -> Operation:
    kind = CONTAINER_TYPES[operation.type]
    return Operation(
        kind, 100, operation.division, operation.id + '-containers',
        kind.value, operation.config, containers=operation.containers,
        headers=operation.headers)


@dataclass(frozen=True)
class Mission(Record, exact=True):
    """The workers ``first`` to ``first + count - 1`` of a work."""

    id: Id
    #: The XML.
    document: _Text
    #: Which stage of the document, and which work of the stage, from 0.
    stage: _Index
    work: _Index
    first: _Index
    count: Annotated[int, Between(1, MAX_WORKERS)]
    #: All random choices come from it.
    seed: _Long
    #: The name that the driver has at the controller.
    driver: _Text = ''
    #: 0; more where the workers of a lost driver begin again.
    attempt: _Index = 0
    step: Step = Step.MAIN
    #: Seconds of the work's time that were over when this begins.
    elapsed: Annotated[float, Between(0, MAX_WORKERS)] = 0.0
    #: What is left for these workers together; None: each its own quota.
    operations: _Long | None = None
    volume: _Long | None = None
    lease: Lease = 60.0

    def share(self, first: int, count: int, **changed: Any) -> 'Mission':
        """Return the mission of some of these workers.

        :param first: of them, counted as in this mission
        :param changed: further fields that differ
        """
        return replace(self, first=first, count=count, **changed)

    def quota(self, work: Work, worker: int) -> Quota:
        """Return what one worker may use."""
        own = work.quota(worker)
        index = worker - self.first
        return Quota(self._left(self.operations, own.operations, index),
                     self._left(self.volume, own.volume, index))

    def _left(self, total: int | None, own: int | None,
              index: int) -> int | None:
        if total is None:
            return own
        return part(total, self.count, index)[1]


def remaining(total: int, workers: int, first: int, count: int,
              used: int) -> int | None:
    """Return what the workers of a lost driver have left of a total.

    :param total: of the whole work; 0: no limit
    :param first: the first worker of the driver
    :param used: what they used, as far as it was reported
    :returns: at least 0; None: no limit
    """
    return max(0, portion(total, workers, first, count) - used) \
        if total else None


def find(mission: Mission, workload: Workload) -> Work:
    """Return the work that a mission means.

    :param mission: from anyone
    :raises ConfigError: if there is no such work or no such worker
    """
    stages = workload.stages
    _check_below('stage', mission.stage, len(stages))
    works = stages[mission.stage].works
    _check_below('work', mission.work, len(works))
    work = works[mission.work]
    _check_below('first', mission.first, work.workers)
    _check_below('count', mission.count - 1, work.workers - mission.first)
    if mission.count > MOST_HERE:
        raise ConfigError.of('count', mission.count, 'at most %d workers on '
                             'one driver: have more drivers' % MOST_HERE)
    if mission.step not in steps(work):
        raise ConfigError.of('step', mission.step.value, 'one of %s' %
                             ', '.join(each.value for each in steps(work)))
    return work


def _check_below(key: str, value: int, size: int) -> None:
    if value >= size:
        raise ConfigError.of(key, value, 'less than %d' % size)


class MissionState(Enum):
    """What a driver does with a mission."""

    #: The storage is opened, which logs in.
    AUTHING = 'authing'
    #: It waits to be started.
    READY = 'ready'
    #: It begins when the agreed delay is over.
    LAUNCHING = 'launching'
    RUNNING = 'running'
    #: No operation starts any more; the last ones end.
    CLOSING = 'closing'
    COMPLETED = 'completed'
    FAILED = 'failed'
    CANCELLED = 'cancelled'

    @property
    def final(self) -> bool:
        """Whether no other state may follow."""
        return not FOLLOWERS[self]


_S = MissionState
#: State -> those that may follow it.
FOLLOWERS: dict[MissionState, set[MissionState]] = {
    _S.AUTHING: {_S.READY, _S.FAILED, _S.CANCELLED},
    _S.READY: {_S.LAUNCHING, _S.FAILED, _S.CANCELLED},
    _S.LAUNCHING: {_S.RUNNING, _S.FAILED, _S.CANCELLED},
    _S.RUNNING: {_S.CLOSING, _S.FAILED, _S.CANCELLED},
    _S.CLOSING: {_S.COMPLETED, _S.FAILED, _S.CANCELLED},
    _S.COMPLETED: set(),
    _S.FAILED: set(),
    _S.CANCELLED: set(),
}
