# SPDX-License-Identifier: Apache-2.0
"""How long a process of a daemon runs, and beside whom."""

import ctypes
import errno
import os
import signal
import socket
import sys
from hashlib import sha256

PR_SET_PDEATHSIG = 1


def end_with_parent():
    """Have the kernel kill this process when its parent ends, however."""
    parent = os.getppid()
    if ctypes.CDLL(None, use_errno=True).prctl(
            PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), 'prctl')
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def be_alone(section, what):
    """Let one process run at a time.

    :param section: of the daemon
    :param what: a text; of the processes that say the same, one may run
    :returns: a socket to keep for as long as this one runs
    :raises SystemExit: if one runs already
    """
    # An abstract name: it goes with the process, however that ends.
    name = '\0%s-%s' % (section, sha256(os.fsencode(what)).hexdigest())
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(name)
    except OSError as err:
        lock.close()
        if err.errno != errno.EADDRINUSE:
            raise
        sys.exit('%s: one runs already for %s, devices and port: stop that '
                 'first' % (section, what))
    return lock
