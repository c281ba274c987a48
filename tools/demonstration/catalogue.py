# SPDX-License-Identifier: Apache-2.0
"""
The local files that become objects: real ones, of many sizes.

They come from this project's tree, the installed packages and Python's
standard library, in an order that depends on their names alone.
"""

import os
import sysconfig
from dataclasses import dataclass

import tools
from tools.demonstration.errors import DemoError

MAX_SIZE = 256 * 1024
SKIPPED_DIRECTORIES = ('__pycache__', 'site-packages', 'dist-packages')


@dataclass(frozen=True)
class LocalFile:
    """
    A file and the name that its object gets.

    :param path: where it is
    :param name: its path relative to the tree it belongs to, after the
        tree's name
    """

    path: str
    name: str

    def read(self):
        """
        :returns: the content
        :raises DemoError: if the file can no longer be read
        """
        try:
            with open(self.path, 'rb') as local:
                return local.read()
        except OSError as err:
            raise DemoError('%s was chosen for an upload and cannot be read: '
                            '%s' % (self.path, err.strerror)) from err


def default_trees():
    """:returns: a dict of tree's name -> directory"""
    repo = os.path.dirname(os.path.dirname(os.path.abspath(tools.__file__)))
    return {'project': repo,
            'packages': sysconfig.get_path('purelib'),
            'python': sysconfig.get_path('stdlib')}


def _suitable(path, min_size, max_size):
    if os.path.islink(path) or path.endswith('.pyc'):
        return False
    try:
        path.encode('utf8')
        return os.path.isfile(path) and os.access(path, os.R_OK) \
            and min_size <= os.path.getsize(path) <= max_size
    except (UnicodeEncodeError, FileNotFoundError):
        return False


def _files(tree, top, sizes):
    for directory, subdirectories, names in os.walk(top):
        subdirectories[:] = sorted(
            each for each in subdirectories if not each.startswith('.')
            and each not in SKIPPED_DIRECTORIES)
        for name in sorted(names):
            path = os.path.join(directory, name)
            if _suitable(path, *sizes):
                yield LocalFile(path, os.path.join(
                    tree, os.path.relpath(path, top)))


def choose(count, trees=None, max_size=MAX_SIZE, min_size=0):
    """
    Choose files, evenly from all that there are.

    :param count: how many
    :param trees: a dict of name -> directory; default_trees() if None
    :param max_size: bytes that a file may have
    :param min_size: bytes that it must have
    :returns: a list of LocalFile with different names
    :raises DemoError: if there are fewer files
    """
    trees = default_trees() if trees is None else trees
    found = [each for tree, top in trees.items() for each in
             _files(tree, top, (min_size, max_size))]
    if len(found) < count:
        raise DemoError('%d files are wanted, but %s hold only %d of %d to %d '
                        'KiB; choose a smaller --files' % (
                            count, ', '.join(trees.values()), len(found),
                            min_size // 1024, max_size // 1024))
    return [found[i * len(found) // count] for i in range(count)]
