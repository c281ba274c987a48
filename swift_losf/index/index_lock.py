# SPDX-License-Identifier: Apache-2.0
"""Locks the index of a device and policy for one process: index.lock."""

import contextlib
import errno
import os
from dataclasses import dataclass

from swift_lightsync.common.files import open_locked, try_lock
from swift_losf.format.layout import Layout
from swift_losf.mounts import STUB, opened_path
from swift_losf.volumes.ballast import Ballast
from swift_losf.volumes.space import check_filesystem


class ServerError(Exception):
    """The index server cannot be started, for the reason that is given."""


@dataclass(frozen=True)
class IndexLock:
    """A held lock of an index, and what comes with it.

    :param layout: the Layout that it is found by
    :param fd: of index.lock
    :param pinned: a Layout that leads to the volumes of this device even
        when it has been unmounted, or another mounted in its place
    :param ballasts: the Ballasts of the filesystems
    """
    layout: Layout
    fd: int
    pinned: Layout
    ballasts: list

    def is_in_place(self):
        """Return whether the device is still where it was found."""
        try:
            return os.path.samestat(os.fstat(self.fd),
                                    os.stat(self.layout.lock))
        except FileNotFoundError:
            return False


def check_device(path, mount_check):
    """Check that a device is there.

    :raises ServerError: if there is no device, or a mere directory where one
        has to be mounted
    """
    if not os.path.isdir(path):
        raise ServerError('device path %s: must be a directory' % path)
    if mount_check and not (os.path.ismount(path) or os.path.isfile(
            os.path.join(path, STUB))):
        raise ServerError('device path %s: must be mounted, or have a file %s'
                          % (path, STUB))


def _open_lock(path):
    try:
        return open_locked(path)
    except OSError as err:
        if err.errno != errno.EROFS:
            raise
    fd = os.open(path, os.O_RDONLY)
    if try_lock(fd):
        return fd
    os.close(fd)
    return None


def _unlink_socket(path):
    """Remove the socket of a server that was killed.

    Readers trust what that server has published for as long as it is there.
    On a disk that cannot be written nothing is to be published anew.
    """
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    except OSError as err:
        if err.errno != errno.EROFS:
            raise


@contextlib.contextmanager
def locked(layout, mount_check=False):
    """Hold index.lock, with room to work even if the disk is full.

    Yields the IndexLock.

    :param layout: a Layout
    :param mount_check: whether the device has to be mounted
    :raises ServerError: if another holds it, if there is no device, or if
        its filesystem cannot hold volumes
    """
    check_device(layout.device_path, mount_check)
    os.makedirs(layout.volumes, exist_ok=True)
    with contextlib.ExitStack() as at_end:
        fd = _open_lock(layout.lock)
        if fd is None:
            raise ServerError('%s: another index server holds it'
                              % layout.lock)
        at_end.callback(os.close, fd)
        _unlink_socket(layout.socket)
        ballasts = [at_end.enter_context(contextlib.closing(Ballast(path)))
                    for path in layout.ballasts]
        for ballast in ballasts:
            ballast.tend(may_make=False)
        check_filesystem(layout.volumes)
        device = os.open(layout.device_path, os.O_RDONLY | os.O_DIRECTORY)
        at_end.callback(os.close, device)
        yield IndexLock(layout, fd, Layout(
            opened_path(device), layout.policy_index), ballasts)
