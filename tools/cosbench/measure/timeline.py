# SPDX-License-Identifier: Apache-2.0
"""What happened in each interval of a work, operation by operation.

An interval is a whole number of intervals after the origin; a sample belongs
to the one that it ended in. Response times of an interval are kept in slots
that are at most 1/64 wide, so that percentiles of intervals merge too; they
are within 1%. Merging is exact in any order. RESULT.md has the document.
"""

from array import array
from dataclasses import dataclass
from typing import Optional

from cosbench.measure.buckets import bounds_of, bucket_of, rank
from cosbench.measure.document import Node, ResultError
from cosbench.measure.histogram import MOST, microseconds

#: Of an interval; a workload's may have the most.
MIN_SECONDS, MAX_SECONDS = 0.001, 2 ** 31 - 1
#: Of a document: operations, the number of an interval, a name.
MAX_OPERATIONS, MAX_INTERVAL, MAX_ID = 1000, 10 ** 6, 200
_HALF = 6


def slot_of(value):
    """
    :param value: microseconds
    :returns: the number of its slot, from 1
    """
    return bucket_of(value, _HALF)


def limits_of(slot):
    """
    :returns: the least and the most of a slot, in microseconds
    """
    return bounds_of(slot, _HALF)


def middle_of(slot):
    """
    :returns: microseconds, what the values of a slot are taken for
    """
    return sum(limits_of(slot)) / 2


MAX_SLOT = slot_of(MOST)


@dataclass(frozen=True)
class Point:
    """One operation in one interval; times in milliseconds."""

    #: Seconds from the origin to its begin.
    start: float
    seconds: float
    #: Successes.
    count: int
    bytes: int
    failed: int
    #: None without successes, as p99.
    mean: Optional[float]
    mean_processing: Optional[float]
    p99: Optional[float]

    @property
    def throughput(self):
        """Operations a second."""
        return self.count / self.seconds

    @property
    def bandwidth(self):
        """Bytes a second."""
        return self.bytes / self.seconds


class Interval:
    """The sums of one operation in one interval. Mutable."""

    __slots__ = ('count', 'bytes', 'failed', 'total', 'processing', '_slots')
    #: Those that add up.
    SUMS = ('count', 'bytes', 'failed', 'total', 'processing')

    def __init__(self):
        self.count = self.bytes = self.failed = 0
        #: Microseconds of response, and of processing time.
        self.total = self.processing = 0
        #: slot -> how many response times; or packed.
        self._slots = {}

    @property
    def slots(self):
        """
        :returns: a dict, slot -> how many response times; to read only
        """
        if isinstance(self._slots, dict):
            return self._slots
        return dict(zip(self._slots[::2], self._slots[1::2]))

    def pack(self):
        """Take a tenth of the memory until something is added."""
        flat = self._flat()
        if max(flat, default=0) < 2 ** 32:
            self._slots = array('I', flat)

    def _flat(self):
        return [each for pair in sorted(self.slots.items()) for each in pair]

    def add(self, sample):
        if sample.error is not None:
            self.failed += 1
            return
        self.count += 1
        self.bytes += sample.size
        value = microseconds(sample.ended - sample.started)
        self.total += value
        self.processing += microseconds(sample.first_byte - sample.started)
        self._add_to(slot_of(value), 1)

    def _add_to(self, slot, count):
        if not isinstance(self._slots, dict):
            self._slots = self.slots
        self._slots[slot] = self._slots.get(slot, 0) + count

    def merge(self, other):
        for name in self.SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for slot, count in other.slots.items():
            self._add_to(slot, count)

    def percentile(self, percent):
        """
        :returns: microseconds; None without successes
        """
        if not self.count:
            return None
        seen, wanted = 0, rank(percent, self.count)
        for slot, count in sorted(self.slots.items()):
            seen += count
            if seen >= wanted:
                return middle_of(slot)
        raise AssertionError('the slots hold fewer than count says')

    def point(self, start, seconds):
        count = self.count
        return Point(
            start, seconds, count, self.bytes, self.failed,
            self.total / count / 1000 if count else None,
            self.processing / count / 1000 if count else None,
            self.percentile(99) / 1000 if count else None)

    def to_json(self):
        return [getattr(self, name) for name in self.SUMS] + [self._flat()]

    @classmethod
    def from_json(cls, nodes):
        """
        :param nodes: of SUMS, then of the slots
        """
        made = cls()
        for name, node in zip(cls.SUMS, nodes):
            setattr(made, name, node.integer())
        flat = nodes[len(cls.SUMS)].elements(2 * MAX_SLOT)
        made._slots = {slot.integer(1, MAX_SLOT): count.integer(1)
                       for slot, count in zip(flat[::2], flat[1::2])}
        if 2 * len(made.slots) != len(flat) or \
                sum(made.slots.values()) != made.count:
            raise nodes[-1].refuse(
                'a list of slot, count, ... each slot once, as many in all '
                'as there are successes')
        return made


