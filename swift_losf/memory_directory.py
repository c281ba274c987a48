# SPDX-License-Identifier: Apache-2.0
"""Where a device's index and socket are while its disk cannot be written.

FORMAT.md, "A disk that cannot be written". The directory is in memory, and
leads to the device by what cannot be taken over by another: the numbers of
the filesystem and of the directory of its volumes.
"""

import os
import stat

#: a filesystem in memory; who may use a directory of it is looked at
MEMORY = '/dev/shm'  # nosec: B108
SOCKET = 'index.sock'
#: the longest path that Linux takes for a Unix socket
MAX_PATH = 107


class UntrustedError(OSError):
    """The directory in memory is somebody else's."""


def check_path(path: str) -> None:
    """Check that Linux takes a path for a socket.

    :raises ValueError: if it is too long
    """
    length = len(os.fsencode(path))
    if length > MAX_PATH:
        raise ValueError('the path of the socket %s has %d bytes; Linux '
                         'takes %d' % (path, length, MAX_PATH))


def memory_directory(root: str) -> str:
    """Return the path of the directory in memory; it need not be there.

    :param root: layout.Layout.root
    :raises OSError: if the root is not there
    """
    found = os.stat(root)
    return os.path.join(MEMORY, 'losf-%d' % found.st_uid,
                        '%x-%x' % (found.st_dev, found.st_ino))


def standby_socket(root: str) -> str:
    """Return the path of the socket in memory.

    :param root: layout.Layout.root
    :raises OSError: if there is no directory for it that can be trusted
    """
    path = memory_directory(root)
    _check_owner(os.path.dirname(path), os.stat(root).st_uid)
    return os.path.join(path, SOCKET)


def connect(sock, path):
    """Connect a socket to an index server, by its socket on disk or in memory.

    :param sock: a socket
    :param path: layout.Layout.socket
    :raises OSError: if neither answers; BlockingIOError if there is a queue
    """
    try:
        sock.connect(path)
    except BlockingIOError:
        raise
    except OSError as err:
        # A disk that cannot be written takes no socket.
        try:
            sock.connect(standby_socket(os.path.dirname(path)))
        except BlockingIOError:
            raise
        except OSError:
            raise err from None


def make_memory_directory(root: str) -> str:
    """
    Make the directory in memory, which only the owner of the root may enter.

    :param root: layout.Layout.root
    :returns: its path
    :raises OSError: if it cannot be made, or is somebody else's
    """
    path = memory_directory(root)
    parent = os.path.dirname(path)
    try:
        os.mkdir(parent, 0o700)
        os.chown(parent, os.stat(root).st_uid, -1)
    except FileExistsError:
        pass
    _check_owner(parent, os.stat(root).st_uid)
    os.makedirs(path, 0o700, exist_ok=True)
    return path


def _check_owner(path: str, uid: int) -> None:
    found = os.lstat(path)
    if (not stat.S_ISDIR(found.st_mode) or found.st_uid != uid
            or stat.S_IMODE(found.st_mode) & 0o077):
        raise UntrustedError('%s: must be a directory of user %d that nobody '
                             'else may enter' % (path, uid))
