# SPDX-License-Identifier: Apache-2.0
"""Answers what the kernel asks of a mounted Tree. Nothing can be written.

Each answer is given before the next question is read, so that nothing here
needs a lock. What exists changes beside it: the kernel may believe an answer
for a second.
"""

import contextlib
import errno
import itertools
import logging
import os
import signal
import stat
import time
from collections.abc import Iterator
from typing import Any

import plyvel
import pyfuse3
import trio
from swift.common.exceptions import DiskFileDeviceUnavailable, DiskFileError

from swift_losf.diskfile.complaints import complaints_of
from swift_losf.diskfile.vfile import VFileReader
from swift_losf.format.header import FormatError
from swift_losf.mount.tree import DEPTH, Inodes, Place, Tree, attributes

#: seconds for which the kernel may believe what it was told
BELIEVED = 1.0
OPTIONS = {'fsname=swift-losf', 'ro', 'default_permissions', 'nosuid',
           'nodev', 'noexec'}

logger = logging.getLogger(__name__)


@contextlib.contextmanager
def _answered() -> Iterator[None]:
    """Turn what fails into an errno."""
    try:
        yield
    except (DiskFileDeviceUnavailable, DiskFileError, FormatError,
            plyvel.Error) as err:
        logger.warning('%s', err)
        raise pyfuse3.FUSEError(errno.EIO) from err
    except OSError as err:
        raise pyfuse3.FUSEError(err.errno or errno.EIO) from err


class Operations(pyfuse3.Operations):
    """Answers the kernel.

    :param tree: a Tree
    :param owner: of all that is shown, (user, group)
    """
    supports_dot_lookup = False

    def __init__(self, tree: Tree, owner: tuple[int, int]) -> None:
        super().__init__()
        complaints_of(logger)
        self._tree = tree
        self._owner = owner
        self._begun = time.time_ns()
        self._inodes = Inodes()
        self._handles = itertools.count(1)
        self._open: dict[int, Any] = {}

    def _attributes(self, place: Place) -> Any:
        """Return the EntryAttributes of a place that is there."""
        entry = pyfuse3.EntryAttributes()
        entry.st_ino = self._inodes.number(place)
        entry.st_uid, entry.st_gid = self._owner
        entry.entry_timeout = entry.attr_timeout = BELIEVED
        if len(place) < DEPTH:
            entry.st_mode, entry.st_nlink = stat.S_IFDIR | 0o755, 2
            written = self._begun
        else:
            file = self._tree.stat(place)
            entry.st_mode, entry.st_nlink = stat.S_IFREG | 0o600, 1
            entry.st_size, written = file.size, file.written
            entry.st_blocks = -(-file.size // 512)
        entry.st_atime_ns = entry.st_mtime_ns = entry.st_ctime_ns = written
        return entry

    def _handle(self, opened: Any) -> int:
        handle = next(self._handles)
        self._open[handle] = opened
        return handle

    async def lookup(self, parent: int, name: bytes, ctx: Any) -> Any:
        """Tell of a name in a directory, if it is there."""
        place = (*self._inodes.place(parent), os.fsdecode(name))
        with _answered():
            self._tree.require(place)
            entry = self._attributes(place)
        self._inodes.look_up(entry.st_ino)
        return entry

    async def forget(self, inode_list: Any) -> None:
        """Drop what the kernel does not know any more."""
        for number, times in inode_list:
            self._inodes.forget(number, times)

    async def getattr(self, inode: int, ctx: Any = None) -> Any:
        """Tell of a place that was looked up."""
        with _answered():
            return self._attributes(self._inodes.place(inode))

    async def opendir(self, inode: int, ctx: Any) -> int:
        """List a directory."""
        place = self._inodes.place(inode)
        with _answered():
            return self._handle((place, self._tree.list(place)))

    async def readdir(self, fh: int, start_id: int, token: Any) -> None:
        """Tell the names of a directory, from one on."""
        directory, names = self._open[fh]
        for number, name in enumerate(names[start_id:], start_id + 1):
            place = (*directory, name)
            try:
                with _answered():
                    entry = self._attributes(place)
            except pyfuse3.FUSEError:
                continue  # it is gone
            if not pyfuse3.readdir_reply(token, os.fsencode(name), entry,
                                         number):
                self._inodes.forget(entry.st_ino)
                return
            self._inodes.look_up(entry.st_ino)

    async def releasedir(self, fh: int) -> None:
        """Forget a listing."""
        del self._open[fh]

    async def open(self, inode: int, flags: int, ctx: Any) -> Any:
        """Open a file."""
        with _answered():
            return pyfuse3.FileInfo(fh=self._handle(
                self._tree.open(self._inodes.place(inode))))

    async def read(self, fh: int, off: int, size: int) -> bytes:
        """Return data of an open file."""
        reader: VFileReader = self._open[fh]
        with _answered():
            reader.seek(off)
            return reader.read(size)

    async def release(self, fh: int) -> None:
        """Close a file."""
        self._open.pop(fh).close()

    def _metadata(self, inode: int) -> dict[bytes, bytes]:
        place = self._inodes.place(inode)
        if len(place) < DEPTH:
            return {}
        with _answered(), self._tree.open(place) as reader:
            return attributes(reader.metadata)

    async def statfs(self, ctx: Any) -> Any:
        """Tell what room the device has."""
        with _answered():
            found = os.statvfs(self._tree.device_path)
        told = pyfuse3.StatvfsData()
        for name in ('f_bsize', 'f_frsize', 'f_blocks', 'f_bfree', 'f_bavail',
                     'f_files', 'f_ffree', 'f_favail', 'f_namemax'):
            setattr(told, name, getattr(found, name))
        return told

    async def listxattr(self, inode: int, ctx: Any) -> Any:
        """Return the names of the extended attributes."""
        return list(self._metadata(inode))

    async def getxattr(self, inode: int, name: bytes, ctx: Any) -> bytes:
        """Return an extended attribute."""
        found = self._metadata(inode).get(name) \
            if name.startswith(b'user.swift.') else None
        if found is None:
            raise pyfuse3.FUSEError(pyfuse3.ENOATTR)
        return found


async def _serve() -> None:
    """Serve until it is unmounted, or the process is told to end."""
    async def end_when_told() -> None:
        with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as told:
            async for _ in told:
                pyfuse3.terminate()
                return
    async with trio.open_nursery() as nursery:
        nursery.start_soon(end_when_told)
        await pyfuse3.main()
        nursery.cancel_scope.cancel()


def serve(tree: Tree, owner: tuple[int, int], mountpoint: str,
          is_for_all: bool) -> None:
    """Mount a Tree, and serve it until it is unmounted.

    :param tree: a Tree
    :param owner: of what is shown, (user, group)
    :param mountpoint: a directory
    :param is_for_all: whether other users may look
    :raises OSError: if it cannot be mounted
    """
    try:
        pyfuse3.init(Operations(tree, owner), mountpoint, OPTIONS | (
            {'allow_other'} if is_for_all else set()))
    except RuntimeError as err:
        raise OSError('%s: cannot be mounted there: %s' % (
            mountpoint, err)) from err
    try:
        trio.run(_serve)
    finally:
        pyfuse3.close()
