# SPDX-License-Identifier: Apache-2.0
"""
The clock of a site (VERSIONING.md §2): it makes stamps from the wall time.

The clock remembers nothing: what it has shown for one object cannot change
the stamps of another. A version that has to follow another one is given that
one's id instead.
"""

from typing import Callable, Optional

from swift_lightsync.versioning.core.stamp import TICKS, Stamp, offset_of


class ClockAhead(ValueError):
    """A stamp from a clock that is too far ahead of this one."""


class SiteClock:
    """
    Makes the stamps of one site.

    :param rank: of the site in site_preference
    :param max_skew: seconds that another clock may be ahead of this one
    :param nonce: returns a number below 2^32, another one each time
    """

    def __init__(self, rank: int, max_skew: float,
                 nonce: Callable[[], int]) -> None:
        self.rank = rank
        self.max_skew = max_skew
        self._nonce = nonce

    def tick(self, now: float, after: Optional[Stamp] = None) -> Stamp:
        """
        Make a stamp.

        :param now: wall time, in seconds
        :param after: what the stamp has to exceed, or None
        """
        ticks = int(now * TICKS)
        if after is not None:
            ticks = max(ticks, after.ticks + 1)
        return Stamp(ticks, offset_of(self.rank, self._nonce()))

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
