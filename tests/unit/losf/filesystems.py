# SPDX-License-Identifier: Apache-2.0
"""Filesystems to test on: as root images that are mounted, else the directory
for temporary files.
"""

import contextlib
import os
import subprocess
import tempfile

_SIZE = 400 * 2 ** 20


@contextlib.contextmanager
def small_disk(path, size):
    """Mounts a disk in memory, whatever is open on it in the end.

    :param path: a directory
    :param size: in bytes
    """
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=%d' % size, 'tmpfs',
                    path], check=True)
    try:
        yield
    finally:
        subprocess.run(['umount', '--lazy', path], check=True)


@contextlib.contextmanager
def mounted(*arguments):
    """Yields a temporary directory on which a filesystem is mounted.

    :param arguments: of mount, without the mount point
    """
    with tempfile.TemporaryDirectory() as path:
        subprocess.run(['mount', *arguments, path], check=True)
        try:
            yield path
        finally:
            subprocess.run(['umount', path], check=True)


@contextlib.contextmanager
def image(make):
    """:param make: the command that makes a filesystem in a file"""
    with tempfile.TemporaryDirectory() as path:
        file = os.path.join(path, 'image')
        with open(file, 'wb') as sparse:
            sparse.truncate(_SIZE)
        subprocess.run([*make, file], check=True, stdout=subprocess.DEVNULL)
        with mounted('-o', 'loop', file) as point:
            yield point


def with_holes():
    """:returns: names of filesystems that can punch holes, and functions
    that give their context managers"""
    if os.geteuid():
        return {'temporary': tempfile.TemporaryDirectory}
    return {
        'xfs': lambda: image(['mkfs.xfs', '-q']),
        'xfs of 1 KiB': lambda: image(['mkfs.xfs', '-q', '-b', 'size=1024']),
        'ext4': lambda: image(['mkfs.ext4', '-q']),
        'tmpfs': lambda: mounted('-t', 'tmpfs', '-o', 'size=64m', 'tmpfs'),
    }
