# SPDX-License-Identifier: Apache-2.0
"""
Restores the damaged header of a volume. FORMAT.md, "Recovery".
"""

import os

from swift_losf.format import keys
from swift_losf.format.header import (
    HEADER_LENGTH,
    FormatError,
    RecordHeader,
    VolumeType,
)
from swift_losf.format.values import Location
from swift_losf.index.index import is_tombstone
from swift_losf.volumes.header_repair import make_header
from swift_losf.volumes.volume import Found, iter_records, pread


def restore_header(layout, index, number, fd):
    """
    Write the header anew if the index knows a valid record of the volume.

    :param layout: a Layout
    :param index: the Index; its entries of files are all gone through
    :param number: of the volume
    :param fd: of the same, which is locked
    :returns: the VolumeHeader that it now has, durably, or None
    """
    for key, value in index.db.scan(*keys.prefix_range(keys.FILE)):
        location = Location.unpack(value)
        if location.volume == number:
            header = _header_by(layout, fd, location, key)
            if header:
                os.pwrite(fd, header.pack(), 0)
                os.fsync(fd)
                return header
    return None


def _header_by(layout, fd, location, key):
    """Return the header that an entry proves, or None."""
    _, hash_, name = keys.split_file_key(key)
    try:
        record = RecordHeader.unpack(
            pread(fd, HEADER_LENGTH, location.offset))
    except FormatError:
        return None
    if record.hash != hash_:
        return None
    header = make_header(
        layout, location.volume,
        VolumeType.TOMBSTONES if is_tombstone(name) else VolumeType.DATA,
        os.fstat(fd).st_mtime_ns, Found(location, record, name))
    valid = any(found.location == location for found in iter_records(
        fd, header, location.offset, location.offset + location.length))
    return header if valid else None
