# SPDX-License-Identifier: Apache-2.0
"""
Failed Neighbour Handling: who is to be left alone, and until when.

LightSync §5.4.1, Table 2, Fig. 22. Rows are keyed by whatever failed to
answer: PROTOCOL.md, "Failed neighbours", says what is charged to which key.
"""

from dataclasses import dataclass

#: Exceptions after which a key counts as failed (the paper's ESL).
ERROR_SUPPRESSION_LIMIT = 10
#: Seconds for which it is then left alone (the paper's ESI).
ERROR_SUPPRESSION_INTERVAL = 60.0
#: Seconds for which a report of who cannot reach whom holds. It stops nothing,
#: and has to last from one pass to the next.
REPORT_INTERVAL = 3600.0
#: Most rows of a table; who meets more failures than that forgets the oldest.
MAX_ROWS = 4096
#: Most hints, and reports: others make us keep them.
MAX_HINTS = 256


@dataclass(frozen=True)
class Row:
    """
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
    """
    The exceptions that one node has met with the others, and who of them has
    come back. Keys are tuples.

    :param limit: the number of exceptions at which a key has failed
    :param interval: how long it is then suppressed, and how long anything is
        remembered at all, in seconds
    """

    def __init__(self, limit=ERROR_SUPPRESSION_LIMIT,
                 interval=ERROR_SUPPRESSION_INTERVAL):
        self.limit = limit
        self.interval = interval
        #: key -> Row
        self.rows = {}
        #: key -> when there was a sign that it may be about to fail
        self.hints = {}
        #: key -> when it came back
        self.rejoined = {}
        #: (reporter, key) -> when the reporter said that the key has failed
        self.reports = {}

    def copy(self):
        """:returns: a table of its own, with the same in it"""
        copied = FailureTable(self.limit, self.interval)
        copied.rows, copied.hints = dict(self.rows), dict(self.hints)
        copied.rejoined = dict(self.rejoined)
        copied.reports = dict(self.reports)
        return copied

    def _is_past(self, then, now, interval=None):
        # A time far ahead is that of a clock that was wrong.
        return abs(now - then) >= (interval or self.interval)

    def row(self, key, now):
        """The row of a key: without exceptions once ESI has passed."""
        row = self.rows.get(key, NO_EXCEPTION)
        return NO_EXCEPTION if self._is_past(row.t_exception, now) else row

    def has_failed(self, key, now):
        """Whether the key is to be skipped at this time."""
        return (key in self.rows
                and self.row(key, now).n_exception >= self.limit)

    def refusing(self, now):
        """Those that have failed, but never let anybody wait."""
        return {key for key, row in self.rows.items()
                if not row.waited and self.has_failed(key, now)}

    def is_hinted(self, key, now):
        """Whether the key fails by the next time-out."""
        return key in self.hints and not self._is_past(self.hints[key], now)

    def record(self, key, now, weight=1):
        """
        Note an exception.

        :param key: what failed to answer
        :param now: the time, seconds
        :param weight: how many exceptions this one counts for: 1 if it cost
            nothing, as a refusal; more for a time-out
        :returns: True if the key has failed by this exception
        """
        self.forget(now)
        row, waited = self.row(key, now), weight > 1
        count = row.n_exception + weight
        if waited and self.is_hinted(key, now):
            count = max(count, self.limit)
        self.rows[key] = Row(count, now, row.waited or waited)
        return row.n_exception < self.limit <= count

    def contact(self, key, now):
        """
        Note that the key answered. If it had failed, it is rejoining. If it
        let us wait before, the next time-out decides: who answers one
        message in two must not cost a time-out for each.

        :returns: True if the key was in the table
        """
        row = self.rows.pop(key, None)
        if row and row.waited:
            self.hints[key] = max(row.t_exception, self.hints.get(
                key, row.t_exception))
        if row and row.n_exception >= self.limit:
            self.rejoined[key] = now
        return row is not None

    def hint(self, key, now):
        """
        Note a sign that a key may have failed, or that one that failed has
        come back: the next time-out decides. Whoever forges hints stops
        nothing. One that let us wait again since it came back is not
        believed.
        """
        self.forget(now)
        if self.has_failed(key, now):
            if self.rows[key].waited and key in self.rejoined:
                return
            self.rejoined[key] = now
            del self.rows[key]
        self.hints[key] = now

    def report(self, reporter, key, now):
        """Note that a reporter says that it cannot reach a key (§5.4.2)."""
        self.reports[reporter, key] = now
        if not self.has_failed(key, now):
            self.hint(key, now)

    def is_news(self, reporter, key, now):
        """Whether a report would change more than a time."""
        age = abs(now - self.reports.get((reporter, key), float('-inf')))
        return age >= self.interval / 2

    def is_reported(self, reporter, key, now):
        """Whether a reporter cannot reach a key, by what it said."""
        then = self.reports.get((reporter, key))
        return then is not None and not self._is_past(
            then, now, REPORT_INTERVAL)

    def forget(self, now):
        """Drop what is past, and the oldest of what is too much."""
        self.rows = self._recent(
            self.rows, now, MAX_ROWS, lambda row: row.t_exception)
        self.rejoined = self._recent(self.rejoined, now, MAX_ROWS)
        self.hints = self._recent(self.hints, now, MAX_HINTS)
        self.reports = self._recent(self.reports, now, MAX_HINTS,
                                    interval=REPORT_INTERVAL)

    def _recent(self, entries, now, most, when=float, interval=None):
        kept = [(key, value) for key, value in entries.items()
                if not self._is_past(when(value), now, interval)]
        if len(kept) >= most:
            kept = sorted(kept, key=lambda entry: when(entry[1]))
        return dict(kept[-most + 1:])
