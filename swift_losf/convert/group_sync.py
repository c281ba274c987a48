# SPDX-License-Identifier: Apache-2.0
"""Makes the files of many threads durable at once: one syncfs(2) serves all
who have asked before it began.
"""

import ctypes
import os
import threading

_libc = ctypes.CDLL(None, use_errno=True)


def syncfs(fd: int) -> None:
    """Make all durable that was written to a filesystem.

    :param fd: of something that is open there; an error that came since it
        was opened, and that it was not told of yet, is raised
    :raises OSError: if some of it could not be written
    """
    if _libc.syncfs(fd):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


class GroupSync:
    """Shares syncs of a filesystem among threads.

    :param path: of a directory there
    """

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        self._changed = threading.Condition()
        self._begun = self._done = 0
        #: number of a sync -> why it failed
        self._failed: dict[int, OSError] = {}

    def close(self) -> None:
        """Close what is open."""
        os.close(self._fd)

    def sync(self) -> None:
        """Return when all that the caller has written is durable.

        :raises OSError: if the filesystem could not write something
        """
        with self._changed:
            # One that runs may have missed what the caller wrote last.
            mine = self._begun + 1
            self._changed.wait_for(lambda: self._done == self._begun
                                   or self._done >= mine)
            lead = self._begun < mine
            if lead:
                self._begun = mine
        if lead:
            self._lead(mine)
        with self._changed:
            self._changed.wait_for(lambda: self._done >= mine)
            if mine in self._failed:
                raise self._failed[mine]

    def _lead(self, number: int) -> None:
        error = None
        try:
            syncfs(self._fd)
        except OSError as err:
            error = err
        with self._changed:
            if error:
                self._failed[number] = error
            self._done = number
            self._changed.notify_all()
