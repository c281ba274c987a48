# SPDX-License-Identifier: Apache-2.0
"""A Swift tree: where it is, which version it has, its files.

A tree is the directory that contains ``swift/``: site-packages for an
installed Swift, the root of a source distribution or git checkout.

Files are replaced so that after a crash each is wholly old or wholly new:
every new text is first written and synced beside its file, then renamed over
it, file by file.
"""

import fcntl
import os
import re
import subprocess
from contextlib import contextmanager
from email.parser import HeaderParser
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from swift_lightsync.patching import PatchingError

SWIFT_SERIES = '2.38'


def default_tree():
    """
    :returns: the tree of the Swift that Python would import; nothing of it
        is imported
    :raises PatchingError: if there is none
    """
    spec = find_spec('swift')
    if spec is None or not spec.origin:
        raise PatchingError('Swift is not installed for this Python; name '
                            'the directory that contains swift/ with '
                            '--target')
    return Path(spec.origin).parent.parent


def open_tree(root):
    """
    :param root: path of the directory that contains ``swift/``
    :returns: that path, resolved, once its Swift is known to be supported
    :raises PatchingError: if it is not
    """
    root = Path(root).resolve()
    if not (root / 'swift' / '__init__.py').is_file():
        raise PatchingError('%s is not a Swift tree: it has no '
                            'swift/__init__.py. Name the directory that '
                            'contains swift/' % root)
    version = _version(root)
    if not (version + '.').startswith(SWIFT_SERIES + '.'):
        raise PatchingError('%s is Swift %s; the patches are for Swift %s.x' %
                            (root, version, SWIFT_SERIES))
    return root


def _version(root):
    """The version by the tree's own metadata, PKG-INFO or git tag."""
    for source in (_metadata_versions, _pkg_info_versions, _git_versions):
        found = source(root)
        if len(found) > 1:
            raise PatchingError('%s has metadata of several versions of '
                                'Swift: %s. Remove those of the wrong ones' %
                                (root, ', '.join(sorted(found))))
        if found:
            return found.pop()
    raise PatchingError(
        '%s: the version of Swift cannot be determined: no metadata '
        '(swift-*.dist-info, swift.egg-info), no PKG-INFO, no git tag. Run '
        '"pip install -e %s", or there "PBR_VERSION=VERSION python3 setup.py '
        'egg_info", with the version that it is' % (root, root))


def _metadata_versions(root):
    return {dist.version for dist in metadata.distributions(
        name='swift', path=[str(root)]) if dist.version}


def _pkg_info_versions(root):
    try:
        text = (root / 'PKG-INFO').read_text(encoding='utf8')
    except FileNotFoundError:
        return set()
    except (OSError, UnicodeDecodeError) as err:
        raise PatchingError('%s/PKG-INFO cannot be read: %s' % (root, err))
    info = HeaderParser().parsestr(text)
    if info['Name'] != 'swift' or not info['Version']:
        return set()
    return {info['Version']}


def _git_versions(root):
    if not (root / '.git').exists():
        return set()
    try:
        done = subprocess.run(
            ['git', '-C', str(root), 'describe', '--tags', '--match=[0-9]*'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return set()
    return set(re.findall(r'^\d+(?:\.\d+)+', done.stdout))


def read(root, name):
    """
    :param root: a tree
    :param name: path of a file in it
    :returns: the file's text
    :raises PatchingError: if there is no such regular file inside the tree
    """
    path = _locate(root, name)
    try:
        return path.read_bytes().decode('utf8')
    except (OSError, UnicodeDecodeError) as err:
        raise PatchingError('%s cannot be read: %s' % (path, err))


def _locate(root, name):
    path = (root / name).resolve()
    if root not in path.parents:
        raise PatchingError('%s leads out of the tree, to %s' % (
            root / name, path))
    return path


@contextmanager
def locked(root):
    """
    Keep other runs away from a tree.

    :param root: a tree
    :raises PatchingError: if another run has it
    """
    with open(root / 'swift' / '__init__.py', 'rb') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PatchingError('%s is being patched by another process' %
                                root)
        yield


def replace(root, texts, leftovers=()):
    """
    Give files new texts, keeping their modes and owners.

    :param root: a tree
    :param texts: dict of a file's path in the tree to its new text, in the
        order in which the files are to change
    :param leftovers: paths in the tree of files that an interrupted run may
        have been about to replace
    :raises PatchingError: if not all texts could be written beside their
        files, and then no file has changed, or if a rename failed
    """
    staged = {}
    try:
        _discard(_staging(_locate(root, name)) for name in leftovers)
        for name, text in texts.items():
            path = _locate(root, name)
            staged[path] = _staging(path)
            _stage(path, text.encode('utf8'))
        for path, temporary in staged.items():
            os.replace(temporary, path)
            _sync_directory(path.parent)
    except OSError as err:
        _discard(staged.values())
        raise PatchingError('%s cannot be written: %s. Once that is mended, '
                            'run this again' % (root, err))


def _discard(temporaries):
    # a read-only file system refuses to unlink even what is not there
    for temporary in temporaries:
        if temporary.exists():
            temporary.unlink()


def _staging(path):
    return path.with_name('.%s.swift-lightsync-patch' % path.name)


def _stage(path, data):
    """Write what is to replace a file, with its owner and mode, synced."""
    if not os.access(path, os.W_OK):
        raise PermissionError('%s is not writable' % path)
    old = path.stat()
    with open(_staging(path), 'xb') as staged:
        staged.write(data)
        staged.flush()
        new = os.fstat(staged.fileno())
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            os.fchown(staged.fileno(), old.st_uid, old.st_gid)
        os.fchmod(staged.fileno(), old.st_mode & 0o7777)
        os.fsync(staged.fileno())


def _sync_directory(path):
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
