# SPDX-License-Identifier: Apache-2.0
"""
How many requests to a site are under way at once: fewer as soon as the site
says that these are too many, and one more again for each round that goes well
(additive increase, multiplicative decrease).
"""

from contextlib import contextmanager

from swift.common.concurrency import Semaphore


class Window:
    """
    Places for requests, of which some may be closed for a while.

    :param most: places that there are at most
    """

    def __init__(self, most):
        self.most = most
        self.size = float(most)
        self._free = Semaphore(most)
        self._closed = 0
        # Requests that were sent before belong to the window before.
        self._narrowed = 0
        self._sent = 0

    @contextmanager
    def place(self):
        """
        Wait for a place, which is held until the context ends.

        :returns: (as a context) the number of the request, for ``narrow``
        """
        self._free.acquire()
        self._sent += 1
        try:
            yield self._sent
        finally:
            if self._closed < self._surplus():
                self._closed += 1
            else:
                self._free.release()

    def widen(self):
        """Take note of a request that went well."""
        self.size = min(self.most, self.size + 1 / self.size)
        while self._closed > self._surplus():
            self._closed -= 1
            self._free.release()

    def narrow(self, number):
        """Take note that the peer found a request to be one too many."""
        if number > self._narrowed:
            self._narrowed = self._sent
            self.size = max(1.0, self.size / 2)

    def _surplus(self):
        return self.most - int(self.size)
