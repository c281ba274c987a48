# SPDX-License-Identifier: Apache-2.0
"""
Opens an index that may be damaged. FORMAT.md, "Recovery", step 2.

One whose log a power cut has torn is opened without what was not synced. One
that is damaged otherwise is set aside, and made anew from the volumes.
"""

import errno
import logging
import os
import shutil
import time

import plyvel

from swift_losf.format.header import FormatError
from swift_losf.format.layout import volume_number
from swift_losf.index.db import fsync
from swift_losf.index.index import Index
from swift_losf.index.leveldb_log import is_torn
from swift_losf.upkeep.standby import is_for_want_of_disk, open_standby

logger = logging.getLogger(__name__)


def open_index(layout):
    """
    Open an index; one that is lost is set aside, and a new one is made.

    :param layout: a Layout
    :returns: the Index, which may lack what was not synced; one in memory if
        the disk cannot be written. If it is unfinished, it is empty
    """
    index = _open(layout)
    if index.db.is_unfinished:
        # A server that has died made it; nothing of it is needed.
        index.close()
        shutil.rmtree(index.db.path)
        index = Index(index.db.path, index.db.durable)
    if index.db.is_new and any(map(volume_number,
                                   os.listdir(layout.volumes))):
        index.db.begin()
    return index


def _open(layout):
    try:
        return Index(layout.index)
    except (plyvel.Error, FormatError, OSError) as err:
        if is_for_want_of_disk(err, layout):
            return open_standby(layout, err)
        if not is_lost(err):
            raise
        if is_torn(layout.index):
            logger.warning('%s: its log was torn, what was not synced is '
                           'scanned for: %s', layout.index, err)
            return _open_torn(layout)
        set_aside(layout, err)
        return Index(layout.index)


def _open_torn(layout):
    try:
        # What can be read of the logs is put into a table.
        plyvel.DB(layout.index, paranoid_checks=False).close()
        return Index(layout.index)
    except (plyvel.Error, FormatError) as err:
        if not is_lost(err):
            raise
        set_aside(layout, err)
        return Index(layout.index)


def is_lost(error):
    """
    Return whether an index cannot be used again after an error.

    A full disk or a lock, for one, says nothing against what is in the index.

    :param error: the exception that ended an index server
    """
    if isinstance(error, plyvel.IOError):
        return any(os.strerror(number) in str(error)
                   for number in (errno.ENOENT, errno.EIO))
    return isinstance(error, (plyvel.CorruptionError, FormatError))


def set_aside(layout, reason):
    """
    Rename an index, so that a new one is made from the volumes.

    :param reason: why: an exception, or a text
    """
    aside = '%s.broken-%d' % (layout.index, time.time_ns())
    logger.error('%s is set aside as %s, and will be made anew from the '
                 'volumes: %s', layout.index, aside, reason)
    os.rename(layout.index, aside)
    fsync(os.path.dirname(layout.index))
