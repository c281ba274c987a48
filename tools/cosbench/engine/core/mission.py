# SPDX-License-Identifier: Apache-2.0
"""A mission: one work's share of workers for one driver process.

It carries the workload document itself and says which work of it is meant,
so that a driver trusts no one's reading of it: it refuses what ``validate``
refuses. Its JSON is described in ``PROTOCOL.md``.
"""

import re
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from typing import Optional

from cosbench.errors import ConfigError
from cosbench.workload.division import part, quota
from cosbench.workload.model import Operation, OperationType, Quota

MAX_WORKERS = 2 ** 31 - 1
#: Workers that one driver can make and still answer.
MOST_HERE = 20000
MAX_LONG = 2 ** 63 - 1
_ID = re.compile(r'[A-Za-z0-9][A-Za-z0-9_.-]{0,127}', re.ASCII)


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


def steps(work):
    """
    :returns: the ``Step`` members of a work, in their order
    """
    operation = work.operations[0]
    if operation.with_containers:
        return _ORDERS[operation.type]
    return (Step.MAIN,)


def operations(work, step):
    """
    :returns: the ``Operation`` objects of a step of a work
    """
    if step is Step.MAIN:
        return work.operations
    return (_on_containers(work.operations[0]),)


def _on_containers(operation):
    kind = CONTAINER_TYPES[operation.type]
    return Operation(
        kind, 100, operation.division, operation.id + '-containers',
        kind.value, operation.config, containers=operation.containers,
        headers=operation.headers)


@dataclass(frozen=True)
class Mission:
    """The workers ``first`` to ``first + count - 1`` of a work."""

    id: str
    #: The XML.
    document: str
    #: Which stage of the document, and which work of the stage, from 0.
    stage: int
    work: int
    first: int
    count: int
    #: All random choices come from it.
    seed: int
    #: The name that the driver has at the controller.
    driver: str = ''
    #: 0; more where the workers of a lost driver begin again.
    attempt: int = 0
    step: Step = Step.MAIN
    #: Seconds of the work's time that were over when this begins.
    elapsed: float = 0.0
    #: What is left for these workers together; None: each its own quota.
    operations: Optional[int] = None
    volume: Optional[int] = None
    #: Seconds without a word from the controller after which a driver
    #: cancels the mission.
    lease: float = 60.0

    def share(self, first, count, **changed):
        """
        :returns: the mission of some of these workers
        """
        return replace(self, first=first, count=count, **changed)

    def quota(self, work, worker):
        """
        :param worker: which of the work, from 0
        :returns: its ``Quota``
        """
        own = work.quota(worker)
        index = worker - self.first
        return Quota(self._left(self.operations, own.operations, index),
                     self._left(self.volume, own.volume, index))

    def _left(self, total, own, index):
        if total is None:
            return own
        return part(total, self.count, index)[1]

    def to_json(self):
        return {**asdict(self), 'step': self.step.value}

    @classmethod
    def from_json(cls, found):
        """
        :param found: what ``json.loads`` returned
        :raises ConfigError: names the first field that is wrong
        """
        if not isinstance(found, dict):
            raise ConfigError('a mission must be a JSON object')
        names = {each.name for each in fields(cls)}
        for key in found:
            if key not in names:
                raise ConfigError.of('mission', key, 'one of the keys %s'
                                     % ', '.join(sorted(names)))
        for key in names - set(found):
            raise ConfigError('%s is missing from the mission' % key)
        return cls(**{key: _CHECKS[key](key, value)
                      for key, value in found.items()})


def remaining(total, workers, first, count, used):
    """
    What the workers of a lost driver have left of a total.

    :param total: of the whole work; 0: no limit
    :param first, count: which workers
    :param used: what they used, as far as it was reported
    :returns: at least 0; None: no limit
    """
    if not total:
        return None
    mine = sum(quota(total, workers, index)
               for index in range(first, first + count))
    return max(0, mine - used)


def _whole(least, most):
    def check(key, value):
        # A bool is an int to isinstance.
        if type(value) is int and least <= value <= most:
            return value
        raise ConfigError.of(key, value, 'an integer from %d to %d'
                             % (least, most))
    return check


def _seconds(most):
    def check(key, value):
        if type(value) in (int, float) and 0 <= value <= most:
            return float(value)
        raise ConfigError.of(key, value, 'seconds from 0 to %d' % most)
    return check


def _text(key, value):
    if isinstance(value, str):
        try:
            value.encode('utf8')
            return value
        except UnicodeEncodeError:
            pass
    raise ConfigError.of(key, value, 'text without surrogates')


def mission_id(key, value):
    """
    :raises ConfigError: unless it is a text that can be part of a URL's path
    """
    if isinstance(value, str) and _ID.fullmatch(value):
        return value
    raise ConfigError.of(key, value, '1 to 128 of A-Z a-z 0-9 . _ - that '
                         'begin with a letter or digit')


def _step(key, value):
    for step in Step:
        if step.value == value:
            return step
    raise ConfigError.of(key, value, 'one of ' + ', '.join(
        step.value for step in Step))


def _or_none(check):
    return lambda key, value: None if value is None else check(key, value)


#: How long a mission or a trigger lives without a word: (key, value).
lease_seconds = _seconds(86400)
_INDEX = _whole(0, MAX_WORKERS)
_LEFT = _or_none(_whole(0, MAX_LONG))
_CHECKS = {
    'id': mission_id, 'document': _text, 'stage': _INDEX, 'work': _INDEX,
    'first': _INDEX, 'count': _whole(1, MAX_WORKERS),
    'seed': _whole(0, MAX_LONG), 'driver': _text, 'attempt': _INDEX,
    'step': _step, 'elapsed': _seconds(MAX_WORKERS), 'operations': _LEFT,
    'volume': _LEFT, 'lease': lease_seconds,
}


def find(mission, workload):
    """
    :param workload: the ``Workload`` of the mission's document
    :returns: its ``Work``
    :raises ConfigError: if there is no such work or no such worker
    """
    stages = workload.workflow.stages
    _within('stage', mission.stage, len(stages))
    works = stages[mission.stage].works
    _within('work', mission.work, len(works))
    work = works[mission.work]
    _within('first', mission.first, work.workers)
    _within('count', mission.count - 1, work.workers - mission.first)
    if mission.count > MOST_HERE:
        raise ConfigError.of('count', mission.count, 'at most %d workers on '
                             'one driver: have more drivers' % MOST_HERE)
    if mission.step not in steps(work):
        raise ConfigError.of('step', mission.step.value, 'one of %s' %
                             ', '.join(each.value for each in steps(work)))
    return work


def _within(key, value, size):
    if value >= size:
        raise ConfigError.of(key, value, 'less than %d' % size)
