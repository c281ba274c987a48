# SPDX-License-Identifier: Apache-2.0
"""The sums of one operation in one interval of a work.

Response times are kept in slots that are at most 1/64 wide, so that
percentiles of intervals merge too; they are within 1%. Of an open loop, times
from when operations were due are kept beside them in the same way.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cosbench.measure.hdr_format import MOST, bounds_of, bucket_of, rank
from cosbench.measure.histogram import microseconds
from cosbench.measure.sample import Sample
from swift_lightsync.common.record_limits import refusal

_HALF = 6


def slot_of(value: int) -> int:
    """Return the number of a time's slot, from 1; times in microseconds."""
    return bucket_of(value, _HALF)


def limits_of(slot: int) -> tuple[int, int]:
    """Return the shortest and longest time of a slot, in microseconds."""
    return bounds_of(slot, _HALF)


def middle_of(slot: int) -> float:
    """Return the microseconds that the times of a slot are taken for."""
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
    mean: float | None
    mean_processing: float | None
    p99: float | None
    #: From when each was due; in a closed loop the same as above.
    mean_intended: float | None = None
    p99_intended: float | None = None

    @property
    def throughput(self) -> float:
        """Operations a second."""
        return self.count / self.seconds

    @property
    def bandwidth(self) -> float:
        """Bytes a second."""
        return self.bytes / self.seconds


class Interval:
    """The sums of one operation in one interval. Mutable."""

    __slots__ = ('count', 'bytes', 'failed', 'total', 'processing', '_slots',
                 '_due')
    #: Those that add up.
    SUMS = ('count', 'bytes', 'failed', 'total', 'processing')

    def __init__(self) -> None:
        self.count = self.bytes = self.failed = 0
        #: Microseconds of response, and of processing time.
        self.total = self.processing = 0
        #: slot -> how many response times; or packed.
        self._slots: dict[int, int] | array[int] = {}
        #: The same samples from when they were due; None: as they started.
        self._due: Interval | None = None

    @property
    def due(self) -> 'Interval':
        """The same samples, their times from when they were due."""
        return self._due or self

    @property
    def is_late(self) -> bool:
        """Whether a sample started later than it was due."""
        return self._due is not None

    def _own_due(self) -> 'Interval':
        if self._due is None:
            found = Interval()
            found.merge(self)
            self._due = found
        return self._due

    @property
    def slots(self) -> dict[int, int]:
        """How many response times each slot has; to read only."""
        if isinstance(self._slots, dict):
            return self._slots
        return dict(zip(self._slots[::2], self._slots[1::2]))

    def pack(self) -> None:
        """Take a tenth of the memory until something is added."""
        if self._due is not None:
            self._due.pack()
        flat = self._flat()
        if max(flat, default=0) < 2 ** 32:
            self._slots = array('I', flat)

    def _flat(self) -> list[int]:
        return [each for pair in sorted(self.slots.items()) for each in pair]

    def add(self, sample: Sample) -> None:
        """Count a sample."""
        if self._due is not None or sample.intended != sample.started:
            self._own_due().add(sample._replace(started=sample.intended))
        if sample.error is not None:
            self.failed += 1
            return
        self.count += 1
        self.bytes += sample.size
        started = sample.started
        # What slot_of() says, without the calls.
        value = microseconds(sample.ended - started)
        self.total += value
        self.processing += microseconds(sample.first_byte - started)
        slots = self._slots
        if not isinstance(slots, dict):
            slots = self._slots = self.slots
        shift = value.bit_length() - _HALF - 1
        slot = value if shift <= 0 else (shift << _HALF) + (value >> shift)
        slots[slot] = slots.get(slot, 0) + 1

    def _add_to(self, slot: int, count: int) -> None:
        slots = self._slots
        if not isinstance(slots, dict):
            slots = self._slots = self.slots
        slots[slot] = slots.get(slot, 0) + count

    def merge(self, other: 'Interval') -> None:
        """Count all samples of another, which stays as it is."""
        if self.is_late or other.is_late:
            self._own_due().merge(other.due)
        for name in self.SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for slot, count in other.slots.items():
            self._add_to(slot, count)

    def percentile(self, percent: float) -> float | None:
        """Return the response time that so many percent are not above.

        :param percent: 0 < percent <= 100
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

    def point(self, start: float, seconds: float) -> Point:
        """Return what a plot shows of the interval.

        :param start: seconds from the origin to its begin
        """
        count, due = self.count, self.due
        p99, p99_due = self.percentile(99), due.percentile(99)
        return Point(
            start, seconds, count, self.bytes, self.failed,
            self.total / count / 1000 if count else None,
            self.processing / count / 1000 if count else None,
            None if p99 is None else p99 / 1000,
            due.total / count / 1000 if count else None,
            None if p99_due is None else p99_due / 1000)

    def to_json(self) -> list[Any]:
        """Return the row of the interval without its number."""
        return [getattr(self, name) for name in self.SUMS] + [self._flat()]

    def due_to_json(self) -> list[Any]:
        """Return the row of its times from when due without its number."""
        return [self.due.total, self.due._flat()]

    def set_due(self, total: int, flat: Sequence[int]) -> None:
        """Take the times from when samples were due.

        :param total: microseconds
        :raises RecordError: if they cannot be of these samples
        """
        if total < self.total:
            raise refusal(total, 'at least what the response times sum to')
        self._due = Interval.of((self.count, self.bytes, self.failed, total,
                                 self.processing), flat)

    @classmethod
    def of(cls, sums: Sequence[int], flat: Sequence[int]) -> 'Interval':
        """Make an interval of a row.

        :param sums: the values of ``SUMS``
        :param flat: slot, how many, slot, ...
        :raises RecordError: if the slots cannot be those of the sums
        """
        made = cls()
        for name, value in zip(cls.SUMS, sums):
            setattr(made, name, value)
        slots = made._slots = dict(zip(flat[::2], flat[1::2]))
        for place, slot in enumerate(flat[::2]):
            if slot > MAX_SLOT:
                raise refusal(slot, 'an integer from 1 to %d' % MAX_SLOT
                              ).within('[%d]' % (2 * place))
        if 2 * len(slots) != len(flat) or \
                sum(slots.values()) != made.count:
            raise refusal(flat, 'a list of slot, count, ... each slot once, '
                          'as many in all as there are successes')
        return made
