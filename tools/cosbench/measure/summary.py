# SPDX-License-Identifier: Apache-2.0
"""What a report says of an operation: its tally, over its time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

from cosbench.measure.histogram import Histogram
from cosbench.measure.tally import Tally

PERCENTS = (50, 60, 80, 90, 95, 99, 99.9, 100)


@dataclass(frozen=True)
class Latency:
    """Response times in milliseconds; percentiles as of ``Histogram``."""

    average: float
    p50: float
    p60: float
    p80: float
    p90: float
    p95: float
    p99: float
    p999: float
    p100: float

    @classmethod
    def of(cls, histograms: Sequence[Histogram]) -> Optional['Latency']:
        """Sum up the times of histograms.

        :param histograms: of which some have values
        """
        histogram = _together([each for each in histograms if each.count])
        mean = histogram.mean
        if mean is None:
            return None
        return cls(mean / 1000, *(
            (value or 0) / 1000
            for value in histogram.percentiles(PERCENTS)))


def _together(histograms: Sequence[Histogram]) -> Histogram:
    if len(histograms) == 1:
        return histograms[0]
    found = Histogram()
    for each in histograms:
        found.merge(each)
    return found


@dataclass(frozen=True)
class Metrics:
    """The figures of one operation of a work.

    Times are in milliseconds; None: there was nothing.
    """

    #: Successes, and the bytes that they moved.
    op_count: int
    byte_count: int
    failures: int
    workers: int
    #: What the rates are over.
    seconds: float
    #: Operations a second.
    throughput: float
    #: Bytes a second.
    bandwidth: float
    #: 0 to 1.
    success_ratio: float | None
    avg_res: float | None
    avg_proc: float | None
    p50: float | None
    p60: float | None
    p80: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    p999: float | None
    p100: float | None
    #: From when each operation was due.
    intended: Latency | None

    @classmethod
    def of(cls, tally: Tally, workers: int,
           seconds: float | None = None) -> 'Metrics':
        """Return the figures of a tally.

        :param workers: of the work
        :param seconds: how long it was measured, which is its run time;
            None or 0, if its end was no time: from its first start to its
            last end
        """
        return cls.of_all([tally], workers, seconds)

    @classmethod
    def of_all(cls, tallies: Sequence[Tally], workers: int,
               seconds: float | None = None) -> 'Metrics':
        """Return the figures of the sum of tallies, without making the sum.

        Only those times are put together that percentiles are of.
        """
        count = sum(each.count for each in tallies)
        moved = sum(each.bytes for each in tallies)
        failed = sum(each.failed for each in tallies)
        seconds = seconds or _span(tallies)
        response = Latency.of([each.response for each in tallies])
        # None is due after it starts: with the same sum they are the same.
        late = any(each.intended.total != each.response.total
                   for each in tallies)
        processing = sum(each.processing.total for each in tallies)
        return cls(
            op_count=count, byte_count=moved, failures=failed,
            workers=workers, seconds=seconds,
            throughput=count / seconds if seconds else 0.0,
            bandwidth=moved / seconds if seconds else 0.0,
            success_ratio=count / (count + failed) if count + failed
            else None,
            avg_res=response.average if response else None,
            avg_proc=processing / count / 1000 if count else None,
            **{name: getattr(response, name, None) for name in (
                'p50', 'p60', 'p80', 'p90', 'p95', 'p99', 'p999', 'p100')},
            intended=Latency.of([each.intended for each in tallies])
            if late else response)


def _span(tallies: Sequence[Tally]) -> float:
    """Return seconds from the first start to the last end; 0 without any."""
    known: list[tuple[int, int]] = [
        (each.first_start, each.last_end) for each in tallies
        if each.first_start is not None and each.last_end is not None]
    if not known:
        return 0.0
    return (max(end for _, end in known)
            - min(start for start, _ in known)) / 1000000
