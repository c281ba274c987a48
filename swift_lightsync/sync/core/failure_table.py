# SPDX-License-Identifier: Apache-2.0
"""Failed Neighbour Handling: which nodes and devices to skip, and until when.

LightSync §5.4.1, Table 2, Fig. 22. A row belongs to the node or the device
that failed to answer: PROTOCOL.md, "Failed neighbours", says which of them an
exception is charged to.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from swift_lightsync.common.address import PlaceTuple as Key

#: Exceptions after which a key counts as failed (the paper's ESL).
ERROR_SUPPRESSION_LIMIT = 10
#: Seconds for which it is then skipped (the paper's ESI).
ERROR_SUPPRESSION_INTERVAL = 60.0
#: Seconds for which a report of who cannot reach whom holds. It stops nothing,
#: and has to last from one pass to the next.
REPORT_INTERVAL = 3600.0
#: Most rows of a table; beyond that the oldest are forgotten.
MAX_ROWS = 4096
#: Most hints, and most reports: other nodes make us keep them.
MAX_HINTS = 256

#: Ends the name of a device in the keys of what is pushed. No device has a
#: slash in its name.
PUSH = '/push'

_Value = TypeVar('_Value')
_Entry = TypeVar('_Entry')


@dataclass(frozen=True)
class Row:
    """What is remembered of the failures of one key.

    :param n_exception: exceptions since the last contact, or since the last
        suppression ended
    :param t_exception: the time of the last one, seconds
    :param waited: whether one of them was a time-out
    """
    n_exception: int
    t_exception: float
    waited: bool = False


NO_EXCEPTION = Row(0, float('-inf'))


class FailureTable:
    """The exceptions that one node has met with the others, and which of those
    have come back.

    All times are seconds of one clock, which the caller reads.

    :param limit: the number of exceptions at which a key has failed
    :param interval: how long it is then suppressed, and how long anything is
        remembered at all, in seconds
    """

    def __init__(self, limit: int = ERROR_SUPPRESSION_LIMIT,
                 interval: float = ERROR_SUPPRESSION_INTERVAL) -> None:
        self.limit = limit
        self.interval = interval
        self.rows: dict[Key, Row] = {}
        #: When there was a sign that a key may be about to fail.
        self.hints: dict[Key, float] = {}
        #: When a key came back.
        self.rejoined: dict[Key, float] = {}
        #: When a reporter, the first key, said that the second has failed.
        self.reports: dict[tuple[Key, Key], float] = {}

    def copy(self) -> 'FailureTable':
        """Return a separate table with the same content."""
        copied = FailureTable(self.limit, self.interval)
        copied.rows, copied.hints = dict(self.rows), dict(self.hints)
        copied.rejoined = dict(self.rejoined)
        copied.reports = dict(self.reports)
        return copied

    def _is_past(self, then: float, now: float,
                 interval: float | None = None) -> bool:
        # A time far ahead was taken from a clock that was wrong.
        return abs(now - then) >= (interval or self.interval)

    def row(self, key: Key, now: float) -> Row:
        """Return the row of a key: without exceptions once ESI has passed."""
        row = self.rows.get(key, NO_EXCEPTION)
        return NO_EXCEPTION if self._is_past(row.t_exception, now) else row

    def has_failed(self, key: Key, now: float) -> bool:
        """Return whether to skip a key at this time."""
        return (key in self.rows
                and self.row(key, now).n_exception >= self.limit)

    def refusing(self, now: float) -> set[Key]:
        """Return the keys that have failed by refusals only."""
        return {key for key, row in self.rows.items()
                if not row.waited and self.has_failed(key, now)}

    def retry(self, key: Key, now: float) -> None:
        """Let the next exception decide about a key that refused."""
        if key in self.refusing(now):
            self.rows[key] = replace(
                self.row(key, now), n_exception=self.limit - 1)

    def is_hinted(self, key: Key, now: float) -> bool:
        """Return whether the next time-out makes a key fail."""
        return key in self.hints and not self._is_past(self.hints[key], now)

    def record(self, key: Key, now: float, weight: int = 1) -> bool:
        """Note an exception.

        :param key: what failed to answer
        :param now: the time, seconds
        :param weight: how many exceptions this one counts for: 1 if it cost
            nothing, as a refusal; more for a time-out
        :returns: True if this exception makes the key fail
        """
        self.forget(now)
        row, waited = self.row(key, now), weight > 1
        count = row.n_exception + weight
        if waited and self.is_hinted(key, now):
            count = max(count, self.limit)
        self.rows[key] = Row(count, now, row.waited or waited)
        return row.n_exception < self.limit <= count

    def contact(self, key: Key, now: float) -> bool:
        """Note that a key answered; if it had failed, it is rejoining.

        What was pushed to it meanwhile has failed for the same reason.

        If it timed out before, the next time-out makes it fail: a neighbour
        that answers one message in two must not cost a time-out for each.

        :returns: True if the key was in the table
        """
        row = self.rows.pop(key, None)
        if row:
            for pushes in [each for each in self.rows
                           if _is_push_to(each, key)]:
                del self.rows[pushes]
        if row and row.waited:
            self.hints[key] = max(row.t_exception, self.hints.get(
                key, row.t_exception))
        if row and row.n_exception >= self.limit:
            self.rejoined[key] = now
        return row is not None

    def hint(self, key: Key, now: float) -> None:
        """
        Note a sign that a key may have failed, or, if it had, that it is back.

        The next time-out then decides, so a forged hint stops nothing. A key
        that timed out again after it came back is not believed a second time.
        """
        self.forget(now)
        if self.has_failed(key, now):
            if self.rows[key].waited and key in self.rejoined:
                return
            self.rejoined[key] = now
            del self.rows[key]
        self.hints[key] = now

    def report(self, reporter: Key, key: Key, now: float) -> None:
        """Note that a reporter says that it cannot reach a key (§5.4.2)."""
        self.reports[reporter, key] = now
        if not self.has_failed(key, now):
            self.hint(key, now)

    def is_news(self, reporter: Key, key: Key, now: float) -> bool:
        """Return whether a report would change more than a time."""
        age = abs(now - self.reports.get((reporter, key), float('-inf')))
        return age >= self.interval / 2

    def is_reported(self, reporter: Key, key: Key, now: float) -> bool:
        """Return whether a reporter has said that it cannot reach a key."""
        then = self.reports.get((reporter, key))
        return then is not None and not self._is_past(
            then, now, REPORT_INTERVAL)

    def forget(self, now: float) -> None:
        """Drop what is past and, of what exceeds the limits, the oldest."""
        self.rows = self._recent(
            self.rows, now, MAX_ROWS, lambda row: row.t_exception)
        self.rejoined = self._recent(self.rejoined, now, MAX_ROWS, float)
        self.hints = self._recent(self.hints, now, MAX_HINTS, float)
        self.reports = self._recent(self.reports, now, MAX_HINTS, float,
                                    REPORT_INTERVAL)

    def _recent(self, entries: dict[_Entry, _Value], now: float, most: int,
                when: Callable[[_Value], float],
                interval: float | None = None) -> dict[_Entry, _Value]:
        kept = [(key, value) for key, value in entries.items()
                if not self._is_past(when(value), now, interval)]
        if len(kept) >= most:
            kept = sorted(kept, key=lambda entry: when(entry[1]))
        return dict(kept[-most + 1:])


def _is_push_to(pushes: Key, key: Key) -> bool:
    """Return whether a key is of what is pushed to a node or a device."""
    return len(pushes) == 3 and pushes[:2] == key[:2] and (
        pushes[2].endswith(PUSH) if len(key) == 2
        else pushes[2] in (PUSH, key[2] + PUSH))
