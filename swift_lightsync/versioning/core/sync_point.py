# SPDX-License-Identifier: Apache-2.0
"""
How far a task has come with the rows of a database, and its next steps.

1. All rows up to the *point* are done, and single rows beyond it. The point is
   stored; the rest is only remembered, and a successor finds it out again.
2. A row is due as soon as the task's delay has passed, at the replica whose
   turn it is; each further replica takes it over ``handover_delay`` later, if
   it is not done by then.
3. A row that fails is held, and tried again after longer and longer delays.
4. In one turn each row is tried once, so that no row holds up another.
"""

import math
from dataclasses import dataclass
from heapq import nsmallest
from typing import Any, Callable, Iterator, Optional, Sequence
from zlib import crc32

from swift_lightsync.common.backoff import delay_after

#: Rows that are read at once.
PAGE = 1000
#: Rows beyond the point of which some are held: so many are looked at.
WINDOW = 20000
#: Batches of one database, after which the others have their turn.
TURN = 10


@dataclass(frozen=True)
class Lag:
    """
    The work that a task has not done.

    :param rows: how many rows
    :param oldest: when the oldest was made, Unix time, or None
    """
    rows: int
    oldest: Optional[float]


@dataclass
class _Seen:
    """
    A row beyond the point.

    :param made: when its version was made, Unix time
    :param until: when it is due, Unix time; None: not decided yet
    :param subject: what it is about, or None
    """
    made: float
    until: Optional[float] = None
    failures: int = 0
    done: bool = False
    subject: Optional[str] = None


class Progress:
    """The known rows beyond the point, the ROWID up to which all are done."""

    def __init__(self, point: int) -> None:
        self.point = point
        self._rows: dict[int, _Seen] = {}
        # By subject: the last row about it.
        self._last: dict[str, int] = {}

    def look(self, after: int, page: Sequence[tuple[int, float]],
             complete: bool) -> None:
        """
        Record the rows that a database has now.

        :param after: a ROWID
        :param page: (ROWID, when it was made) of the rows that follow it
        :param complete: whether no others follow
        """
        present = {row for row, _ in page}
        end = page[-1][0] if page else after
        # A row that was written anew has another ROWID.
        for row in [row for row in self._rows if row not in present and
                    row > after and (complete or row <= end)]:
            self._forget(row)
        for row, made in page:
            if row > self.point:
                self._rows.setdefault(row, _Seen(made))

    def _forget(self, row: int) -> None:
        subject = self._rows.pop(row).subject
        if subject is not None and self._last.get(subject) == row:
            del self._last[subject]

    def is_last(self, row: int, subject: Optional[str]) -> bool:
        """
        Check that no later row about the same subject has been seen.

        :param subject: what the row is about; None: no other row is about it
        :returns: False if one has been seen; then this row counts as done
        """
        if subject is None or row not in self._rows:
            return True
        self._rows[row].subject = subject
        self._last[subject] = max(row, self._last.get(subject, row))
        if self._last[subject] == row:
            return True
        self.done(row)
        return False

    def schedule(self, row: int, until: float) -> None:
        """Decide when a row is due, unless that is decided already."""
        found = self._rows.get(row)
        if found is not None and found.until is None:
            found.until = until

    def is_due(self, row: int, now: float) -> bool:
        """Check whether a row is to be tried: neither done nor held."""
        found = self._rows.get(row)
        return found is not None and not found.done and \
            found.until is not None and found.until <= now

    @property
    def due_at(self) -> float:
        """When the next row is due, Unix time; infinity: never."""
        return min((seen.until or 0 for seen in self._rows.values()
                    if not seen.done), default=math.inf)

    def done(self, row: int) -> None:
        if row in self._rows:
            self._rows[row].done = True

    def hold(self, row: int, now: float, least: float,
             most: float) -> None:
        """
        Leave a row alone after a failure.

        :param least: seconds until it is due again, doubled each time
        :param most: what they end at
        """
        found = self._rows.get(row)
        if found:
            found.failures += 1
            found.until = now + delay_after(found.failures, least, most)

    def advance(self) -> bool:
        """
        Move the point past the rows that are done; return whether it moved.
        """
        before = self.point
        for row in sorted(self._rows):
            if not self._rows[row].done:
                break
            self.point = row
            self._forget(row)
        return self.point != before

    @property
    def end(self) -> int:
        """The ROWID of the last row that was seen."""
        return max(self._rows, default=self.point)

    @property
    def lag(self) -> Lag:
        """The rows that were seen and are not done."""
        waiting = [seen.made for seen in self._rows.values() if not seen.done]
        return Lag(len(waiting), min(waiting, default=None))


