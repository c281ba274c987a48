# SPDX-License-Identifier: Apache-2.0
"""Sets of bytes of a file, as ranges of which none touches another."""

import bisect
from typing import Iterable, Iterator, List, Tuple


class Ranges:
    """
    A set of bytes.

    :param ranges: (start, end) each; end is behind the last byte
    """

    def __init__(self, ranges: Iterable[Tuple[int, int]] = ()) -> None:
        self._starts: List[int] = []
        self._ends: List[int] = []
        for start, end in ranges:
            self.add(start, end)

    def __iter__(self) -> Iterator[Tuple[int, int]]:
        return iter(list(zip(self._starts, self._ends)))

    def __len__(self) -> int:
        return len(self._starts)

    def has(self, start: int, end: int) -> bool:
        """Return whether the set has all bytes of a range."""
        at = bisect.bisect_right(self._starts, start) - 1
        return at >= 0 and end <= self._ends[at]

    def add(self, start: int, end: int) -> None:
        """Add a range; those that it overlaps or touches become one."""
        first = bisect.bisect_left(self._ends, start)
        last = bisect.bisect_right(self._starts, end)
        if first < last:
            start = min(start, self._starts[first])
            end = max(end, self._ends[last - 1])
        self._replace(first, last, [(start, end)])

    def cut(self, start: int, end: int) -> None:
        """Take a range out."""
        first = bisect.bisect_right(self._ends, start)
        last = bisect.bisect_left(self._starts, end)
        if first < last:
            pieces = ((self._starts[first], start),
                      (end, self._ends[last - 1]))
            self._replace(first, last, [
                piece for piece in pieces if piece[0] < piece[1]])

    def _replace(self, first: int, last: int,
                 pieces: List[Tuple[int, int]]) -> None:
        self._starts[first:last] = [start for start, _ in pieces]
        self._ends[first:last] = [end for _, end in pieces]
