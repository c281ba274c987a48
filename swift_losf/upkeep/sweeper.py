# SPDX-License-Identifier: Apache-2.0
"""Gives the space of removed files back. FORMAT.md, "Removing a file".

A round takes the `d` entries of one moment. It first syncs the index: no
entry of a file may come back whose record is gone. Then it makes the headers
of records zeros, and of large ones holes. It begins with data volumes, and
goes on with tombstone volumes only if nothing is left of those: what a
tombstone has deleted was removed before the tombstone. An entry is forgotten
when this is durable, so an interrupted round is done again.
"""

import contextlib
import errno
import itertools
import logging
import os
import threading

import plyvel

from swift_losf.format.header import (
    HEADER_LENGTH,
    FormatError,
    VolumeType,
    aligned,
)
from swift_losf.volumes.ballast import Space
from swift_losf.volumes.ranges import lock_range, punch_hole, unlock_range
from swift_losf.volumes.space import count_extents
from swift_losf.volumes.volume import (
    find_header,
    location_of,
    pread,
    read_header,
)

BATCH = 1024
#: bytes of a range that is made a hole, and extents of a volume from which on
#: no more holes are made: what is left is the compactor's
LARGE = 2 ** 20
MAX_EXTENTS = 256

logger = logging.getLogger(__name__)


def joined(records, alignment):
    """Return the ranges that records take, those side by side as one.

    :param records: (offset, length) each, in their order
    :param alignment: of the records
    :returns: a list of (start, end)
    """
    ranges: list[tuple[int, int]] = []
    for offset, length in records:
        end = aligned(offset + length, alignment)
        if ranges and ranges[-1][1] == offset:
            offset, _ = ranges.pop()
        ranges.append((offset, end))
    return ranges


class Sweeper(threading.Thread):
    """The thread that gives the space of removed files back.

    :param layout: a Layout
    :param index: the Index
    :param interval: seconds from one round to the next, when there is
        anything to be given back
    :param fail: called with an exception that ends the thread
    :param room: bytes that compaction needs: with less, all is made holes
    """

    def __init__(self, layout, index, interval, fail, room=0):
        super().__init__(name='sweeper', daemon=True)
        self.layout = layout
        self.index = index
        self.interval = interval
        self._fail = fail
        self._room = room
        self._stopped = threading.Event()

    def run(self):
        # What was left by the server before counts too.
        self.index.reclaim.pending.set()
        try:
            while not self._stopped.wait(self.interval):
                self.index.reclaim.pending.wait()
                self.index.reclaim.pending.clear()
                if not self._stopped.is_set() and self._try_sweep():
                    self.index.reclaim.pending.set()
        except Exception as err:  # the server ends with it
            self._fail(err)

    def _try_sweep(self):
        """Sweep; a disk that cannot be written may still be read."""
        try:
            return self.sweep()
        except plyvel.Error:
            raise
        except OSError as err:
            logger.error('no space is given back: %s', err)
            return True

    def stop(self):
        """Stop after the current batch, and wait for that."""
        self._stopped.set()
        self.index.reclaim.pending.set()
        if self.is_alive():
            self.join()

    def sweep(self):
        """Do one round.

        :returns: how many entries are left of those it was for
        """
        self.index.reclaim.rounds += 1
        with contextlib.closing(self.index.db.snapshot()) as snapshot:
            self.index.sync()
            left = self._sweep_type(snapshot, VolumeType.DATA)
            if not left:
                self.index.reclaim.cleared = self.index.reclaim.rounds
                left = self._sweep_type(snapshot, VolumeType.TOMBSTONES)
        return left

    def _sweep_type(self, snapshot, type_):
        left = 0
        for number, state in self.index.list_volumes():
            if state.type == type_ and state.dead_bytes:
                with self.index.reclaim.lock:
                    left += self._sweep_volume(snapshot, number)
        return left

    def _sweep_volume(self, snapshot, number):
        if number == self.index.reclaim.emptied:
            return 1
        entries = self.index.reclaim.of_snapshot(snapshot, number)
        fd = self._open(number)
        left = 0
        try:
            while batch := list(itertools.islice(entries, BATCH)):
                if self._stopped.is_set():
                    return left + len(batch)
                if fd is None:
                    self.index.reclaim.given_back(number, batch, 0)
                else:
                    left += self._sweep_batch(fd, number, batch)
        finally:
            if fd is not None:
                os.close(fd)
        return left

    def _open(self, number):
        try:
            return os.open(self.layout.volume(number), os.O_RDWR)
        except FileNotFoundError:
            return None

    def _sweep_batch(self, fd, number, batch):
        """Return how many records are being read, and so are left."""
        header = self._header(fd, number)
        locked = []
        try:
            for each in batch:
                if lock_range(fd, *each):
                    locked.append(each)
            dead = [each for each in locked
                    if self._bury(fd, header, *each)]
            punched = self._punch(fd, joined(dead, header.alignment))
        finally:
            for each in locked:
                unlock_range(fd, *each)
        os.fsync(fd)
        self.index.reclaim.given_back(number, locked, punched)
        return len(batch) - len(locked)

    def _bury(self, fd, volume_header, offset, length):
        """Make the header of a record zeros, so that nobody finds it any more.

        :returns: whether it was a dead record; if it is not, that is logged
        """
        try:
            header = find_header(fd, volume_header, offset)
        except FormatError as err:
            # Zeros: an interrupted round was here; who knows how far it came.
            if any(pread(fd, HEADER_LENGTH, offset)):
                self._complain(volume_header, offset, length, err)
            return False
        location = location_of(volume_header.number, offset, header)
        if location.length != length or self._has_entry(fd, header, location):
            self._complain(volume_header, offset, length, 'a file is there')
            return False
        os.pwrite(fd, bytes(HEADER_LENGTH), offset)
        return True

    def _has_entry(self, fd, header, location):
        name = pread(fd, header.name_length, location.footer_offset)
        try:
            return self.index.reader.find(
                self.index.part_power.key_partition_of(header), header.hash,
                location, name.decode('ascii')) is not None
        except (FormatError, UnicodeDecodeError):
            # Of a record that does not verify: no recovery takes it.
            return False

    @staticmethod
    def _complain(volume_header, offset, length, reason):
        logger.error('volume %d, offset %d: the space of %d bytes is not '
                     'given back: %s', volume_header.number, offset, length,
                     reason)

    def _punch(self, fd, ranges):
        """Punch holes that are worth it; return how many bytes they have."""
        punched = 0
        scarce = Space.of(fd).bytes < self._room
        for start, end in ranges:
            if scarce or (end - start >= LARGE
                          and count_extents(fd) < MAX_EXTENTS):
                punch_hole(fd, start, end - start)
                punched += end - start
        return punched

    def _header(self, fd, number):
        try:
            return read_header(fd)
        except FormatError as err:
            # Recovery sets such a volume aside.
            raise OSError(errno.EUCLEAN, str(err),
                          self.layout.volume(number)) from err
