# SPDX-License-Identifier: Apache-2.0
"""One worker: a loop that takes an action, does it and records a sample."""

import asyncio
import math
import time

from cosbench.adaptors.base import OperationError
from cosbench.measure.sample import Sample

#: After so many operations a worker lets others run, also where none of its
#: operations has waited for anything.
TURN = 16


class Worker:
    """
    Does one action after the other, and records each.

    :param actions: an iterator of (operation id, coroutine function that
        returns a ``Transfer``, further rows of the results that count it);
        it ends where the work of the worker does
    :param quota: a ``Quota``
    :param due: None, or an iterator of times at which operations are meant
        to begin
    :param run: what it belongs to: ``window``, ``stopping``, ``recording``,
        ``unexpected``
    """

    def __init__(self, actions, quota, due, run):
        self._actions = actions
        self._due = due
        self._run = run
        self._operations = _limit(quota.operations)
        self._volume = _limit(quota.volume)
        #: Whether it is in no operation, so that it can be interrupted.
        self.idle = True

    async def work(self):
        """Until the first limit; errors of operations are samples."""
        number, record = 0, self._run.recording.record
        while self._operations > 0 and self._volume > 0:
            number += 1
            if number % TURN == 0:
                await asyncio.sleep(0)
            due = self._due and next(self._due)
            if due is not None:
                await self._wait(due)
            if self._run.stopping or time.monotonic() >= \
                    self._run.window.close:
                return
            action = next(self._actions, None)
            if action is None:
                return
            self.idle = False
            sample = await self._timed(due, *action)
            self.idle = True
            record(sample)
            self._operations -= 1
            self._volume -= sample.size

    async def _wait(self, due):
        pause = min(due, self._run.window.close) - time.monotonic()
        if pause > 0:
            await asyncio.sleep(pause)

    async def _timed(self, due, operation, act, rows):
        error, message, size, first_byte = None, '', 0, None
        started = time.monotonic()
        try:
            first_byte, size, later = await act()
            if later is not None:
                started = later
        except OperationError as err:
            error, message = err.kind, err.reason
        except Exception as err:
            error, message = 'internal ' + type(err).__name__, str(err)
            self._run.unexpected(operation, err)
        ended = time.monotonic()
        # A timer may fire early by the loop's resolution of 1 ms.
        intended = started if due is None else min(due, started)
        return Sample(operation, intended, started,
                      _within(first_byte, started, ended), ended, size,
                      error, rows, message)


def _limit(value):
    return math.inf if value is None else value


def _within(first_byte, started, ended):
    return ended if first_byte is None else max(
        started, min(first_byte, ended))
