# SPDX-License-Identifier: Apache-2.0
"""Recovers an index before it is served: FORMAT.md, "Recovery".

The steps are numbered there. Each may be interrupted and done again.
"""

import logging
import os
from dataclasses import replace

from swift_lightsync.common.files import opened, sync_directory, try_lock
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
from swift_losf.format.name_code import durable_name, written_name
from swift_losf.index.known import ALL, is_in
from swift_losf.upkeep.lost_index import open_index, put_away
from swift_losf.upkeep.partitions import invalidate, tidy
from swift_losf.upkeep.rebuild import Rebuild
from swift_losf.volumes.volume import (
    iter_records,
    mend_copies,
    pread,
    read_copies,
)

BROKEN = '.broken'
#: records that are entered after one sync of their volume
BATCH = 1024
_FRAGMENT = '#'

logger = logging.getLogger(__name__)


def recover(layout, progress=lambda state: None, serve=lambda index: None,
            part_power=None, most_metadata=0):
    """Open the index of a device and policy, with all that was acknowledged.

    REQUIRES: index.lock.

    :param layout: a Layout
    :param progress: called with a few words on what is being done
    :param serve: called with the Index while it is made anew: what it knows
        already may be asked of it; and with None if that fails
    :param part_power: of the ring; None: what the index was told last
    :param most_metadata: bytes of metadata that an entry has at most
    :returns: the Index
    """
    os.makedirs(layout.volumes, exist_ok=True)
    progress('opening the index')
    index = open_index(layout, progress)
    try:
        index.part_power.set(part_power)
        index.db.keep_metadata(most_metadata)
        Recovery(layout, index, progress, serve).run()
    except BaseException:
        serve(None)
        index.close()
        raise
    return index


