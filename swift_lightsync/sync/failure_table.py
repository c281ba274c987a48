# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
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


@dataclass(frozen=True)
class Row:
    """
    :param n_exception: exceptions since the last contact, or since the last
        suppression ended
    :param t_exception: the time of the last one, seconds
    """
    n_exception: int
    t_exception: float


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

    def _is_past(self, then, now, interval=None):
        # A time far ahead is that of a clock that was wrong.
        return abs(now - then) >= (interval or self.interval)

    def row(self, key, now):
        """The row of a key: without exceptions once ESI has passed."""
        row = self.rows.get(key, NO_EXCEPTION)
        if self._is_past(row.t_exception, now):
            row = NO_EXCEPTION
        hint = self.hints.get(key)
        if hint is None or self._is_past(hint, now):
            return row
        return Row(max(row.n_exception, self.limit - 1),
                   max(row.t_exception, hint))

    def has_failed(self, key, now):
        """Whether the key is to be skipped at this time."""
        return self.row(key, now).n_exception >= self.limit

    def record(self, key, now, weight=1):
        """
        Note an exception.

        :param key: what failed to answer
        :param now: the time, seconds
        :param weight: how many exceptions this one counts for: a time-out
            costs the caller more than a refusal
        :returns: True if the key has failed by this exception
        """
        self.forget(now)
        before = self.row(key, now).n_exception
        self.rows[key] = Row(before + weight, now)
        self.hints.pop(key, None)
        self.rejoined.pop(key, None)
        return before < self.limit <= before + weight

    def contact(self, key, now):
        """
        Note that the key answered. If it had failed, it is rejoining.

        :returns: True if the key was in the table
        """
        row = self.rows.pop(key, None)
        hint = self.hints.pop(key, None)
        if row and row.n_exception >= self.limit:
            self.rejoined[key] = now
        return row is not None or hint is not None

    def hint(self, key, now):
        """
        Note a sign that a key may have failed, or that one that failed has
        come back: the next exception decides. Whoever forges hints stops
        nothing.
        """
        self.forget(now)
        if self.has_failed(key, now):
            self.rejoined[key] = now
        self.rows.pop(key, None)
        self.hints[key] = now

    def report(self, reporter, key, now):
        """Note that a reporter says that it cannot reach a key (§5.4.2)."""
        self.reports[reporter, key] = now
        if not self.has_failed(key, now):
            self.hint(key, now)

    def is_reported(self, reporter, key, now):
        """Whether a reporter cannot reach a key, by what it said."""
        then = self.reports.get((reporter, key))
        return then is not None and not self._is_past(
            then, now, REPORT_INTERVAL)

    def forget(self, now):
        """Drop what is past, and the oldest of what is too much."""
        self.rows = self._recent(
            self.rows, now, lambda row: row.t_exception)
        self.hints = self._recent(self.hints, now, float)
        self.rejoined = self._recent(self.rejoined, now, float)
        self.reports = self._recent(self.reports, now, float,
                                    REPORT_INTERVAL)

    def _recent(self, entries, now, when, interval=None):
        kept = [(key, value) for key, value in entries.items()
                if not self._is_past(when(value), now, interval)]
        if len(kept) >= MAX_ROWS:
            kept = sorted(kept, key=lambda entry: when(entry[1]))
        return dict(kept[-MAX_ROWS + 1:])