class Timeline:
    """
    Mutable; of all samples, those of the ramps too.

    :param interval_seconds: how long an interval is
    :param origin: the begin of the work on the clock of the samples
    """

    __slots__ = ('seconds', 'origin', '_operations')

    def __init__(self, interval_seconds, origin=0.0):
        if not MIN_SECONDS <= interval_seconds <= MAX_SECONDS:
            raise ValueError('interval_seconds=%r: must be a number of %g '
                             'to %d' % (interval_seconds, MIN_SECONDS,
                                        MAX_SECONDS))
        self.seconds = interval_seconds
        self.origin = origin
        self._operations = {}

    @property
    def operations(self):
        """
        :returns: the ids of those with samples, sorted
        """
        return sorted(self._operations)

    def add(self, sample):
        """
        :raises ValueError: if it ended before the origin
        """
        number = int((sample.ended - self.origin) // self.seconds)
        if number < 0:
            raise ValueError('sample.ended=%r: must not be before the '
                             'origin %r' % (sample.ended, self.origin))
        self._interval(sample.operation, number).add(sample)

    def _interval(self, operation, number):
        intervals = self._operations.get(operation)
        if intervals is None:
            intervals = self._operations[operation] = {}
        interval = intervals.get(number)
        if interval is None:
            interval = intervals[number] = Interval()
        return interval

    def merge(self, other):
        """
        :param other: a ``Timeline`` of other samples; it stays as it is
        :raises ValueError: if its intervals are not as long
        """
        if other.seconds != self.seconds:
            raise ValueError('interval=%r: must be %r, as of what it is '
                             'merged into' % (other.seconds, self.seconds))
        for operation, number, interval in other:
            mine = self._interval(operation, number)
            mine.merge(interval)
            mine.pack()

    def __iter__(self):
        """
        :returns: an iterator over (operation id, number of the interval,
            ``Interval``) where there are samples; intervals are to read only
        """
        for operation, intervals in self._operations.items():
            for number, interval in intervals.items():
                yield operation, number, interval

    def intervals(self, operation, begin=0.0, end=None):
        """
        :param begin: seconds from the origin
        :param end: seconds from the origin; None: the last interval's end
        :returns: the intervals that lie between, as a list to read only;
            an empty one where nothing ended
        """
        known = self._operations.get(operation, {})
        first = -int(-begin // self.seconds)
        stop = int(end // self.seconds) if end is not None else \
            max(known, default=-1) + 1
        # One for all gaps: a short document may have very many.
        nothing = Interval()
        return [known.get(number, nothing)
                for number in range(first, min(stop, MAX_INTERVAL + 1))]

    def points(self, operation, most=None):
        """
        :param most: how many at most; intervals are put together for it
        :returns: an iterator over the ``Point`` of each interval from the
            first to the last that has samples
        """
        known = self._operations.get(operation)
        if not known:
            return
        first, last = min(known), max(known)
        step = -(-(last - first + 1) // most) if most else 1
        groups = {}
        for number in known:
            groups.setdefault((number - first) // step, []).append(number)
        for place, begin in enumerate(range(first, last + 1, step)):
            together = Interval()
            for number in groups.get(place, ()):
                together.merge(known[number])
            stop = min(begin + step, last + 1)
            yield together.point(begin * self.seconds,
                                 (stop - begin) * self.seconds)

    def to_json(self):
        """
        :returns: a document; equal timelines have equal ones
        """
        return {'interval': self.seconds, 'operations': {
            operation: [[number] + interval.to_json()
                        for number, interval in sorted(intervals.items())]
            for operation, intervals in sorted(self._operations.items())}}

    @classmethod
    def from_json(cls, document, place='timeline'):
        """
        :param document: parsed JSON, from anyone
        :param place: what errors call it
        :raises ResultError: if it is no timeline
        """
        node = Node(document, place)
        made = cls(node.member('interval').number(MIN_SECONDS, MAX_SECONDS))
        for operation, rows in node.member('operations').items(
                MAX_OPERATIONS, MAX_ID):
            made._operations[operation] = dict(
                _row(row) for row in rows.elements(MAX_INTERVAL + 1))
            if len(made._operations[operation]) != len(rows.value):
                raise ResultError('%s: each interval must be there once'
                                  % rows.place)
        return made


def _row(node):
    length = len(Interval.SUMS) + 2
    nodes = node.elements(length, length)
    return (nodes[0].integer(0, MAX_INTERVAL), Interval.from_json(nodes[1:]))
