# SPDX-License-Identifier: Apache-2.0
"""
Keeps the volumes that this process has locked, and what is outstanding there.

A record is outstanding from when its place is chosen until its registration
has been answered, or given up. A volume stays locked as long as it has one:
if another process appended to it before, and registered that with a watermark
behind the first record, a power cut could lose the first one's entry, and
recovery would not look for it (FORMAT.md, "Writing a file"). From the first
of them on its range is locked, too: what recovery has entered, and is removed
before it is registered, stays there, so that the registration finds out.

Locks are native ones: Swift commits in native threads.
"""

import errno
import os
import time
from contextlib import suppress

from swift.common.concurrency import patcher

from swift_losf.format.header import FormatError
from swift_losf.format.layout import volume_number
from swift_losf.volumes.ranges import lock_range, unlock_range
from swift_losf.volumes.space import part_of
from swift_losf.volumes.volume import UNREADABLE
from swift_losf.volumes.writable import WritableVolume

threading = patcher.original('threading')
_sleep = patcher.original('time').sleep

#: how many volumes that nobody uses stay locked, for volume_idle_time
IDLE = 2
#: Seconds for which to wait for a volume if no more may be made, and between
#: two looks: the index server locks one for a moment, to see what is in it.
PATIENCE = 1.0
_LOOK = 0.01


class HeldVolume:
    """A volume of the pool, with one user at a time.

    :param volume: a WritableVolume
    """

    def __init__(self, volume):
        lock_range(volume.fd, volume.end, 0, shared=True)
        self.volume = volume
        self.number = volume.header.number
        self.outstanding = set()
        self.used = True
        self.broken = False
        #: when its last user left it: seconds of a monotonic clock
        self.left = 0

    def watermark(self, offset=None):
        """Return the lowest offset that is outstanding, but for one."""
        return min((each for each in self.outstanding if each != offset),
                   default=self.volume.end)

    def settle(self, offset):
        """Note that a record is outstanding no longer."""
        self.outstanding.discard(offset)
        unlock_range(self.volume.fd, 0, self.watermark())


class Pending:
    """A record that is durable, and not in the index yet.

    :param pool: the VolumePool
    :param held: the HeldVolume
    :param location: the Location of the record
    """

    def __init__(self, pool, held, location):
        self._pool = pool
        self._held = held
        self.location = location

    def watermark(self, is_last=True):
        """Return the watermark that the record has to be registered with.

        :param is_last: whether it is registered for the last time
        """
        return self._pool.watermark(
            self._held, self.location.offset if is_last else None)

    def is_in_place(self, path):
        """Return whether the record is in the volume that is there now.

        If not, another device has been mounted, and no volume from before is
        used again.

        :param path: of the volume
        """
        try:
            there = os.path.samestat(os.fstat(self._held.volume.fd),
                                     os.stat(path))
        except FileNotFoundError:
            there = False
        if not there:
            self._pool.abandon_all()
        return there

    def done(self):
        """End it: the volume need not stay locked for this record.

        REQUIRES: the registration has been answered or given up, and is not
        tried again.
        """
        self._pool.settle(self._held, self.location.offset)