class Recovery:
    """Brings an index up to date with its volumes.

    :param layout: a Layout
    :param index: the Index, which nobody else uses yet
    :param progress: called with a few words on what is being done
    :param serve: called with the Index when it may be asked, although it
        does not know all yet
    """

    def __init__(self, layout, index, progress, serve=lambda index: None):
        self.layout = layout
        self.index = index
        self.progress = progress
        self._serve = serve
        #: whether the disk can be written; if not, it is left as it is
        self._durable = index.db.durable
        index.part_power.invalidate = self._invalidate_suffixes

    def run(self):
        """Do the steps 3 to 7."""
        numbers = self._list_volumes()
        known = self.index.db.known
        if known.gaps == [ALL]:
            self._rebuild(numbers)
            numbers = []
        for done, number in enumerate(numbers, 1):
            self.progress('volume %d of %d, %d files recovered' % (
                done, len(numbers), self.index.adopter.recovered))
            self._recover_volume(number)
        if known.gaps:
            self._rebuild(numbers)
        if self.index.db.is_unfinished:
            self.index.db.finish()
        self._forget_removed()
        if not self._durable:
            return
        self.index.sync()
        put_away(self.layout)
        self.progress('partitions')
        tidy(self.layout, self.index)

    def _rebuild(self, numbers):
        ends, types = {}, {}
        for number in numbers:
            with opened(self.layout.volume(number)) as fd:
                free = try_lock(fd)
                header = self._header(number, fd, free)
                if header is None:
                    continue
                types[number] = header.type
                self._raise_watermark(header, FIRST_RECORD)
                ends[number] = os.fstat(fd).st_size, free
                if self._durable:
                    os.fsync(fd)
        self._serve(self.index)
        scan = Rebuild(self.layout, self.index, self.progress).run(
            [(number, end) for number, (end, _) in ends.items()],
            self._invalidate_suffixes)
        for number, offset in scan.damaged:
            _log_damage(number)(offset, 'it does not verify')
        with self.index.db.change() as change:
            for number, (end, free) in ends.items():
                if free:
                    change.raise_watermark(number, types[number], end)
        self.index.db.known.all_but(())

    def _forget_removed(self):
        # Whoever unlinked them did not live to see it noted.
        for number, state in self.index.list_volumes():
            if not state.has_files and not os.path.exists(
                    self.layout.volume(number)):
                self.index.drop_volume(number)

    def _list_volumes(self):
        names = os.listdir(self.layout.volumes)
        used = [volume_number(name[:-len(BROKEN)]) if name.endswith(BROKEN)
                else volume_number(name) for name in names]
        self.index.skip_volumes(max(filter(None, used), default=0))
        return sorted(filter(None, map(volume_number, names)))

    def _recover_volume(self, number):
        with opened(self.layout.volume(number)) as fd:
            free = try_lock(fd)
            header = self._header(number, fd, free)
            if header:
                self._recover_records(fd, header, free)

    def _header(self, number, fd, free):
        """Return a volume's header; None if it has none or is set aside."""
        try:
            header, flaw = read_copies(fd)
            expect('the number in the header', header.number, number,
                   header.number == number)
        except FormatError as err:
            if free and self._durable:
                self._set_volume_aside(number, fd, err)
            return None
        if flaw and free and self._durable:
            with opened(self.layout.volume(number), os.O_RDWR) as writable:
                mend_copies(writable, header)
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
        sync_directory(self.layout.volumes)

    def _recover_records(self, fd, header, free):
        end = os.fstat(fd).st_size
        start = self._checkpoint(header, end)
        self._raise_watermark(header, FIRST_RECORD)
        batch = []
        for found in iter_records(fd, header, start, end,
                                  _log_damage(header.number)):
            batch.append(self._placed(found))
            if len(batch) == BATCH:
                self._enter(fd, batch)
                batch = []
        self._enter(fd, batch)
        if free and start < end and self._durable:
            # Lest the end comes back lower, and is written to again.
            os.fsync(fd)
            self._raise_watermark(header, end)

    def _placed(self, found):
        """Return a Found whose header has the partition of its keys."""
        return replace(found, header=replace(
            found.header, partition=self.index.part_power.key_partition_of(
                found.header)))

    def _raise_watermark(self, header, watermark):
        with self.index.db.change() as change:
            change.raise_watermark(header.number, header.type, watermark)

    def _checkpoint(self, header, end):
        state = self.index.db.volumes.get(header.number)
        if state and state.checkpoint <= aligned(end, header.alignment):
            return aligned(state.checkpoint, header.alignment)
        return FIRST_RECORD

    def _enter(self, fd, batch):
        batch = [found for found in batch if not is_in(
            self.index.db.known.gaps,
            keys.place_of(found.header.partition, found.header.hash))]
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
        suffixes: dict[int, set[int]] = {}
        view = self.index.part_power.view
        for header in (found.header for found in batch):
            suffixes.setdefault(view.partition(
                header.partition, header.hash), set()).add(
                    keys.suffix_of(header.hash))
        for partition, numbers in suffixes.items():
            self._invalidate_suffixes(partition, numbers)

    def _invalidate_suffixes(self, partition, suffixes):
        if self._durable:
            invalidate(self.layout, partition, suffixes)

    def _is_new(self, found):
        header, location = found.header, found.location
        if self.index.reclaim.has(location):
            return False
        reader, of_hash = self.index.reader, (header.partition, header.hash)
        if not reader.is_entered(*of_hash, location):
            return True
        files = reader.files(*of_hash)
        return (header.quarantined and location in files.values()
                or location == files.get(written_name(_name(found))))

    def _written(self, location):
        """Return when a record was written, ns; -1 if it is none any more."""
        try:
            with opened(self.layout.volume(location.volume)) as fd:
                return RecordHeader.unpack(
                    pread(fd, HEADER_LENGTH, location.offset)).written
        except (FileNotFoundError, FormatError):
            return -1


def _log_damage(number):
    def log(offset, error):
        logger.warning('volume %d, offset %d: incomplete record: %s',
                       number, offset, error)
    return log


def _name(found):
    return (durable_name(found.name) if found.header.durable
            and _FRAGMENT in found.name else found.name)
