# SPDX-License-Identifier: Apache-2.0
"""Temporary files of a run of tests: in one directory, and none left.

Hypothesis draws the same examples in each run, however slow the machine is.

A run fails if its tests leave files behind. A run that is told to end
(SIGTERM) cleans up; what a killed one left, processes and mounts too, is
removed by the next one.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from contextlib import suppress
from glob import glob

import pytest
from hypothesis import settings

settings.register_profile('deterministic', derandomize=True, database=None,
                          deadline=None)
settings.load_profile('deterministic')

PREFIX = 'lst-'
#: What pytest itself keeps of the last runs.
PYTESTS = 'pytest-of-'


def _remove_what_killed_runs_left(parent):
    for directory in glob(os.path.join(parent, PREFIX + '*')):
        pid = directory.rpartition('-')[2]
        if pid.isdigit() and not os.path.exists('/proc/%s' % pid):
            _end_processes_of(directory + os.sep)
            with open('/proc/mounts', encoding='utf8') as mounts:
                for path in [each.split()[1] for each in mounts]:
                    if path.startswith(directory + os.sep):
                        subprocess.run(['umount', '-l', path])
            shutil.rmtree(directory, ignore_errors=True)


def _end_processes_of(directory):
    """Kill the servers whose arguments name files of a directory."""
    for path in glob('/proc/[0-9]*/cmdline'):
        with suppress(OSError):
            with open(path, 'rb') as arguments:
                if directory.encode() in arguments.read():
                    os.kill(int(path.split(os.sep)[2]), signal.SIGKILL)


def _interrupt(*_):
    raise KeyboardInterrupt


def pytest_configure(config):
    """Give the run, with all its processes, a temporary directory."""
    if hasattr(config, 'workerinput'):
        return
    parent = tempfile.gettempdir()
    _remove_what_killed_runs_left(parent)
    # Short: the paths of sockets have to fit into 107 bytes.
    config.run_directory = os.path.join(parent, PREFIX + str(os.getpid()))
    os.mkdir(config.run_directory)
    os.environ['TMPDIR'] = tempfile.tempdir = config.run_directory
    signal.signal(signal.SIGTERM, _interrupt)


@pytest.hookimpl(trylast=True)
def pytest_sessionstart():
    """Have coverage, where it runs, see eventlet's native threads as well."""
    if threading.gettrace():
        from eventlet import patcher
        patcher.original('threading').settrace(threading.gettrace())


_with_failed_subtests = set()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    """Have a test fail whose subtest did in a process of xdist: for pytest it
    has passed, and is none of the last failed.
    """
    if isinstance(report, pytest.SubtestReport):
        if report.failed:
            _with_failed_subtests.add(report.nodeid)
    elif report.when == 'call' and report.passed \
            and report.nodeid in _with_failed_subtests:
        report.outcome = 'failed'
        report.longrepr = 'a subtest failed'


def pytest_sessionfinish(session):
    """Remove the directory, and fail if tests have left files in it."""
    directory = getattr(session.config, 'run_directory', None)
    if directory is None:
        return
    session.config.left = sorted(
        name for name in os.listdir(directory)
        if not name.startswith(PYTESTS))
    if session.config.left and not session.exitstatus:
        session.exitstatus = 1


def pytest_terminal_summary(terminalreporter, config):
    """Name the files that tests have left."""
    for name in getattr(config, 'left', ()):
        terminalreporter.write_line('left behind: %s' % name, red=True)


def pytest_unconfigure(config):
    """Remove the run's temporary directory."""
    directory = getattr(config, 'run_directory', None)
    if directory is not None:
        shutil.rmtree(directory, ignore_errors=True)
