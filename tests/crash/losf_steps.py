# SPDX-License-Identifier: Apache-2.0
"""Where processes are killed: at each step that they take on their disk.

A step is a call that reaches the disk or the index. A write can also be torn:
then its first part is done.
"""

import os
import random
import signal

from tests.waiting import is_running, wait_for

#: seconds until a process that was killed is gone
DEADLINE = 30
#: of the module os
CALLS = ('pwrite', 'fdatasync', 'fsync', 'ftruncate', 'link',
         'rename', 'mkdir', 'unlink')


def _makes(path, flags, *_):
    """Return whether os.open changes a disk. Where it looks for a volume it
    does not, and there are ever more of them.
    """
    return bool(flags & (os.O_CREAT | os.O_TRUNC)) or \
        flags & os.O_TMPFILE == os.O_TMPFILE


def kill_self():
    os.kill(os.getpid(), signal.SIGKILL)


def kill_other(pid):
    """:returns: a function that kills a process, and sees it dead"""
    def kill():
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not is_running(pid), 'process %d is dead' % pid,
                 DEADLINE, pause=0.001)
    return kill


class Steps:
    """Counts steps, and has something happen at one of them.

    :param fatal: which, from 1; 0: none
    :param fate: a function
    """

    def __init__(self, fatal, fate=kill_self):
        self.count = 0
        self._fatal = fatal
        self._fate = fate

    def step(self, torn=lambda: None):
        """A step begins, or has come to its end.

        :param torn: does a part of it
        """
        self.count += 1
        if self.count == self._fatal:
            torn()
            self._fate()

    def around(self, owner, name, counts=lambda *args: True):
        """Make each call of a function two steps: before and after it.

        :param counts: a function of its arguments, whether it is one
        """
        function = getattr(owner, name)

        def wrapped(*args, **kwargs):
            if not counts(*args):
                return function(*args, **kwargs)
            self.step()
            try:
                return function(*args, **kwargs)
            finally:
                self.step()
        setattr(owner, name, wrapped)

    def around_disk(self):
        """Count what this process does to its disk."""
        for name in CALLS:
            self.around(os, name)
        self.around(os, 'open', _makes)
        self._tear(os.pwritev)

    def _tear(self, pwritev):
        chance = random.Random(self._fatal)

        def wrapped(fd, buffers, offset):
            def torn():
                data = b''.join(buffers)
                pwritev(fd, [data[:chance.randrange(len(data) + 1)]], offset)
            self.step()
            self.step(torn)
            written = pwritev(fd, buffers, offset)
            self.step()
            return written
        os.pwritev = wrapped
