# SPDX-License-Identifier: Apache-2.0
"""Segments that do not tell any more what the device holds.

As long as there is one, the device vouches for nobody. PROTOCOL.md, "The log".
"""

import os
from contextlib import suppress

from swift_lightsync.proar.log.segment import LOG_SUFFIX, logs_path

#: Its header is damaged; it stays until an operator removes it.
DAMAGED = '.damaged'
#: The log was too long; it stays until the object-replicator has brought
#: others what it names.
CUT = '.cut'


def set_aside(directory, reason):
    """Return the paths of the segments of a log that were set aside.

    :param reason: DAMAGED or CUT
    :raises OSError: if it cannot be told
    """
    try:
        return [os.path.join(directory, name) for name in os.listdir(directory)
                if name.endswith(LOG_SUFFIX + reason)]
    except FileNotFoundError:
        return []


def tells_all(device_path, has_replicated):
    """Return whether a log tells all that other devices may lack.

    :param device_path: of the device
    :param has_replicated: returns whether the object-replicator has ended a
        pass without a failure that began after a Unix time
    :raises OSError: if it cannot be told
    """
    directory = logs_path(device_path)
    for path in set_aside(directory, CUT):
        with suppress(FileNotFoundError):
            if not has_replicated(os.stat(path).st_mtime):
                return False
            os.unlink(path)
    return not set_aside(directory, DAMAGED)
