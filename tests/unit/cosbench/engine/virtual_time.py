# SPDX-License-Identifier: Apache-2.0
"""A time of its own for what runs on one loop: no machine is too slow for it.

It stands still while anything runs, and goes straight to the next timer when
all wait. Hours of it take no time, and each run of a test has the same times.
"""

import asyncio
import selectors
import time
from unittest import mock


class VirtualTime:
    """What ``time.monotonic`` says, and the loop's timers go by."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def run(self, coroutine):
        """Run a coroutine, and all that it starts, in this time.

        It may start neither threads nor processes that it waits for: their
        time is another one.

        :returns: what the coroutine returned
        """
        with mock.patch.object(time, 'monotonic', self), \
                asyncio.Runner(loop_factory=self._new_loop) as runner:
            return runner.run(coroutine)

    def _new_loop(self):
        return asyncio.SelectorEventLoop(_Selector(self))


class _Selector(selectors.SelectSelector):
    """Lets the time go on by as much as it should wait."""

    def __init__(self, clock):
        super().__init__()
        self._clock = clock

    def select(self, timeout=None):
        ready = super().select(timeout and 0)
        if timeout and not ready:
            self._clock.now += timeout
        return ready
