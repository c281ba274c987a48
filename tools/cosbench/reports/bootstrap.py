# SPDX-License-Identifier: Apache-2.0
"""How sure a ratio of two runs is, from how each varied in its time.

Batch means, resampled, as RESULT.md says: what lasts for seconds stays in one
batch. How runs differ, as by the state of disks and caches, it does not tell.
"""

import random
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from cosbench.measure.interval import Interval, limits_of

BATCHES, DRAWS = 30, 1000
#: Fewer batches of a run tell nothing.
LEAST_BATCHES = 8
#: The same runs have the same interval.
_SEED = 'cosbench compare'


@dataclass(frozen=True)
class Estimate:
    """A ratio; low and high are None where there is too little for them."""

    ratio: float | None
    low: float | None = None
    high: float | None = None

    @property
    def differs(self):
        """Whether 1 is outside the confidence interval."""
        return self.low is not None and self.high is not None and \
            not self.low <= 1 <= self.high


class Side:
    """One operation of one run."""

    def __init__(self, intervals):
        """Put the intervals together to batches.

        :param intervals: ``Interval`` of the run time, in their order
        """
        self.batches = _batched(intervals)
        self.slots = sorted({slot for batch in self.batches
                             for slot in batch.slots})
        place = {slot: number for number, slot in enumerate(self.slots)}
        self._sparse = [[(place[slot], count)
                         for slot, count in batch.slots.items()]
                        for batch in self.batches]

    def figures(self, chosen, percents):
        """Return the figures of some batches.

        :param chosen: numbers of batches
        :returns: (throughput in operations an interval, mean, percentiles)
            of the batches, as a list; each 0 without successes
        """
        counts = [0] * len(self.slots)
        total = intervals = time = 0
        for number in chosen:
            batch = self.batches[number]
            total += batch.count
            time += batch.total
            intervals += batch.intervals
            for place, count in self._sparse[number]:
                counts[place] += count
        if not total:
            return [0.0] * (2 + len(percents))
        seen = list(accumulate(counts))
        return [total / intervals, time / total] + [
            self._percentile(seen, counts, total * percent / 100)
            for percent in percents]

    def _percentile(self, seen, counts, wanted):
        """Within a slot by its share, so that ratios are not in steps."""
        place = bisect_left(seen, wanted)
        low, high = limits_of(self.slots[place])
        inside = (wanted - (seen[place] - counts[place])) / counts[place]
        return low + (high - low + 1) * inside


class _Batch(Interval):

    __slots__ = ('intervals',)

    def __init__(self):
        super().__init__()
        self.intervals = 0


def _batched(intervals):
    number = min(BATCHES, len(intervals))
    batches = [_Batch() for _ in range(number)]
    for place, interval in enumerate(intervals):
        batch = batches[place * number // len(intervals)]
        batch.merge(interval)
        batch.intervals += 1
    return batches


def estimates(ratios, one, other, percents, confidence):
    """Return how sure each ratio of two runs is.

    :param ratios: the measured ratios of throughput, mean, percentiles;
        None where there is none
    :param one: ``Side`` of what the ratios are to
    :param other: ``Side`` of what is compared
    :param percents: which percentiles
    :param confidence: of the intervals, 0 to 1
    :returns: a list of as many ``Estimate``
    """
    if min(len(one.batches), len(other.batches)) < LEAST_BATCHES:
        return [Estimate(ratio) for ratio in ratios]
    whole = [_ratio(*pair) for pair in zip(
        one.figures(range(len(one.batches)), percents),
        other.figures(range(len(other.batches)), percents))]
    rng = random.Random(_SEED)
    draws = [_draw(rng, one, other, percents) for _ in range(DRAWS)]
    found = []
    for ratio, base, drawn in zip(ratios, whole, zip(*draws)):
        known = sorted(each for each in drawn if each is not None)
        # Where a draw has no ratio, the operation is too rare to tell.
        if ratio is None or not base or len(known) < DRAWS:
            found.append(Estimate(ratio))
            continue
        cut = int((1 - confidence) / 2 * DRAWS)
        found.append(Estimate(ratio, ratio * known[cut] / base,
                              ratio * known[-1 - cut] / base))
    return found


def _draw(rng, one, other, percents):
    return [_ratio(*pair) for pair in zip(*(
        side.figures(rng.choices(range(len(side.batches)),
                                 k=len(side.batches)), percents)
        for side in (one, other)))]


def _ratio(base, value):
    return value / base if base else None
