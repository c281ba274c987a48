# SPDX-License-Identifier: Apache-2.0
"""The result of a workload: what all reports are made of (RESULT.md).

Immutable but for its tallies and timelines, which reports leave as they are.
"""

from dataclasses import dataclass
from typing import Optional, Tuple

from cosbench.measure.document import MAX_TEXT, Node
from cosbench.measure.drivers import WorkDriver
from cosbench.measure.summary import Metrics
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import MAX_ID, Timeline

VERSION = 1
#: Unix seconds; the year 9999, which is the last that can be written.
_MAX_TIME = 253402300799
_MAX_SECONDS = 10 ** 9
#: More than the longest workload can have.
_MAX_PARTS = _MAX_WARNINGS = 10 ** 6
_MAX_DRIVERS, _MAX_HISTORY = 10000, 1000


@dataclass(frozen=True)
class Driver:
    """Each number is None where it is not known."""

    name: str
    state: str
    reason: str
    cpu_percent_p95: Optional[float]
    loop_lag_ms_p99: Optional[float]
    clock_offset_s: Optional[float]
    operations_per_cpu_second: Optional[float]


@dataclass(frozen=True)
class OperationResult:

    id: str
    name: str
    type: str
    #: Percent; None where it is not known.
    ratio: Optional[int]
    config: str
    tally: Tally


@dataclass(frozen=True)
class WorkResult:

    id: str
    name: str
    type: str
    workers: int
    #: Unix seconds, or None.
    started: Optional[float]
    #: Seconds, as configured.
    rampup: float
    runtime: float
    rampdown: float
    #: Seconds that samples counted for; None where it is not known.
    counted: Optional[float]
    #: Operations a second that were wanted; None: a closed loop.
    rate: Optional[float]
    #: Whether the histogram is reported.
    histogram: bool
    drivers: Tuple[WorkDriver, ...]
    state: str
    reason: str
    operations: Tuple[OperationResult, ...]
    timeline: Optional[Timeline]

    def metrics(self, operation):
        """
        :param operation: an ``OperationResult`` of it
        :returns: its ``Metrics``
        """
        return Metrics.of(operation.tally, self.workers,
                          self.counted or self.runtime)

    @property
    def driver_cpu(self):
        """
        :returns: percent of the core of the busiest driver; None: not known
        """
        return max((each.cpu_percent_p95 for each in self.drivers
                    if each.cpu_percent_p95 is not None), default=None)

    @property
    def window(self):
        """
        :returns: (begin, end) of what counted, in seconds of its timeline;
            end is None where it had no run time
        """
        if not self.runtime:
            return 0.0, None
        return self.rampup, self.rampup + min(
            self.runtime, self.counted or self.runtime)

    @property
    def end(self):
        """
        :returns: until when operations started, in seconds of the timeline;
            None without operations
        """
        if self.runtime:
            whole = self.counted is None or self.counted >= self.runtime
            return self.window[1] + (self.rampdown if whole else 0)
        return max((each.tally.last_end / 1000000 for each in self.operations
                    if each.tally.last_end is not None), default=None)


@dataclass(frozen=True)
class StageResult:

    id: str
    name: str
    state: str
    #: Unix seconds, or None, as ``stopped``.
    started: Optional[float]
    stopped: Optional[float]
    reason: str
    #: (state, unix seconds), the oldest first.
    history: Tuple[Tuple[str, float], ...]
    works: Tuple[WorkResult, ...]


