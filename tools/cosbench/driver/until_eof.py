# SPDX-License-Identifier: Apache-2.0
"""Runs a command that does not outlive standard input.

    until_eof.py SECONDS COMMAND ARGUMENT...

The command leads a process group of its own. When standard input ends, since
its writer has closed it or has died, however that was, the group gets
SIGTERM, and after so many seconds SIGKILL. What the command has left running
in the background belongs to it until then.

Exit status: 0 if the command ran until it was ended so; else its own, 128
and the signal's number if a signal killed it, 126 if it could not be run.

Needs Python's library only: it runs without this package's environment.
"""

import os
import signal
import subprocess
import sys
import time

CANNOT_RUN = 126
#: Seconds between two looks at what is left of the group.
PAUSE = 0.02


def main(seconds, *command):
    """Run a command until standard input ends.

    :param seconds: a text
    :returns: exit status
    """
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   start_new_session=True)
    except OSError as err:
        print(err, file=sys.stderr)
        return CANNOT_RUN
    while os.read(0, 4096):
        pass
    status = process.poll() or 0
    _end(process, float(seconds))
    return status if status >= 0 else 128 - status


def _end(process, seconds):
    deadline = time.monotonic() + seconds
    _signal(process, signal.SIGTERM)
    # Its first process is no member any more once it is waited for.
    while process.poll() is None or _signal(process, 0):
        if time.monotonic() >= deadline:
            _signal(process, signal.SIGKILL)
            process.wait()
            return
        time.sleep(PAUSE)


def _signal(process, number):
    """Send a signal; return whether there was a process to get it."""
    try:
        os.killpg(process.pid, number)
        return True
    except ProcessLookupError:
        return False


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
