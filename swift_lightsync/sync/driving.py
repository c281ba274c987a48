# SPDX-License-Identifier: Apache-2.0
"""Runs the processes of the engine in greenlets."""

from collections.abc import Callable
from typing import Any, TypeVar

from swift.common.concurrency import GreenPool, sleep

from swift_lightsync.sync.core.engine.actions import (
    Pause,
    Process,
    Together,
)

_Result = TypeVar('_Result')


def drive(process: Process[_Result],
          perform: Callable[[Any], Any]) -> _Result:
    """
    Run a process to its end.

    :param process: the process
    :param perform: performs an action that it yields, and returns its result
    :returns: the result of the process
    """
    result: Any = None
    try:
        while True:
            action = process.send(result)
            if isinstance(action, Pause):
                result = sleep(action.seconds)
            elif isinstance(action, Together):
                _together(action, perform)
                result = None
            else:
                result = perform(action)
    except StopIteration as end:
        found: _Result = end.value
        return found


def _together(action: Together, perform: Callable[[Any], Any]) -> None:
    pool = GreenPool(max(1, action.limit))
    threads = [pool.spawn(drive, process, perform)
               for process in action.processes]
    for thread in threads:
        thread.wait()
