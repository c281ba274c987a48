# SPDX-License-Identifier: Apache-2.0
"""Runs the processes of the engine in greenlets."""

from collections.abc import Callable
from typing import Any, TypeVar

from swift.common.concurrency import GreenPool, Timeout, sleep
from swift.common.exceptions import DiskFileDeviceUnavailable

from swift_lightsync.sync.core.engine.actions import Pause, Process, Together

_Result = TypeVar('_Result')

#: What a disk, or somebody who holds one up, ends in: it is said in a line.
_TROUBLE = (OSError, DiskFileDeviceUnavailable, Timeout)


def log_trouble(logger: Any, err: BaseException, what: str,
                *args: object) -> None:
    """Log an error that was caught, with a traceback if nobody expects it.

    :param logger: where
    :param err: the error
    :param what: could not be done; a format of the arguments
    """
    log = logger.error if isinstance(err, _TROUBLE) else logger.exception
    log(what + ': %s: %s', *args, type(err).__name__, err)


def drive(process: Process[_Result], perform: Callable[[Any], Any],
          logger: Any) -> _Result:
    """Run a process to its end.

    :param process: the process
    :param perform: performs an action that it yields, and returns its result
    :param logger: where an exception is logged that ends one of the processes
        it runs together
    :returns: the result of the process
    """
    result: Any = None
    try:
        while True:
            action = process.send(result)
            if isinstance(action, Pause):
                result = sleep(action.seconds)
            elif isinstance(action, Together):
                result = _together(action, perform, logger)
            else:
                result = perform(action)
    except StopIteration as end:
        found: _Result = end.value
        return found


def _together(action: Together, perform: Callable[[Any], Any],
              logger: Any) -> list[bool]:
    def run(process: Process[None]) -> bool:
        try:
            drive(process, perform, logger)
            return True
        except (Exception, Timeout) as err:
            log_trouble(logger, err, 'Error in what was done for several '
                        'partitions together; they are seen to one by one')
            return False

    pool = GreenPool(max(1, action.limit))
    threads = [pool.spawn(run, process) for process in action.processes]
    return [thread.wait() for thread in threads]
