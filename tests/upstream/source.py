# SPDX-License-Identifier: Apache-2.0
"""Swift's source distribution, which has the tests that the wheel lacks.

It is downloaded once for the installed version of Swift and kept unpacked in
a cache directory; SWIFT_SOURCE names a tree to use instead. The tree is only
read: bytecode and pytest's cache go elsewhere.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from importlib import metadata
from pathlib import Path

from tools import ToolError

REPOSITORY = Path(__file__).resolve().parents[2]
CACHE = REPOSITORY / '.cache'

#: Python 3.11 has extraction filters from 3.11.4 on.
SAFELY = {'filter': 'data'} if hasattr(tarfile, 'data_filter') else {}


def installed_version():
    """Return the version of the Swift that the tests will import."""
    try:
        return metadata.version('swift')
    except metadata.PackageNotFoundError:
        raise ToolError('Swift is not installed for %s; install this '
                        'project with its test extras' % sys.executable)


def _checked(tree, version):
    """Return a directory if it is Swift's unpacked source of a version.

    :raises ToolError: if it is another thing or another version
    """
    info = tree / 'PKG-INFO'
    if not (tree / 'test' / 'unit').is_dir() or not info.is_file():
        raise ToolError('%s is not an unpacked source distribution of '
                        'Swift: it needs PKG-INFO and test/unit' % tree)
    lines = info.read_text(encoding='utf8').splitlines()
    if 'Version: %s' % version not in lines:
        raise ToolError("%s is not Swift %s, the installed version, whose "
                        "tests are needed" % (tree, version))
    return tree


def _download(version, directory):
    """Fetch the source distribution of a version into a directory."""
    command = [sys.executable, '-m', 'pip', 'download', '--quiet',
               '--disable-pip-version-check', '--no-deps', '--no-binary',
               'swift', '--dest', str(directory), 'swift==%s' % version]
    done = subprocess.run(command, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    archives = sorted(Path(directory).glob('*.tar.gz'))
    if done.returncode or len(archives) != 1:
        raise ToolError(
            'The source distribution of Swift %s could not be downloaded; '
            'without a package index, set SWIFT_SOURCE to an unpacked one. '
            'pip said:\n%s' % (version, done.stderr.strip()))
    return archives[0]


def _fetch(version, destination):
    """Download and unpack, so that the destination appears whole or not."""
    destination.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination.parent,
                                     prefix='fetch-') as scratch:
        archive = _download(version, scratch)
        unpacked = Path(scratch, 'unpacked')
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, **SAFELY)
        tree, = unpacked.iterdir()
        try:
            os.rename(tree, destination)
        except OSError:
            if not destination.is_dir():
                raise
            # another run was first; its copy is as good


def source_tree():
    """Return the path of the source distribution of the installed Swift.

    :raises ToolError: if there is none and none can be downloaded
    """
    version = installed_version()
    override = os.environ.get('SWIFT_SOURCE')
    if override:
        return _checked(Path(override).resolve(), version)
    destination = CACHE / ('swift-%s' % version)
    if not destination.is_dir():
        _fetch(version, destination)
    return _checked(destination, version)
