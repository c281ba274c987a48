# SPDX-License-Identifier: Apache-2.0
"""A logger that says the same thing once a minute at most."""

import time
from collections.abc import Callable
from typing import Any

#: seconds between two lines of one cause
INTERVAL = 60.0


class QuietLogger:
    """Logs the first line of each cause, and then one a minute.

    A line says how many of the same cause were left out before it. What is
    not defined here is the logger's own.

    :param logger: Swift's
    :param clock: returns seconds
    """

    def __init__(self, logger: Any,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self._logger = logger
        self._clock = clock
        #: cause -> (when it may be told of next, how many were left out)
        self._told: dict[Any, tuple[float, int]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)

    def warning_of(self, cause: Any, message: str, *args: Any) -> None:
        """Log a warning.

        :param cause: a text that all lines of one cause share
        """
        self._log(self._logger.warning, cause, message, args)

    def exception_of(self, cause: Any, message: str, *args: Any) -> None:
        """Log the exception that is handled likewise, with its traceback."""
        self._log(self._logger.exception, cause, message, args)

    def error_of(self, cause: Any, message: str, *args: Any) -> None:
        """Log an error likewise."""
        self._log(self._logger.error, cause, message, args)

    def _log(self, log: Callable[..., None], cause: Any, message: str,
             args: tuple[Any, ...]) -> None:
        until, left_out = self._told.get(cause, (-INTERVAL, 0))
        now = self._clock()
        if now < until:
            self._told[cause] = until, left_out + 1
            return
        self._told[cause] = now + INTERVAL, 0
        if left_out:
            message += ' (and %d times more since the last line)'
            args += left_out,
        log(message, *args)
