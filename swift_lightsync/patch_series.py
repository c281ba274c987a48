# SPDX-License-Identifier: Apache-2.0
"""Reads the patches to Swift and computes what they make of a file's text.

1. A patch is a unified diff that changes files below ``swift/``; it creates,
   deletes and renames none. Text may stand in front of its first file only,
   so that a damaged hunk cannot pass for a comment. Tests and release notes,
   new files of Swift's repository, stand at its end and are left out here.
2. A hunk fits if its old lines stand in the file exactly once, at whatever
   line: no fuzz, but a release of Swift with the same code further down is
   served.
3. Which patches a file has is recorded nowhere: it has the first n of its
   patches if these can be taken back and then all of them applied.

GNU patch is not used because it is less exact. With ``--fuzz=0`` it still
puts a hunk whose lines stand in the file twice into the nearer place, and it
skips a hunk whose header is damaged, both with exit code 0. Refusing these
needs the parsed hunks, and then replacing lines needs ten lines more.
"""

import io
import re
import site
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

SERIES = 'series'
BESIDE = Path(__file__).resolve().parents[1] / 'patches'
SHARED = Path('share', 'swift-lightsync', 'patches')
#: what an installed Swift has no place for
REPOSITORY = re.compile(r'--- /dev/null\n\+\+\+ b/(test|releasenotes)/')
FILE = re.compile(r'--- (?:a/)?(.*)\n\+\+\+ (?:b/)?(.*)\n')
HUNK = re.compile(r'@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@.*\n')

Lines = tuple[str, ...]


class PatchingError(Exception):
    """What was asked is refused, and the tree is as it was before."""


class Mismatch(Exception):
    """A hunk does not fit: how many did, FilePatch, Hunk, the lines."""


@dataclass(frozen=True)
class Hunk:
    """One replacement of lines, each with its line end."""

    number: int  #: from 1, in its patch and file
    start: int  #: the line, from 1, at which the patch was made
    old: Lines
    new: Lines


@dataclass(frozen=True)
class FilePatch:
    """What one patch does to one file."""

    patch: str  #: file name of the patch
    path: str  #: of the patched file, relative to the tree
    hunks: tuple[Hunk, ...]

    def reverse(self) -> 'FilePatch':
        """Return what takes this one back."""
        return replace(self, hunks=tuple(
            replace(hunk, old=hunk.new, new=hunk.old) for hunk in self.hunks))


@dataclass(frozen=True)
class FileState:
    """A file of the tree as the series sees it."""

    path: str  #: relative to the tree
    stages: Lines  #: its text with 0, 1, ... all of its patches
    level: int  #: which of the stages it is in


def default_directory() -> Path:
    """Return the patches' directory: beside the source, or installed."""
    places = [BESIDE] + [Path(root, SHARED) for root in (
        sys.prefix, sysconfig.get_path('data'), site.getuserbase())]
    for place in places:
        if (place / SERIES).is_file():
            return place
    raise PatchingError('the patches are not installed; looked in %s. '
                        'Name their directory with --patches' %
                        ', '.join(str(p) for p in dict.fromkeys(places)))


def load(directory: Path) -> list[FilePatch]:
    """Return all of a directory's patches, in the order of its series."""
    path = directory / SERIES
    lines = [line.split('#')[0].strip() for line in
             read_text(path).splitlines()]
    names = [line for line in lines if line]
    for name in names:
        if not name.endswith('.patch') or name != PurePosixPath(name).name:
            raise PatchingError('%s lists %r; allowed are names of *.patch '
                                'files in its directory' % (path, name))
        if names.count(name) > 1:
            raise PatchingError('%s lists %s twice' % (path, name))
    if not names:
        raise PatchingError('%s lists no patch' % path)
    return [patch for name in names
            for patch in _parse(name, read_text(directory / name))]


def read_text(path: Path) -> str:
    """Return the text of a file in UTF-8, its line ends unchanged."""
    try:
        return path.read_bytes().decode('utf8')
    except (OSError, UnicodeDecodeError) as err:
        raise PatchingError('%s cannot be read: %s' % (path, err))


def _parse(name: str, text: str) -> list[FilePatch]:
    _reason, *files = re.split('^(?=--- )', text, flags=re.MULTILINE)
    while files and REPOSITORY.match(files[-1]):
        files.pop()
    if not files:
        raise PatchingError('%s changes no file' % name)
    return [_parse_file(name, file) for file in files]


def _parse_file(name: str, text: str) -> FilePatch:
    head, *hunks = re.split('^(?=@@ )', text, flags=re.MULTILINE)
    match = FILE.fullmatch(head)
    if not match or not hunks:
        raise PatchingError('%s is damaged: two lines that name a file, and '
                            'then hunks, should stand instead of %r' % (
                                name, head))
    path = match[1]
    if path != match[2] or not path.startswith('swift/') or \
            '..' in path.split('/'):
        raise PatchingError(
            '%s changes %s to %s; allowed is a/swift/PATH to b/swift/PATH, '
            'PATH the same and without ..' % (name, path, match[2]))
    return FilePatch(name, path, tuple(
        _parse_hunk(name, number, hunk) for number, hunk in
        enumerate(hunks, start=1)))