class VolumePool:
    """The volumes of one type that this process appends to.

    :param layout: a Layout
    :param volume_type: a VolumeType
    :param options: with max_volume_size, max_volume_count and
        volume_idle_time
    :param reserve_volume: a callable that gives the number of a new volume
    """

    def __init__(self, layout, volume_type, options, reserve_volume):
        self._layout = layout
        self._type = volume_type
        self._options = options
        self._reserve_volume = reserve_volume
        #: bytes from which on a volume gets no more records
        self._most = options.max_volume_size
        self._lock = threading.Lock()
        self._held = {}
        #: numbers of volumes that are full, broken, or of another type
        self._unfit = set()
        self._timer = None

    def full(self, held):
        """Return whether a volume gets no more records."""
        return held.volume.end >= self._most

    def take(self):
        """Give the caller a volume that nobody else uses.

        :raises OSError: if there is none and none can be made
        """
        with self._lock:
            for held in self._held.values():
                if not (held.used or held.broken or self.full(held)):
                    held.used = True
                    return held
        held = HeldVolume(self._obtain())
        with self._lock:
            self._held[held.number] = held
        return held

    def _obtain(self):
        allowed = self._options.max_volume_count
        self._most = part_of(self._layout.device_path,
                             self._options.max_volume_size)
        deadline = time.monotonic() + PATIENCE
        while True:
            volume, open_ones = self._find()
            if volume is not None:
                return volume
            if open_ones < allowed:
                return WritableVolume.create_next(
                    self._layout, self._reserve_volume, self._type)
            if time.monotonic() >= deadline:
                raise OSError(
                    errno.EMFILE, '%d volumes are in use; max_volume_count '
                    'allows %d' % (open_ones, allowed), self._layout.volumes)
            _sleep(_LOOK)

    def _find(self):
        """Look for a volume that no process uses."""
        open_ones = 0
        for number in self._numbers():
            if number in self._held or number in self._unfit:
                open_ones += number in self._held
                continue
            try:
                volume = WritableVolume.take(self._layout.volume(number))
            except (FormatError, OSError) as err:
                if isinstance(err, OSError) and err.errno not in UNREADABLE:
                    raise
                self._unfit.add(number)
                continue
            if volume is None:
                open_ones += os.path.exists(self._layout.volume(number))
            elif self._fits(volume, number):
                return volume, open_ones
            else:
                self._unfit.add(number)
                volume.close()
        return None, open_ones

    def _fits(self, volume, number):
        header = volume.header
        return (header.type == self._type and header.number == number and
                header.policy == self._layout.policy_index and
                volume.end < self._most)

    def _numbers(self):
        try:
            names = os.listdir(self._layout.volumes)
        except FileNotFoundError:
            return []
        return sorted(filter(None, map(volume_number, names)))

    def release(self, held):
        """Let others have a volume that take gave."""
        with self._lock:
            held.used = False
            held.left = time.monotonic()
            self._close_some()

    def abandon(self, held):
        """Never use a volume again. Its user releases it.

        :param held: a volume whose end is in an unknown state
        """
        held.broken = True
        self._unfit.add(held.number)

    def abandon_all(self):
        """Never use again the volumes that are locked now."""
        with self._lock:
            for held in self._held.values():
                held.broken = True
            self._close_some()

    def _close_some(self):
        patience = self._options.volume_idle_time
        now = time.monotonic()
        free = [held for held in self._held.values()
                if not held.used and not held.outstanding]
        idle = [held for held in free
                if not held.broken and not self.full(held)
                and now - held.left < patience]
        kept = {held.number: held for held in idle[:IDLE]}
        for held in free:
            if held.number not in kept:
                del self._held[held.number]
                self._close(held)
        if kept and self._timer is None:
            self._look_again(patience + min(
                held.left for held in kept.values()) - now)

    @staticmethod
    def _close(held):
        if held.broken:
            held.volume.close()
            return
        # What is laid out stays, if it cannot be given back.
        with suppress(OSError):
            held.volume.finish()

    def _look_again(self, seconds):
        # Nobody else may ever come to close them.
        self._timer = threading.Timer(seconds, self._close_idle)
        self._timer.daemon = True
        self._timer.start()

    def _close_idle(self):
        with self._lock:
            self._timer = None
            self._close_some()

    def begin(self, held, length=0):
        """Choose the place of a record. Only the user of the volume may.

        :param length: of the record, or 0 if it is not known yet
        :returns: its offset, which is outstanding from now on
        """
        with self._lock:
            offset = held.volume.end
            held.outstanding.add(offset)
            held.volume.end = held.volume.align(offset + length)
            return offset

    def undo(self, held, offset):
        """Cut off the record that begins at offset, and what follows it."""
        try:
            held.volume.cut(offset)
        except OSError:
            self.abandon(held)
        with self._lock:
            held.outstanding = {
                each for each in held.outstanding if each < offset}

    def watermark(self, held, offset):
        """Return a HeldVolume's watermark."""
        with self._lock:
            return held.watermark(offset)

    def settle(self, held, offset):
        """Note that a record is outstanding no longer."""
        with self._lock:
            held.settle(offset)
            self._close_some()

    def close(self, inherited=False):
        """Close all volumes, in use or not.

        :param inherited: whether they are another process's
        """
        for held in self._held.values():
            if inherited:
                held.volume.close()
            else:
                self._close(held)
        self._held = {}
