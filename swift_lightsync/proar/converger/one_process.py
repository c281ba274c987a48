# SPDX-License-Identifier: Apache-2.0
"""Lets one process of a daemon run at a time."""

import errno
import os
import socket
import sys


def be_alone(section, devices, port):
    """Let one process run at a time.

    :param section: of the daemon
    :param devices: path of the directory of the devices; the directory itself
                    counts, for nodes in containers all call theirs by one name
    :param port: of the devices in the ring
    :returns: a socket to keep for as long as this one runs
    :raises SystemExit: if one runs already, or there is no such directory
    """
    try:
        found = os.stat(devices)
    except OSError as err:
        sys.exit('%s: no directory of devices: %s' % (section, err))
    # An abstract name: it goes with the process, however that ends.
    name = '\0%s-%d-%d-%s' % (section, found.st_dev, found.st_ino, port)
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(name)
    except OSError as err:
        lock.close()
        if err.errno != errno.EADDRINUSE:
            raise
        sys.exit('%s: one runs already for the devices in %s and port %s: '
                 'stop that first' % (section, devices, port))
    return lock
