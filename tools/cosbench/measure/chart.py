# SPDX-License-Identifier: Apache-2.0
"""The points of a timeline that grows, for who looks again and again.

A point is one interval, or 2, 4, 8, ... of them, as few as keep to the most
points. What has not changed since the last look is not made again: points
are kept as JSON.
"""

import json

from cosbench.measure.interval import Interval


class Chart:
    """The points of one operation. Mutable.

    :param seconds: of an interval
    :param most: points, at least 2
    """

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        #: Intervals in a point; the point of an interval is number // step.
        self._step = 1
        #: Numbers of intervals.
        self._first: int | None = None
        self._last = 0
        #: point -> ``Interval``.
        self._sums: dict[int, Interval] = {}
        #: point -> JSON.
        self._texts: dict[int, str] = {}

    def add(self, number: int, interval: Interval) -> None:
        """Count what is new in an interval.

        :param interval: what is new in it; it stays as it is
        """
        if self._first is None:
            self._first = self._last = number
        self._first = min(self._first, number)
        self._last = max(self._last, number)
        while len(self._places()) > self._most:
            self._halve()
        place = number // self._step
        sums = self._sums.setdefault(place, Interval())
        sums.merge(interval)
        sums.pack()
        self._texts.pop(place, None)

    def _places(self) -> range:
        if self._first is None:
            return range(0)
        return range(self._first // self._step,
                     self._last // self._step + 1)

    def _halve(self) -> None:
        """Make one point of every two."""
        self._step *= 2
        before = self._sums
        self._sums = {}
        for place, interval in before.items():
            if place // 2 in self._sums:
                self._sums[place // 2].merge(interval)
            else:
                self._sums[place // 2] = interval
        self._texts.clear()

    def texts(self) -> list[str]:
        """Return the points from the first to the last interval with samples.

        :returns: the JSON of each ``Point``
        """
        places = self._places()
        # The ends may yet become longer.
        for place in places[1:-1]:
            if place not in self._texts:
                self._texts[place] = self._text(place)
        return [self._texts.get(place) or self._text(place)
                for place in places]

    def _text(self, place: int) -> str:
        begin = max(place * self._step, self._first or 0)
        end = min((place + 1) * self._step, self._last + 1)
        interval = self._sums.get(place) or Interval()
        return json.dumps(vars(interval.point(
            begin * self._seconds, (end - begin) * self._seconds)))
