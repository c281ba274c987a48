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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tools import ToolError

POLL_INTERVAL = 0.02
START_TIMEOUT = 60


@dataclass(frozen=True)
class Process:
    """A running process: its pid and command line."""

    pid: int
    argv: tuple[str, ...]

    def runs(self) -> bool:
        """Return whether it is neither gone nor a zombie."""
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE
        return False


def all_processes() -> list[Process]:
    """Return every process whose command line can be read."""
    found = []
    # It is asked all the time: psutil.process_iter takes three times as long.
    for pid in psutil.pids():
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            text = Path('/proc/%d/cmdline' % pid).read_bytes().rstrip(b'\0')
            if text:
                found.append(Process(pid, tuple(
                    os.fsdecode(text).split('\0'))))
    return found


@contextmanager
def stopped(*pids: int) -> Iterator[None]:
    """Processes stand still; the kernel takes connections for them."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def wait_until(condition: Callable[[], Any], timeout: float, what: str
               ) -> Any:
    """Poll until the condition holds.

    :param timeout: seconds
    :param what: for the error: what should have happened
    :returns: what the condition returned
    :raises ToolError: when it still does not hold
    """
    deadline = time.monotonic() + timeout
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > deadline:
            raise ToolError('after %g seconds, still not: %s'
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
    deadline = patience + START_TIMEOUT
    while True:
        alive = [process for process in find() if process.runs()]
        if not alive:
            return signalled
        if time.monotonic() > patience:
            sig = signal.SIGKILL
        if time.monotonic() > deadline:
            raise ToolError('processes do not die, even of SIGKILL: %s'
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
    :raises ToolError: with the end of the log if it has ended
    """
    with open(log, 'ab') as output:
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, **kwargs)
    wait_until(lambda: process.poll() is not None or is_ready(process.pid),
               START_TIMEOUT, what)
    if process.returncode is not None:
        with open(log, errors='backslashreplace') as text:
            raise ToolError('%s: it exited with status %d; %s says: %s'
                            % (what, process.returncode, log,
                               ''.join(text.readlines()[-5:])))
