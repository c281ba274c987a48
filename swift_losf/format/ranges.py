# SPDX-License-Identifier: Apache-2.0
"""
Ranges of bytes of a file, none of which touches another.
"""

import bisect


class Ranges:
    """
    :param ranges: (start, end) each, end behind the last byte
    """

    def __init__(self, ranges=()):
        self._starts = []
        self._ends = []
        for start, end in ranges:
            self.add(start, end)

    def __iter__(self):
        return iter(list(zip(self._starts, self._ends)))

    def __len__(self):
        return len(self._starts)

    def has(self, start, end):
        """:returns: whether all of a range is in these"""
        at = bisect.bisect_right(self._starts, start) - 1
        return at >= 0 and end <= self._ends[at]

    def add(self, start, end):
        """Add a range; those that it overlaps or touches become one."""
        first = bisect.bisect_left(self._ends, start)
        last = bisect.bisect_right(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._replace(first, last, [(start, end)])

    def cut(self, start, end):
        """Take a range out."""
        first = bisect.bisect_right(self._ends, start)
        last = bisect.bisect_left(self._starts, end)
        if first < last:
            pieces = ((self._starts[first], start),
                      (end, self._ends[last - 1]))
            self._replace(first, last, [
                piece for piece in pieces if piece[0] < piece[1]])

    def _replace(self, first, last, pieces):
        self._starts[first:last] = [start for start, _ in pieces]
        self._ends[first:last] = [end for _, end in pieces]
