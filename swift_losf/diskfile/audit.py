# SPDX-License-Identifier: Apache-2.0
"""The auditor's walk over the volumes of a device.

Only the index says which hashes there are, so a hash whose record is damaged
is visited like any other. Records that stand together are read into the page
cache at once before they are visited, so that the device sees long reads.
"""

import os
from contextlib import suppress
from os.path import join

from swift.common.concurrency import tpool
from swift.obj.diskfile import (
    AuditLocation,
    get_auditor_status,
    update_auditor_status,
)

from swift_lightsync.common.files import opened
from swift_losf.diskfile.audit_order import (
    MOST,
    Nearest,
    first_end,
    format_left,
    parse_left,
    stretches,
)

#: bytes that are read ahead with one call
PIECE = 2 ** 20


class VolumeAuditLocation(AuditLocation):
    """An AuditLocation of an object whose files are known.

    :param files: a dict of names to Locations
    """

    def __init__(self, path, device, partition, policy, files):
        super().__init__(path, device, partition, policy)
        self.files = files


def _read_ahead(path, ranges):
    """Let the kernel read ranges of a file, (offset, length)s, in advance."""
    # Not posix_fadvise: of what that is told, Linux reads no more at a time
    # than the device takes in one request, and forgets the rest. What cannot
    # be read, the auditor will run into.
    with suppress(OSError):
        buffer = memoryview(bytearray(PIECE))
        with opened(path, os.O_RDONLY | os.O_CLOEXEC) as fd:
            for offset, length in ranges:
                for at in range(0, length, PIECE):
                    os.preadv(fd, [buffer[:length - at]], offset + at)


class Walk:
    """Walks over all hashes in the index of one device and policy.

    What is written meanwhile may be left to the next walk.

    :param store: the Store
    :param auditor_type: ALL or ZBF
    :param logger: a logger
    :param most: hashes in memory at most, besides those of a page
    """

    def __init__(self, store, auditor_type, logger, most=MOST):
        self._store = store
        self._index = store.index
        self._auditor_type = auditor_type
        self._logger = logger
        self._most = most

    def locations(self, device, policy):
        """Walk through the objects of a device.

        :param device: its name
        :param policy: the storage policy
        :returns: an iterator of VolumeAuditLocations
        :raises IndexUnavailable: once the index cannot be asked
        """
        objects = self._store.layout.objects
        for each in self._hashes(objects):
            name = each.hash.hex()
            yield VolumeAuditLocation(
                join(objects, str(each.partition), name[-3:], name), device,
                str(each.partition), policy, each.files)

    def _hashes(self, objects):
        left = parse_left(get_auditor_status(objects, self._logger,
                                             self._auditor_type))
        volumes = self._index.list_volumes()
        if left is None:
            left = [(each.number, 0) for each in volumes]
        numbers = [number for number, _ in left]
        for stretch in self._stretches(volumes, left):
            self._note(objects, format_left(numbers, stretch.spot))
            # Fails, once the device is not there any more.
            self._index.statistics()
            tpool.execute(_read_ahead, self._store.layout.volume(
                stretch.spot[0]), stretch.ranges)
            yield from stretch.hashes
        self._note(objects, [])

    def _note(self, objects, left):
        update_auditor_status(objects, self._logger, left,
                              self._auditor_type)

    def _stretches(self, volumes, left):
        if not left:
            return
        first, end = left[0], (left[-1][0] + 1, 0)
        while first < end:
            nearest = self._collect(
                first, first_end(volumes, first, end, self._most))
            yield from stretches(nearest.take(), self._auditor_type != 'ZBF')
            first = nearest.end

    def _collect(self, first, end):
        nearest = Nearest(end, self._most)
        after, more = b'', True
        while more:
            page, after = self._index.list_files(first, nearest.end, after)
            nearest.add(page)
            more = bool(after)
        return nearest
