# SPDX-License-Identifier: Apache-2.0
"""
Errors of a disk, for the files that a test names, in all servers of a cluster.

The servers are started with :func:`environment`. From then on a call of the
operating system fails with an errno if the file with the faults says so, which
a test replaces at any time. There is no fault while there is no such file.
"""

import builtins
import io
import json
import os
import re
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import wraps

from swift_lightsync.common.files import replace_file

VARIABLE = 'ERRNO_FAULTS'
DIRECTORY = os.path.join(os.path.dirname(__file__), 'faulty')
#: functions of os whose first argument is a path, and a descriptor
BY_PATH = ('open', 'listdir', 'scandir', 'mkdir', 'rename', 'unlink',
           'statvfs', 'link')
BY_FILE = ('pread', 'pwrite', 'write', 'fsync', 'fdatasync', 'ftruncate',
           'posix_fallocate')


@dataclass(frozen=True)
class Fault:
    """Calls that fail.

    :param path: a regular expression of whole paths
    :param errno: what they fail with
    :param calls: names of functions; none: all
    :param daemon: a part of the name of the processes that it is about
    :param length: of the bytes that are written; 0: any
    """
    path: str
    errno: int
    calls: list = field(default_factory=list)
    daemon: str = ''
    length: int = 0

    def hits(self, call, path, args):
        return ((not self.calls or call in self.calls)
                and self.daemon in os.path.basename(sys.argv[0])
                and (not self.length or call == 'pwrite'
                     and len(args[1]) == self.length)
                and re.fullmatch(self.path, path) is not None)


class Faults:
    """The faults of all processes.

    :param path: of the file that has them
    """

    def __init__(self, path):
        self.path = path
        #: a file that is there when a fault was met
        self._met = path + '.met'
        self._stat = os.stat
        self._open = builtins.open
        self._known = None
        self._faults = []

    def present(self):
        """:returns: the Faults of now"""
        try:
            status = self._stat(self.path)
        except FileNotFoundError:
            return []
        if self._known != (status.st_ino, status.st_mtime_ns):
            self._known = status.st_ino, status.st_mtime_ns
            with suppress(FileNotFoundError), self._open(self.path) as file:
                self._faults = [Fault(**each) for each in json.load(file)]
        return self._faults

    def check(self, call, file, args):
        """:param file: a path or a descriptor
        :raises OSError: if the call has to fail
        """
        faults = self.present()
        if not faults:
            return
        path = file
        if isinstance(file, int):
            path = os.readlink('/proc/self/fd/%d' % file)
        path = os.fsdecode(path)
        for fault in faults:
            if fault.hits(call, path, args):
                with self._open(self._met, 'w'):
                    pass
                raise OSError(fault.errno, os.strerror(fault.errno), path)

    # For tests

    @contextmanager
    def present_are(self, *faults):
        """Have some faults for as long as the context lasts."""
        replace_file(self.path, json.dumps(
            [asdict(fault) for fault in faults]).encode())
        try:
            yield
        finally:
            os.unlink(self.path)
            with suppress(FileNotFoundError):
                os.unlink(self._met)

    def were_met(self, seconds):
        """:returns: whether a fault of now is met within some seconds"""
        end = time.monotonic() + seconds
        while not os.path.exists(self._met):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def environment(self):
        """:returns: what servers have to be started with"""
        return {VARIABLE: self.path, 'PYTHONPATH': os.pathsep.join(filter(
            None, (DIRECTORY, os.environ.get('PYTHONPATH'))))}


def install(path):
    """Have this process heed the faults of a file from now on."""
    faults = Faults(path)
    for name in BY_PATH + BY_FILE:
        setattr(os, name, _failing(faults, name, getattr(os, name)))
    builtins.open = io.open = _failing(faults, 'open', builtins.open)


def _failing(faults, name, function):
    @wraps(function)
    def failing(*args, **kwargs):
        if args and isinstance(args[0], (str, bytes, int)):
            faults.check(name, args[0], args)
        return function(*args, **kwargs)
    return failing
