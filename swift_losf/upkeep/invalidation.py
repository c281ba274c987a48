# SPDX-License-Identifier: Apache-2.0
"""Has Swift compute the hashes of suffixes anew, by `hashes.invalid`."""

import fcntl
import os

#: of Swift, in a partition directory: the lock, and the suffixes to rehash
_PARTITION_LOCK = '.lock'
_INVALIDATIONS = 'hashes.invalid'


def invalidate(layout, partition, suffixes):
    """
    Put suffixes down for rehashing, as stock Swift does.

    :param layout: a Layout
    :param partition: a number; its directory is made if it is missing
    :param suffixes: numbers
    """
    directory = layout.partition(partition)
    os.makedirs(directory, exist_ok=True)
    fd = os.open(os.path.join(directory, _PARTITION_LOCK),
                 os.O_WRONLY | os.O_CREAT, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        with open(os.path.join(directory, _INVALIDATIONS), 'ab') as lines:
            lines.write(b''.join(b'%03x\n' % each for each in suffixes))
    finally:
        os.close(fd)
