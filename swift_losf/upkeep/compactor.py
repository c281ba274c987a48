# SPDX-License-Identifier: Apache-2.0
"""
Removes volumes, after what is left in them was moved. FORMAT.md, "Compaction".

Records that have entries are copied to another volume, and durable there
before their entries are moved, in one batch. So a compaction may be broken
off anywhere: what was moved was, and the rest is where it was.
"""

import logging
import os
import threading
import time
from dataclasses import dataclass

import plyvel

from swift_lightsync.common.files import sync_directory, try_lock
from swift_losf.format.header import (
    FLAG_SET,
    HEADER_LENGTH,
    QUARANTINED_OFFSET,
    FormatError,
    VolumeType,
)
from swift_losf.index.db import is_full
from swift_losf.index.mover import Copy
from swift_losf.upkeep.compaction_plan import Limits, Rates, VolumeUse, plan
from swift_losf.volumes.ballast import Space
from swift_losf.volumes.copier import Target
from swift_losf.volumes.space import Footprint, footprint
from swift_losf.volumes.volume import iter_records, pread, read_header

#: records, and bytes of them, that are copied with one sync
BATCH = 128
BATCH_BYTES = 2 ** 20
#: seconds of work from one pause to the next
PIECE = 0.005
_FLAGS = 2

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """The compactor was told to stop."""


@dataclass(frozen=True)
class Compaction:
    """What a compactor goes by.

    :param limits: Limits
    :param rates: Rates
    :param interval: seconds from one look at the volumes to the next
    :param max_volume_size: bytes from which on a volume gets no more records
    """
    limits: Limits
    rates: Rates
    interval: float
    max_volume_size: int

    @property
    def room(self):
        """The bytes of a disk that the copies of a full volume need."""
        return self.limits.reserve + self.max_volume_size


