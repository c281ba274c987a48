# SPDX-License-Identifier: Apache-2.0
"""The sums over the samples of one operation of a work.

Mutable, and mergeable: the tallies of workers and drivers add up to the
tally of all their samples, in any order and grouping, exactly. RESULT.md has
the document.
"""

from cosbench.measure.document import Node
from cosbench.measure.histogram import Histogram

#: What failures are counted as that come under too many names.
OTHER = 'other'
MAX_CLASSES, MAX_CLASS_LENGTH = 100, 100
#: Of a merged document; each driver brings at most MAX_CLASSES.
_MAX_MERGED_CLASSES = 10000
#: Microseconds; a clock that counts for three centuries.
_MAX_CLOCK = 10 ** 16
_TIMES = ('response', 'processing', 'intended')


class Tally:
    """
    Times are those of successes; a failed sample counts in ``failures``
    only.

    :param origin: what the times of first start and last end are counted
        from, on the clock of the samples; drivers whose tallies are merged
        have the same event as their origin
    """

    __slots__ = ('origin', 'bytes', 'failures', 'first_start', 'last_end')\
        + _TIMES

    def __init__(self, origin=0.0):
        self.origin = origin
        #: started to ended.
        self.response = Histogram()
        #: started to first byte.
        self.processing = Histogram()
        #: intended to ended: what a user who did not wait would have seen.
        self.intended = Histogram()
        self.bytes = 0
        #: class -> count.
        self.failures = {}
        #: Microseconds after the origin, of all samples; None without.
        self.first_start = None
        self.last_end = None

    @property
    def count(self):
        """Of successes."""
        return self.response.count

    @property
    def failed(self):
        return sum(self.failures.values())

    @property
    def seconds(self):
        """
        :returns: from the first start to the last end; 0 without samples
        """
        if self.first_start is None:
            return 0.0
        return (self.last_end - self.first_start) / 1000000

    def add(self, sample):
        """
        :param sample: a ``Sample``
        """
        started, ended = sample.started, sample.ended
        self._span(round((started - self.origin) * 1000000),
                   round((ended - self.origin) * 1000000))
        if sample.error is not None:
            self._fail(sample.error)
            return
        self.bytes += sample.size
        self.response.record(ended - started)
        self.processing.record(sample.first_byte - started)
        self.intended.record(ended - sample.intended)

    def _span(self, start, end):
        if self.first_start is None or start < self.first_start:
            self.first_start = start
        if self.last_end is None or end > self.last_end:
            self.last_end = end

    def _fail(self, error):
        error = error[:MAX_CLASS_LENGTH]
        if error not in self.failures and \
                len(self.failures) >= MAX_CLASSES - 1:
            error = OTHER
        self.failures[error] = self.failures.get(error, 0) + 1

    def merge(self, other):
        """
        :param other: a ``Tally`` of other samples; it stays as it is
        """
        for name in _TIMES:
            getattr(self, name).merge(getattr(other, name))
        self.bytes += other.bytes
        for error, count in other.failures.items():
            self.failures[error] = self.failures.get(error, 0) + count
        if other.first_start is not None:
            self._span(other.first_start, other.last_end)

    def to_json(self):
        """
        :returns: a document; equal tallies have equal ones
        """
        return {'bytes': self.bytes,
                'failures': dict(sorted(self.failures.items())),
                'first_start_us': self.first_start,
                'last_end_us': self.last_end,
                **{name: getattr(self, name).to_json() for name in _TIMES}}

    @classmethod
    def from_json(cls, document, place='tally'):
        """
        :param document: parsed JSON, from anyone
        :param place: what errors call it
        :raises ResultError: if it is no tally
        """
        node, made = Node(document, place), cls()
        made.bytes = node.member('bytes').integer()
        made.failures = {
            error: count.integer(1) for error, count in
            node.member('failures').items(
                _MAX_MERGED_CLASSES, MAX_CLASS_LENGTH)}
        for name in ('response', 'processing'):
            setattr(made, name, Histogram.from_json(node.member(name)))
        if node.member('intended').value == node.member('response').value:
            # As in all closed loops: reports come each second.
            made.intended.merge(made.response)
        else:
            made.intended = Histogram.from_json(node.member('intended'))
        counts = {getattr(made, name).count for name in _TIMES}
        if len(counts) > 1:
            raise node.refuse('an object whose %s have the same count'
                              % ', '.join(_TIMES))
        if made.count or made.failures:
            made.first_start = node.member('first_start_us').integer(
                -_MAX_CLOCK, _MAX_CLOCK)
            made.last_end = node.member('last_end_us').integer(
                made.first_start, _MAX_CLOCK)
        return made
