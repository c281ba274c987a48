# SPDX-License-Identifier: Apache-2.0
"""The result of a workload: what all reports are made of (RESULT.md).

Immutable but for its tallies and timelines, which reports leave as they are.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cosbench.measure.drivers import WorkDriver
from cosbench.measure.limits import (
    MAX_ID,
    MAX_TEXT,
    Name,
    Reason,
    Text,
    or_else,
)
from cosbench.measure.nodes import NodeResult
from cosbench.measure.summary import Metrics
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline
from swift_lightsync.common.records import Between, Length, Parsed, Record

VERSION = 1
#: More than the longest workload can have.
_MAX_PARTS = _MAX_WARNINGS = 10 ** 6
_MAX_DRIVERS, _MAX_HISTORY = 10000, 1000

#: Unix seconds until the year 9999, which is the last that can be written.
_Time = Annotated[float, Between(0, 253402300799)]
_Seconds = Annotated[float, Between(0, 10 ** 9)]
_SecondsOrNone = Annotated[float, or_else(0.0, _Seconds | None)]
_Signed = Annotated[float, Between(-1e15, 1e15)]
#: A name with a number before it.
_Id = Annotated[str, Length(MAX_ID + 20)]
_State = Annotated[str, or_else('', Name | None)]


def _listed(kind: Any, most: int) -> Parsed:
    """Return how a list of at most so many is read; null: an empty one."""
    return or_else((), Annotated[tuple[kind, ...], Length(most)] | None)


#: (state, unix seconds), the oldest first.
_History = Annotated[tuple[tuple[str, float], ...],
                     _listed(tuple[Name, _Time], _MAX_HISTORY)]


@dataclass(frozen=True)
class Driver(Record):
    """A driver of a run; each number is None where it is not known."""

    name: Name
    state: _State = ''
    reason: Reason = ''
    cpu_percent_p95: _Signed | None = None
    loop_lag_ms_p99: _Signed | None = None
    clock_offset_s: _Signed | None = None
    operations_per_cpu_second: _Signed | None = None


@dataclass(frozen=True)
class OperationResult(Record):
    """What counts of one operation of a work."""

    id: Name
    name: Name
    type: Name
    tally: Tally
    #: Percent; None where it is not known.
    ratio: Annotated[int, Between(0, 100)] | None = None
    config: Reason = ''


@dataclass(frozen=True)
class WorkResult(Record):
    """What one work did."""

    id: _Id
    name: Name
    type: Name
    workers: Annotated[int, Between(0, 10 ** 9)]
    operations: Annotated[tuple[OperationResult, ...], Length(_MAX_PARTS)]
    #: Unix seconds, or None.
    started: _Time | None = None
    #: Seconds, as configured.
    rampup: _SecondsOrNone = 0.0
    runtime: _SecondsOrNone = 0.0
    rampdown: _SecondsOrNone = 0.0
    #: Seconds that samples counted for; None where it is not known.
    counted: _Seconds | None = None
    #: Operations a second that were wanted; None: a closed loop.
    rate: Annotated[float, Between(0, 1000000000000.0)] | None = None
    #: Whether the histogram is reported.
    histogram: Annotated[bool, or_else(True, bool | None)] = True
    drivers: Annotated[tuple[WorkDriver, ...],
                       _listed(WorkDriver, _MAX_DRIVERS)] = ()
    state: _State = ''
    reason: Reason = ''
    timeline: Timeline | None = None

    def metrics(self, operation: OperationResult) -> Metrics:
        """Return the figures of an operation."""
        return Metrics.of(operation.tally, self.workers,
                          self.counted or self.runtime)

    @property
    def is_normal(self) -> bool:
        """Whether it measured what its document names."""
        return self.type == 'normal'

    @property
    def driver_cpu(self) -> float | None:
        """Percent of the core of the busiest driver; None: not known."""
        return max((each.cpu_percent_p95 for each in self.drivers
                    if each.cpu_percent_p95 is not None), default=None)

    @property
    def window(self) -> tuple[float, float | None]:
        """Begin and end of what counted, in seconds of its timeline.

        The end is None where it had no run time.
        """
        if not self.runtime:
            return 0.0, None
        return self.rampup, self._counted_end

    @property
    def end(self) -> float | None:
        """Until when operations started, in seconds of the timeline.

        None without operations.
        """
        if self.runtime:
            whole = self.counted is None or self.counted >= self.runtime
            return self._counted_end + (self.rampdown if whole else 0)
        return max((each.tally.last_end / 1000000 for each in self.operations
                    if each.tally.last_end is not None), default=None)

    @property
    def _counted_end(self) -> float:
        return self.rampup + min(self.runtime, self.counted or self.runtime)


@dataclass(frozen=True)
class StageResult(Record):
    """What one stage did."""

    id: _Id
    name: Name
    state: Name
    works: Annotated[tuple[WorkResult, ...], Length(_MAX_PARTS)]
    #: Unix seconds, or None, as ``stopped``.
    started: _Time | None = None
    stopped: _Time | None = None
    reason: Reason = ''
    history: _History = ()


@dataclass(frozen=True)
class Result(Record):
    """What a workload did; ``from_json`` reads a result document."""

    version: Literal[1]
    id: Name
    name: Name
    state: Name
    stages: Annotated[tuple[StageResult, ...], Length(_MAX_PARTS)]
    description: Reason = ''
    submitted: _Time | None = None
    started: _Time | None = None
    stopped: _Time | None = None
    xml: Annotated[str, or_else(
        '', Annotated[str, Length(2 * MAX_TEXT)] | None)] = ''
    seed: Annotated[int, Between(-2 ** 63, 2 ** 64)] | None = None
    warnings: Annotated[tuple[str, ...], _listed(Text, _MAX_WARNINGS)] = ()
    history: _History = ()
    drivers: Annotated[tuple[Driver, ...], _listed(Driver, _MAX_DRIVERS)] = ()
    #: Of the storage, as far as they were watched.
    nodes: Annotated[tuple[NodeResult, ...],
                     _listed(NodeResult, _MAX_DRIVERS)] = ()

    @property
    def works(self) -> list[tuple[StageResult, WorkResult]]:
        """The works of all stages, each with its stage."""
        return [(stage, work) for stage in self.stages for work in stage.works]
