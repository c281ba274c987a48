# SPDX-License-Identifier: Apache-2.0
"""``swift-lightsync-patch``: apply, check or revert the patches to Swift.

Every hunk of every patch is verified before anything is written. Then each
new text is written and synced beside its file, and renamed over it, file by
file. An interrupted run leaves each file with some whole number of its
patches, which the next run recognises: it completes what was begun, or takes
it back.

A tree is the directory that contains ``swift/``: site-packages for an
installed Swift, the root of a source distribution or git checkout. Nothing of
it is imported, so that a broken Swift can be mended.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from email.parser import HeaderParser
from graphlib import CycleError, TopologicalSorter
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from swift_lightsync import patch_series
from swift_lightsync.common.files import sync_directory, try_lock
from swift_lightsync.patch_series import FilePatch, FileState, PatchingError

SWIFT_SERIES = '2.38'
APPLIED, NOT_APPLIED, REFUSED = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    :param argv: arguments, without the command's name
    :returns: 0 done, or applied; 1 not applied (check only); 2 refused,
        partly applied, or wrong usage
    """
    parser = argparse.ArgumentParser(
        prog='swift-lightsync-patch',
        description='Apply, check or revert the patches that let Swift %s '
        'run LightSync as its own.' % SWIFT_SERIES)
    parser.add_argument('action', choices=('apply', 'check', 'revert'))
    parser.add_argument('--target', metavar='DIR', type=Path,
                        help='directory that contains swift/: site-packages, '
                        'or the root of a source tree (default: of the Swift '
                        'that Python would import)')
    parser.add_argument('--patches', metavar='DIR', type=Path,
                        help='directory of the series and its patches '
                        '(default: those of this distribution)')
    args = parser.parse_args(argv)
    try:
        patches = patch_series.load(args.patches or
                                    patch_series.default_directory())
        root = open_tree(args.target or default_tree())
        if args.action == 'check':
            return check(root, inspect(root, patches))
        with open(root / 'swift' / '__init__.py', 'rb') as lock:
            if not try_lock(lock.fileno()):
                raise PatchingError('%s is being patched by another process' %
                                    root)
            return change(root, inspect(root, patches), args.action)
    except (PatchingError, CycleError, OSError) as err:
        print('%s: refused: %s.' % (parser.prog, err), file=sys.stderr)
        return REFUSED


def inspect(root: Path, patches: Sequence[FilePatch]) -> list[FileState]:
    """Return the state of each file of the series, in the order of applying.

    A file comes after those that are before it in a patch that changes both,
    so that what is called is there before its caller.

    :raises PatchingError: if one of the files is in no state of the series
    :raises CycleError: if two patches change files in opposite orders
    """
    chains: dict[str, list[FilePatch]] = {}
    order: TopologicalSorter[str] = TopologicalSorter()
    for patch in patches:
        order.add(patch.path, *(path for path, chain in chains.items()
                                if chain[-1].patch == patch.patch))
        chains.setdefault(patch.path, []).append(patch)
    return [patch_series.detect(patch_series.read_text(locate(root, path)),
                                chains[path]) for path in order.static_order()]


def check(root: Path, states: list[FileState]) -> int:
    """Say which patches the files have; the result is the command's."""
    tops = [len(state.stages) - 1 for state in states]
    levels = [state.level for state in states]
    for state, top in zip(states, tops):
        print('%s: %d of %d patches' % (root / state.path, state.level, top))
    if levels == tops:
        print('Applied.')
        return APPLIED
    if not any(levels):
        print('Not applied. To apply: swift-lightsync-patch apply --target '
              '%s' % root)
        return NOT_APPLIED
    print('Partly applied. To complete: swift-lightsync-patch apply --target '
          '%s; to take back: the same with revert' % root)
    return REFUSED


def change(root: Path, states: list[FileState], action: str) -> int:
    """Give every file all of its patches, or take all of them back."""
    done, stage, order = {'apply': ('patched', -1, 1),
                          'revert': ('reverted', 0, -1)}[action]
    texts = {locate(root, state.path): state.stages[stage]
             for state in states[::order]
             if state.stages[state.level] != state.stages[stage]}
    try:
        for state in states:  # an interrupted run's
            _discard(_staged(locate(root, state.path)))
        replace(texts)
    except OSError as err:
        raise PatchingError('%s cannot be written: %s. Once that is mended, '
                            'run this again' % (root, err))
    for path in texts:
        print('%s %s' % (done, path))
    if texts:
        print('Restart the Swift daemons that run from %s.' % root)
    else:
        print('Nothing to do: %s is %s already.' % (root, done))
    return 0


