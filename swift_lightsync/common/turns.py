# SPDX-License-Identifier: Apache-2.0
"""
How many messages are answered at the same time.

What it takes to answer one, bytes and threads, is bounded; this bounds it for
all of them together.
"""

import contextlib
import sys

from swift.common.concurrency import Semaphore


class NoTurn(Exception):
    """Too many others are being answered."""


class Turns:
    """
    :param count: how many there are at the same time; 0: any number
    :param patience: seconds to wait for one
    """

    def __init__(self, count, patience):
        self.count = count
        self.patience = patience
        self._free = Semaphore(count or sys.maxsize)

    @contextlib.contextmanager
    def turn(self):
        """
        Wait, as a greenthread, for a turn; it ends with the context.

        :raises NoTurn: if it does not come in time
        """
        if not self._free.acquire(timeout=self.patience):
            raise NoTurn('%d messages are being answered '
                         '(replication_concurrency), and no turn came in %g '
                         'seconds' % (self.count, self.patience))
        try:
            yield
        finally:
            self._free.release()
