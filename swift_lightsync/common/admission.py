# SPDX-License-Identifier: Apache-2.0
"""How many requests are served at the same time.

What it takes to serve one, bytes and threads, is bounded; this bounds it for
all of them together.
"""

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import Protocol


class Semaphore(Protocol):
    """What is needed of a semaphore, green or native."""

    def acquire(self, *, timeout: float) -> bool:
        """Take a place, or return False after so many seconds."""

    def release(self) -> object:
        """Give the place back."""


class NotAdmitted(Exception):
    """Too many others are being served."""


class Admission:
    """Places of which each request holds one while it is served.

    :param count: how many there are; 0: any number
    :param patience: seconds that a request waits for one
    :param semaphore: makes a semaphore of so many places, which decides who
        waits: a greenthread or a thread
    :param served: what is said to be going on, such as "messages are being
        answered (replication_concurrency)"
    """

    def __init__(self, count: int, patience: float,
                 semaphore: Callable[[int], Semaphore], served: str) -> None:
        self.count = count
        self.patience = patience
        self.served = served
        self._free = semaphore(count or sys.maxsize)

    @contextlib.contextmanager
    def admitted(self, most: float = math.inf) -> Iterator[None]:
        """Wait for a place, which is held until the context ends.

        :param most: seconds after which nobody waits for the request itself
        :raises NotAdmitted: if none comes free in time
        """
        patience = min(self.patience, most)
        if not self._free.acquire(timeout=patience):
            raise NotAdmitted('%d %s, and no turn came in %g seconds' % (
                self.count, self.served, patience))
        try:
            yield
        finally:
            self._free.release()
