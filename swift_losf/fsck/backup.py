# SPDX-License-Identifier: Apache-2.0
"""Copies an index while its server runs, and puts a copy in its place.

LevelDB appends to its logs and to its manifest, and never changes a table. So
a copy is the index as it was at one moment if it is made in this order:

1. the logs get another name (a hard link), so that they stay;
2. the manifest is copied;
3. the tables that there are get another name.

A log that step 2 misses has no entry before those of the logs that were there.
A table that step 3 misses was in use at 2, and its want is noticed when the
copy is opened: then all is done again.

A volume may have the number of one that was there when the copy was made: an
index that was made anew meanwhile, or put back, knows only the numbers of
volumes that are there. So a copy has the salts of its volumes beside it. What
it says of dead records in others is not believed.
"""

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Iterator

import plyvel

from swift_lightsync.common.command import UsageError
from swift_lightsync.common.files import opened, sync_directory
from swift_losf.format.header import FormatError
from swift_losf.format.layout import Layout
from swift_losf.fsck.entries import require_index
from swift_losf.index.index import Index
from swift_losf.upkeep.lost_index import put_away, set_aside
from swift_losf.volumes.volume import read_copies

#: how often a copy is begun that the server's own compaction has spoilt
ATTEMPTS = 20
_LINKED, _COPIED = '.backup', '.part'
_RESTORED = '.restored'
#: the file of a backup that has the salts of its volumes
_SALTS = 'volumes.json'


def back_up(layout: Layout, directory: str) -> int:
    """Copy an index.

    :param layout: a Layout
    :param directory: of the copy, which is not there yet
    :returns: the number of its files
    :raises UsageError: if there is no index, or no whole one
    """
    with _alone(layout):
        if os.path.exists(directory):
            raise UsageError('%s: must not be there yet' % directory)
        part = directory + _COPIED
        files = _copy(layout, part)
        _fsync_all(part)
        os.rename(part, directory)
    sync_directory(os.path.dirname(os.path.abspath(directory)))
    return files


@contextlib.contextmanager
def _alone(layout: Layout) -> Iterator[None]:
    """Wait until no other backup of the index is made; let others wait."""
    with opened(layout.root, os.O_RDONLY | os.O_DIRECTORY) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def _copy(layout: Layout, part: str) -> int:
    """Copy an index, again until the copy is whole.

    :returns: the number of its files
    """
    error: Exception | None = None
    for _ in range(ATTEMPTS):
        try:
            require_index(layout)
            with _frozen(layout.index) as frozen:
                shutil.rmtree(part, ignore_errors=True)
                shutil.copytree(frozen, part)
            files = _count(part)
            _write_salts(layout, part)
            return files
        except (FileNotFoundError, plyvel.Error, FormatError) as err:
            error = err
    raise UsageError('%s: %s' % (layout.index, error)) from error


@contextlib.contextmanager
def _frozen(index: str) -> Iterator[str]:
    """Yield a directory beside an index that has it as it is now."""
    frozen = index + _LINKED
    shutil.rmtree(frozen, ignore_errors=True)
    os.mkdir(frozen)

    def link(extensions: tuple[str, ...]) -> None:
        for name in sorted(os.listdir(index)):
            if name.endswith(extensions):
                os.link(os.path.join(index, name), os.path.join(frozen, name))
    try:
        link(('.log',))
        with open(os.path.join(index, 'CURRENT')) as current:
            manifest = current.read().strip()
        for name in (manifest, 'CURRENT'):
            shutil.copyfile(os.path.join(index, name),
                            os.path.join(frozen, name))
        link(('.ldb', '.sst'))
        yield frozen
    finally:
        shutil.rmtree(frozen)


def _count(path: str) -> int:
    with contextlib.closing(Index(path)) as index:
        if index.db.is_unfinished:
            raise UsageError('%s: is being made anew: not all is in it yet'
                             % path)
        return int(index.statistics().files)


def _salt(layout: Layout, number: int) -> str | None:
    """Return the salt of a volume, None if it is not there or has none."""
    try:
        with open(layout.volume(number), 'rb') as volume:
            return str(read_copies(volume.fileno())[0].salt.hex())
    except (FileNotFoundError, FormatError):
        return None


def _write_salts(layout: Layout, path: str) -> None:
    with contextlib.closing(Index(path)) as index:
        numbers = list(index.db.volumes)
    with open(os.path.join(path, _SALTS), 'w') as file:
        json.dump({number: _salt(layout, number) for number in numbers}, file)


def _read_salts(directory: str) -> dict[str, str | None]:
    try:
        with open(os.path.join(directory, _SALTS)) as file:
            found = json.load(file)
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def forget_dead_of_others(layout: Layout, index: Index,
                          directory: str) -> None:
    """Forget what a backup says of dead records in what is not its volumes.

    :param index: of a copy of the backup
    :param directory: of the backup
    """
    salts = _read_salts(directory)
    for number in list(index.db.volumes):
        salt = _salt(layout, number)
        if salt and salt == salts.get(str(number)):
            continue
        for offset, length in list(index.reclaim.of_volume(number)):
            with index.db.change() as change:
                change.reclaimed(number, offset, length)


def _fsync_all(directory: str) -> None:
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), 'rb') as file:
            os.fsync(file.fileno())
    sync_directory(directory)


def staged(layout: Layout, directory: str) -> str:
    """Copy a backup to the filesystem of the index.

    :returns: the path of the copy, which put_in_place takes
    :raises UsageError: if it is no backup
    """
    if not os.path.exists(os.path.join(directory, 'CURRENT')):
        raise UsageError('%s: is no backup of an index' % directory)
    path = layout.index + _RESTORED
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(directory, path, ignore=shutil.ignore_patterns(_SALTS))
    return path


def put_in_place(layout: Layout, path: str) -> None:
    """Let a copy that was brought up to date be the index."""
    _fsync_all(path)
    if os.path.exists(layout.index):
        set_aside(layout, 'a backup takes its place')
    put_away(layout)  # or the next index that is lost would be made of it
    os.rename(path, layout.index)
    sync_directory(os.path.dirname(layout.index))
