# SPDX-License-Identifier: Apache-2.0
"""
Removes a demonstration: ``tools/demo --down``.

Processes are found by their command lines, mounts in /proc, so that this ends
whatever is left of a demonstration in any state. It needs Python's standard
library only, so that it works when the environment is gone.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MARKER = '.lightsync-demo'
DEFAULT_DIR = os.path.join(tempfile.gettempdir(), 'lightsync-demo')
REPO = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
STAMP = '.lightsync-stamp'
#: seconds within which processes that were killed are gone
PATIENCE = 60


def _processes(directory: str) -> list[int]:
    """Return the pids of what clusters below a directory run."""
    ours = re.compile(r'(.*=)?%s/[^/]+/' % re.escape(directory))
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open('/proc/%s/cmdline' % pid, 'rb') as cmdline:
                argv = os.fsdecode(cmdline.read()).split('\0')
            with open('/proc/%s/stat' % pid) as stat:
                state = stat.read().rpartition(')')[2].split()[0]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if state != 'Z' and int(pid) != os.getpid() and re.match(
                'python|memcached|rsync', os.path.basename(argv[0])) \
                and any(ours.match(each) for each in argv):
            found.append(int(pid))
    return found


def remove(directory: str) -> bool:
    """
    End the processes of a demonstration, unmount its disks, delete all.

    :param directory: of the demonstration
    :returns: whether there was any
    :raises ValueError: if the directory is not a demonstration's
    :raises OSError: if something cannot be removed
    """
    directory = os.path.realpath(directory)
    if not os.path.isdir(directory):
        return False
    if not os.path.exists(os.path.join(directory, MARKER)):
        raise ValueError('%s is not a demonstration\'s (it has no %s)' % (
            directory, MARKER))
    deadline = time.monotonic() + PATIENCE
    while pids := _processes(directory):
        if time.monotonic() > deadline:
            raise OSError('processes do not end: %s' % pids)
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
    with open('/proc/self/mounts') as mounts:
        paths = [line.split()[1] for line in mounts]
    for path in reversed(paths):
        if path.startswith(directory + '/'):
            # Lazily: a shell that looks at it does not keep the rest.
            subprocess.run(['umount', '--lazy', path], check=True)
    shutil.rmtree(directory)
    return True


def _remove_environment() -> None:
    """Delete the environment that tools/env has made, and its log."""
    venv = os.environ.get('LIGHTSYNC_VENV') or os.path.join(REPO, '.venv')
    if os.path.exists(os.path.join(venv, STAMP)):
        shutil.rmtree(venv)
        print('removed %s' % venv)
    else:
        print('there is no environment of tools/env in %s' % venv)
    for path in (os.path.join(REPO, '.cache', 'env.log'),):
        if os.path.exists(path):
            os.unlink(path)
    for path in (os.path.join(REPO, 'swift_lightsync.egg-info'),):
        shutil.rmtree(path, ignore_errors=True)


def main() -> int:
    """Remove what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(prog='tools/demo --down')
    parser.add_argument('--down', action='store_true')
    parser.add_argument('--venv', action='store_true')
    parser.add_argument('--dir', default=DEFAULT_DIR)
    args = parser.parse_args()
    try:
        print(('removed %s, its processes and mounts' if remove(args.dir)
               else 'there is no demonstration in %s') % args.dir)
        if args.venv:
            _remove_environment()
    except (ValueError, OSError, subprocess.CalledProcessError) as err:
        print('tools/demo: %s' % err, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
