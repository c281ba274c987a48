# SPDX-License-Identifier: Apache-2.0
"""Times as an HDR histogram, beside their exact count, sum, least and most.

Whole microseconds of 1 to one hour, 3 significant digits; a time outside
counts as the nearest inside. All is integers, so that merging is exact in
any order. RESULT.md has the document, ``hdr_format`` the bytes in it.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any

from cosbench.measure.hdr_format import (
    HALF,
    LEAST,
    MAX_TEXT,
    MOST,
    bounds_of,
    bucket_of,
    decoded,
    encoded,
    rank,
)
from cosbench.measure.limits import Count
from swift_lightsync.common.record_codecs import Codec
from swift_lightsync.common.record_limits import inside, refusal
from swift_lightsync.common.records import Between, Length, Record


def microseconds(seconds: float) -> int:
    """Return a time in whole microseconds, from 1 to an hour.

    :returns: the nearest that a histogram can hold
    :raises ValueError: if it is not a number
    """
    value = int(seconds * 1000000 + 0.5)
    return value if LEAST <= value <= MOST else min(max(value, LEAST), MOST)


_Micros = Annotated[int, Between(LEAST, MOST)]


@dataclass(frozen=True)
class _Document(Record):
    """The JSON of a histogram; see RESULT.md."""

    count: Count
    total_us: Count
    #: None without values, as ``max_us``.
    min_us: _Micros | None
    max_us: _Micros | None
    hdr: Annotated[str, Length(MAX_TEXT)]

    def __post_init__(self) -> None:
        least, most = self.min_us, self.max_us
        if not self.count:
            least = most = 0
        if least is None or most is None or \
                not self.count * least <= self.total_us <= self.count * most:
            raise ValueError('min_us is %s, max_us is %s and total_us is %d: '
                             'must be those of %d values' % (
                                 self.min_us, self.max_us, self.total_us,
                                 self.count))


class Histogram:
    """Counts times, in whole microseconds. Mutable."""

    __slots__ = ('count', 'total', '_least', '_most', '_counts')

    def __init__(self) -> None:
        self.count = 0
        #: The sum of all.
        self.total = 0
        self._least = self._most = 0
        #: bucket -> how many.
        self._counts: dict[int, int] = {}

    @property
    def least(self) -> int | None:
        """The shortest time; None without values."""
        return self._least if self.count else None

    @property
    def most(self) -> int | None:
        """The longest time; None without values."""
        return self._most if self.count else None

    def record(self, seconds: float) -> None:
        """Count a time, which is in seconds."""
        # What microseconds() and bucket_of() say, without the calls.
        value = int(seconds * 1000000 + 0.5)
        if value < LEAST:
            value = LEAST
        elif value > MOST:
            value = MOST
        if not self.count:
            self._least = self._most = value
        elif value > self._most:
            self._most = value
        elif value < self._least:
            self._least = value
        self.count += 1
        self.total += value
        shift = value.bit_length() - HALF - 1
        bucket = value if shift <= 0 else \
            (shift << HALF) + (value >> shift)
        counts = self._counts
        counts[bucket] = counts.get(bucket, 0) + 1

    def merge(self, other: 'Histogram') -> None:
        """Count all times of another histogram, which stays as it is."""
        if not other.count:
            return
        counts = self._counts
        if counts:
            known = counts.get
            for bucket, count in other._counts.items():
                counts[bucket] = known(bucket, 0) + count
        else:
            counts.update(other._counts)
        self._least = min(self._least, other._least) if self.count \
            else other._least
        self._most = max(self._most, other._most)
        self.count += other.count
        self.total += other.total

    @property
    def mean(self) -> float | None:
        """The exact mean; None without values."""
        return self.total / self.count if self.count else None

    def buckets(self) -> list[tuple[int, int, int]]:
        """Return the times that the histogram cannot tell apart.

        :returns: a list of (lowest, highest, count), ascending, where there
            are any
        """
        return [(*bounds_of(bucket, HALF), count)
                for bucket, count in sorted(self._counts.items())]

    def percentiles(self, wanted: Sequence[float]
                    ) -> list[int | None]:
        """Return the values that so many percent of all are not above.

        This is the nearest rank. A value is at most 0.1% too high, and that
        of 100 percent is exact.

        :param wanted: percents, 0 < each <= 100
        :returns: a list of as many values, each None without values
        """
        if not self.count:
            return [None] * len(wanted)
        buckets = sorted(self._counts)
        seen = list(accumulate(map(self._counts.__getitem__, buckets)))
        places = (bisect_left(seen, rank(percent, self.count))
                  for percent in wanted)
        return [min(bounds_of(buckets[place], HALF)[1], self._most)
                for place in places]

    def to_json(self) -> dict[str, Any]:
        """Return the histogram as RESULT.md says."""
        return {'count': self.count, 'total_us': self.total,
                'min_us': self.least, 'max_us': self.most,
                'hdr': encoded(self._counts)}

    @classmethod
    def from_json(cls, value: Any) -> 'Histogram':
        """Make a histogram of parsed JSON.

        :param value: from anyone
        :raises RecordError: if it is no histogram, or not one of ours
        """
        found = _Document.from_json(value)
        made = cls()
        made.count, made.total = found.count, found.total_us
        made._counts = inside('.hdr', lambda text: decoded(text, made.count),
                              found.hdr)
        if made.count:
            made._least, made._most = found.min_us or 0, found.max_us or 0
            made._check_ends(value)
        return made

    @classmethod
    def record_codec(cls) -> Codec:
        """Return how a field of a record of this type is read."""
        return Codec(cls.from_json, cls.to_json)

    def _check_ends(self, value: Any) -> None:
        """Refuse a least or most value that is in no used bucket."""
        if bucket_of(self._least, HALF) != min(self._counts) or \
                bucket_of(self._most, HALF) != max(self._counts):
            raise refusal(value, 'an object whose min_us, max_us and '
                          'total_us are those of its values')
