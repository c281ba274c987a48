# SPDX-License-Identifier: Apache-2.0
"""Opens an index that may be damaged. FORMAT.md, "Recovery", step 2.

One whose log a power cut has torn is opened without what was not synced. Of
one that is damaged otherwise what can be read is copied (salvage.py), and the
rest made anew from the volumes.
"""

import contextlib
import errno
import logging
import os
import shutil
import time

import plyvel

from swift_lightsync.common.files import sync_directory
from swift_losf.format.header import FormatError
from swift_losf.format.layout import volume_number
from swift_losf.index.index import Index
from swift_losf.index.leveldb_log import is_torn
from swift_losf.upkeep.salvage import NothingLeft, Salvage
from swift_losf.upkeep.standby import is_for_want_of_disk, open_standby

#: behind the name of an index that a new one is being made of
DAMAGED = '.damaged'

logger = logging.getLogger(__name__)


def open_index(layout, progress=lambda state: None):
    """Open an index; one that is lost or damaged gives way to a new one.

    :param layout: a Layout
    :param progress: called with a few words on what is being done
    :returns: the Index, which may lack what was not synced; one in memory if
        the disk cannot be written. If it is unfinished, db.known tells what
        it has
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
        if index.db.durable and os.path.exists(layout.index + DAMAGED):
            return _salvaged(layout, index, progress)
    return index


def _salvaged(layout, index, progress):
    """Return an index with what can be read of the damaged one."""
    salvage = Salvage(layout.index + DAMAGED, index.db, progress)
    try:
        salvage.run()
    except NothingLeft as err:
        logger.error('%s is made anew as a whole: %s', layout.index, err)
        index.close()
        shutil.rmtree(layout.index)
        index = Index(layout.index)
        index.db.begin()
        put_away(layout)
        return index
    except BaseException:
        index.close()
        raise
    logger.warning('%s: copied from the damaged one; %d ranges of hashes are '
                   'made anew', layout.index, len(salvage.gaps))
    index.db.known.all_but(())
    index.db.reload()
    index.part_power.load()
    index.db.known.all_but(salvage.gaps)
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
        set_damaged_aside(layout, err)
        return Index(layout.index)


def _open_torn(layout):
    try:
        # What can be read of the logs is put into a table.
        plyvel.DB(layout.index, paranoid_checks=False).close()
        return Index(layout.index)
    except (plyvel.Error, FormatError) as err:
        if not is_lost(err):
            raise
        set_damaged_aside(layout, err)
        return Index(layout.index)


def is_lost(error):
    """Return whether an index cannot be used again after an error.

    A full disk or a lock, for one, says nothing against what is in the index.

    :param error: the exception that ended an index server
    """
    if isinstance(error, plyvel.IOError):
        return any(os.strerror(number) in str(error)
                   for number in (errno.ENOENT, errno.EIO))
    return isinstance(error, (plyvel.CorruptionError, FormatError))


def set_aside(layout, reason):
    """Rename an index that the operator wants another one instead of.

    :param reason: why: a text
    :returns: its path now
    """
    put_away(layout)
    aside = _aside(layout)
    logger.warning('%s is set aside as %s: %s', layout.index, aside, reason)
    os.rename(layout.index, aside)
    sync_directory(os.path.dirname(layout.index))
    return aside


def set_damaged_aside(layout, reason):
    """Rename an index, so that a new one is made of it and of the volumes.

    :param reason: why: an exception
    """
    damaged = layout.index + DAMAGED
    logger.error('%s is damaged: a new one is made of what can be read, and '
                 'of the volumes: %s', layout.index, reason)
    if os.path.exists(damaged):
        # What is there is a copy of it that was not finished.
        shutil.rmtree(layout.index)
    else:
        os.rename(layout.index, damaged)
    sync_directory(os.path.dirname(layout.index))


def put_away(layout):
    """Keep a damaged index, if there is one, as one that is not needed."""
    with contextlib.suppress(FileNotFoundError):
        os.rename(layout.index + DAMAGED, _aside(layout))
        sync_directory(os.path.dirname(layout.index))


def _aside(layout):
    return '%s.broken-%d' % (layout.index, time.time_ns())
