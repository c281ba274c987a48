# SPDX-License-Identifier: Apache-2.0
"""Watches directories for changes, by inotify.

This module has to be imported before Swift patches the standard library, as
the console script of a daemon does: inotify_simple imports select.poll, though
nothing here uses it.
"""


from inotify_simple import INotify, flags
from swift.common.concurrency import Timeout, sleep, trampoline

#: files that are made or change
CONTENT = flags.MODIFY | flags.CREATE | flags.MOVED_TO | flags.ONLYDIR
#: names that come to be
NAMES = flags.CREATE | flags.MOVED_TO | flags.ONLYDIR


class LogWatch:
    """Watches directories. Only :meth:`wait` waits."""

    def __init__(self):
        self._paths: dict[int, str] = {}
        self._inotify = None
        try:
            self._inotify = INotify(nonblocking=True)
        except OSError as err:
            self._problem = err

    def close(self):
        if self._inotify:
            self._inotify.close()

    def watch(self, path, mask):
        """Watch a directory until it is removed or unmounted.

        A directory that is watched already stays so.

        :param mask: CONTENT or NAMES
        :raises OSError: if there is no such directory, or a limit of the
            kernel's watches or watchers is reached
        """
        if not self._inotify:
            raise self._problem
        self._paths[self._inotify.add_watch(path, mask)] = path

    def wait(self, seconds):
        """Return when something has changed, or after some seconds."""
        if not self._inotify:
            sleep(seconds)
        elif seconds > 0:
            with Timeout(seconds, False):
                trampoline(self._inotify.fileno(), read=True)

    def events(self):
        """Return what has changed since the last call.

        :returns: a set of (directory, name); with (None, None) if events were
            lost
        """
        found: set[tuple[str | None, str | None]] = set()
        for event in self._inotify.read(timeout=0) if self._inotify else ():
            if event.mask & flags.Q_OVERFLOW:
                found.add((None, None))
            elif event.mask & flags.IGNORED:
                self._paths.pop(event.wd, None)
            elif event.wd in self._paths:
                found.add((self._paths[event.wd], event.name))
        return found
