# SPDX-License-Identifier: Apache-2.0
"""
Which part of an index may be asked for while it is made anew.

It is made in the order of its keys, so all is known up to a place.
"""

from typing import Optional

from swift_losf.format import keys

_OF_HASHES = (keys.FILE, keys.QUARANTINED)


class NotKnownYet(Exception):
    """An index that was lost is made anew, and has not come so far."""


class Known:
    """The part of an index that is known: all of it, by default."""

    def __init__(self) -> None:
        #: the first place whose files are not known; None: all are
        self._end: Optional[bytes] = None

    def nothing(self) -> None:
        """Let nothing be known."""
        self._end = b''

    def up_to(self, place: bytes) -> None:
        """Let all be known up to what keys.place_of gave."""
        self._end = keys.prefix_range(keys.FILE + place)[1][1:]

    def all(self) -> None:
        """Let all be known."""
        self._end = None

    def require(self, start: bytes, stop: bytes) -> None:
        """
        Check that all entries from a key to below another are known.

        :raises NotKnownYet: if they are not
        """
        if (self._end is not None and start[:1] in _OF_HASHES
                and stop > start[:1] + self._end):
            raise NotKnownYet('the index is being made anew; what is asked '
                              'for is not known yet')

    def require_all(self) -> None:
        """
        Check that all entries are known.

        :raises NotKnownYet: if they are not
        """
        self.require(*keys.prefix_range(keys.FILE))
