# SPDX-License-Identifier: Apache-2.0
"""Makes an index anew from its volumes."""

import os
from dataclasses import dataclass, field

from swift_lightsync.common.files import opened
from swift_losf.format.header import (
    ALIGNMENT,
    FIRST_RECORD,
    FormatError,
    aligned,
)
from swift_losf.fsck.check import list_volumes
from swift_losf.fsck.volume_check import read_own_header
from swift_losf.upkeep.lost_index import open_index, set_aside
from swift_losf.upkeep.recovery import Recovery
from swift_losf.volumes.volume import iter_records


@dataclass
class Seen:
    """Counts of what is in the volumes."""
    volumes: int = 0
    records: int = 0
    quarantined: int = 0
    #: that the records take
    bytes: int = 0
    #: with the header of a record, and not valid
    incomplete: int = 0
    #: names of volumes without a valid header
    broken: list = field(default_factory=list)


def used_bytes(layout):
    """Return the bytes that the volumes take on the disk."""
    return sum(512 * os.stat(layout.volume(number)).st_blocks
               for number in list_volumes(layout)[0])


def count_records(layout, progress):
    """Read all volumes as rebuild does, and change nothing.

    :returns: Seen
    """
    seen = Seen()
    progress.begin('reading the volumes', used_bytes(layout))
    for number in list_volumes(layout)[0]:
        try:
            with opened(layout.volume(number)) as fd:
                _count(fd, number, seen, progress)
        except FormatError as err:
            seen.broken.append('%s: %s' % (layout.volume(number), err))
    return seen


def _count(fd, number, seen, progress):
    def incomplete(offset, error):
        seen.incomplete += 1
    header, _ = read_own_header(fd, number)
    seen.volumes += 1
    for found in iter_records(fd, header, FIRST_RECORD,
                              os.fstat(fd).st_size, incomplete):
        seen.records += 1
        seen.quarantined += found.header.quarantined
        seen.bytes += aligned(found.location.length, header.alignment)
        progress.advance(seen.bytes, seen.records)


def rebuild(layout, progress, part_power=None):
    """Set an index aside, and make a new one from the volumes.

    :param part_power: of the ring; None: headers tell partitions
    """
    aside = None
    if os.path.exists(layout.index):
        aside = os.path.basename(set_aside(
            layout, 'it is made anew from the volumes, as it was asked for'))
    progress.begin('rebuilding the index', used_bytes(layout))
    index = open_index(layout)
    index.part_power.set(part_power)

    def advance(state):
        known = index.statistics()
        padding = known.files * ALIGNMENT // 2
        progress.advance(known.bytes + padding, index.adopter.recovered)
    try:
        Recovery(layout, index, advance).run()
        return aside, index.statistics()
    finally:
        index.close()