def _parse_hunk(name: str, number: int, text: str) -> Hunk:
    header, *lines = _lines(text)
    match = HUNK.fullmatch(header)
    old = tuple(line[1:] for line in lines if line[0] in ' -')
    new = tuple(line[1:] for line in lines if line[0] in ' +')
    if not match or any(line[0] not in ' +-' for line in lines) or \
            (len(old), len(new)) != (int(match[2] or 1), int(match[3] or 1)):
        raise PatchingError('%s is damaged: %r and the lines below it are no '
                            'hunk' % (name, header))
    if not old or not new:
        raise PatchingError('%s: hunk %r has no context' % (name, header))
    return Hunk(number, int(match[1]), old, new)


def detect(text: str, chain: Sequence[FilePatch]) -> FileState:
    """Find out how many of a file's patches it has.

    :param text: the file's text
    :param chain: the patches of this one file, in the series' order
    :raises PatchingError: if the file is in none of the expected states; the
        error tells of the state it comes nearest to
    """
    found, failures = [], []
    for level in range(len(chain) + 1):
        try:
            found.append(FileState(chain[0].path,
                                   _stages(text, chain, level), level))
        except Mismatch as err:
            failures.append(err)
    if not found:
        raise _explain(_lines(text), *max(
            failures, key=lambda err: err.args[0]).args[1:])
    if len(found) > 1:
        raise PatchingError('%s: cannot tell whether it has %s of its '
                            'patches' % (chain[0].path, ' or '.join(
                                str(state.level) for state in found)))
    return found[0]


def _stages(text: str, chain: Sequence[FilePatch], level: int) -> Lines:
    """Return the file's text at each level, if it is at this level now."""
    taken_back = [patch.reverse() for patch in reversed(chain[:level])]
    texts, fitted = [text], 0
    for patch in taken_back + list(chain):
        texts.append(_apply(texts[-1], patch, fitted))
        fitted += len(patch.hunks)
    return tuple(texts[level:])


def _apply(text: str, patch: FilePatch, fitted: int) -> str:
    lines = _lines(text)
    places = [_places(lines, hunk.old) for hunk in patch.hunks]
    fitted += sum(len(found) == 1 for found in places)
    result: list[str] = []
    end = 0
    for hunk, found in zip(patch.hunks, places):
        if len(found) != 1 or found[0] < end:
            raise Mismatch(fitted, patch, hunk, lines)
        result += lines[end:found[0]]
        result += hunk.new
        end = found[0] + len(hunk.old)
    return ''.join(result + lines[end:])


def _lines(text: str) -> list[str]:
    return io.StringIO(text, newline='\n').readlines()


def _places(lines: list[str], block: Lines) -> list[int]:
    """Return the indexes at which the lines hold the block."""
    return [at for at, line in enumerate(lines) if line == block[0]
            and tuple(lines[at:at + len(block)]) == block]


def _explain(now: list[str], patch: FilePatch, hunk: Hunk,
             lines: list[str]) -> PatchingError:
    """
    Return an error that names the file, the patch, the hunk and the trouble.

    :param now: the lines of the file as it is, which number its lines
    :param lines: those in which the hunk was looked for
    """
    places = _places(lines, hunk.old)
    if len(places) > 1:
        problem = 'its lines stand there %d times' % len(places)
    elif places:
        problem = 'line %d is not below the hunk before it' % (places[0] + 1)
    else:
        problem = _difference(
            lines if _places(now, hunk.old) else now, hunk)
    return PatchingError(
        '%s: %s: hunk %d does not fit: %s. Something else changed the file, '
        'an earlier release of these patches perhaps: put the file of the '
        'Swift release back (pip install --force-reinstall --no-deps '
        'swift==VERSION, or as your packages do it), or rebase the patch' % (
            patch.path, patch.patch, hunk.number, problem))


def _difference(lines: list[str], hunk: Hunk) -> str:
    """Name the first line that differs where most lines are the hunk's."""
    def likeness(at: int) -> tuple[int, int]:
        same = sum(a == b for a, b in zip(lines[at:], hunk.old))
        return same, -abs(at + 1 - hunk.start)

    at = max(range(max(len(lines), 1)), key=likeness)
    here = lines[at:at + len(hunk.old)]
    here += ['(end of file)'] * (len(hunk.old) - len(here))
    offset, expected, found = next(
        (n, a, b) for n, (a, b) in enumerate(zip(hunk.old, here)) if a != b)
    if expected.rstrip('\n') != found.rstrip('\n'):
        expected, found = expected.rstrip('\n'), found.rstrip('\n')
    return 'line %d should be %r, but is %r' % (
        at + offset + 1, expected, found)
