# SPDX-License-Identifier: Apache-2.0
"""
Recovers an index before it is served: FORMAT.md, "Recovery".

The steps are numbered there. Each may be interrupted and done again.
"""

import fcntl
import logging
import os
from typing import Dict, Set

from swift_lightsync.common.files import try_lock
from swift_losf.format import keys
from swift_losf.format.header import (
    FIRST_RECORD,
    HEADER_LENGTH,
    FormatError,
    RecordHeader,
    aligned,
    expect,
)
from swift_losf.format.layout import volume_number
from swift_losf.format.name_code import durable_name
from swift_losf.index.db import fsync
from swift_losf.upkeep.lost_index import open_index
from swift_losf.volumes.volume import (
    iter_records,
    mend_copies,
    pread,
    read_copies,
)

BROKEN = '.broken'
#: records that are entered after one sync of their volume
BATCH = 1024
#: of Swift, in a partition directory: the lock, and the suffixes to rehash
_PARTITION_LOCK = '.lock'
_INVALIDATIONS = 'hashes.invalid'
_FRAGMENT = '#'

logger = logging.getLogger(__name__)


def recover(layout, progress=lambda state: None):
    """
    Open the index of a device and policy, with all that was acknowledged.

    REQUIRES: index.lock.

    :param layout: a Layout
    :param progress: called with a few words on what is being done
    :returns: the Index
    """
    os.makedirs(layout.volumes, exist_ok=True)
    progress('opening the index')
    index = open_index(layout)
    try:
        Recovery(layout, index, progress).run()
    except BaseException:
        index.close()
        raise
    return index


class Recovery:
    """
    Brings an index up to date with its volumes.

    :param layout: a Layout
    :param index: the Index, which nobody else uses yet
    :param progress: called with a few words on what is being done
    """

    def __init__(self, layout, index, progress):
        self.layout = layout
        self.index = index
        self.progress = progress
        #: whether the disk can be written; if not, it is left as it is
        self._durable = index.db.durable

    def run(self):
        """Do the steps 3 to 7."""
        numbers = self._list_volumes()
        for done, number in enumerate(numbers, 1):
            self.progress('volume %d of %d, %d files recovered' % (
                done, len(numbers), self.index.adopter.recovered))
            self._recover_volume(number)
        self._forget_removed(numbers)
        if not self._durable:
            return
        self.index.sync()
        self.progress('partitions')
        for partition in self.index.reader.list_partitions():
            os.makedirs(self.layout.partition(partition), exist_ok=True)

    def _forget_removed(self, numbers):
        # Whoever unlinked them did not live to see it noted.
        for number, state in self.index.list_volumes():
            if number not in numbers and not state.has_files:
                self.index.drop_volume(number)

    def _list_volumes(self):
        names = os.listdir(self.layout.volumes)
        used = [volume_number(name[:-len(BROKEN)]) if name.endswith(BROKEN)
                else volume_number(name) for name in names]
        self.index.skip_volumes(max(filter(None, used), default=0))
        return sorted(filter(None, map(volume_number, names)))

    def _recover_volume(self, number):
        path = self.layout.volume(number)
        fd = os.open(path, os.O_RDWR if self._durable else os.O_RDONLY)
        try:
            free = try_lock(fd)
            header = self._header(number, fd, free)
            if header:
                self._recover_records(fd, header, free)
        finally:
            os.close(fd)

    def _header(self, number, fd, free):
        """
        Return the volume's header, or None if it has none or was set aside.
        """
        try:
            header, flaw = read_copies(fd)
            expect('the number in the header', header.number, number,
                   header.number == number)
        except FormatError as err:
            if free and self._durable:
                self._set_volume_aside(number, fd, err)
            return None
        if flaw and free and self._durable:
            mend_copies(fd, header)
            logger.warning('%s: a copy of its header was damaged, and is '
                           'written anew: %s', self.layout.volume(number),
                           flaw)
        return header

    def _set_volume_aside(self, number, fd, error):
        path = self.layout.volume(number)
        state = self.index.db.volumes.get(number)
        if os.fstat(fd).st_size <= FIRST_RECORD and not (
                state and state.files):
            os.unlink(path)
        else:
            logger.error('%s is no volume, renamed to %s%s: %s', path, path,
                         BROKEN, error)
            os.rename(path, path + BROKEN)
        fsync(self.layout.volumes)

    def _recover_records(self, fd, header, free):
        end = os.fstat(fd).st_size
        start = self._checkpoint(header, end)
        self._raise_watermark(header, FIRST_RECORD)
        batch = []
        for found in iter_records(fd, header, start, end,
                                  _log_damage(header)):
            batch.append(found)
            if len(batch) == BATCH:
                self._enter(fd, batch)
                batch = []
        self._enter(fd, batch)
        if free and start < end and self._durable:
            # Lest the end comes back lower, and is written to again.
            os.fsync(fd)
            self._raise_watermark(header, end)

    def _raise_watermark(self, header, watermark):
        with self.index.db.change() as change:
            change.raise_watermark(header.number, header.type, watermark)

    def _checkpoint(self, header, end):
        state = self.index.db.volumes.get(header.number)
        if state and state.checkpoint <= aligned(end, header.alignment):
            return aligned(state.checkpoint, header.alignment)
        return FIRST_RECORD

    def _enter(self, fd, batch):
        new = [found for found in batch if self._is_new(found)]
        if self._durable:
            if new:
                os.fdatasync(fd)
            self._invalidate(batch)
        for found in new:
            self.index.adopter.adopt(found.header, _name(found),
                                     found.location, self._written)
        self.progress('%d files recovered' % self.index.adopter.recovered)

    def _invalidate(self, batch):
        # Also of those that are known: hashes.invalid is never synced.
        suffixes: Dict[int, Set[int]] = {}
        for found in batch:
            suffixes.setdefault(found.header.partition, set()).add(
                keys.suffix_of(found.header.hash))
        for partition, numbers in suffixes.items():
            invalidate(self.layout, partition, numbers)

    def _is_new(self, found):
        header, location = found.header, found.location
        if self.index.reclaim.has(location):
            return False
        reader, of_hash = self.index.reader, (header.partition, header.hash)
        if not reader.is_entered(*of_hash, location):
            return True
        return header.quarantined and location in reader.files(
            *of_hash).values()

    def _written(self, location):
        """Return when a record was written, ns; -1 if it is none any more."""
        try:
            fd = os.open(self.layout.volume(location.volume), os.O_RDONLY)
        except FileNotFoundError:
            return -1
        try:
            return RecordHeader.unpack(
                pread(fd, HEADER_LENGTH, location.offset)).written
        except FormatError:
            return -1
        finally:
            os.close(fd)


def _log_damage(header):
    def log(offset, error):
        logger.warning('volume %d, offset %d: incomplete record: %s',
                       header.number, offset, error)
    return log


def _name(found):
    return (durable_name(found.name) if found.header.durable
            and _FRAGMENT in found.name else found.name)


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
