# SPDX-License-Identifier: Apache-2.0
"""Paths of objects that are no files, for tests that look at them.

Swift's diskfile tests look below a hash directory, and make files there, with
calls of their own: os.listdir, open and so on. Where a subject keeps objects
elsewhere, the calls of the tests are answered from its *content* as well as
from the file system. The calls of everyone else, Swift first of all, are not:
code that goes past the diskfile manager is what the tests are to find.
"""

import builtins
import errno
import functools
import io
import os
import shutil
import sys

import xattr
from swift.common import utils
from swift.obj import diskfile

from tests.upstream.content_file import ContentFile

TESTS = 'test'  #: the package of Swift's tests
TRIES = 1000  #: to remove a directory in which others make files

real_exists = os.path.exists
real_isdir = os.path.isdir
real_listdir = os.listdir


class PathShim:
    """The routes of a test's calls, to a content or to the file system.

    Each method has the name of the function whose place it takes, and is
    given the real one first.
    """

    def __init__(self, content):
        self.content = content

    def listdir(self, real, path):
        if not self.content.exists(path):
            try:
                return self._shown(path, real(path))
            except FileNotFoundError:
                # Of an empty hash directory nothing is left to be shown.
                if self.content.owns(path) and real_isdir(
                        os.path.dirname(os.path.dirname(path))):
                    return []
                raise
        names = set(self.content.listdir(path))
        try:
            return sorted(names.union(self._shown(path, real(path))))
        except FileNotFoundError:
            return sorted(names)

    def _shown(self, path, names):
        return [name for name in names
                if not self.content.hides(os.path.join(path, name))]

    def walk(self, real, path):
        try:
            names = self.listdir(real_listdir, path)
        except OSError:
            return
        dirs = [name for name in names if self.isdir(
            real_isdir, os.path.join(path, name))]
        yield path, dirs, [name for name in names if name not in dirs]
        for name in dirs:
            yield from self.walk(real, os.path.join(path, name))

    def exists(self, real, path):
        return real(path) or self.content.exists(path)

    def isdir(self, real, path):
        return real(path) or (self.content.exists(path)
                              and not self._is_file(path))

    def isfile(self, real, path):
        return real(path) or self._is_file(path)

    def open(self, real, path, mode='r', *args, **kwargs):
        if not (self._is_file(path)
                or 'w' in mode and self.content.owns(path)):
            return real(path, mode, *args, **kwargs)
        binary = io.BufferedRandom(ContentFile(self.content, path, mode))
        return binary if 'b' in mode else io.TextIOWrapper(
            binary, kwargs.get('encoding'))

    def mkdirs(self, real, path, *args, **kwargs):
        """Make a directory; of a hash directory, that of the partition."""
        if self.content.owns(path):
            utils.mkdirs(os.path.dirname(os.path.dirname(path)))
        else:
            real(path, *args, **kwargs)

    makedirs = mkdir = mkdirs

    def unlink(self, real, path, **kwargs):
        if self.content.exists(path):
            return self.content.unlink(path)
        return real(path, **kwargs)

    remove = unlink

    def rename(self, real, source, target, **kwargs):
        if not self._is_file(source):
            return real(source, target, **kwargs)
        if not self.content.owns(target):
            raise io.UnsupportedOperation('rename(%r, %r): a test cannot move '
                                          'it there' % (source, target))
        self.content.write(target, self.content.read(source),
                           self.content.getxattr(source))
        self.content.unlink(source)

    def renamer(self, real, source, target, **kwargs):
        real(source, target, **kwargs)
        self.content.appear(target)

    def rmtree(self, real, path, *args, **kwargs):
        if self.content.exists(path):
            self._unlink_tree(path)
            if not real_exists(path):
                return
        for left in reversed(range(TRIES)):
            try:
                return real(path, *args, **kwargs)
            except OSError as err:
                # The content's servers may make files there until it is gone.
                if err.errno != errno.ENOTEMPTY or not left:
                    raise

    def _unlink_tree(self, path):
        if self._is_file(path):
            return self.content.unlink(path)
        for name in self.content.listdir(path):
            self._unlink_tree(os.path.join(path, name))

    def write(self, real, file, data):
        """Append to an open file of the content, or write to another."""
        path = getattr(file, 'content_path', None)
        if not self._is_file(path):
            return real(file, data)
        self.content.write(path, self.content.read(path) + data,
                           self.content.getxattr(path))

    def utime(self, real, path, times=None, **kwargs):
        if not self._is_file(path):
            return real(path, times, **kwargs)
        self.content.utime(path, times[1])

    def getxattr(self, real, path, *args, **kwargs):
        """Return what a file of the content could not be spoilt with."""
        return b'none' if self._is_file(path) else real(path, *args, **kwargs)

    def setxattr(self, real, path, *args, **kwargs):
        """Spoil a file of the content: tests do it for nothing else."""
        if self._is_file(path):
            return self.content.damage(path)
        return real(path, *args, **kwargs)

    def read_metadata(self, real, file, *args, **kwargs):
        path = getattr(file, 'content_path', file)
        if not self._is_file(path):
            return real(file, *args, **kwargs)
        return self.content.getxattr(path)

    _read_file_metadata = read_metadata

    def write_metadata(self, real, file, metadata, *args, **kwargs):
        path = getattr(file, 'content_path', file)
        if self._is_file(path):
            return self.content.write(path, self.content.read(path), metadata)
        real(file, metadata, *args, **kwargs)
        raw = getattr(getattr(file, 'buffer', file), 'raw', None)
        if isinstance(raw, ContentFile):
            # Some tests never close the file.
            raw.keep()

    def _is_file(self, path):
        if not isinstance(path, str) or not self.content.exists(path):
            return False
        try:
            self.content.listdir(path)
        except NotADirectoryError:
            return True
        return False


#: Where the functions are; the name of each is the method's of PathShim.
ROUTED = (
    (os, ('listdir', 'makedirs', 'mkdir', 'remove', 'rename', 'unlink',
          'utime', 'walk', 'write')),
    (shutil, ('rmtree',)),
    (xattr, ('getxattr', 'setxattr')),
    (os.path, ('exists', 'isdir', 'isfile')),
    (builtins, ('open',)),
    (utils, ('mkdirs', 'renamer')),
    (diskfile, ('_read_file_metadata', 'read_metadata', 'write_metadata')),
)


def routed(real, route, package=TESTS):
    """Return a function that takes another route when tests call it.

    :param route: a function that is given the real one, then its arguments
    :param package: only calls with a path or file from modules of this
        package take the route
    """
    @functools.wraps(real)
    def call(*args, **kwargs):
        caller = sys._getframe(1).f_globals.get('__name__', '')
        if (caller.partition('.')[0] == package
                and args and (isinstance(args[0], (str, io.IOBase))
                              or hasattr(args[0], 'content_path'))):
            return route(real, *args, **kwargs)
        return real(*args, **kwargs)
    return call


def install(content):
    """Route calls to a VolumeContent, before the first test is imported."""
    shim = PathShim(content)
    for module, names in ROUTED:
        for name in names:
            setattr(module, name, routed(getattr(module, name),
                                         getattr(shim, name)))
