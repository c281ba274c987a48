# SPDX-License-Identifier: Apache-2.0
"""
A hybrid logical clock (VERSIONING.md §2.1): from the wall time it makes stamps
that always grow and exceed every stamp it has been shown.
"""

from swift_lightsync.versioning.core.stamp import TICKS, Stamp


class ClockAhead(ValueError):
    """A stamp from a clock that is too far ahead of this one."""


class HybridClock:
    """
    A clock that never goes back, and never falls behind a stamp that it has
    been shown.

    :param offset: of all of its stamps, see ``offset_of``
    :param max_skew: seconds that another site may be ahead
    """

    def __init__(self, offset: int, max_skew: float) -> None:
        self.offset = offset
        self.max_skew = max_skew
        self._last = 0

    def tick(self, now: float) -> Stamp:
        """
        Give the next stamp.

        :param now: wall time, in seconds
        :returns: a ``Stamp`` greater than all that were given or followed
            before
        """
        self._last = max(int(now * TICKS), self._last + 1)
        return Stamp(self._last, self.offset)

    def follow(self, *stamps: Stamp) -> None:
        """Make all later ticks greater than stamps that this site holds."""
        for stamp in stamps:
            self._last = max(self._last, stamp.ticks)

    def check(self, stamp: Stamp, now: float) -> None:
        """
        Refuse a stamp that no site may have given yet.

        :param now: wall time, in seconds
        :raises ClockAhead: if it is too far ahead
        """
        ahead = stamp.seconds - now
        if ahead > self.max_skew:
            raise ClockAhead('stamp %s is %.3f s ahead of this site, at most '
                             '%s s are accepted' % (stamp, ahead,
                                                    self.max_skew))
