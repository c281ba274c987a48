# SPDX-License-Identifier: Apache-2.0
"""Looks at one place of a volume, where a record should be."""

from dataclasses import dataclass

from swift_losf.format.header import (
    HEADER_LENGTH,
    FormatError,
    RecordHeader,
    expect,
)
from swift_losf.volumes.volume import (
    UNREADABLE,
    Found,
    location_of,
    pread,
    verify,
)


@dataclass(frozen=True)
class Probe:
    """What is at a place.

    :param empty: whether there is nothing: zeros, or the end of the volume
    :param header: the RecordHeader, if one of this place is there
    :param found: the Found record, if it is valid
    :param error: why not
    """
    empty: bool = False
    header: RecordHeader | None = None
    found: Found | None = None
    error: str = ''


def probe(fd, number, volume_header, offset, check_data):
    """Look at what is at a place of a volume.

    :param fd: of a volume
    :param number: of the volume
    :param volume_header: its VolumeHeader
    :param offset: in the volume
    :param check_data: whether the data is to be verified too
    :returns: a Probe
    """
    header = None
    try:
        raw = pread(fd, HEADER_LENGTH, offset)
        if not any(raw):
            return Probe(empty=True)
        unpacked = RecordHeader.unpack(raw)
        tag = volume_header.tag(offset)
        expect('the tag', unpacked.tag, tag, unpacked.tag == tag)
        header = unpacked
        return Probe(header=header, found=verify(
            fd, location_of(number, offset, header), header, check_data))
    except FormatError as err:
        return Probe(header=header, error=str(err))
    except OSError as err:
        if err.errno not in UNREADABLE:
            raise
        return Probe(header=header, error=str(err))
