# SPDX-License-Identifier: Apache-2.0
"""
Finds, starts and ends the processes of a cluster.

A process belongs to a cluster when an argument of its command line is, or
holds, a path below the cluster's directory. So nothing depends on pid files
that a crash leaves behind, and workers and children are found as well.
"""

import os
import signal
import subprocess
import time
from dataclasses import dataclass

from tools.cluster.errors import ClusterError

POLL_INTERVAL = 0.02
START_TIMEOUT = 60


@dataclass(frozen=True)
class Process:
    """A running process: its pid and command line."""

    pid: int
    argv: tuple

    @property
    def state(self):
        try:
            with open('/proc/%d/stat' % self.pid) as stat:
                return stat.read().rpartition(')')[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return None


def _command_line(pid):
    try:
        with open('/proc/%d/cmdline' % pid, 'rb') as cmdline:
            text = cmdline.read().decode('utf8', 'surrogateescape')
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ()
    return tuple(text.rstrip('\0').split('\0')) if text else ()


def all_processes():
    """:returns: every Process whose command line can be read"""
    found = (Process(int(name), _command_line(int(name)))
             for name in os.listdir('/proc') if name.isdigit())
    return [process for process in found if process.argv]


def wait_until(condition, timeout, what):
    """
    Poll until the condition holds.

    :param condition: a callable
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


def wait_ready(process, log, what, ready, timeout=START_TIMEOUT):
    """
    Wait until a process that was started does what it is for.

    :param process: a Popen
    :param log: the file its output goes to
    :param what: for the error: what it should do
    :param ready: a callable: whether it does
    :param timeout: seconds
    :raises ClusterError: with the end of the log if it has ended
    """
    wait_until(lambda: process.poll() is not None or ready(), timeout, what)
    if process.returncode is not None:
        with open(log, errors='backslashreplace') as text:
            raise ClusterError('%s: it exited with status %d; %s says: %s'
                               % (what, process.returncode, log,
                                  ''.join(text.readlines()[-5:])))


def end(find, sig=signal.SIGTERM, timeout=10):
    """
    Signal processes, and wait until they are gone; kill those that stay.

    :param find: a callable that returns the processes to end: called again
        until none is left, so that children born meanwhile are met
    :param sig: the first signal to send
    :param timeout: seconds after which SIGKILL follows
    :returns: the pids that were signalled
    """
    signalled = set()
    patience = time.monotonic() + timeout
    deadline = patience + timeout
    while True:
        alive = [process for process in find() if process.state not in
                 (None, 'Z')]
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
                _send(process.pid, sig)
        time.sleep(POLL_INTERVAL)


def _send(pid, sig):
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


def start_background(argv, log, **kwargs):
    """
    Start a process that outlives this one.

    :param argv: its command line
    :param log: the file to which its output goes
    :returns: the Popen
    """
    with open(log, 'ab') as output:
        return subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, **kwargs)
