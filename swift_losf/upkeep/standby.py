# SPDX-License-Identifier: Apache-2.0
"""Opens an index whose disk cannot be written. FORMAT.md, "A disk that cannot
be written".

LevelDB writes when it is opened. So it is given a directory in memory, with
links to the tables that are on the disk, and copies of its logs.
"""

import errno
import logging
import os
import shutil

import plyvel

from swift_lightsync.common.files import opened
from swift_losf.format.header import FormatError
from swift_losf.index.db import is_full
from swift_losf.index.index import Index
from swift_losf.memory_directory import make_memory_directory, memory_directory
from swift_losf.volumes.ballast import SHORT, Space

_TABLES = ('.ldb', '.sst')
#: files that a LevelDB has beside its tables, and needs
_NEEDED = ('CURRENT', 'MANIFEST-', '.log')
#: what is written to see whether a disk can be written
_PROBE = 65536
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)

logger = logging.getLogger(__name__)


def can_write(directory):
    """Return whether a file can be made, written and synced.

    :param directory: where; nothing is left there
    """
    try:
        with opened(directory, os.O_TMPFILE | os.O_RDWR, 0o600) as fd:
            os.pwrite(fd, bytes(_PROBE), 0)
            os.fsync(fd)
    except OSError:
        return False
    return True


def is_for_want_of_disk(error, layout):
    """Return whether an index cannot be opened since its disk is not written.

    :param error: why it cannot be opened
    :param layout: a Layout
    """
    if isinstance(error, OSError) and not isinstance(error, plyvel.Error):
        return error.errno in _UNWRITABLE or (
            error.errno == errno.EIO and not _is_writable(layout))
    return (is_full(error) or os.strerror(errno.EROFS) in str(error)
            or not _is_writable(layout))


def _is_writable(layout):
    return can_write(os.path.dirname(layout.index))


def is_writable_again(layout):
    """Return whether an index could be opened where it belongs.

    :param layout: a Layout
    """
    directory = os.path.dirname(layout.index)
    try:
        return Space.of(directory).covers(SHORT) and can_write(directory)
    except OSError:
        return False


def open_standby(layout, reason):
    """Open an index in memory, over the one on the disk.

    :param layout: a Layout
    :param reason: why it is not opened on the disk
    :returns: the Index: nothing that it is told is durable. If that on the
        disk cannot be read, it is empty
    """
    logger.error('%s is served from memory until its disk can be written: %s',
                 layout.index, reason)
    path = os.path.join(make_memory_directory(layout.root), 'index')
    try:
        _lay_over(layout.index, path)
        return Index(path, durable=False)
    except (plyvel.CorruptionError, FormatError, OSError) as err:
        if is_full(err):
            raise
        logger.error('%s cannot be read, it is made anew in memory: %s',
                     layout.index, err)
    _empty(path)
    return Index(path, durable=False)


def drop_index(layout):
    """Remove an index that a server before has left in memory.

    REQUIRES: index.lock.

    :param layout: a Layout
    """
    shutil.rmtree(os.path.join(memory_directory(layout.root), 'index'),
                  ignore_errors=True)


def _empty(path):
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path, 0o700)


def _lay_over(source, path):
    _empty(path)
    for name in os.listdir(source):
        there = os.path.join(source, name)
        if name.endswith(_TABLES):
            os.symlink(os.path.abspath(there), os.path.join(path, name))
        elif name.startswith(_NEEDED) or name.endswith(_NEEDED):
            shutil.copyfile(there, os.path.join(path, name))
