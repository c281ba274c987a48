# SPDX-License-Identifier: Apache-2.0
"""The files of a filewrite: what a driver lets a workload read."""

import os

from cosbench.errors import ConfigError
from cosbench.workload.model import FileSelection
from cosbench.workload.selectors import Cyclic, Sequential, Uniform

_SELECTORS = {FileSelection.UNIFORM: Uniform, FileSelection.CYCLIC: Cyclic,
              FileSelection.SEQUENTIAL: Sequential}


def find(root, directory):
    """Return the files that a filewrite may upload.

    :param root: the directory that files may be read from, or None
    :param directory: what the workload names; if relative, in the root, or
        in the working directory where all files may be read
    :returns: the paths of the regular files in it, sorted; at least one
    :raises ConfigError: if it may not be read, cannot be, or has none
    """
    if root is None:
        raise ConfigError.of('files', directory, 'absent: this driver lets '
                             'no files be read (--files)')
    root = os.path.realpath(root)
    base = os.getcwd() if root == os.sep else root
    place = os.path.realpath(os.path.join(base, directory))
    if not _inside(root, place):
        raise ConfigError.of('files', directory, 'in %s' % root)
    try:
        names = sorted(os.listdir(place))
    except OSError as err:
        raise ConfigError.of('files', directory, 'a directory that can be '
                             'read (%s)' % err.strerror) from None
    found = [os.path.join(place, name) for name in names]
    # A link in it may lead out of the root.
    found = [path for path in found if os.path.isfile(path) and _inside(
        root, os.path.realpath(path))]
    if not found:
        raise ConfigError.of('files', directory, 'a directory with files')
    return tuple(found)


def _inside(root, place):
    return os.path.commonpath((root, place)) == root


def picker(paths, operation, rng, shared):
    """Return what picks the files of one worker.

    :param paths: from ``find``
    :param operation: a filewrite
    :param rng: the worker's ``random.Random``
    :param shared: the counter of the mission's workers
    :returns: a function that returns the next path
    """
    pick = _SELECTORS[operation.file_selection](1, len(paths)).picker(
        rng, shared)
    return lambda: paths[pick() - 1]
