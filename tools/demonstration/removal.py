# SPDX-License-Identifier: Apache-2.0
"""Removes a demonstration: ``tools/demo --down``.

Processes are found by their command lines and mounts in /proc, so that this
ends whatever is left, in any state. It needs the standard library only, so
that it works without the environment.
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
from contextlib import suppress

MARKER = '.lightsync-demo'
DEFAULT_DIR = os.path.join(tempfile.gettempdir(), 'lightsync-demo')
#: what a cluster runs
PROGRAMS = re.compile('python|memcached|rsync')
#: seconds within which processes that were killed are gone
PATIENCE = 60


def _processes(directory: str) -> list[int]:
    """Return the pids of what clusters below a directory run."""
    ours = re.compile(r'(.*=)?%s/[^/]+/' % re.escape(directory))
    found = []
    for pid in map(int, filter(str.isdigit, os.listdir('/proc'))):
        with suppress(FileNotFoundError, ProcessLookupError), \
                open('/proc/%d/cmdline' % pid, 'rb') as cmdline:
            argv = os.fsdecode(cmdline.read()).split('\0')
            if pid != os.getpid() and any(map(ours.match, argv)) \
                    and PROGRAMS.match(os.path.basename(argv[0])):
                found.append(pid)
    return found


def remove(directory: str) -> bool:
    """End the processes of a demonstration, unmount its disks, delete all.

    :param directory: of the demonstration
    :returns: whether there was any
    :raises OSError: if the directory is not a demonstration's, or something
        cannot be removed
    """
    directory = os.path.realpath(directory)
    if not os.path.isdir(directory):
        return False
    if not os.path.exists(os.path.join(directory, MARKER)):
        raise OSError('%s is not a demonstration\'s (it has no %s)' % (
            directory, MARKER))
    deadline = time.monotonic() + PATIENCE
    while pids := _processes(directory):
        if time.monotonic() > deadline:
            raise OSError('processes do not end: %s' % pids)
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    with open('/proc/self/mounts') as mounts:
        paths = [line.split()[1] for line in mounts]
    for path in reversed(paths):
        if path.startswith(directory + '/'):
            # Lazily: a shell that looks at it does not keep the rest.
            subprocess.run(['umount', '--lazy', path], check=True)
    shutil.rmtree(directory)
    return True


def main() -> int:
    """Remove what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(prog='tools/demo')
    parser.add_argument('--down', action='store_true', required=True)
    parser.add_argument('--dir', default=DEFAULT_DIR)
    args = parser.parse_args()
    try:
        print('tools/demo: %s: %s' % (
            args.dir, 'processes, mounts and directory are removed'
            if remove(args.dir) else 'there is nothing to remove'))
    except (OSError, subprocess.CalledProcessError) as err:
        print('tools/demo: %s' % err, file=sys.stderr)
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