def replace(texts: dict[Path, str]) -> None:
    """Give files new texts in this order, keeping their modes and owners.

    :raises OSError: if not all texts could be written beside their files,
        and then no file has changed, or if a rename failed
    """
    try:
        for path, text in texts.items():
            _stage(path, text.encode('utf8'))
        for path in texts:
            os.replace(_staged(path), path)
            sync_directory(str(path.parent))
    except OSError:
        for path in texts:
            _discard(_staged(path))
        raise


def _staged(path: Path) -> Path:
    return path.with_name('.%s.swift-lightsync-patch' % path.name)


def _discard(path: Path) -> None:
    # A read-only file system refuses to unlink even what is not there.
    if path.exists():
        path.unlink()


def _stage(path: Path, data: bytes) -> None:
    """Write what is to replace a file, with its owner and mode, synced."""
    if not os.access(path, os.W_OK):
        raise PermissionError('%s is not writable' % path)
    old = path.stat()
    with open(_staged(path), 'xb') as staged:
        staged.write(data)
        staged.flush()
        new = os.fstat(staged.fileno())
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(staged.fileno(), old.st_uid, old.st_gid)
        os.fchmod(staged.fileno(), old.st_mode & 0o7777)
        os.fsync(staged.fileno())


def locate(root: Path, name: str) -> Path:
    """Return the path of a file of the tree that is no link out of it."""
    path = (root / name).resolve()
    if root not in path.parents:
        raise PatchingError('%s leads out of the tree, to %s' % (
            root / name, path))
    return path


def default_tree() -> Path:
    """Return the tree of the Swift that Python would import."""
    spec = find_spec('swift')
    if spec is None or not spec.origin:
        raise PatchingError('Swift is not installed for this Python; name '
                            'the directory that contains swift/ with '
                            '--target')
    return Path(spec.origin).parent.parent


def open_tree(root: Path) -> Path:
    """Return a tree's path, resolved, if its Swift is a supported one."""
    root = root.resolve()
    if not (root / 'swift' / '__init__.py').is_file():
        raise PatchingError('%s is not a Swift tree: it has no '
                            'swift/__init__.py. Name the directory that '
                            'contains swift/' % root)
    found = _installed(root) or _unpacked(root) or _checked_out(root)
    if len(found) > 1:
        raise PatchingError('%s has metadata of several versions of Swift: '
                            '%s. Remove those of the wrong ones' %
                            (root, ', '.join(sorted(found))))
    if not found:
        raise PatchingError(
            '%s: the version of Swift cannot be determined: no metadata '
            '(swift-*.dist-info, swift.egg-info), no PKG-INFO, no git tag. '
            'Run "pip install -e %s", or there "PBR_VERSION=VERSION python3 '
            'setup.py egg_info", with the version that it is' % (root, root))
    version = found.pop()
    if not (version + '.').startswith(SWIFT_SERIES + '.'):
        raise PatchingError('%s is Swift %s; the patches are for Swift %s.x' %
                            (root, version, SWIFT_SERIES))
    return root


def _installed(root: Path) -> set[str]:
    return {dist.version for dist in metadata.distributions(
        name='swift', path=[str(root)]) if dist.version}


def _unpacked(root: Path) -> set[str]:
    path = root / 'PKG-INFO'
    info = HeaderParser().parsestr(
        patch_series.read_text(path) if path.exists() else '')
    is_told = info['Name'] == 'swift' and info['Version']
    return {info['Version']} if is_told else set()


def _checked_out(root: Path) -> set[str]:
    if not (root / '.git').exists():
        return set()
    try:
        done = subprocess.run(
            ['git', '-C', str(root), 'describe', '--tags', '--match=[0-9]*'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return set()
    return set(re.findall(r'^\d+(?:\.\d+)+', done.stdout))


if __name__ == '__main__':
    sys.exit(main())
