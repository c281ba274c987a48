# SPDX-License-Identifier: Apache-2.0
"""Reads a directory of patches: the file ``series`` and what it lists.

A patch is a unified diff that changes files below ``swift/``; it creates,
deletes and renames none. Text may stand in front of the first file only, so
that a damaged hunk cannot pass for a comment.
"""

import site
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import unidiff

from swift_lightsync.patching import PatchingError

SERIES = 'series'
BESIDE = Path(__file__).resolve().parents[2] / 'patches'
SHARED = Path('share', 'swift-lightsync', 'patches')


@dataclass(frozen=True)
class Hunk:
    """One replacement of lines, each with its line end."""

    number: int  #: from 1, in its patch and file
    start: int  #: the line, from 1, at which the patch was made
    old: tuple
    new: tuple

    def reverse(self):
        """:returns: the hunk that takes this one back"""
        return Hunk(self.number, self.start, self.new, self.old)


@dataclass(frozen=True)
class FilePatch:
    """What one patch does to one file."""

    patch: str  #: file name of the patch
    path: str  #: of the patched file, relative to the tree
    hunks: tuple


def default_directory():
    """
    :returns: where the patches are: in the source tree that this module is
        part of, else where the distribution's files were installed
    :raises PatchingError: if they are in none of these places
    """
    places = [BESIDE] + [Path(root, SHARED) for root in (
        sys.prefix, sysconfig.get_path('data'), site.getuserbase())]
    for place in places:
        if (place / SERIES).is_file():
            return place
    raise PatchingError('the patches are not installed; looked in %s. '
                        'Name their directory with --patches' %
                        ', '.join(str(p) for p in dict.fromkeys(places)))


def load(directory):
    """
    :param directory: path of a directory of patches
    :returns: a tuple of FilePatch, in the order of the series
    :raises PatchingError: if anything in it cannot be used
    """
    names = _names(Path(directory, SERIES))
    return tuple(file_patch for name in names
                 for file_patch in _parse(name, _read(Path(directory, name))))


def _read(path):
    try:
        return path.read_bytes().decode('utf8')
    except (OSError, UnicodeDecodeError) as err:
        raise PatchingError('%s cannot be read: %s' % (path, err))


def _names(path):
    lines = [line.split('#')[0].strip() for line in _read(path).splitlines()]
    names = [line for line in lines if line]
    for name in names:
        if not name.endswith('.patch') or name != PurePosixPath(name).name:
            raise PatchingError('%s lists %r; allowed are names of *.patch '
                                'files in its directory' % (path, name))
        if names.count(name) > 1:
            raise PatchingError('%s lists %s twice' % (path, name))
    if not names:
        raise PatchingError('%s lists no patch' % path)
    return names


def _parse(name, text):
    try:
        files = unidiff.PatchSet(text)
    except unidiff.UnidiffParseError as err:
        raise PatchingError('%s is damaged: %s' % (name, str(err).strip()))
    if str(files) != text or any(file.patch_info for file in files[1:]):
        raise PatchingError('%s is damaged: it has lines that belong to no '
                            'hunk after its first file' % name)
    if not files:
        raise PatchingError('%s changes no file' % name)
    return [FilePatch(name, _path(name, file), _hunks(name, file))
            for file in files]


def _path(name, file):
    """The path that a patch changes, from ``a/swift/x`` and ``b/swift/x``."""
    old, new = (PurePosixPath(side)
                for side in (file.source_file, file.target_file))
    path = PurePosixPath(*old.parts[1:])
    if (old.parts[:2], new.parts[:2]) != (('a', 'swift'), ('b', 'swift')) \
            or old.parts[1:] != new.parts[1:] or '..' in path.parts:
        raise PatchingError(
            '%s changes %s to %s; allowed is a/swift/PATH to b/swift/PATH, '
            'PATH the same and without ..' % (
                name, file.source_file, file.target_file))
    return str(path)


def _hunks(name, file):
    hunks = tuple(
        Hunk(number, hunk.source_start,
             tuple(line.value for line in hunk
                   if line.is_context or line.is_removed),
             tuple(line.value for line in hunk
                   if line.is_context or line.is_added))
        for number, hunk in enumerate(file, start=1))
    if not hunks:
        raise PatchingError('%s has no hunk for %s' % (
            name, file.target_file))
    for hunk in hunks:
        if not hunk.old or not hunk.new:
            raise PatchingError('%s: %s: hunk %d has no context' % (
                name, file.target_file, hunk.number))
    return hunks
