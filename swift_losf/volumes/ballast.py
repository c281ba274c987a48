# SPDX-License-Identifier: Apache-2.0
"""Space that is kept for when the disk is full. FORMAT.md, "A full disk".

Only index.lock's holder gives a ballast up or makes it again; anybody may see
which of the two it is.
"""

import contextlib
import errno
import logging
import os
from dataclasses import dataclass

from swift_lightsync.common.files import opened

FILE_SIZE = 2 ** 20
_NAMES = ['%02d' % number for number in range(32)]
#: truncated, but there: the ballast is given up
_FIRST = _NAMES[0]
#: the name of a file that is not complete yet
_NEW = 'new'

logger = logging.getLogger(__name__)


@dataclass(frozen=True, order=True)
class Space:
    """What is left on a filesystem.

    :param bytes: that its users may still write
    :param inodes: that they may still make
    """
    bytes: int
    inodes: int

    @classmethod
    def of(cls, directory):
        """Look at what is left on a filesystem.

        :param directory: a path, or a descriptor
        """
        stat = os.statvfs(directory)
        # No limit of inodes is told as none at all.
        inodes = stat.f_favail if stat.f_files else len(_NAMES) ** 2
        return cls(stat.f_bavail * stat.f_frsize, inodes)

    def covers(self, other):
        """Return whether there are as many bytes and inodes as in another."""
        return self.bytes >= other.bytes and self.inodes >= other.inodes


#: with less than this left the ballast is given up
SHORT = Space(16 * 2 ** 20, 32)
#: with this left it is made again: twice of SHORT, besides the ballast
PLENTY = Space(2 * SHORT.bytes + len(_NAMES) * FILE_SIZE,
               2 * SHORT.inodes + len(_NAMES))


def is_given_up(path):
    """Return whether a ballast was given up because the disk is full.

    :param path: of the ballast
    """
    try:
        return not os.stat(os.path.join(path, _FIRST)).st_size
    except FileNotFoundError:
        return False


class Ballast:
    """Files that are given up when a filesystem is nearly full.

    REQUIRES: index.lock.

    It keeps to the filesystem that it was opened on, even if that is detached.

    :param path: of its directory
    """

    def __init__(self, path):
        self.path = path
        self._name = os.path.basename(path)
        parent = os.path.dirname(path)
        os.makedirs(parent, exist_ok=True)
        self._parent = os.open(parent, os.O_RDONLY | os.O_DIRECTORY)

    def close(self):
        """Close what the ballast has open; its files stay."""
        os.close(self._parent)

    def _relieve(self):
        """Give the ballast up if little is left; return the Space left."""
        left = Space.of(self._parent)
        if not left.covers(SHORT):
            self._give_up(left)
        return left

    def tend(self, may_make=True):
        """Give the ballast up if little is left, or make it if enough is.

        A disk that cannot be written keeps what it has.

        :param may_make: whether it is made, too
        """
        try:
            left = self._relieve()
            if may_make and left.covers(PLENTY) and not self._is_whole():
                self._make()
        except OSError as err:
            logger.error('%s: %s', self.path, err)

    def _is_whole(self):
        try:
            first = os.stat(os.path.join(self._name, _FIRST),
                            dir_fd=self._parent)
        except FileNotFoundError:
            return False
        return first.st_size == FILE_SIZE

    def _directory(self):
        """Return a context with a descriptor of the ballast's directory."""
        return opened(self._name, os.O_RDONLY | os.O_DIRECTORY,
                      dir_fd=self._parent)

    def _give_up(self, left):
        with contextlib.suppress(FileNotFoundError), \
                self._directory() as directory:
            if self._empty(directory):
                logger.warning(
                    '%s is given up: %d bytes and %d inodes are left; until '
                    'there is more, object-servers accept deletes only',
                    self.path, left.bytes, left.inodes)

    def _empty(self, directory):
        """Truncate and remove all files; return whether any had content."""
        freed = 0
        for name in sorted(os.listdir(directory), reverse=True):
            # Of a file that is only unlinked XFS frees the space later.
            with opened(name, os.O_WRONLY, dir_fd=directory) as fd:
                freed += os.fstat(fd).st_size
                os.ftruncate(fd, 0)
            if name != _FIRST:
                os.unlink(name, dir_fd=directory)
        return freed > 0

    def _make(self):
        with contextlib.suppress(FileExistsError):
            os.mkdir(self._name, 0o700, dir_fd=self._parent)
        with self._directory() as directory:
            try:
                for name in reversed(_NAMES):
                    self._fill(directory, name)
            except OSError as err:
                if err.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                self._empty(directory)
                return
        logger.info('%s is there: %d files of %d bytes', self.path,
                    len(_NAMES), FILE_SIZE)

    @staticmethod
    def _fill(directory, name):
        # One that is there and empty, if but for a moment, says that all of
        # them are given up.
        with opened(_NEW, os.O_WRONLY | os.O_CREAT, 0o600,
                    directory) as fd:
            os.posix_fallocate(fd, 0, FILE_SIZE)
        os.rename(_NEW, name, src_dir_fd=directory, dst_dir_fd=directory)
