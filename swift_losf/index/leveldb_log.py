# SPDX-License-Identifier: Apache-2.0
"""Syncs logs of a LevelDB, and tells whether a power cut has torn them.

LevelDB cannot tell: it refuses both, or skips what is damaged in both. What a
power cut tears was never synced, nor was anything behind it. So damage in
front of a sync's mark has another cause. The format of the logs is
LevelDB's own: blocks of 32 KiB, in them fragments with a masked CRC-32C, a
length and a type.
"""

import contextlib
import os
import struct

from google_crc32c import value as crc32c

from swift_lightsync.common.files import opened
from swift_losf.mounts import opened_path

#: the key of an entry that the index writes after each sync
MARK = b'ssynced'

_BLOCK = 32768
_HEADER = struct.Struct('<IHB')
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_MASK_DELTA = 0xa282ead8


def is_torn(path):
    """Return whether the logs of a LevelDB have no damage older than a sync.

    :param path: the directory of the LevelDB, which nobody has open
    """
    damaged = False
    for name in sorted(os.listdir(path)):
        if not name.endswith('.log'):
            continue
        with open(os.path.join(path, name), 'rb') as log:
            for batch in _batches(log):
                if batch is None:
                    damaged = True
                elif damaged and MARK in batch:
                    return False
    return True


def _batches(log):
    """Return an iterator of batches, with None for what is no batch."""
    batch = None
    while block := log.read(_BLOCK):
        for kind, payload in _fragments(block):
            if kind in (_FULL, _FIRST):
                batch = payload
            elif kind in (_MIDDLE, _LAST) and batch is not None:
                batch += payload
            else:
                yield None
                batch = None
            if kind in (_FULL, _LAST) and batch is not None:
                yield batch
                batch = None


def _fragments(block):
    at = 0
    while at + _HEADER.size <= len(block):
        crc, length, kind = _HEADER.unpack_from(block, at)
        end = at + _HEADER.size + length
        if end > len(block) or crc != _masked(block[at + 6:end]):
            yield None, b''
            return
        yield kind, block[at + _HEADER.size:end]
        at = end


def _masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xffffffff


def sync_logs(directory, synced):
    """Sync the logs of a LevelDB.

    LevelDB's own sync leaves out the log before the last rotation, which is
    not in a table yet. A log that disappears meanwhile is in a table, and
    tables are synced. If the device is detached meanwhile, the path leads
    elsewhere; the open directory does not.

    :param directory: of the LevelDB, open
    :param synced: what the call before has returned
    :returns: the names of the logs
    """
    path = opened_path(directory)
    logs = {name for name in os.listdir(path) if name.endswith('.log')}
    for name in sorted(logs):
        with contextlib.suppress(FileNotFoundError):
            fsync(os.path.join(path, name))
    if logs != synced:
        fsync(path)
    return logs


def fsync(path):
    """Make a file or directory durable."""
    with opened(path) as fd:
        os.fsync(fd)
