# SPDX-License-Identifier: Apache-2.0
"""
How much work another site is given at once: as much as it does in a few
seconds, by the time that its answers say it has taken.

So its answers come long before anybody gives them up, however slow it is, and
the way to it is never empty, however long that is. What it puts off halves the
work; what it does adds as much again, up to what it does in ``TARGET``
seconds.
"""

from dataclasses import dataclass

from swift_lightsync.versioning.core.shipping import MAX_PACKED

#: Seconds of work that is to be under way at another site.
TARGET = 2.0
#: What is under way at first, and what always may be.
START = 32
LEAST = 4
#: Requests among which it is shared out: while one is answered, others travel.
SHARES = 4


@dataclass(frozen=True)
class Burst:
    """
    Work that was sent in one request.

    :param count: how much
    :param number: of the request
    :param under_way: the work that was under way then, with this
    """
    count: int
    number: int
    under_way: int


class Pace:
    """
    Follows how fast another site works. The unit of work is a shipment, or a
    container that is asked about.

    :param most: the most work that is under way at once
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = float(min(START, most))
        self._under_way = 0
        self._sent = 0
        # Requests that were sent before belong to the time before.
        self._narrowed = 0

    @property
    def room(self) -> int:
        """How much more may be sent now."""
        return max(0, int(self.size) - self._under_way)

    @property
    def share(self) -> int:
        """How much one request may have."""
        return max(1, min(MAX_PACKED, int(self.size) // SHARES))

    def sent(self, count: int) -> Burst:
        """Take note of a request."""
        self._sent += 1
        self._under_way += count
        return Burst(count, self._sent, self._under_way)

    def ended(self, burst: Burst) -> None:
        """Take note that a request is not under way any more."""
        self._under_way -= burst.count

    def took(self, burst: Burst, seconds: float) -> None:
        """
        Take note that all of a request was done.

        :param seconds: that the site has worked on it, beside what else was
            under way there
        """
        goal = max(LEAST, burst.under_way * TARGET / max(seconds, 0.001))
        self.size = min(self.most, goal, self.size + burst.count)

    def put_off(self, burst: Burst) -> None:
        """Take note that some of a request was more than the site could do."""
        if burst.number > self._narrowed:
            self._narrowed = self._sent
            self.size = max(LEAST, self.size / 2)
