# SPDX-License-Identifier: Apache-2.0
"""How many operations took how long, over time: the data of a heat map.

Both ways of a timeline's intervals are put together: to no more columns than
can be drawn, and to bins that are ten a decade.
"""

from bisect import bisect_right
from dataclasses import dataclass

from cosbench.measure.interval import middle_of
from cosbench.measure.timeline import Timeline

#: Microseconds at which bins begin: 1 to an hour, ten a decade.
EDGES = tuple(10 ** (number / 10) for number in range(96))


@dataclass(frozen=True)
class HeatMap:
    """Counts by time and response time; none of both is empty."""

    #: Seconds from the origin to the begin of the first column; of a column.
    start: float
    seconds: float
    #: Milliseconds at which the rows begin, and the last one ends.
    edges: tuple[float, ...]
    #: Of each column the count of each row.
    counts: tuple[tuple[int, ...], ...]

    @property
    def most(self) -> int:
        """The count of the fullest cell."""
        return max(map(max, self.counts))


def heat_map(timeline: Timeline, operation: str, most: int,
             is_intended: bool = False) -> HeatMap | None:
    """Return the heat map of an operation.

    :param most: columns, at least 1
    :param is_intended: whether times are from when operations were due
    :returns: the map; None, if nothing succeeded
    """
    known = {number: interval.due if is_intended else interval
             for each, number, interval in timeline if each == operation
             and interval.count}
    if not known:
        return None
    first, last = min(known), max(known)
    step = -(-(last - first + 1) // most)
    columns: list[list[int]] = [[0] * len(EDGES) for _ in range(
        first, last + 1, step)]
    for number, interval in known.items():
        column = columns[(number - first) // step]
        for slot, count in interval.slots.items():
            column[bisect_right(EDGES, middle_of(slot)) - 1] += count
    used = [place for place in range(len(EDGES))
            if any(column[place] for column in columns)]
    low, high = used[0], used[-1] + 1
    return HeatMap(
        first * timeline.seconds, step * timeline.seconds,
        tuple(edge / 1000 for edge in (*EDGES, 10 ** 9.6)[low:high + 1]),
        tuple(tuple(column[low:high]) for column in columns))
