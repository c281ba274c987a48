# SPDX-License-Identifier: Apache-2.0
"""A volume that is open for appending. FORMAT.md, "Volumes".

Nothing here decides which volume is used for what: volume_pool.py does.
"""

import errno
import fcntl
import os
import time

from swift_lightsync.common.files import opened, sync_directory
from swift_losf.format.header import (
    COPIES,
    FIRST_RECORD,
    SALT_LENGTH,
    VolumeHeader,
    aligned,
)
from swift_losf.volumes.volume import read_header

#: the most buffers of one pwritev
_BUFFERS = 1024
#: Zeros are laid out ahead of short records up to a multiple of this. What
#: overwrites them is synced with one flush of the disk: neither the size of
#: the file nor its extents change.
CHUNK = 2 ** 20
#: but only while the disk has so many bytes left
ROOM = 128 * 2 ** 20
#: how many numbers of volumes that exist are tried before giving up
ATTEMPTS = 100


def _make_directories(layout):
    """Make the directory of the volumes, durably, but never the device's."""
    for path in (layout.root, layout.volumes):
        try:
            os.mkdir(path)
            sync_directory(os.path.dirname(path))
        except FileExistsError:
            pass


def _link(fd, directory, path):
    """Name a nameless file, durably."""
    with opened(directory, os.O_RDONLY | os.O_DIRECTORY) as directory_fd:
        # with a directory's descriptor it is linkat, which follows the link
        os.link('/proc/self/fd/%d' % fd, path, dst_dir_fd=directory_fd)
        os.fsync(directory_fd)


class WritableVolume:
    """A volume that is open for appending, and locked: there is no other.

    :param fd: of the file; closed with the volume
    :param header: its VolumeHeader
    """

    def __init__(self, fd, header):
        self.fd = fd
        self.header = header
        #: where the next record begins
        self.end = self.align(os.fstat(fd).st_size)
        # Up to here zeros are laid out, or somebody has written.
        self._laid_out = self.end

    def align(self, offset):
        """Return the first offset from here on where a record may begin."""
        return aligned(offset, self.header.alignment)

    @classmethod
    def create(cls, layout, number, volume_type):
        """Make a volume. It gets its name when it is complete and locked.

        :raises FileExistsError: if there is one of this number
        """
        _make_directories(layout)
        fd = os.open(layout.volumes, os.O_TMPFILE | os.O_RDWR, 0o600)
        try:
            header = VolumeHeader(number, volume_type, layout.policy_index,
                                  time.time_ns(), os.urandom(SALT_LENGTH))
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            volume = cls(fd, header)
            volume.write_at(COPIES * [header.pack()], 0)
            os.fsync(fd)
            volume.end = volume.align(FIRST_RECORD)
            _link(fd, layout.volumes, layout.volume(number))
        except BaseException:
            os.close(fd)
            raise
        return volume

    @classmethod
    def create_next(cls, layout, reserve_number, volume_type):
        """Make a volume of a number that no other has.

        :param reserve_number: a callable that gives numbers of new volumes
        :raises FileExistsError: if all that it gives exist
        """
        for _ in range(ATTEMPTS):
            number = reserve_number()
            try:
                return cls.create(layout, number, volume_type)
            except FileExistsError:
                continue
        raise FileExistsError(
            errno.EEXIST, 'the index gave %d numbers of volumes that exist, '
            'the last is %d' % (ATTEMPTS, number), layout.volumes)

    @classmethod
    def take(cls, path):
        """Lock a volume.

        :returns: the WritableVolume, or None if another holds it or it is gone
        :raises FormatError: if it is no volume
        """
        try:
            fd = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            return None
        volume = None
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                volume = cls(fd, read_header(fd))
        except (BlockingIOError, FileNotFoundError):
            pass
        finally:
            if volume is None:
                os.close(fd)
        return volume

    def append(self, buffers, offset):
        """Write short records at the end.

        :param buffers: of bytes, written one after the other
        :raises OSError: if not all of them could be written
        """
        self._lay_out(offset + sum(map(len, buffers)))
        self.write_at(buffers, offset)

    def _lay_out(self, end):
        start = max(self._laid_out, os.fstat(self.fd).st_size)
        self._laid_out = start
        if end <= start or not self._has_room():
            return
        stop = aligned(end, CHUNK)
        try:
            self.write_at([bytes(stop - start)], start)
            self._laid_out = stop
        except OSError:
            # There may be room for the records all the same.
            os.ftruncate(self.fd, start)

    def _has_room(self):
        disk = os.fstatvfs(self.fd)
        return disk.f_bavail * disk.f_frsize >= ROOM

    def write_at(self, buffers, offset):
        """Write bytes at an offset.

        :param buffers: of bytes, written one after the other
        :raises OSError: if not all of them could be written
        """
        buffers = [memoryview(each) for each in buffers if len(each)]
        while buffers:
            count = os.pwritev(self.fd, buffers[:_BUFFERS], offset)
            offset += count
            done = 0
            while done < len(buffers) and count >= len(buffers[done]):
                count -= len(buffers[done])
                done += 1
            buffers = buffers[done:]
            if count:
                buffers[0] = buffers[0][count:]

    def sync(self):
        """Make durable what has been written."""
        os.fdatasync(self.fd)

    def cut(self, offset):
        """Drop what was written from offset on."""
        os.ftruncate(self.fd, offset)
        self.end = self._laid_out = offset

    def finish(self):
        """Give back what is laid out, and close it.

        REQUIRES: nothing is outstanding in it.
        """
        try:
            # XFS, too, lays out what a file that grows may need next; but
            # not beyond where it is cut, even if nothing of it is cut off.
            os.ftruncate(self.fd, min(self.end, os.fstat(self.fd).st_size))
        finally:
            self.close()

    def close(self):
        """Close the volume, and unlock it."""
        os.close(self.fd)
