# SPDX-License-Identifier: Apache-2.0
"""Which part of an index may be asked for while the rest of it is made anew.

What is lost is made in the order of its keys, so all is known up to a place.
"""

from collections.abc import Sequence

from swift_losf.format import keys

_OF_HASHES = (keys.FILE, keys.QUARANTINED)
#: the first place of hashes whose entries are not known, and the first one
#: behind them
Gap = tuple[bytes, bytes]
#: all hashes
ALL: Gap = b'', b'\xff' * (keys.PLACE + 1)


class NotKnownYet(Exception):
    """An index that was lost is made anew, and has not come so far."""


def is_in(gaps: Sequence[Gap], place: bytes) -> bool:
    """Return whether what keys.place_of gave is in one of some gaps."""
    return any(first <= place < end for first, end in gaps)


class Known:
    """The part of an index that is known: all of it, by default."""

    def __init__(self) -> None:
        #: what is not known, in order
        self.gaps: list[Gap] = []

    def all_but(self, gaps: Sequence[Gap]) -> None:
        """Let all be known that is in none of some gaps."""
        self.gaps = sorted(gaps)

    def up_to(self, place: bytes) -> None:
        """Let all be known up to what keys.place_of gave."""
        known = keys.prefix_range(keys.FILE + place)[1][1:]
        self.gaps = [(max(first, known), end) for first, end in self.gaps
                     if end > known]

    def require(self, start: bytes, stop: bytes) -> None:
        """Check that all entries from a key to below another are known.

        :raises NotKnownYet: if they are not
        """
        letter = start[:1]
        if letter in _OF_HASHES and any(
                start < letter + end and letter + first < stop
                for first, end in self.gaps):
            raise NotKnownYet('the index is being made anew; what is asked '
                              'for is not known yet')

    def require_all(self) -> None:
        """Check that all entries are known.

        :raises NotKnownYet: if they are not
        """
        self.require(*keys.prefix_range(keys.FILE))