class Follower:
    """
    Takes a task through the rows of a database.

    :param task: has ``name``, for the sync point; ``wants``, a function that
        tells whether an item concerns the task, or None: all do;
        ``by_object``, whether the last item about an object stands for all
        before; ``delay``, the seconds after which an item is due; ``backoff``,
        before whose ``until`` nothing can be done; and ``run``, which works on
        some items of one database and returns pairs of a ROWID and whether it
        is done
    :param database: has ``place``, ``items``, ``point`` and ``save_point``
    :param options: has ``batch_size``, ``handover_delay``, ``retry_delay`` and
        ``max_retry_delay``
    :param now: returns the wall time in seconds
    """

    def __init__(self, task: Any, database: Any, options: Any,
                 now: Callable[[], float]) -> None:
        self.progress = Progress(database.point(task.name))
        self._task = task
        self._database = database
        self._options = options
        self._now = now
        # What the files were when all was looked at, and when it was only
        # noted; None: never.
        self._looked_at: Any = None
        self._noted: Any = None

    def work(self, state: Any) -> bool:
        """
        Do the work that is due, but at most one turn's worth.

        :param state: a value that changes whenever anything is written
        :returns: whether there is more to do
        """
        now = self._now()
        if state is not None and state == self._looked_at and \
                now < self.progress.due_at:
            return False
        # Unless all of it is looked at, it is to be looked at again.
        self._looked_at = None
        if now < self._task.backoff.until:
            self._note(state)
            return False
        size = self._options.batch_size
        due: list[Any] = []
        tried: set[int] = set()
        for _ in range(TURN):
            due = due or self._due(tried)
            batch, due = due[:size], due[size:]
            tried.update(item.rowid for item in batch)
            self._run(batch)
            if self._now() < self._task.backoff.until:
                return False
            if len(batch) < size:
                # What came meanwhile has changed the state.
                self._looked_at = state
                return False
        return True

    def _note(self, state: Any) -> None:
        """
        Look at new rows without working on them, so that the lag is known.
        """
        if state is None or state != self._noted:
            for _ in self._rows(self.progress.end):
                pass
            self._noted = state

    def _run(self, items: Sequence[Any]) -> None:
        tried = self._task.run(self._database, items) if items else ()
        for rowid, done in tried:
            if done:
                self.progress.done(rowid)
            else:
                self.progress.hold(
                    rowid, self._now(), self._options.retry_delay,
                    self._options.max_retry_delay)
        if self.progress.advance():
            self._database.save_point(self._task.name, self.progress.point)

    def _due(self, tried: set[int]) -> list[Any]:
        """
        Return the items that are due, as many as may go in one turn.

        :param tried: ROWIDs of rows that are not tried again now
        :returns: a list; items whose turn is this replica's come first
        """
        now = self._now()
        found = nsmallest(TURN * self._options.batch_size, (
            each for each in self._scheduled(now)
            if each[1] not in tried and self.progress.is_due(each[1], now)),
            key=lambda each: each[:2])
        return [item for _, _, item in found]

    def _scheduled(self, now: float) -> Iterator[tuple[int, int, Any]]:
        """Yield (turn, ROWID, item) of every row that may be due."""
        ordinal, replicas = self._database.place
        for rowid, item in self._rows(self.progress.point):
            turns = turn(crc32(item.row.name.encode('utf8')), ordinal,
                         replicas)
            self.progress.schedule(rowid, now + self._task.delay +
                                   self._options.handover_delay * turns)
            yield turns, rowid, item

    def _rows(self, after: int) -> Iterator[tuple[int, Any]]:
        """Look at the rows after a ROWID, and yield what may be due."""
        task, progress = self._task, self.progress
        end = progress.point + WINDOW
        while after < end:
            page = self._database.items(after, PAGE)
            progress.look(after, [row[:2] for row in page], len(page) < PAGE)
            for after, _, item in page:
                if item is None or task.wants and not task.wants(item):
                    progress.done(after)
                elif not task.by_object or \
                        progress.is_last(after, item.entry.object):
                    yield after, item
            if len(page) < PAGE:
                break


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
