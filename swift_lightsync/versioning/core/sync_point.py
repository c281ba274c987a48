# SPDX-License-Identifier: Apache-2.0
"""
How far a task has come with the rows of a database: all rows up to a point
are done, and single rows beyond it. The point is stored; the rest is only
remembered, and asked for again by who comes after.
"""

import math
from dataclasses import dataclass
from typing import Optional


@dataclass
class _Seen:
    """
    A row beyond the point.

    :param made: when its version was, Unix time
    :param until: when it is due, Unix time; None: not decided yet
    :param subject: what it is about, or None
    """
    made: float
    until: Optional[float] = None
    failures: int = 0
    done: bool = False
    subject: Optional[str] = None


class Progress:
    """:param point: the ROWID up to which all rows are done"""

    def __init__(self, point):
        self.point = point
        self._rows = {}
        # By subject: the last row about it.
        self._last = {}

    def look(self, after, page, complete):
        """
        Note what is there now.

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

    def _forget(self, row):
        subject = self._rows.pop(row).subject
        if self._last.get(subject) == row:
            del self._last[subject]

    def is_last(self, row, subject):
        """
        :param subject: what the row is about; None: nothing else is
        :returns: False if a later row about it has been seen: this one is
            done then
        """
        if subject is None or row not in self._rows:
            return True
        self._rows[row].subject = subject
        self._last[subject] = max(row, self._last.get(subject, row))
        if self._last[subject] == row:
            return True
        self.done(row)
        return False

    def is_new(self, row):
        """Whether it has to be decided when a row is due."""
        found = self._rows.get(row)
        return found is not None and not found.done and found.until is None

    def schedule(self, row, until):
        self._rows[row].until = until

    def is_due(self, row, now):
        """Whether a row is to be tried: neither done nor held."""
        found = self._rows.get(row)
        return found is not None and not found.done and \
            found.until is not None and found.until <= now

    @property
    def due_at(self):
        """When there is something to do, Unix time; infinity: never"""
        return min((seen.until or 0 for seen in self._rows.values()
                    if not seen.done), default=math.inf)

    def done(self, row):
        if row in self._rows:
            self._rows[row].done = True

    def hold(self, row, now, least, most):
        """
        A row that could not be done.

        :param least: seconds until it is due again, doubled each time
        :param most: what they end at
        """
        found = self._rows.get(row)
        if found:
            found.until = now + min(most, least * 2 ** min(found.failures, 60))
            found.failures += 1

    def advance(self):
        """:returns: whether the point could be moved"""
        before = self.point
        for row in sorted(self._rows):
            if not self._rows[row].done:
                break
            self.point = row
            self._forget(row)
        return self.point != before

    @property
    def end(self):
        """:returns: the ROWID of the last row that was seen"""
        return max(self._rows, default=self.point)

    @property
    def waiting(self):
        """:returns: the ROWIDs of the rows that were seen and are not done"""
        return [row for row, seen in self._rows.items() if not seen.done]

    @property
    def oldest(self):
        """When the oldest of these was made, Unix time; None: there is none"""
        return min((seen.made for seen in self._rows.values()
                    if not seen.done), default=None)


class Backoff:
    """
    How long one who did not answer is left alone.

    :param least: seconds after the first failure, twice as many each time
    :param most: what these end at
    :param random: gives a number from 0 to 1: two that fail at once shall
        not come again at once
    """

    def __init__(self, least, most, random):
        self.least = least
        self.most = most
        self.failures = 0
        self.until = 0
        self._random = random

    def may_try(self, now):
        return now >= self.until

    def failed(self, now):
        delay = min(self.most, self.least * 2 ** min(self.failures, 60))
        self.failures += 1
        self.until = now + delay * (0.5 + self._random())

    def succeeded(self):
        self.failures = 0
        self.until = 0


def turn(name_hash, ordinal, replicas):
    """
    Which replica's server is to act on a row, and which after it.

    :param name_hash: a number that depends on the row's name
    :param ordinal: of the replica; None for one that is at none's place
    :returns: 0 for the first
    """
    if ordinal is None:
        return replicas
    return (name_hash + ordinal) % replicas
