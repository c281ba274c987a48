# SPDX-License-Identifier: Apache-2.0
"""Waiting for what processes and threads do, with a deadline."""

import os
import signal
import time
from glob import glob


def wait_for(condition, what, deadline, sleep=time.sleep, pause=0.005):
    """Poll until a condition holds.

    :param condition: a function without arguments
    :param what: it means, for the error; a function is asked in the end
    :param deadline: seconds after which it has failed
    :param sleep: a function of seconds; a green one lets greenthreads work
    :param pause: seconds between two looks
    :returns: what the condition returned
    """
    end = time.monotonic() + deadline
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError('not in %d s: %s' % (
                deadline, what() if callable(what) else what))
        sleep(pause)


def _state(path):
    with open(path, encoding='utf8') as stat:
        return stat.read().rpartition(')')[2].split()[0]


def is_running(pid):
    """:returns: whether a process runs: neither gone nor a zombie"""
    try:
        return _state('/proc/%d/stat' % pid) != 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return False


def is_stopped(pid):
    """:returns: whether SIGSTOP has reached all threads of a process"""
    return all(_state(path) == 'T'
               for path in glob('/proc/%d/task/*/stat' % pid))


def stop(pid, deadline=30):
    """Stop a process with SIGSTOP; when this returns it stands still."""
    os.kill(pid, signal.SIGSTOP)
    wait_for(lambda: is_stopped(pid), 'process %d stands still' % pid,
             deadline)
