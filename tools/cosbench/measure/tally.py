# SPDX-License-Identifier: Apache-2.0
"""The sums over the samples of one operation of a work.

Mutable, and mergeable: the tallies of workers and drivers add up to the
tally of all their samples, in any order and grouping, exactly. RESULT.md has
the document.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any

from cosbench.measure.histogram import Histogram
from cosbench.measure.limits import AtLeastOne, Count
from cosbench.measure.sample import Sample
from swift_lightsync.common.record_codecs import Codec
from swift_lightsync.common.record_limits import inside, refusal
from swift_lightsync.common.records import Between, Length, Record

#: What failures are counted as that come under too many names.
OTHER = 'other'
MAX_CLASSES, MAX_CLASS_LENGTH, MAX_MESSAGE = 100, 100, 300
#: Of a merged document; each driver brings at most MAX_CLASSES.
_MAX_MERGED_CLASSES = 10000
#: Microseconds; a clock that counts for three centuries.
_MAX_CLOCK = 10 ** 16
_TIMES = ('response', 'processing', 'intended')


_Clock = Annotated[int, Between(-_MAX_CLOCK, _MAX_CLOCK)]


@dataclass(frozen=True)
class _Document(Record):
    """The JSON of a tally; see RESULT.md."""

    bytes: Count
    failures: Annotated[
        dict[Annotated[str, Length(MAX_CLASS_LENGTH)], AtLeastOne],
        Length(_MAX_MERGED_CLASSES)]
    #: None without samples, as ``last_end_us``.
    first_start_us: _Clock | None
    last_end_us: _Clock | None
    response: Histogram
    processing: Histogram
    #: A histogram, too, which most often equals ``response``.
    intended: Any
    #: class -> what one of its failures said.
    examples: Annotated[
        dict[Annotated[str, Length(MAX_CLASS_LENGTH)],
             Annotated[str, Length(MAX_MESSAGE)]],
        Length(_MAX_MERGED_CLASSES)] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.response.count and not self.failures:
            return
        first, last = self.first_start_us, self.last_end_us
        if first is None or last is None or first > last:
            raise ValueError('first_start_us is %s, must be at most '
                             'last_end_us, which is %s' % (first, last))


class Tally:
    """What counts of one operation.

    Times are those of successes; a failed sample counts in ``failures``
    only.

    :param origin: what the times of first start and last end are counted
        from, on the clock of the samples; drivers whose tallies are merged
        have the same event as their origin
    """

    __slots__ = ('origin', 'bytes', 'failures', 'examples', 'first_start',
                 'last_end', 'response', 'processing', '_intended')

    def __init__(self, origin: float = 0.0) -> None:
        self.origin = origin
        #: started to ended.
        self.response = Histogram()
        #: started to first byte.
        self.processing = Histogram()
        #: None: as ``response``, as none began later than it was due.
        self._intended: Histogram | None = None
        self.bytes = 0
        #: class -> count.
        self.failures: dict[str, int] = {}
        #: class -> the first, by the alphabet, of what its failures said.
        self.examples: dict[str, str] = {}
        #: Microseconds after the origin, of all samples; None without.
        self.first_start: int | None = None
        self.last_end: int | None = None

    @property
    def intended(self) -> Histogram:
        """From when due to ended: what one sees who does not wait."""
        return self.response if self._intended is None else self._intended

    def _own_intended(self) -> Histogram:
        if self._intended is None:
            found = Histogram()
            found.merge(self.response)
            self._intended = found
        return self._intended

    @property
    def count(self) -> int:
        """How many operations succeeded."""
        return self.response.count

    @property
    def failed(self) -> int:
        """How many operations failed."""
        return sum(self.failures.values())

    def add(self, sample: Sample) -> None:
        """Count a sample."""
        started, ended = sample.started, sample.ended
        self._span(round((started - self.origin) * 1000000),
                   round((ended - self.origin) * 1000000))
        if sample.error is not None:
            self._fail(sample.error, sample.message)
            return
        self.bytes += sample.size
        if self._intended is not None or sample.intended != started:
            self._own_intended().record(ended - sample.intended)
        self.response.record(ended - started)
        self.processing.record(sample.first_byte - started)

    def _span(self, start: int, end: int) -> None:
        if self.first_start is None or start < self.first_start:
            self.first_start = start
        if self.last_end is None or end > self.last_end:
            self.last_end = end

    def _fail(self, error: str, message: str) -> None:
        error = error[:MAX_CLASS_LENGTH]
        if error not in self.failures and \
                len(self.failures) >= MAX_CLASSES - 1:
            error = OTHER
        self.failures[error] = self.failures.get(error, 0) + 1
        if message:
            self._say(error, ''.join(
                each if each.isprintable() else ' '
                for each in message[:MAX_MESSAGE]))

    def _say(self, error: str, message: str) -> None:
        known = self.examples.get(error)
        if known is None or message < known:
            self.examples[error] = message

    def merge(self, other: 'Tally') -> None:
        """Count all samples of another tally, which stays as it is."""
        if self._intended is not None or other._intended is not None:
            self._own_intended().merge(other.intended)
        self.response.merge(other.response)
        self.processing.merge(other.processing)
        self.bytes += other.bytes
        for error, count in other.failures.items():
            self.failures[error] = self.failures.get(error, 0) + count
        for error, message in other.examples.items():
            self._say(error, message)
        if other.first_start is not None and other.last_end is not None:
            self._span(other.first_start, other.last_end)

    def to_json(self) -> dict[str, Any]:
        """Return a document; equal tallies have equal ones."""
        response = self.response.to_json()
        said = {'examples': dict(sorted(self.examples.items()))} \
            if self.examples else {}
        return {'bytes': self.bytes,
                'failures': dict(sorted(self.failures.items())), **said,
                'first_start_us': self.first_start,
                'last_end_us': self.last_end,
                'response': response,
                'processing': self.processing.to_json(),
                'intended': response if self._intended is None
                else self._intended.to_json()}

    @classmethod
    def from_json(cls, value: Any) -> 'Tally':
        """Make a tally of parsed JSON.

        :param value: from anyone
        :raises RecordError: if it is none
        """
        found, made = _Document.from_json(value), cls()
        made.bytes, made.failures = found.bytes, found.failures
        made.examples = {key: text for key, text in found.examples.items()
                         if key in found.failures}
        made.response, made.processing = found.response, found.processing
        # Equal in all closed loops: reports come each second.
        if found.intended != value['response']:
            made._intended = inside('.intended', Histogram.from_json,
                                    found.intended)
        if len({getattr(made, name).count for name in _TIMES}) > 1:
            raise refusal(value, 'an object whose %s have the same count'
                          % ', '.join(_TIMES))
        if made.count or made.failures:
            made.first_start = found.first_start_us
            made.last_end = found.last_end_us
        return made

    @classmethod
    def record_codec(cls) -> Codec:
        """Return how a field of a record of this type is read."""
        return Codec(cls.from_json, cls.to_json)
