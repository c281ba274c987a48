# SPDX-License-Identifier: Apache-2.0
"""A failure table at the present time: what a pass asks of one."""

from collections.abc import Callable
from typing import TypeVar

from swift_lightsync.common.address import PlaceTuple
from swift_lightsync.sync.core.failure_table import FailureTable

_Result = TypeVar('_Result')


class Failures:
    """A :class:`FailureTable` with a clock.

    Its methods are the table's, applied at the present time.

    :param table: a FailureTable
    :param clock: returns the time, seconds
    """

    def __init__(self, table: FailureTable,
                 clock: Callable[[], float]) -> None:
        self.table = table
        self.clock = clock

    @property
    def limit(self) -> int:
        """Exceptions at which a key has failed (ESL)."""
        return self.table.limit

    @property
    def interval(self) -> float:
        """Seconds for which it is then skipped (ESI)."""
        return self.table.interval

    def has_failed(self, key: PlaceTuple) -> bool:
        """Return whether to skip a key now."""
        self._refresh()
        return self.table.has_failed(key, self.clock())

    def refusing(self) -> set[PlaceTuple]:
        """Return the keys that have failed by refusals only."""
        self._refresh()
        return self.table.refusing(self.clock())

    def is_reported(self, reporter: PlaceTuple, key: PlaceTuple) -> bool:
        """Return whether a reporter has said that it cannot reach a key."""
        self._refresh()
        return self.table.is_reported(reporter, key, self.clock())

    def is_reporter(self, reporter: PlaceTuple) -> bool:
        """Return whether a node has said that it cannot reach somebody."""
        self._refresh()
        now = self.clock()
        return any(who == reporter and self.table.is_reported(who, key, now)
                   for who, key in self.table.reports)

    def rejoined(self) -> dict[PlaceTuple, float]:
        """Return the keys that have come back, and when they did."""
        self._refresh()
        return dict(self.table.rejoined)

    def record(self, key: PlaceTuple, weight: int) -> bool:
        """Note an exception, and return whether it makes the key fail."""
        return self._change(lambda table, now: table.record(
            key, now, weight))

    def contact(self, key: PlaceTuple) -> None:
        """Note that a key answered; nothing is written if it never failed."""
        self._refresh()
        if key in self.table.rows:
            self._change(lambda table, now: table.contact(key, now))

    def retry(self, key: PlaceTuple) -> None:
        """Let the next exception decide about a key that refused."""
        self._change(lambda table, now: table.retry(key, now))

    def hint(self, key: PlaceTuple) -> None:
        """Note a sign that a key may have failed, or has come back."""
        self._change(lambda table, now: table.hint(key, now))

    def report(self, reporter: PlaceTuple, key: PlaceTuple) -> None:
        """Note a report; nothing is written if it is hardly news."""
        self._refresh()
        if self.table.is_news(reporter, key, self.clock()):
            self._change(lambda table, now: table.report(
                reporter, key, now))

    def _refresh(self) -> None:
        """Read what others have changed."""

    def _change(self, change: Callable[[FailureTable, float], _Result]
                ) -> _Result:
        """Change the table.

        :param change: a function of a table and the time
        :returns: what the function returns
        """
        return change(self.table, self.clock())
