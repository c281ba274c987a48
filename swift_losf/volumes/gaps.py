# SPDX-License-Identifier: Apache-2.0
"""
Finds gaps: bytes of a volume that no record has. FORMAT.md, "Recovery".

A PUT leaves one behind if its process is killed.

REQUIRES of all: the volume was locked when its end was seen, or still is, so
that what is before it can become no record any more.
"""

import os

from swift_losf.format.header import aligned
from swift_losf.format.ranges import Ranges
from swift_losf.format.values import UNIT
from swift_losf.volumes.space import is_zero


def subtract_records(ranges, volume_header, records):
    """
    Take records out of ranges, and pass the records on.

    :param ranges: Ranges of a volume, from which records are taken out
    :param volume_header: its VolumeHeader
    :param records: an iterable of Found, which are passed on
    """
    for found in records:
        location = found.location
        ranges.cut(location.offset, aligned(
            location.offset + location.length, volume_header.alignment))
        yield found


def reclaim_gaps(layout, index, gaps):
    """
    Queue gaps to be given back.

    :param layout: a Layout
    :param index: the Index
    :param gaps: a dict of numbers of volumes to Ranges between the records
        that were found there; what is damaged but has an entry is left alone
    """
    gaps = {number: _without_queued(layout, index, number, ranges)
            for number, ranges in gaps.items()}
    gaps = {number: ranges for number, ranges in gaps.items() if ranges}
    if gaps:
        index.reader.subtract_entries(gaps)
        index.reclaim.add_ranges(gaps)


def _without_queued(layout, index, number, ranges):
    """Return Ranges without zeros, and without what is queued already."""
    fd = os.open(layout.volume(number), os.O_RDONLY)
    try:
        ranges = Ranges(each for each in ranges if not is_zero(fd, *each))
    finally:
        os.close(fd)
    for offset, length in index.reclaim.of_volume(number):
        ranges.cut(offset, aligned(offset + length, UNIT))
    return ranges
