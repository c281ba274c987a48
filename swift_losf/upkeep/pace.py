# SPDX-License-Identifier: Apache-2.0
"""Keeps work in the background from taking a disk and a processor away."""

from dataclasses import dataclass

#: the part of the time that work may take while somebody is served
BUSY_SHARE = 0.25


@dataclass(frozen=True)
class Rates:
    """How fast the background may be.

    :param busy: bytes a second while somebody is served
    :param idle: the same, while nobody is
    """
    busy: int
    idle: int

    def pause(self, seconds, count, is_busy):
        """Return for how many seconds to pause after a piece of work.

        :param seconds: that it took
        :param count: bytes that it read
        :param is_busy: whether somebody is served
        """
        if not is_busy:
            return max(0.0, count / self.idle - seconds)
        return max(count / self.busy - seconds,
                   seconds / BUSY_SHARE - seconds)
