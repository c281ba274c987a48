# SPDX-License-Identifier: Apache-2.0
"""Finds, starts and ends the processes of a cluster.

A process belongs to a cluster when an argument of its command line is, or
holds, a path below the cluster's directory. So nothing depends on pid files
that a crash leaves behind, and workers and children are found as well.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Optional

from tools.cluster.errors import ClusterError

POLL_INTERVAL = 0.02
START_TIMEOUT = 60
#: what reading /proc says of a process that has just ended
GONE = (FileNotFoundError, ProcessLookupError)


@dataclass(frozen=True)
class Process:
    """A running process: its pid and command line."""

    pid: int
    argv: tuple[str, ...]

    @property
    def state(self) -> Optional[str]:
        with suppress(*GONE), open('/proc/%d/stat' % self.pid) as stat:
            return stat.read().rpartition(')')[2].split()[0]
        return None


def all_processes() -> list[Process]:
    """Return every process whose command line can be read."""
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):
        with suppress(*GONE, PermissionError), \
                open('/proc/%d/cmdline' % pid, 'rb') as cmdline:
            text = os.fsdecode(cmdline.read()).rstrip('\0')
            if text:
                found.append(Process(pid, tuple(text.split('\0'))))
    return found


def wait_until(condition: Callable[[], Any], timeout: float, what: str
               ) -> Any:
    """Poll until the condition holds.

    :param timeout: seconds
    :param what: for the error: what should have happened
    :returns: what the condition returned
    :raises ClusterError: when it still does not hold
    """
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise ClusterError('after %g seconds, still not: %s'
                               % (timeout, what))
        time.sleep(POLL_INTERVAL)


def end(find: Callable[[], Iterable[Process]], sig: int = signal.SIGTERM,
        timeout: float = 10) -> set[int]:
    """Signal processes, and wait until they are gone; kill those that stay.

    :param find: returns the processes to end: called again until none is
        left, so that children born meanwhile are met
    :param sig: the first signal to send
    :param timeout: seconds after which SIGKILL follows
    :returns: the pids that were signalled
    """
    signalled: set[int] = set()
    patience = time.monotonic() + timeout
    deadline = patience + timeout
    while True:
        alive = [process for process in find()
                 if process.state not in (None, 'Z')]
        if not alive:
            return signalled
        if time.monotonic() > patience:
            sig = signal.SIGKILL
        if time.monotonic() > deadline:
            raise ClusterError('processes do not die, even of SIGKILL: %s'
                               % ' '.join(str(each.pid) for each in alive))
        for process in alive:
            if process.pid not in signalled or sig == signal.SIGKILL:
                signalled.add(process.pid)
                with suppress(ProcessLookupError):
                    os.kill(process.pid, sig)
        time.sleep(POLL_INTERVAL)


def start(argv: list[str], log: str, what: str,
          is_ready: Callable[[int], Any], **kwargs: Any) -> None:
    """Start a process that outlives this one, and wait until it is ready.

    :param argv: its command line
    :param log: the file to which its output goes
    :param what: for the error: what it should do
    :param is_ready: tells of a pid whether it does
    :param kwargs: of subprocess.Popen
    :raises ClusterError: with the end of the log if it has ended
    """
    with open(log, 'ab') as output:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, **kwargs)
    wait_until(lambda: process.poll() is not None or is_ready(process.pid),
               START_TIMEOUT, what)
    if process.returncode is not None:
        with open(log, errors='backslashreplace') as text:
            raise ClusterError('%s: it exited with status %d; %s says: %s'
                               % (what, process.returncode, log,
                                  ''.join(text.readlines()[-5:])))
