# SPDX-License-Identifier: Apache-2.0
"""Stamps: hybrid logical times that serve as ids of versions (VERSIONING.md §1
and §2), and the clock of a site, which makes them from the wall time.

As text they are Swift's internal timestamps, and sort in the same order. The
clock remembers nothing: what it has shown for one object cannot change the
stamps of another. A version that has to follow another one is given that
one's id instead.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Optional

#: Ticks in a second.
TICKS = 100000
#: The first tick that Swift's 10 digits of seconds do not hold.
END_OF_TIME = 10 ** 10 * TICKS
OFFSETS = 1 << 64
#: Sites that site_preference may name: as many as one vector has room for.
MAX_SITES = 32
_RANKS = 256
_RANK_SHIFT = 32
#: Above the rank: how often a listing row was revised.
_REVISION_SHIFT = 40
_NO_OFFSET = '0' * 16
#: Texts of which is remembered what they mean.
_REMEMBERED = 4096
_TEXT = re.compile(r'(\d{10})\.(\d{5})(?:_([0-9a-f]{16}))?\Z', re.ASCII)


@dataclass(frozen=True, order=True)
class Stamp:
    """A hybrid logical time.

    :param ticks: of 10 µs, since the epoch
    :param offset: decides between equal ticks
    """
    ticks: int
    offset: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.ticks < END_OF_TIME:
            raise ValueError('ticks of a stamp are %r, must be 0 to %d' %
                             (self.ticks, END_OF_TIME - 1))
        if not 0 <= self.offset < OFFSETS:
            raise ValueError('the offset of a stamp is %r, must be 0 to %d' %
                             (self.offset, OFFSETS - 1))

    @classmethod
    @lru_cache(_REMEMBERED)
    def parse(cls, text: str) -> 'Stamp':
        """Read a stamp; results are cached, as few stamps are read often.

        :param text: what ``str`` of a stamp gives
        :raises ValueError: if it is not
        """
        match = _TEXT.match(text)
        if not match:
            raise ValueError('a stamp is %.60r, must be seconds with 5 '
                             'decimals and a 16-digit hexadecimal offset' %
                             (text,))
        seconds, fraction, offset = match.groups()
        if offset == _NO_OFFSET:
            raise ValueError('a stamp is %s, must have no offset of 0' % text)
        return cls(int(seconds) * TICKS + int(fraction),
                   int(offset or '0', 16))

    def __str__(self) -> str:
        text = '%010d.%05d' % divmod(self.ticks, TICKS)
        return '%s_%016x' % (text, self.offset) if self.offset else text

    @property
    def inverted(self) -> 'Stamp':
        """The stamp whose text sorts the other way round."""
        return Stamp(END_OF_TIME - 1 - self.ticks, OFFSETS - 1 - self.offset)

    @property
    def inverted_text(self) -> str:
        """The text of the inverted stamp, as the names of rows have it."""
        return str(self.inverted)

    def revised(self, tick: 'Stamp') -> 'Stamp':
        """
        Return a stamp for the listing row that replaces one with this stamp.

        :param tick: a new ``Stamp``
        :returns: a greater stamp with the same ticks, so that a later version
            replaces both
        """
        revision = (self.offset >> _REVISION_SHIFT) + 1
        if revision << _REVISION_SHIFT >= OFFSETS:
            return tick
        return Stamp(self.ticks, revision << _REVISION_SHIFT |
                     (tick.ticks & 0xffffff) << 16 | tick.offset & 0xffff)

    def changed(self, tick: 'Stamp') -> 'Stamp':
        """Return the stamp of the row of a version whose metadata changed.

        :param tick: the ``Stamp`` of the change
        :returns: the timestamp of the row of the version with this id: greater
            than the id, less than any purge, and in the order of the changes
        """
        offset = (max(0, tick.ticks - self.ticks) << 16) + \
            (1 << _REVISION_SHIFT) + (tick.offset & 0xffff)
        return Stamp(self.ticks, min(offset, OFFSETS - 1))

    def change(self, stamp: 'Stamp') -> Optional['Stamp']:
        """Return when the metadata of a version were changed.

        :param stamp: of the row of the version with this id
        :returns: the ``Stamp`` of the change, as given to ``changed``, or None
            if there was none
        """
        later = stamp.offset - (1 << _REVISION_SHIFT)
        if stamp.ticks != self.ticks or later < 0:
            return None
        return Stamp(self.ticks + (later >> 16))

    @property
    def is_tick(self) -> bool:
        """Whether a clock gave this stamp, rather than ``revised``."""
        return self.offset < 1 << _REVISION_SHIFT

    @property
    def seconds(self) -> float:
        """The time in Unix seconds."""
        return self.ticks / TICKS

    @property
    def rank(self) -> int:
        """The rank of the site, see ``offset_of``; for a version's id only."""
        return _RANKS - 1 - (self.offset >> _RANK_SHIFT & _RANKS - 1)


def offset_of(rank: int, nonce: int) -> int:
    """Return the offset of a stamp.

    :param rank: of a site, 0 is the preferred one
    :param nonce: below 2^32, another for each stamp
    """
    if not 0 <= rank < MAX_SITES:
        raise ValueError('the rank of a site is %r, must be 0 to %d' %
                         (rank, MAX_SITES - 1))
    return (_RANKS - 1 - rank) << _RANK_SHIFT | nonce & 0xffffffff


class ClockAhead(ValueError):
    """A stamp from a clock that is too far ahead of this one."""


class SiteClock:
    """Makes the stamps of one site.

    :param rank: of the site in site_preference
    :param max_skew: seconds that another clock may be ahead of this one
    :param nonce: returns a number below 2^32, another one each time
    """

    def __init__(self, rank: int, max_skew: float,
                 nonce: Callable[[], int]) -> None:
        self.rank = rank
        self.max_skew = max_skew
        self._nonce = nonce

    def tick(self, now: float, after: Stamp | None = None) -> Stamp:
        """Make a stamp.

        :param now: wall time, in seconds
        :param after: what the stamp has to exceed, or None
        """
        ticks = int(now * TICKS)
        if after is not None:
            ticks = max(ticks, after.ticks + 1)
        return Stamp(ticks, offset_of(self.rank, self._nonce()))

    def check(self, stamp: Stamp, now: float) -> None:
        """Refuse a stamp that no site may have given yet.

        :param now: wall time, in seconds
        :raises ClockAhead: if it is too far ahead
        """
        ahead = stamp.seconds - now
        if ahead > self.max_skew:
            raise ClockAhead('stamp %s is %.3f s ahead of this site, at most '
                             '%s s are accepted' % (stamp, ahead,
                                                    self.max_skew))
