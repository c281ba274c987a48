# SPDX-License-Identifier: Apache-2.0
"""How long to leave alone what has failed: twice as long after each failure.

Nothing here looks at a clock or waits: the caller says what time it is, in
seconds of any clock.
"""

from collections.abc import Callable

#: Doublings after which every delay has long reached its end.
_MAX_DOUBLINGS = 60


def delay_after(failures: int, least: float, most: float) -> float:
    """Return how long to wait after some failures in a row.

    :param failures: how many; none: 0 seconds
    :param least: seconds after the first, doubled with each further one
    :param most: seconds that the delay ends at
    :returns: seconds
    """
    if failures <= 0:
        return 0.0
    return min(most, least * 2.0 ** min(failures - 1, _MAX_DOUBLINGS))


class Backoff:
    """Counts the failures of one thing, and says when to try it again.

    :param least: seconds to wait after the first failure, doubled each time
    :param most: seconds that these end at
    :param random: returns a number from 0 to 1, by which a delay becomes half
        to one and a half of itself: two that fail at once shall not come
        again at once; None: delays are exact
    """

    def __init__(self, least: float, most: float,
                 random: Callable[[], float] | None = None) -> None:
        self.least = least
        self.most = most
        #: In a row.
        self.failures = 0
        #: The last delay, in seconds; 0 after a success.
        self.delay = 0.0
        #: When it may be tried again; 0 after a success.
        self.until = 0.0
        self._random = random

    def may_try(self, now: float) -> bool:
        """Return whether the delay is over.

        :param now: seconds
        :returns: whether to try
        """
        return now >= self.until

    def failed(self, now: float) -> float:
        """Count a failure.

        :param now: seconds
        :returns: the delay, in seconds, until the next try
        """
        self.failures += 1
        self.delay = delay_after(self.failures, self.least, self.most)
        if self._random is not None:
            self.delay *= 0.5 + self._random()
        self.until = now + self.delay
        return self.delay

    def succeeded(self) -> None:
        """Forget all failures: the next one is the first."""
        self.failures = 0
        self.delay = self.until = 0.0
