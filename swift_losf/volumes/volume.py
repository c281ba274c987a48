# SPDX-License-Identifier: Apache-2.0
"""Volumes: reading, scanning and marking their records.

FORMAT.md, "Volumes" and "Records". writable.py appends to them, ranges.py
locks parts of them and gives them back.
"""

import errno
import os
from dataclasses import dataclass, replace
from typing import Any

from swift_lightsync.common.files import opened
from swift_losf.format.header import (
    BLOCK,
    COPIES,
    DURABLE_OFFSET,
    FIRST_RECORD,
    FLAG_SET,
    HEADER_LENGTH,
    QUARANTINED_OFFSET,
    RECORD_MAGIC,
    VOLUME_HEADER_LENGTH,
    FormatError,
    RecordHeader,
    VolumeHeader,
    aligned,
    block_count,
    expect,
)
from swift_losf.format.record import Footer
from swift_losf.format.values import Location

#: what a disk says about sectors that it cannot read
UNREADABLE = (errno.EIO, errno.ENODATA, errno.EUCLEAN)


@dataclass(frozen=True)
class Found:
    """A valid record.

    :param location: a Location: where it is, with metadata
    :param header: its RecordHeader
    :param name: the file name
    """
    location: Location
    header: RecordHeader
    name: str


def pread(fd, length, offset):
    """Return the bytes there; fewer than length only at the end of the file.
    """
    pieces = []
    while length:
        piece = os.pread(fd, length, offset)
        if not piece:
            break
        pieces.append(piece)
        length -= len(piece)
        offset += len(piece)
    return b''.join(pieces)


def read_header(fd):
    """Return the VolumeHeader of a volume, by whichever copy is sound.

    :param fd: of a volume
    :raises FormatError: if it has none
    :raises OSError: if it cannot be read
    """
    return read_copies(fd)[0]


def read_copies(fd):
    """Read both copies of the header of a volume.

    :param fd: of a volume
    :returns: (the VolumeHeader, why a copy is not sound: None if both are)
    :raises FormatError: if neither is sound
    :raises OSError: if neither can be read
    """
    header: Any = None
    flaw: Any = None
    for number in range(COPIES):
        try:
            copy = VolumeHeader.unpack(
                pread(fd, VOLUME_HEADER_LENGTH, number * VOLUME_HEADER_LENGTH))
            expect('a copy of the volume header', copy, header,
                   header in (None, copy))
            header = copy
        except FormatError as err:
            flaw = flaw or err
        except OSError as err:
            if err.errno not in UNREADABLE:
                raise
            flaw = flaw or err
    if header is None:
        raise flaw
    return header, flaw


def mend_copies(fd, header):
    """Write the copies of the header of a volume anew that are not sound.

    :param fd: of a volume
    :param header: its VolumeHeader, by the copy that is sound
    """
    packed = header.pack()
    for start in range(0, FIRST_RECORD, VOLUME_HEADER_LENGTH):
        try:
            is_sound = pread(fd, VOLUME_HEADER_LENGTH, start) == packed
        except OSError as err:
            if err.errno not in UNREADABLE:
                raise
            is_sound = False
        if not is_sound:
            os.pwrite(fd, packed, start)
    os.fsync(fd)


def find_header(fd, volume_header, offset):
    """Return the RecordHeader at an offset.

    :param fd: of a volume
    :param volume_header: its VolumeHeader
    :raises FormatError: if there is none
    """
    header = RecordHeader.unpack(pread(fd, HEADER_LENGTH, offset))
    tag = volume_header.tag(offset)
    expect('the tag', header.tag, tag, header.tag == tag)
    return header


def location_of(number, offset, header):
    """Return the Location of a record.

    :param number: of a volume
    :param header: the RecordHeader at offset
    """
    return Location(number, offset, header.data_length,
                    header.metadata_length, header.name_length)


def verify(fd, location, header, check_data=True):
    """Verify a record.

    :param fd: of a volume
    :param location: of a record
    :param header: its RecordHeader
    :param check_data: whether the data is to be verified too
    :returns: Found
    :raises FormatError: if the record is not valid
    """
    footer = Footer.unpack(
        pread(fd, location.offset + location.length - location.footer_offset,
              location.footer_offset), header.hash, location)
    if check_data:
        for index in range(block_count(location.data_length)):
            start = index * BLOCK
            footer.check_block(index, pread(
                fd, min(BLOCK, location.data_length - start),
                location.data_offset + start))
    return Found(replace(location, metadata=footer.metadata), header,
                 footer.name)


def _verify_before(fd, location, header, end, check_data):
    behind = location.offset + location.length
    expect('the end of the record', behind, 'at most %d' % end,
           behind <= end)
    return verify(fd, location, header, check_data)


def next_data(fd, offset):
    """Return the first offset that is in no hole, or None if there is none."""
    try:
        return os.lseek(fd, offset, os.SEEK_DATA)
    except OSError as err:
        if err.errno != errno.ENXIO:
            raise
        return None


def _next_magic(fd, volume_header, offset):
    """Return where a record may begin, from an offset on."""
    offset = aligned(offset, volume_header.alignment)
    chunk = pread(fd, BLOCK, offset)
    at = chunk.find(RECORD_MAGIC)
    while at > 0 and at % volume_header.alignment:
        at = chunk.find(RECORD_MAGIC, at + 1)
    # BLOCK is a multiple of the alignment: no magic spans two chunks
    return offset + (at if at >= 0 else max(len(chunk), 1))


def iter_records(fd, volume_header, start, end, damaged=None,
                 check_data=True):
    """Yield every valid record of a part of a volume, even quarantined ones.

    A record is looked for at each multiple of the alignment, holes skipped.

    :param fd: of the volume
    :param volume_header: its VolumeHeader
    :param start: the offset of the first byte
    :param end: the offset behind the last byte
    :param damaged: called with the offset and the FormatError of what has a
        record's header but is no valid record; by default ignored
    :param check_data: whether the data is to be verified too
    :returns: an iterator of Found
    """
    offset = max(start, FIRST_RECORD)
    while True:
        offset = aligned(offset, volume_header.alignment)
        data = next_data(fd, offset) if offset < end else None
        if data is None:
            return
        if data > offset:
            offset = data
            continue
        try:
            header = find_header(fd, volume_header, offset)
        except FormatError:
            offset = _next_magic(fd, volume_header, offset + 1)
            continue
        try:
            found = _verify_before(fd, location_of(
                volume_header.number, offset, header), header, end,
                check_data)
        except FormatError as err:
            if damaged:
                damaged(offset, err)
            offset += 1
            continue
        yield found
        offset += found.location.length


def _mark(layout, location, flag_offset):
    with opened(layout.volume(location.volume), os.O_RDWR) as fd:
        header = pread(fd, HEADER_LENGTH, location.offset)
        if any(header):
            os.pwrite(fd, bytes([FLAG_SET]), location.offset + flag_offset)
            os.fdatasync(fd)


def mark_quarantined(layout, location):
    """Keep a record out of every index that is rebuilt. Durable on return.

    A record whose space has been given back is left alone.

    :param layout: a Layout
    :param location: a Location
    """
    _mark(layout, location, QUARANTINED_OFFSET)


def mark_durable(layout, location):
    """Note in a record that its fragment is durable. As mark_quarantined."""
    _mark(layout, location, DURABLE_OFFSET)
