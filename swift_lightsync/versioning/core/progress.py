# SPDX-License-Identifier: Apache-2.0
"""How far a task has come with the rows of a database.

1. All rows up to the *point* are done, and single rows beyond it. The point is
   stored; the rest is only remembered, and a successor finds it out again.
2. A row is due as soon as the task's delay has passed, at the replica whose
   turn it is; each further replica takes it over ``handover_delay`` later, if
   it is not done by then.
3. A row that fails is held, and tried again after longer and longer delays.
"""

import math
from dataclasses import dataclass
from typing import Dict, Optional, Sequence, Tuple

from swift_lightsync.common.backoff import delay_after


@dataclass(frozen=True)
class Lag:
    """The work that a task has not done.

    :param rows: how many rows
    :param oldest: when the oldest was made, Unix time, or None
    """
    rows: int
    oldest: Optional[float]


@dataclass
class _Seen:
    """A row beyond the point.

    :param made: when its version was made, Unix time
    :param until: when it is due, Unix time; None: not decided yet
    :param fresh: whether it has never been tried
    """
    made: float
    until: Optional[float] = None
    failures: int = 0
    done: bool = False
    under_way: bool = False
    fresh: bool = False


class Progress:
    """The known rows beyond the point, the ROWID up to which all are done."""

    def __init__(self, point: int) -> None:
        self.point = point
        self._rows: Dict[int, _Seen] = {}

    def look(self, after: int, page: Sequence[Tuple[int, float]],
             complete: bool) -> None:
        """Record the rows that a database has now.

        :param after: a ROWID
        :param page: (ROWID, when it was made) of the rows that follow it
        :param complete: whether no others follow
        """
        present = {row for row, _ in page}
        end = page[-1][0] if page else after
        # A row that was written anew has another ROWID.
        for row in [row for row in self._rows if row not in present and
                    row > after and (complete or row <= end)]:
            del self._rows[row]
        for row, made in page:
            if row > self.point:
                self._rows.setdefault(row, _Seen(made))

    def schedule(self, row: int, until: float, fresh: bool = False) -> None:
        """Decide when a row is due, unless that is decided already."""
        found = self._rows.get(row)
        if found is not None and found.until is None:
            found.until, found.fresh = until, fresh

    def is_due(self, row: int, now: float) -> bool:
        """Check whether a row is to be tried: not done, held or under way."""
        found = self._rows.get(row)
        return found is not None and found.until is not None and \
            found.until <= now and not (found.done or found.under_way)

    def start(self, row: int) -> bool:
        """Record that a row is being tried; return whether it is fresh."""
        found = self._rows.get(row)
        if found is None:
            return False
        fresh, found.fresh, found.under_way = found.fresh, False, True
        return fresh

    def made(self, row: int) -> float:
        """Return when a row was made, Unix time; 0 if it has gone."""
        found = self._rows.get(row)
        return found.made if found else 0.0

    def stop(self, row: int) -> None:
        """Record that a row is not being tried any more."""
        found = self._rows.get(row)
        if found is not None:
            found.under_way = False

    def put_back(self, row: int, until: Optional[float],
                 fresh: bool) -> None:
        """Record that a row was not tried after all.

        :param until: when it is due again; None: as it was before
        :param fresh: whether it was, before ``start``
        """
        found = self._rows.get(row)
        if found is not None:
            found.fresh = fresh
            found.until = found.until if until is None else until

    @property
    def due_at(self) -> float:
        """When the next row is due, Unix time; infinity: never."""
        return min((seen.until or 0 for seen in self._rows.values()
                    if not (seen.done or seen.under_way)), default=math.inf)

    def done(self, row: int) -> None:
        if row in self._rows:
            self._rows[row].done = True

    def hold(self, row: int, now: float, least: float,
             most: float) -> None:
        """Leave a row alone after a failure.

        :param least: seconds until it is due again, doubled each time
        :param most: what they end at
        """
        found = self._rows.get(row)
        if found:
            found.failures += 1
            found.until = now + delay_after(found.failures, least, most)

    def advance(self) -> bool:
        """Move the point past the rows that are done; return whether it moved.
        """
        before = self.point
        for row in sorted(self._rows):
            if not self._rows[row].done:
                break
            self.point = row
            del self._rows[row]
        return self.point != before

    @property
    def is_begun(self) -> bool:
        """Whether rows beyond the point have been seen."""
        return bool(self._rows)

    @property
    def end(self) -> int:
        """The ROWID of the last row that was seen."""
        return max(self._rows, default=self.point)

    @property
    def lag(self) -> Lag:
        """The rows that were seen and are not done."""
        waiting = [seen.made for seen in self._rows.values() if not seen.done]
        return Lag(len(waiting), min(waiting, default=None))


def turn(name_hash: int, ordinal: Optional[int], replicas: int) -> int:
    """
    Return how many other replicas' servers may act on a row before this one.

    :param name_hash: a number that depends on the row's name
    :param ordinal: the replica's place in the ring; None if it has none
    :returns: 0 for the first
    """
    if ordinal is None:
        return replicas
    return (name_hash + ordinal) % replicas
