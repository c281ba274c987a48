# SPDX-License-Identifier: Apache-2.0
"""Makes the directories of partitions those of the part power of the ring.

FORMAT.md, "The part power". Any step may be done again: it is noted at the end
that all are done.
"""

import fcntl
import logging
import os
import pickle  # nosec: B403
import time
from contextlib import contextmanager, suppress

from swift_lightsync.common.files import opened, replace_file
from swift_losf.index.db import is_full

#: of Swift: in a partition directory
_LOCK = '.lock'
_HASHES = 'hashes.pkl'
_INVALIDATIONS = 'hashes.invalid'
#: what a partition directory may have, in the order in which it is removed
_FILES = ('changed.pkl', _HASHES, _INVALIDATIONS, _LOCK, '.lock-replication')
#: of what is written for Swift
_PROTOCOL = 2

logger = logging.getLogger(__name__)


@contextmanager
def _locked(directory):
    """Hold the lock of a partition, as Swift does to change its hashes."""
    with opened(os.path.join(directory, _LOCK),
                os.O_WRONLY | os.O_CREAT) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def invalidate(layout, partition, suffixes):
    """Put suffixes down for rehashing, as stock Swift does.

    :param layout: a Layout
    :param partition: a number; its directory is made if it is missing
    :param suffixes: numbers
    """
    directory = layout.partition(partition)
    os.makedirs(directory, exist_ok=True)
    with _locked(directory):
        with open(os.path.join(directory, _INVALIDATIONS), 'ab') as lines:
            lines.write(b''.join(b'%03x\n' % each for each in suffixes))


def _forget_hashes(directory):
    """Have Swift compute all hashes of a partition anew.

    A file that says so is another one than whoever computes them just now has
    read: so what comes of that is not kept. No file might be taken for none.
    """
    with _locked(directory):
        replace_file(os.path.join(directory, _HASHES), pickle.dumps(
            {'valid': False, 'updated': time.time()}, _PROTOCOL))
        for name in ('changed.pkl', _INVALIDATIONS):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))


def _remove(directory):
    """Remove the directory of a partition that has no files."""
    with _locked(directory):
        for name in _FILES:
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(directory, name))
    # What is left in it is not ours.
    with suppress(OSError):
        os.rmdir(directory)


def directories(layout):
    """Return the partitions that have a directory, a list of numbers."""
    with suppress(FileNotFoundError):
        return [int(name) for name in os.listdir(layout.objects)
                if name.isdigit()]
    return []


def tidy(layout, index, is_stopped=lambda: False):
    """Have a directory for each partition that has files.

    After a change of the part power, no hashes are left that were computed
    before, and no directories of partitions that have no files now.

    :param layout: a Layout
    :param index: the Index, which is complete
    :param is_stopped: a function that tells whether to leave the rest for
        another time
    """
    power, is_tidy = index.part_power.view.power, index.part_power.is_tidy
    try:
        if not is_tidy and not _change_all(layout, index, is_stopped):
            return
        # Who puts a file into a directory that is removed may see it still.
        for partition in index.reader.list_partitions():
            os.makedirs(layout.partition(partition), exist_ok=True)
    except OSError as err:
        if not is_full(err):
            raise
        logger.error('%s: the directories of partitions are not those of part '
                     'power %s yet: %s', layout.objects, power, err)
        return
    if not is_tidy:
        index.part_power.note_tidied(power)
        logger.info('%s: the partitions are those of part power %d',
                    layout.objects, power)


def _change_all(layout, index, is_stopped):
    """Change what there is of directories; return whether this is done."""
    wanted = set(index.reader.list_partitions())
    for partition in directories(layout):
        if is_stopped():
            return False
        change = _forget_hashes if partition in wanted else _remove
        # Swift removes directories, too.
        with suppress(FileNotFoundError):
            change(layout.partition(partition))
    return True
