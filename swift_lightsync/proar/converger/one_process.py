# SPDX-License-Identifier: Apache-2.0
"""Lets one process of a daemon run at a time."""

import errno
import os
import socket
import sys
from hashlib import sha256


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