class Compactor(threading.Thread):
    """The thread that compacts volumes, and removes those without files.

    :param layout: a Layout
    :param index: the Index
    :param options: Compaction
    :param fail: called with an exception that ends the thread
    :param is_busy: a function that tells whether somebody is served
    """

    def __init__(self, layout, index, options, fail,
                 is_busy=lambda: False):
        super().__init__(name='compactor', daemon=True)
        self.layout = layout
        self.index = index
        self.options = options
        self._fail = fail
        self._is_busy = is_busy
        self._stopped = threading.Event()
        self._targets = {
            type_: Target(layout, type_, options.max_volume_size,
                          lambda type_=type_: index.new_volume(type_))
            for type_ in VolumeType}
        #: numbers of volumes that could not be emptied: their states then
        self._stuck = {}
        #: numbers of volumes of tombstones that have no files any more: the
        #: rounds that the sweeper had begun then
        self._emptied_at = {}
        self._begun, self._read = time.monotonic(), 0
        self._is_pressed = False  # so little is free that clients wait
        self.removed = 0  # volumes

    def run(self):
        try:
            while not self._stopped.wait(self.options.interval):
                self.compact_all()
        except Exception as err:  # the server ends with it
            self._fail(err)

    def stop(self):
        """Stop after what is being copied."""
        self._stopped.set()
        if self.is_alive():
            self.join()

    def compact_all(self):
        """Compact each of the volumes of now that calls for it, once."""
        untried = {number for number, _ in self.index.list_volumes()}
        try:
            while not self._stopped.is_set():
                free = Space.of(self.layout.volumes).bytes
                self._is_pressed = free < 2 * self.options.room
                chosen = plan(self._survey(untried), self.options.limits,
                              free)
                if not chosen:
                    return
                untried.remove(chosen[0])
                self._compact(chosen[0])
        except Stopped:
            pass
        except plyvel.Error:
            raise
        except OSError as err:
            # A disk that is full, or damaged, can still be read.
            logger.error('compaction waits: %s', err)
        finally:
            for target in self._targets.values():
                target.close()

    def _survey(self, untried):
        """Return the VolumeUses; only those that are untried are free."""
        uses = [self._use(number, state, number in untried and (
            self._stuck.get(number) != (state.files, state.held)))
                for number, state in self.index.list_volumes()]
        self.index.allocated_bytes = sum(each.allocated for each in uses)
        self.index.garbage_bytes = sum(each.garbage for each in uses)
        return uses

    def _use(self, number, state, is_free):
        try:
            found = footprint(self.layout.volume(number))
        except FileNotFoundError:
            # Then only its state is left to be forgotten.
            found = Footprint(0, 0, 0)
            is_free = is_free and not state.has_files
        return VolumeUse(number, state.type, state.files + state.held,
                         state.live_bytes, found.size, found.allocated,
                         found.extents, is_free)

    def _compact(self, number):
        for target in self._targets.values():
            if target.number == number:
                target.close()
        try:
            fd = os.open(self.layout.volume(number), os.O_RDWR)
        except FileNotFoundError:
            self.index.drop_volume(number)
            return
        try:
            if try_lock(fd) and os.path.samestat(
                    os.fstat(fd), os.stat(self.layout.volume(number))):
                self._set_emptied(number)
                if self.index.db.volumes[number].has_files:
                    self._empty(fd, number)
                self._remove(number)
        finally:
            self._set_emptied(None)
            os.close(fd)

    def _set_emptied(self, number):
        with self.index.reclaim.lock:
            self.index.reclaim.emptied = number

    def _empty(self, fd, number):
        """Move all that has entries, as far as it can be read."""
        # What was waited for before was no work.
        self._begun, self._read = time.monotonic(), 0
        try:
            header = read_header(fd)
            for batch in self._batches(fd, header):
                self._move(fd, header, batch)
        except FormatError as err:
            logger.error('volume %d is not compacted: %s', number, err)
        except plyvel.Error:
            raise
        except OSError as err:
            if is_full(err):
                raise
            logger.error('volume %d: its compaction is broken off: %s',
                         number, err)
        self._stuck.pop(number, None)
        state = self.index.db.volumes[number]
        if state.has_files:
            self._stuck[number] = left = state.files, state.held
            logger.warning(
                'volume %d: %d files cannot be moved, and %d in quarantine: '
                'their records are damaged, as the auditor will find',
                number, *left)

    def _batches(self, fd, header):
        """Yield lists of records that have entries."""
        batch, size = [], 0
        for found in iter_records(fd, header, 0, os.fstat(fd).st_size,
                                  check_data=False):
            self._breathe(HEADER_LENGTH)
            location = found.location
            if self.index.reader.find(self._partition(found),
                                      found.header.hash, location,
                                      found.name) is None:
                continue
            batch.append(found)
            size += location.length
            if len(batch) == BATCH or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _move(self, fd, header, batch):
        with self.index.mover.copying(each.header.hash for each in batch):
            self._copy(fd, header, batch)

    def _copy(self, fd, header, batch):
        target = self._targets[header.type]
        done, places, end = target.copy(fd, batch, self._breathe)
        if not done:
            return
        # the bytes of a header that are changed in place
        flags = {found.location: bytes((
            FLAG_SET * found.header.quarantined,
            FLAG_SET * found.header.durable)) for found in done}

        def is_current(copy):
            return flags[copy.source] == pread(
                fd, _FLAGS, copy.source.offset + QUARANTINED_OFFSET)

        copies = [Copy(self._partition(found), found.header.hash,
                       found.location, place, found.name)
                  for found, place in zip(done, places)]
        try:
            self.index.mover.move(copies, header.type, end, is_current)
        except plyvel.Error:
            raise  # it may have been written: recovery finds out
        except OSError:
            # Copies that nobody knows would outlive their records.
            target.undo()
            raise

    def _partition(self, found):
        return self.index.part_power.key_partition_of(found.header)

    def _breathe(self, count):
        self._read += count
        seconds = time.monotonic() - self._begun
        if seconds < PIECE and self._read < BATCH_BYTES:
            return
        if self._stopped.wait(self.options.rates.pause(
                seconds, self._read,
                self._is_busy() and not self._is_pressed)):
            raise Stopped()
        self._begun, self._read = time.monotonic(), 0

    def _remove(self, number):
        """Remove a volume that has no files any more."""
        if self._buries_first(number) or not self.index.retire(number):
            return
        # No entry that points to it may come back.
        self.index.sync()
        os.unlink(self.layout.volume(number))
        sync_directory(self.layout.volumes)
        self.index.drop_volume(number)
        self._emptied_at.pop(number, None)
        self.removed += 1

    def _buries_first(self, number):
        """Return whether dead data has to be buried before a volume goes.

        A tombstone stays on the disk until nobody finds what it has deleted,
        not even when the index is lost.
        """
        states = self.index.db.volumes.copy()
        if states[number].type != VolumeType.TOMBSTONES:
            return False
        reclaim = self.index.reclaim
        begun = self._emptied_at.setdefault(number, reclaim.rounds)
        return reclaim.cleared <= begun and any(
            state.dead_bytes for state in states.values()
            if state.type == VolumeType.DATA)
