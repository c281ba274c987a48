# SPDX-License-Identifier: Apache-2.0
"""
Removes empty volumes. FORMAT.md, "Removing a file".

Such a volume holds nothing but zeros behind its header, so nothing can be
lost with it, whatever the index says. A crash leaves the file without a state
in the index, which recovery makes anew.
"""

import os
from typing import Dict

from swift_lightsync.common.files import try_lock
from swift_losf.format.header import VOLUME_HEADER_LENGTH, FormatError
from swift_losf.format.ranges import Ranges
from swift_losf.index.db import fsync
from swift_losf.volumes.gaps import reclaim_gaps, subtract_records
from swift_losf.volumes.space import is_empty
from swift_losf.volumes.volume import iter_records, read_header

#: volumes of a type that are kept to be appended to
KEPT = 4


class EmptyVolumes:
    """
    Finds and removes the volumes that have no files any more.

    :param layout: a Layout
    :param index: the Index
    :param max_volume_size: bytes from which on a volume gets no more records
    """

    def __init__(self, layout, index, max_volume_size):
        self.layout = layout
        self.index = index
        self.max_volume_size = max_volume_size
        #: numbers of volumes in which something has no entry, and their sizes
        self._examined = {}

    def remove(self):
        """
        Remove empty volumes that no process has locked.

        :returns: how many were removed
        """
        kept: Dict[int, int] = {}
        removed = 0
        for number, state in self.index.list_volumes():
            if state.files or state.dead_bytes:
                continue
            fd = self._open(number)
            if fd is None:
                continue
            try:
                if (is_empty(fd)
                        and os.fstat(fd).st_size < self.max_volume_size):
                    kept[state.type] = kept.get(state.type, 0) + 1
                    if kept[state.type] <= KEPT:
                        continue
                removed += self._remove(fd, number)
            finally:
                os.close(fd)
        return removed

    def _open(self, number):
        try:
            return os.open(self.layout.volume(number), os.O_RDWR)
        except FileNotFoundError:
            return None

    def _remove(self, fd, number):
        """Return whether the volume was removed."""
        if not try_lock(fd):
            return False
        state = self.index.db.volumes[number]
        if state.files or state.dead_bytes or any(
                True for _ in self.index.reclaim.of_volume(number)):
            return False
        if not is_empty(fd):
            self._reclaim_rest(fd, number)
            return False
        self.index.drop_volume(number)
        os.unlink(self.layout.volume(number))
        fsync(self.layout.volumes)
        return True

    def _reclaim_rest(self, fd, number):
        """Queue what was never registered, and gaps, to be given back."""
        size = os.fstat(fd).st_size
        if self._examined.get(number) == size:
            return
        self._examined[number] = size
        try:
            header = read_header(fd)
        except FormatError:
            return  # recovery sets it aside
        gaps = Ranges([(VOLUME_HEADER_LENGTH, size)])
        records = [found.location for found in subtract_records(
            gaps, header, iter_records(fd, header, 0, size))]
        reclaim_gaps(self.layout, self.index, {number: gaps})
        self._reclaim_records(number, records)

    def _reclaim_records(self, number, records):
        ranges = Ranges((each.offset, each.offset + each.length)
                        for each in records)
        if records:
            self.index.reader.subtract_entries({number: ranges})
        self.index.reclaim.add_records([each for each in records if ranges.has(
            each.offset, each.offset + each.length)])
