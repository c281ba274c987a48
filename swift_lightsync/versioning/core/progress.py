# SPDX-License-Identifier: Apache-2.0
"""How far a task has come with the rows of a database.

1. All rows up to the *point* are done, and single rows beyond it. The point is
   stored; the rest is only remembered, and a successor finds it out again.
   Each row is looked at once; what is known of it says when it is due.
2. A row is due as soon as the task's delay has passed, at the replica whose
   turn it is; each further replica takes it over ``handover_delay`` later, if
   it is not done by then.
3. A row that fails is held, and tried again after longer and longer delays.
"""

import math
from dataclasses import dataclass
from heapq import nsmallest

from swift_lightsync.common.backoff import delay_after


@dataclass(frozen=True)
class Lag:
    """The work that a task has not done.

    :param rows: how many rows
    :param oldest: when the oldest was made, Unix time, or None
    """
    rows: int
    oldest: float | None


@dataclass
class _Waiting:
    """A row that is not done.

    :param made: when its version was made, Unix time
    :param until: when it is due, Unix time; None: not decided yet
    :param turns: how many others may act on it before this replica's server
    :param fresh: whether it has never been tried
    """
    made: float
    until: float | None = None
    turns: int = 0
    failures: int = 0
    under_way: bool = False
    fresh: bool = False

    def is_due(self, now: float) -> bool:
        """Check whether it is to be tried: neither held nor under way."""
        return self.until is not None and self.until <= now and \
            not self.under_way


class Progress:
    """The rows beyond the point that are not done. A database never gives a
    ROWID again, so no row comes below one that was looked at.
    """

    def __init__(self, point: int) -> None:
        #: The ROWID of the last row that was looked at.
        self.end = point
        # By ROWID, in their order.
        self._waiting: dict[int, _Waiting] = {}

    def look(self, row: int, made: float, wanted: bool = True) -> None:
        """Record a row; each comes after those before it.

        :param made: when it was made, Unix time
        :param wanted: whether there is something to do
        """
        if row > self.end and wanted:
            self._waiting[row] = _Waiting(made)
        self.end = max(self.end, row)

    def schedule(self, row: int, turns: int, until: float,
                 fresh: bool = False) -> None:
        """Decide when a row is due, unless that is decided already."""
        found = self._waiting.get(row)
        if found is not None and found.until is None:
            found.turns, found.until, found.fresh = turns, until, fresh

    def due(self, now: float, most: int) -> list[int]:
        """Return the first rows that are due, those of the fewest turns first.
        """
        found = nsmallest(most, (
            (waiting.turns, row) for row, waiting in self._waiting.items()
            if waiting.is_due(now)))
        return [row for _, row in found]

    def start(self, row: int) -> bool:
        """Record that a row is being tried; return whether it is fresh."""
        found = self._waiting.get(row)
        if found is None:
            return False
        fresh, found.fresh, found.under_way = found.fresh, False, True
        return fresh

    def made(self, row: int) -> float:
        """Return when a row was made, Unix time; 0 if it has gone."""
        found = self._waiting.get(row)
        return found.made if found else 0.0

    def stop(self, row: int) -> None:
        """Record that a row is not being tried any more."""
        found = self._waiting.get(row)
        if found is not None:
            found.under_way = False

    def put_back(self, row: int, until: float | None,
                 fresh: bool) -> None:
        """Record that a row was not tried after all.

        :param until: when it is due again; None: as it was before
        :param fresh: whether it was, before ``start``
        """
        found = self._waiting.get(row)
        if found is not None:
            found.fresh = fresh
            found.until = found.until if until is None else until

    @property
    def due_at(self) -> float:
        """When the next row is due, Unix time; infinity: never."""
        return min((waiting.until or 0 for waiting in self._waiting.values()
                    if not waiting.under_way), default=math.inf)

    def done(self, row: int) -> None:
        """Record that a row is done, or has gone: was written anew."""
        self._waiting.pop(row, None)

    def hold(self, row: int, now: float, least: float,
             most: float) -> None:
        """Leave a row alone after a failure.

        :param least: seconds until it is due again, doubled each time
        :param most: what they end at
        """
        found = self._waiting.get(row)
        if found:
            found.failures += 1
            found.until = now + delay_after(found.failures, least, most)

    @property
    def point(self) -> int:
        """The ROWID up to which all rows are done."""
        return next(iter(self._waiting), self.end + 1) - 1

    @property
    def waiting(self) -> int:
        """How many rows are not done."""
        return len(self._waiting)

    @property
    def lag(self) -> Lag:
        """The rows that were looked at and are not done."""
        made = [waiting.made for waiting in self._waiting.values()]
        return Lag(len(made), min(made, default=None))


def turn(name_hash: int, ordinal: int | None, replicas: int) -> int:
    """
    Return how many other replicas' servers may act on a row before this one.

    :param name_hash: a number that depends on the row's name
    :param ordinal: the replica's place in the ring; None if it has none
    :returns: 0 for the first
    """
    if ordinal is None:
        return replicas
    return (name_hash + ordinal) % replicas
