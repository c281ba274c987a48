# SPDX-License-Identifier: Apache-2.0
"""
What happens in directories, by inotify.

Imported before Swift has patched the standard library, as by the console
script of a daemon: inotify_simple wants select.poll, though it is not used.
"""

from inotify_simple import INotify, flags

#: files that are made or change; names that come to be
CONTENT = flags.MODIFY | flags.CREATE | flags.MOVED_TO | flags.ONLYDIR
NAMES = flags.CREATE | flags.MOVED_TO | flags.ONLYDIR


class LogWatch:
    """Watches directories. It never waits."""

    def __init__(self):
        self._paths = {}
        self._inotify = None
        try:
            self._inotify = INotify(nonblocking=True)
        except OSError as err:
            self._problem = err

    def close(self):
        if self._inotify:
            self._inotify.close()

    def watch(self, path, mask):
        """
        Watch a directory from now on, if it is not watched already, until it
        is removed or unmounted.

        :param mask: CONTENT or NAMES
        :raises OSError: if there is none, or too many are watched, or too
            many watch
        """
        if not self._inotify:
            raise self._problem
        self._paths[self._inotify.add_watch(path, mask)] = path

    def events(self):
        """
        :returns: a set of (directory, name) of what has changed since the
            last call; with (None, None), if events were lost
        """
        found = set()
        for event in self._inotify.read(timeout=0) if self._inotify else ():
            if event.mask & flags.Q_OVERFLOW:
                found.add((None, None))
            elif event.mask & flags.IGNORED:
                self._paths.pop(event.wd, None)
            elif event.wd in self._paths:
                found.add((self._paths[event.wd], event.name))
        return found
