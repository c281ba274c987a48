# SPDX-License-Identifier: Apache-2.0
"""Reads the records of volumes in large pieces: all of many, and each once.

Short records that are whole in what was read are verified there; whatever else
is met, volume.iter_records decides.
"""

import os
import struct
from dataclasses import dataclass

from google_crc32c import extend
from google_crc32c import value as crc32c

from swift_losf.format.header import (
    BLOCK,
    CRC,
    FIRST_RECORD,
    HEADER_LENGTH,
    RECORD_MAGIC,
    RECORD_VERSION,
    aligned,
    record_length,
)
from swift_losf.volumes.volume import iter_records, pread

#: bytes that are read at once
CHUNK = 2 ** 20
_HEADER = struct.Struct('<8sHBBI16sIIQQHHI')
_OFFSET = struct.Struct('<Q')
_BOUND = struct.Struct('<16sQQQIH')
_COVERED = HEADER_LENGTH - CRC.size


@dataclass(frozen=True, slots=True)
class Scanned:
    """A valid record, as a rebuilt index needs it.

    :param offset: in the volume
    :param hash: of the object's name, 16 bytes
    :param partition: that its header tells
    :param lengths: of data, metadata and name
    :param name: of the file
    :param written: Unix time, ns
    :param quarantined: whether it was put into quarantine
    :param durable: whether it was renamed to be a durable fragment
    :param metadata: as in the record
    """
    offset: int
    hash: bytes
    partition: int
    lengths: tuple
    name: str
    written: int
    quarantined: bool
    durable: bool
    metadata: bytes


class PieceScan:
    """Goes through the records that begin in a piece of a volume.

    :param fd: of the volume
    :param volume_header: its VolumeHeader
    :param start: the first offset of the piece
    :param end: behind the piece; its last record may go on
    :param damaged: as of iter_records
    :param check_data: whether the data of long records is to be verified
    """

    def __init__(self, fd, volume_header, start, end, damaged=None,
                 check_data=True):
        self._fd = fd
        self._header = volume_header
        self._at = aligned(max(start, FIRST_RECORD), volume_header.alignment)
        self._end = end
        self._volume_end = os.fstat(fd).st_size
        self._damaged = damaged
        self._check_data = check_data
        self._salt_crc = crc32c(volume_header.salt)
        self._chunk, self._base = b'', 0

    def __iter__(self):
        while self._at < min(self._end, self._volume_end):
            found = self._short() or self._other()
            if found is None:
                return
            yield found

    def _short(self):
        """Return the record at this offset if it is short and valid."""
        at = self._at - self._base
        if at < 0 or at + HEADER_LENGTH > len(self._chunk):
            at = self._read()
        chunk = self._chunk
        if at + HEADER_LENGTH > len(chunk):
            return None
        (magic, version, quarantined, durable, tag, hash_, partition,
         metadata, data, written, name, zero, crc) = _HEADER.unpack_from(
             chunk, at)
        if (magic != RECORD_MAGIC or version != RECORD_VERSION
                or quarantined or durable or zero or data > BLOCK
                or tag != extend(self._salt_crc, _OFFSET.pack(self._at))
                or crc != crc32c(chunk[at:at + _COVERED])):
            return None
        length = record_length(data, metadata, name)
        if at + length > len(chunk):
            if not at:
                return None
            self._read()
            return self._short()
        body = chunk[at + HEADER_LENGTH + data:at + length - CRC.size]
        if (extend(crc32c(_BOUND.pack(
                hash_, self._header.number, self._at, data, metadata,
                name)), body) != CRC.unpack_from(chunk, at + length - 4)[0]
                or data and crc32c(chunk[
                    at + HEADER_LENGTH:at + HEADER_LENGTH + data])
                != CRC.unpack_from(body, name + metadata)[0]
                or not body[:name].isascii()):
            return None
        found = Scanned(self._at, hash_, partition, (data, metadata, name),
                        body[:name].decode('ascii'), written, False, False,
                        body[name:name + metadata])
        self._at = aligned(self._at + length, self._header.alignment)
        return found

    def _read(self):
        self._base = self._at
        self._chunk = pread(self._fd, CHUNK, self._base)
        return 0

    def _other(self):
        """Return the next record, of whatever kind; None behind the piece."""
        found = next(iter_records(
            self._fd, self._header, self._at, self._volume_end,
            self._damaged, self._check_data), None)
        if found is None or found.location.offset >= self._end:
            return None
        at, header = found.location, found.header
        self._at = aligned(at.offset + at.length, self._header.alignment)
        return Scanned(
            at.offset, header.hash, header.partition,
            (at.data_length, at.metadata_length, at.name_length), found.name,
            header.written, header.quarantined, header.durable, at.metadata)
