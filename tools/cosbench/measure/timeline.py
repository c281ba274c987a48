# SPDX-License-Identifier: Apache-2.0
"""What happened in each interval of a work, operation by operation.

An interval is a whole number of intervals after the origin; a sample belongs
to the one that it ended in. Merging is exact in any order. RESULT.md has the
document.
"""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cosbench.measure.interval import MAX_SLOT, Interval, Point
from cosbench.measure.limits import MAX_OPERATIONS, AtLeastOne, Count, Name
from cosbench.measure.sample import Sample
from swift_lightsync.common.record_codecs import Codec
from swift_lightsync.common.record_limits import inside
from swift_lightsync.common.records import Between, Length, Record, RecordError

#: Of an interval; a workload's may have the most.
MIN_SECONDS, MAX_SECONDS = 0.001, 2 ** 31 - 1
#: Of a document: the number of an interval.
MAX_INTERVAL = 10 ** 6
#: Slot, how many, slot, ...
_Slots = Annotated[tuple[AtLeastOne, ...], Length(2 * MAX_SLOT)]
#: One interval: its number, its sums, its slots.
_Row = tuple[Annotated[int, Between(0, MAX_INTERVAL)],
             Count, Count, Count, Count, Count, _Slots]


#: Its number, the sum and the slots of its times from when due.
_DueRow = tuple[Annotated[int, Between(0, MAX_INTERVAL)], Count, _Slots]


@dataclass(frozen=True)
class _Document(Record):
    """The JSON of a timeline; see RESULT.md."""

    interval: Annotated[float, Between(MIN_SECONDS, MAX_SECONDS)]
    operations: Annotated[dict[Name, Annotated[
        tuple[_Row, ...], Length(MAX_INTERVAL + 1)]], Length(MAX_OPERATIONS)]
    intended: Annotated[dict[Name, Annotated[
        tuple[_DueRow, ...], Length(MAX_INTERVAL + 1)]],
        Length(MAX_OPERATIONS)] | None = None


