# SPDX-License-Identifier: Apache-2.0
"""Pushes what a neighbour lacks of many partitions by one rsync."""

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from glob import escape, glob
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.keys import Job

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: What the lists of paths are called; who pushes has its list locked.
PREFIX, SUFFIX = 'lightsync-', '.list'


def remove_lists(directory: str) -> None:
    """Remove the lists that replicators have left which were killed.

    :param directory: where they are
    """
    for path in glob(os.path.join(escape(directory), PREFIX + '*' + SUFFIX)):
        with suppress(OSError), open(path, 'rb') as listed:
            fcntl.flock(listed, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)


def push(daemon: 'LightSyncReplicator', node: RingDevice,
         jobs: Sequence[tuple[Job, Sequence[str]]],
         paths: Sequence[str]) -> bool:
    """Push files by one rsync, with the flags of stock Swift.

    :param daemon: the replicator
    :param node: the device to push to
    :param jobs: the partitions' jobs, all of one device and policy, each with
        the suffixes to push
    :param paths: what to push, relative to the objects directory
    :returns: True if everything was pushed
    """
    command = next(filter(None, (
        daemon.rsync_argv(node, job, suffixes) for job, suffixes in jobs)),
        None)
    if command is None:
        return False
    flags = [each for each in command[:-1]
             if each == 'rsync' or each.startswith('--')]
    target, _, _ = command[-1].rpartition('/')
    # A full disk must be able to push: it lies with the recon files.
    place = daemon.recon_cache_path
    with NamedTemporaryFile('w', prefix=PREFIX, suffix=SUFFIX,
                            dir=place if os.path.isdir(place) else None,
                            encoding='utf8', errors='surrogateescape',
                            newline='') as listed:
        fcntl.flock(listed, fcntl.LOCK_EX)
        # A name may contain a line feed, but no NUL.
        listed.writelines(path + '\0' for path in paths)
        listed.flush()
        return daemon.rsync_noted(node, flags + [
            '--from0', '--files-from=' + listed.name,
            # A file may be deleted meanwhile; that is no failure.
            '--ignore-missing-args',
            jobs[0][0]['obj_path'] + '/', target + '/']) == 0
