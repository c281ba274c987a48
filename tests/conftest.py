# SPDX-License-Identifier: Apache-2.0
"""Temporary files of a run of tests: in one directory, and none left.

A run fails if its tests leave files behind. What a killed run left is removed
by the next one.
"""

import os
import shutil
import tempfile

PREFIX = 'lst-'
#: What pytest itself keeps of the last runs.
PYTESTS = 'pytest-of-'


def _remove_what_killed_runs_left(parent):
    for name in os.listdir(parent):
        pid = name[len(PREFIX):]
        if name.startswith(PREFIX) and pid.isdigit() and \
                not os.path.exists('/proc/%s' % pid):
            shutil.rmtree(os.path.join(parent, name), ignore_errors=True)


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
