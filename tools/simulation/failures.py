# SPDX-License-Identifier: Apache-2.0
"""The product's failure table, at the time of a simulated world."""

from swift_lightsync.sync.core.failure_table import FailureTable


class Failures:
    """A :class:`FailureTable` with a clock: what a pass asks of one.

    :param clock: returns the time, seconds
    """

    def __init__(self, clock):
        self.table = FailureTable()
        self.clock = clock

    @property
    def limit(self):
        """Exceptions at which a key has failed (ESL)."""
        return self.table.limit

    @property
    def interval(self):
        """Seconds for which it is then skipped (ESI)."""
        return self.table.interval

    def has_failed(self, key):
        """Return whether to skip a key."""
        return self.table.has_failed(key, self.clock())

    def refusing(self):
        """Return the keys that have failed by refusals only."""
        return self.table.refusing(self.clock())

    def is_reported(self, reporter, key):
        """Return whether a reporter has said that it cannot reach a key."""
        return self.table.is_reported(reporter, key, self.clock())

    def rejoined(self):
        """Return the keys that have come back, and when they did."""
        return self.table.rejoined

    def record(self, key, weight):
        """Note an exception, and return whether it makes the key fail."""
        return self.table.record(key, self.clock(), weight)

    def contact(self, key):
        """Note that a key answered."""
        self.table.contact(key, self.clock())

    def hint(self, key):
        """Note a sign that a key may have failed, or has come back."""
        self.table.hint(key, self.clock())

    def report(self, reporter, key):
        """Note a report of who cannot reach whom."""
        self.table.report(reporter, key, self.clock())
