# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced as a whole, and files that one process has alone.

A reader of a replaced file sees the old content or the new one, never a part
of it. A writer that is killed leaves the old content, and perhaps a temporary
file, which the next one removes, whosever it is.
"""

import fcntl
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: What the temporary file is called: the path and this.
FRESH = '.new'


def replace_file(path: str, data: bytes, *, mode: int = 0o666,
                 is_durable: bool = False,
                 temporary_in: str | None = None) -> os.stat_result:
    """Replace a file as a whole, or make it.

    Without ``temporary_in`` the temporary file is ``path`` with ``.new``
    behind it: then one caller at a time may replace the file.

    :param path: of the file
    :param data: its new content
    :param mode: its permissions, of which the umask takes away
    :param is_durable: whether content and name survive a power cut once this
        returns
    :param temporary_in: a directory of the same file system, where the file's
        temporary name is unique, so that several callers may replace it at
        once; None: beside the file
    :returns: the status of the new file, which tells it from others
    :raises OSError: if it could not be replaced; what was there stays
    """
    fresh = path + FRESH if temporary_in is None else os.path.join(
        temporary_in, '%s.%s.tmp' % (os.path.basename(path),
                                     secrets.token_hex(8)))
    if temporary_in is None:
        # What a killed caller left may be another user's, or a link.
        with suppress(FileNotFoundError):
            os.unlink(fresh)
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC,
                 mode)
    try:
        status = _fill(fd, data, is_durable)
        os.replace(fresh, path)
    except BaseException:
        # On a full disk it has room that others need.
        with suppress(OSError):
            os.unlink(fresh)
        raise
    if is_durable:
        sync_directory(os.path.dirname(path) or '.')
    return status


def _fill(fd: int, data: bytes, is_durable: bool) -> os.stat_result:
    """Write the content of a new file, close it, and return its status."""
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(fd, left):]
        if is_durable:
            os.fsync(fd)
        return os.fstat(fd)
    finally:
        os.close(fd)


@contextmanager
def opened(path: str, flags: int = os.O_RDONLY, mode: int = 0o666,
           dir_fd: int | None = None) -> Iterator[int]:
    """Open a file, and close it when the context is left.

    :param path: of the file
    :param flags: of os.open
    :param mode: permissions of a new file, of which the umask takes away
    :param dir_fd: of the directory that a relative path begins at
    :returns: a context with a descriptor
    :raises OSError: if it cannot be opened
    """
    fd = os.open(path, flags, mode, dir_fd=dir_fd)
    try:
        yield fd
    finally:
        os.close(fd)


def sync_directory(path: str) -> None:
    """Make the names in a directory survive a power cut.

    :param path: of the directory
    :raises OSError: if that is not possible
    """
    with opened(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as fd:
        os.fsync(fd)


def try_lock(fd: int) -> bool:
    """Lock an open file for this descriptor alone, without waiting.

    The lock (flock) ends when the descriptor is closed.

    :param fd: of the file
    :returns: False if another has locked it
    :raises OSError: if the file cannot be locked
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def open_locked(path: str) -> int | None:
    """Open a lock file, made if it is absent, and lock it without waiting.

    :param path: of the file; its content stays
    :returns: a descriptor, which holds the lock until it is closed; None if
        another holds the lock
    :raises OSError: if the file cannot be opened or locked
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if try_lock(fd):
            return fd
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None