class Timeline:
    """
    The intervals of a work, of all samples, those of the ramps too. Mutable.

    :param interval_seconds: how long an interval is
    :param origin: the begin of the work on the clock of the samples
    """

    __slots__ = ('seconds', 'origin', '_operations')

    def __init__(self, interval_seconds: float,
                 origin: float = 0.0) -> None:
        if not MIN_SECONDS <= interval_seconds <= MAX_SECONDS:
            raise ValueError('interval_seconds=%r: must be a number of %g '
                             'to %d' % (interval_seconds, MIN_SECONDS,
                                        MAX_SECONDS))
        self.seconds = interval_seconds
        self.origin = origin
        self._operations: dict[str, dict[int, Interval]] = {}

    @property
    def operations(self) -> list[str]:
        """The ids of the operations that have samples, sorted."""
        return sorted(self._operations)

    def add(self, sample: Sample, row: str | None = None) -> None:
        """Count a sample in the interval that it ended in.

        :param sample: on the clock of the origin
        :param row: what it counts for; None: its operation
        :raises ValueError: if it ended before the origin
        """
        number = int((sample.ended - self.origin) // self.seconds)
        if number < 0:
            raise ValueError('sample.ended=%r: must not be before the '
                             'origin %r' % (sample.ended, self.origin))
        self._interval(row or sample.operation, number).add(sample)

    def _interval(self, operation: str, number: int) -> Interval:
        intervals = self._operations.get(operation)
        if intervals is None:
            intervals = self._operations[operation] = {}
        interval = intervals.get(number)
        if interval is None:
            interval = intervals[number] = Interval()
        return interval

    def merge(self, other: 'Timeline') -> None:
        """Count all samples of another timeline.

        :param other: of other samples; it stays as it is
        :raises ValueError: if its intervals are not as long
        """
        if other.seconds != self.seconds:
            raise ValueError('interval=%r: must be %r, as of what it is '
                             'merged into' % (other.seconds, self.seconds))
        for operation, number, interval in other:
            mine = self._interval(operation, number)
            mine.merge(interval)
            mine.pack()

    def __iter__(self) -> Iterator[tuple[str, int, Interval]]:
        """Go through the intervals that have samples, which are to read only.

        :returns: (operation id, number of the interval, interval)
        """
        for operation, intervals in self._operations.items():
            for number, interval in intervals.items():
                yield operation, number, interval

    def intervals(self, operation: str, begin: float = 0.0,
                  end: float | None = None) -> list[Interval]:
        """Return the intervals that lie in a time.

        :param begin: seconds from the origin
        :param end: seconds from the origin; None: the last interval's end
        :returns: intervals to read only; an empty one where nothing ended
        """
        known = self._operations.get(operation, {})
        first = -int(-begin // self.seconds)
        stop = int(end // self.seconds) if end is not None else \
            max(known, default=-1) + 1
        # One for all gaps: a short document may have very many.
        nothing = Interval()
        return [known.get(number, nothing)
                for number in range(first, min(stop, MAX_INTERVAL + 1))]

    def points(self, operation: str,
               most: int | None = None) -> Iterator[Point]:
        """Yield the points of an operation.

        :param most: how many at most; intervals are put together for it
        :returns: the point of each interval from the first to the last that
            has samples
        """
        known = self._operations.get(operation)
        if not known:
            return
        first, last = min(known), max(known)
        step = -(-(last - first + 1) // most) if most else 1
        groups: dict[int, list[int]] = {}
        for number in known:
            groups.setdefault((number - first) // step, []).append(number)
        for place, begin in enumerate(range(first, last + 1, step)):
            together = Interval()
            for number in groups.get(place, ()):
                together.merge(known[number])
            stop = min(begin + step, last + 1)
            yield together.point(begin * self.seconds,
                                 (stop - begin) * self.seconds)

    def to_json(self) -> dict[str, Any]:
        """Return a document; equal timelines have equal ones."""
        found: dict[str, Any] = {'interval': self.seconds, 'operations': {
            operation: [[number] + interval.to_json()
                        for number, interval in sorted(intervals.items())]
            for operation, intervals in sorted(self._operations.items())}}
        late = {operation: rows for operation, rows in (
            (operation, [[number] + interval.due_to_json()
                         for number, interval in sorted(intervals.items())
                         if interval.is_late])
            for operation, intervals in sorted(self._operations.items()))
            if rows}
        # A closed loop has none, and takes no room for it.
        return {**found, 'intended': late} if late else found

    @classmethod
    def from_json(cls, value: Any) -> 'Timeline':
        """Make a timeline of parsed JSON.

        :param value: from anyone
        :raises RecordError: if it is none
        """
        found = _Document.from_json(value)
        made = cls(found.interval)
        for operation, rows in found.operations.items():
            place = '.operations[%r]' % operation
            made._operations[operation] = inside(place, _intervals, rows)
        for operation, due in (found.intended or {}).items():
            inside('.intended[%r]' % operation, functools.partial(
                _set_due, made._operations.get(operation, {})), due)
        return made

    @classmethod
    def record_codec(cls) -> Codec:
        """Return how a field of a record of this type is read."""
        return Codec(cls.from_json, cls.to_json)


def _intervals(rows: Sequence[_Row]) -> dict[int, Interval]:
    made: dict[int, Interval] = {}
    for place, (number, *sums, flat) in enumerate(rows):
        if number in made:
            raise RecordError('%d is there twice, must be another in each '
                              'row' % number, '[%d][0]' % place)
        made[number] = inside('[%d][%d]' % (place, len(sums) + 1),
                              functools.partial(Interval.of, sums), flat)
    return made


def _set_due(intervals: dict[int, Interval],
             rows: Sequence[_DueRow]) -> None:
    for place, (number, total, flat) in enumerate(rows):
        interval = intervals.get(number)
        if interval is None or interval.is_late:
            raise RecordError('%d must be an interval of the operation, once'
                              % number, '[%d][0]' % place)
        inside('[%d]' % place, functools.partial(interval.set_due, total),
               flat)
