# SPDX-License-Identifier: Apache-2.0
"""Applies patches to one file's text and tells which ones it has.

A hunk fits if its old lines stand in the file exactly once, at whatever line:
no fuzz, but a release of Swift with the same code further down is served.
Which patches a file has is not recorded anywhere: it has the first n of its
patches if these can be taken back and then all of them applied. This module
does no I/O.
"""

import io
from dataclasses import dataclass

from swift_lightsync.patching import PatchingError


class Mismatch(PatchingError):
    """A hunk does not fit."""

    def __init__(self, file_patch, hunk, lines, matched):
        """
        :param lines: the lines in which it was looked for
        :param matched: how many hunks did fit
        """
        super().__init__(file_patch, hunk)
        self.file_patch, self.hunk = file_patch, hunk
        self.lines, self.matched = lines, matched

    def explain(self, now):
        """
        :param now: the lines of the file as it is, to number them
        :returns: an error that names file, patch, hunk and the difference
        """
        lines = self.lines if _places(now, self.hunk.old) else now
        return PatchingError(
            '%s: %s: hunk %d does not fit: %s. Something else changed the '
            'file, an earlier release of these patches perhaps: put the file '
            'of the Swift release back (pip install --force-reinstall '
            '--no-deps swift==VERSION, or as your packages do it), or rebase '
            'the patch' % (self.file_patch.path, self.file_patch.patch,
                           self.hunk.number, _problem(lines, self.hunk)))


@dataclass(frozen=True)
class FileState:
    """A file of the tree as the series sees it."""

    path: str  #: relative to the tree
    stages: tuple  #: its text with 0, 1, ... all of its patches
    level: int  #: which of the stages it is in

    @property
    def top(self):
        """The level at which the file has all of its patches."""
        return len(self.stages) - 1


def detect(text, chain):
    """
    Find out how many of a file's patches it has.

    :param text: the file's text
    :param chain: the FilePatches of this one file, in the series' order
    :returns: a FileState
    :raises PatchingError: if the file is in none of the expected states; the
        error is that of the state it comes nearest to
    """
    found, failures = [], []
    for level in range(len(chain) + 1):
        try:
            found.append(FileState(chain[0].path,
                                   _stages(text, chain, level), level))
        except Mismatch as err:
            failures.append(err)
    if not found:
        nearest = max(failures, key=lambda err: err.matched)
        raise nearest.explain(_lines(text))
    if len(found) > 1:
        raise PatchingError('%s: cannot tell whether it has %s of its '
                            'patches' % (chain[0].path, ' or '.join(
                                str(state.level) for state in found)))
    return found[0]


def _stages(text, chain, level):
    """The file's text at each level, if it is at the given level now."""
    matched = 0
    for file_patch in reversed(chain[:level]):
        text = _apply(text, file_patch, matched,
                      [hunk.reverse() for hunk in file_patch.hunks])
        matched += len(file_patch.hunks)
    stages = [text]
    for file_patch in chain:
        stages.append(_apply(stages[-1], file_patch, matched,
                             file_patch.hunks))
        matched += len(file_patch.hunks)
    return tuple(stages)


def _lines(text):
    return io.StringIO(text, newline='\n').readlines()


def _apply(text, file_patch, matched, hunks):
    lines = _lines(text)
    places = [_places(lines, hunk.old) for hunk in hunks]
    matched += sum(len(found) == 1 for found in places)
    result, end = [], 0
    for hunk, found in zip(hunks, places):
        if len(found) != 1 or found[0] < end:
            raise Mismatch(file_patch, hunk, lines, matched)
        result += lines[end:found[0]]
        result += hunk.new
        end = found[0] + len(hunk.old)
    return ''.join(result + lines[end:])


def _places(lines, block):
    """Indexes at which the lines hold the block."""
    return [at for at, line in enumerate(lines) if line == block[0]
            and tuple(lines[at:at + len(block)]) == block]


def _problem(lines, hunk):
    """Why a hunk does not fit, in words."""
    places = _places(lines, hunk.old)
    if len(places) > 1:
        return 'its lines stand there %d times' % len(places)
    if places:
        return 'line %d is not below the hunk before it' % (places[0] + 1)

    def likeness(at):
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
