# SPDX-License-Identifier: Apache-2.0
"""Ends a daemon that must not touch objects: with one line, and not with 0.

An exception would not do: an auditor forks a child for each pass, logs what
the child raises, and begins again.
"""

import os
import signal
from typing import Any, NoReturn


def refuse(logger: Any, reason: str) -> NoReturn:
    """End this process, and the one that it is a fork of.

    :param logger: a logger
    :param reason: a line that says what to do
    :raises SystemExit: always
    """
    logger.error(reason)
    parent = os.getppid()
    if _command(parent) == _command(os.getpid()):
        # The handlers of SIGTERM in Swift's daemons end with status 0.
        os.kill(parent, signal.SIGUSR2)
    raise SystemExit(reason)


def _command(pid: int) -> Any:
    """Return the command line of a process; one that is gone has its own."""
    try:
        with open('/proc/%d/cmdline' % pid, 'rb') as arguments:
            return arguments.read()
    except (FileNotFoundError, ProcessLookupError):
        return pid