@dataclass(frozen=True)
class Result:

    id: str
    name: str
    description: str
    state: str
    submitted: Optional[float]
    started: Optional[float]
    stopped: Optional[float]
    xml: str
    seed: Optional[int]
    warnings: Tuple[str, ...]
    history: Tuple[Tuple[str, float], ...]
    drivers: Tuple[Driver, ...]
    stages: Tuple[StageResult, ...]

    @classmethod
    def from_json(cls, document, place='result'):
        """
        :param document: parsed JSON, from anyone
        :param place: what errors call it
        :raises ResultError: if it is no result
        """
        node = Node(document, place)
        node.member('version').integer(VERSION, VERSION)
        return cls(
            id=node.member('id').text(MAX_ID),
            name=node.member('name').text(MAX_ID),
            description=node.optional('description', '').text(),
            state=node.member('state').text(MAX_ID),
            **{key: _time(node.optional(key))
               for key in ('submitted', 'started', 'stopped')},
            xml=node.optional('xml', '').text(2 * MAX_TEXT),
            seed=_maybe(node.optional('seed'), Node.integer,
                        -2 ** 63, 2 ** 64),
            warnings=tuple(
                each.text() for each in node.optional(
                    'warnings', []).elements(_MAX_WARNINGS)),
            history=_history(node),
            drivers=tuple(map(_driver, node.optional(
                'drivers', []).elements(_MAX_DRIVERS))),
            stages=tuple(map(_stage, node.member('stages').elements(
                _MAX_PARTS))))


def _maybe(node, check, *bounds):
    return None if node.value is None else check(node, *bounds)


def _time(node):
    return _maybe(node, Node.number, 0, _MAX_TIME)


def _reason(node):
    return _maybe(node.optional('reason'), Node.text) or ''


def _history(node):
    states = []
    for each in node.optional('history', []).elements(_MAX_HISTORY):
        state, when = each.elements(2, 2)
        states.append((state.text(MAX_ID), when.number(0, _MAX_TIME)))
    return tuple(states)


def _driver(node):
    return Driver(
        node.member('name').text(MAX_ID),
        node.optional('state', '').text(MAX_ID), _reason(node),
        *(_maybe(node.optional(key), Node.number, -1e15, 1e15) for key in (
            'cpu_percent_p95', 'loop_lag_ms_p99', 'clock_offset_s',
            'operations_per_cpu_second')))


def _work_driver(node):
    return WorkDriver(
        node.optional('name', '').text(MAX_ID),
        _maybe(node.optional('workers'), Node.integer, 0, 10 ** 9),
        *(_maybe(node.optional(key), Node.number, 0, 1e15)
          for key in ('cpu_percent_p95', 'loop_lag_ms_p99')),
        _maybe(node.optional('resent'), Node.integer))


def _stage(node):
    return StageResult(
        id=node.member('id').text(MAX_ID + 20),
        name=node.member('name').text(MAX_ID),
        state=node.member('state').text(MAX_ID),
        started=_time(node.optional('started')),
        stopped=_time(node.optional('stopped')),
        reason=_reason(node), history=_history(node),
        works=tuple(map(_work, node.member('works').elements(_MAX_PARTS))))


def _work(node):
    timeline = node.optional('timeline')
    histogram = node.optional('histogram', True)
    if not isinstance(histogram.value, bool):
        raise histogram.refuse('true or false')
    seconds = {key: _maybe(node.optional(key), Node.number, 0, _MAX_SECONDS)
               for key in ('rampup', 'runtime', 'rampdown', 'counted')}
    for key in ('rampup', 'runtime', 'rampdown'):
        seconds[key] = seconds[key] or 0
    return WorkResult(
        id=node.member('id').text(MAX_ID + 20),
        name=node.member('name').text(MAX_ID),
        type=node.member('type').text(MAX_ID),
        workers=node.member('workers').integer(0, 10 ** 9),
        started=_time(node.optional('started')),
        **seconds,
        rate=_maybe(node.optional('rate'), Node.number, 0, 1e12),
        histogram=histogram.value,
        drivers=tuple(map(_work_driver, node.optional(
            'drivers', []).elements(_MAX_DRIVERS))),
        state=node.optional('state', '').text(MAX_ID),
        reason=_reason(node),
        operations=tuple(map(_operation, node.member('operations').elements(
            _MAX_PARTS))),
        timeline=None if timeline.value is None else Timeline.from_json(
            timeline.value, timeline.place))


def _operation(node):
    tally = node.member('tally')
    return OperationResult(
        id=node.member('id').text(MAX_ID),
        name=node.member('name').text(MAX_ID),
        type=node.member('type').text(MAX_ID),
        ratio=_maybe(node.optional('ratio'), Node.integer, 0, 100),
        config=_maybe(node.optional('config'), Node.text) or '',
        tally=Tally.from_json(tally.value, tally.place))
