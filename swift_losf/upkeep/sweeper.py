# SPDX-License-Identifier: Apache-2.0
"""
Gives the space of removed files back. FORMAT.md, "Removing a file".

A round takes the `d` entries of one moment. It first syncs the index: no
entry of a file may come back whose record is gone. Then it punches what is in
data volumes, and only if none of that is left what is in tombstone volumes:
what a tombstone has deleted was removed before the tombstone. An entry is
forgotten when the hole is durable, so an interrupted round is done again.
"""

import contextlib
import errno
import itertools
import os
import threading

from swift_lightsync.common.files import try_lock
from swift_losf.format.header import FormatError, VolumeType, aligned
from swift_losf.format.ranges import Ranges
from swift_losf.upkeep.reclaim_check import ReclaimCheck
from swift_losf.volumes.space import block_size, widened
from swift_losf.volumes.volume import (
    lock_range,
    punch_hole,
    read_header,
    unlock,
    unlock_range,
)

BATCH = 1024


class Sweeper(threading.Thread):
    """
    The thread that gives the space of removed files back.

    :param layout: a Layout
    :param index: the Index
    :param interval: seconds from one round to the next, when there is
        anything to be given back
    :param fail: called with an exception that ends the thread
    """

    def __init__(self, layout, index, interval, fail):
        super().__init__(name='sweeper', daemon=True)
        self.layout = layout
        self.index = index
        self.interval = interval
        self._fail = fail
        self._stopped = threading.Event()

    def run(self):
        # What was left by the server before counts too.
        self.index.reclaim.pending.set()
        try:
            while not self._stopped.wait(self.interval):
                self.index.reclaim.pending.wait()
                self.index.reclaim.pending.clear()
                if not self._stopped.is_set() and self.sweep():
                    self.index.reclaim.pending.set()
        except Exception as err:  # the server ends with it
            self._fail(err)

    def stop(self):
        """Stop after the current batch, and wait for that."""
        self._stopped.set()
        self.index.reclaim.pending.set()
        if self.is_alive():
            self.join()

    def sweep(self):
        """
        Do one round.

        :returns: how many entries are left of those it was for
        """
        with contextlib.closing(self.index.db.snapshot()) as snapshot:
            self.index.sync()
            left = self._sweep_type(snapshot, VolumeType.DATA)
            if not left:
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
        """Return how many ranges are being read, and so are left."""
        header = self._header(fd, number)
        locked = []
        try:
            for each in batch:
                if lock_range(fd, *each):
                    locked.append(each)
            unused = ReclaimCheck(self.index, fd, header).select(locked)
            self._punch(fd, number, Ranges(
                (offset, aligned(offset + length, header.alignment))
                for offset, length in unused))
        finally:
            for each in locked:
                unlock_range(fd, *each)
        os.fsync(fd)
        self.index.reclaim.given_back(
            number, locked, sum(length for _, length in unused))
        return len(batch) - len(locked)

    def _punch(self, fd, number, ranges):
        """Punch holes, widened where no process may be writing."""
        limit = self.index.db.volumes[number].watermark
        for start, end in ranges:
            free = end + block_size(fd) > limit and try_lock(fd)
            try:
                start, end = widened(fd, start, end, None if free else limit)
                punch_hole(fd, start, end - start)
            finally:
                if free:
                    unlock(fd)

    def _header(self, fd, number):
        try:
            return read_header(fd)
        except FormatError as err:
            # Recovery sets such a volume aside.
            raise OSError(errno.EUCLEAN, str(err),
                          self.layout.volume(number)) from err
