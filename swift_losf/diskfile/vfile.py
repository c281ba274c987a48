# SPDX-License-Identifier: Apache-2.0
"""Reads files that are records of volumes. vfile_writer.py writes them.

Nothing that was read is handed out before its CRC has been verified. A record
whose space was given back is a MissingRecord; every other difference from what
was written is a CorruptRecord.

A record may be given back while it is read. So a long one is locked first, and
a short one that does not verify is read again locked: then it is whole, or
gone, or corrupt.
"""

import errno
import os
from dataclasses import dataclass

from swift_losf.diskfile.vfile_writer import VFileWriter
from swift_losf.format.header import (
    BLOCK,
    HEADER_LENGTH,
    SMALL,
    FormatError,
    RecordHeader,
    block_count,
    expect,
)
from swift_losf.format.metadata import decode_metadata
from swift_losf.format.name_code import durable_name
from swift_losf.format.record import Footer
from swift_losf.format.values import Location
from swift_losf.volumes.ranges import lock_range
from swift_losf.volumes.volume import pread

__all__ = ['CorruptRecord', 'MissingRecord', 'VFileReader', 'VFileWriter',
           'read_metadata']


class CorruptRecord(OSError):
    """A record is not what was written.

    The errno is EUCLEAN when it is opened, EIO when its data is read, as from
    filesystems.
    """


class MissingRecord(FileNotFoundError):
    """The space of a record has been given back: ENOENT."""


@dataclass(frozen=True)
class _Parts:
    """A record as it was read, header and footer verified.

    :param header: its RecordHeader
    :param footer: its Footer
    :param metadata: a dict
    :param data: its data, or b'' if that is too long to be read at once
    """
    header: RecordHeader
    footer: Footer
    metadata: dict
    data: bytes


@dataclass(frozen=True)
class _Wanted:
    """What the index says about a file.

    :param path: of the volume
    :param location: the Location of the record
    :param hash: of the object's name, 16 bytes
    :param name: of the file
    """
    path: str
    location: Location
    hash: bytes
    name: str

    def missing(self):
        """Return the error of a record that is no longer there."""
        return MissingRecord(
            errno.ENOENT, 'there is no record at %d any more'
            % self.location.offset, self.path)

    def open(self):
        """Return a file descriptor of the volume."""
        try:
            return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise self.missing()

    def lock(self, fd):
        """Lock the range of the record, shared with other readers."""
        if not lock_range(fd, self.location.offset, self.location.length,
                          shared=True):
            raise self.missing()

    def load(self, fd):
        """Read a record without verifying its data.

        :raises FormatError: if they are not those of the file
        """
        header, data, footer = _pread_parts(fd, self.location)
        if header == bytes(HEADER_LENGTH):
            raise self.missing()
        header = RecordHeader.unpack(header)
        expect('the hash', header.hash, self.hash, header.hash == self.hash)
        footer = Footer.unpack(footer, self.hash, self.location)
        found, wanted = _lengths(header), _lengths(self.location)
        expect('the lengths', found, wanted, found == wanted)
        # a fragment's record keeps its name when it becomes durable
        expect('the name', footer.name, self.name, self.name == footer.name
               or self.name == durable_name(footer.name))
        return _Parts(header, footer, decode_metadata(footer.metadata), data)

    def load_verified(self, fd):
        """Do what load does, and verify the data that has been read."""
        parts = self.load(fd)
        for index in range(block_count(len(parts.data))):
            parts.footer.check_block(
                index, parts.data[index * BLOCK:(index + 1) * BLOCK])
        return parts

    def settled(self, load, fd):
        """Return what load gives once nothing can change any more."""
        try:
            return load(fd)
        except FormatError:
            self.lock(fd)
        try:
            return load(fd)
        except FormatError as err:
            raise CorruptRecord(
                errno.EUCLEAN, 'the record at %d is corrupt: %s' % (
                    self.location.offset, err), self.path)


def _pread_parts(fd, location):
    """Read header, data and footer; long data is left out."""
    if location.data_length > SMALL:
        return (pread(fd, HEADER_LENGTH, location.offset), b'',
                pread(fd, location.offset + location.length -
                      location.footer_offset, location.footer_offset))
    record = pread(fd, location.length, location.offset)
    split = HEADER_LENGTH + location.data_length
    return record[:HEADER_LENGTH], record[HEADER_LENGTH:split], record[split:]


def _lengths(place):
    return place.data_length, place.metadata_length, place.name_length


def read_metadata(layout, location, hash_, name):
    """Read the metadata of a file, without its data.

    :param layout: a Layout
    :param location: the Location of its record
    :param hash_: of the object's name, 16 bytes
    :param name: of the file
    :returns: a dict, and when the file was written: Unix time, ns
    :raises MissingRecord: if its space has been given back
    :raises CorruptRecord: if it is not what was written
    """
    wanted = _Wanted(layout.volume(location.volume), location, hash_, name)
    fd = wanted.open()
    try:
        parts = wanted.settled(wanted.load, fd)
    finally:
        os.close(fd)
    return parts.metadata, parts.header.written


class VFileReader:
    """Reads the data of a file; open makes it.

    Short data is in memory; of long data, a range is locked until close, and
    each block is verified when it is touched.
    """

    def __init__(self, fd, wanted, parts):
        self._fd = fd
        self._wanted = wanted
        self._footer = parts.footer
        self._data = parts.data
        self._block = None, b''
        self._position = 0
        self.size = parts.header.data_length
        self.written = parts.header.written
        self.metadata = parts.metadata

    @classmethod
    def open(cls, layout, location, hash_, name):
        """Open a file; parameters and errors are those of read_metadata.

        :returns: a VFileReader
        """
        wanted = _Wanted(layout.volume(location.volume), location, hash_,
                         name)
        fd = wanted.open()
        try:
            if location.data_length > SMALL:
                wanted.lock(fd)
            return cls(fd, wanted, wanted.settled(wanted.load_verified, fd))
        except BaseException:
            os.close(fd)
            raise

    def fileno(self):
        """Return the descriptor of the volume."""
        if self._fd is None:
            raise ValueError('the file is closed')
        return self._fd

    def tell(self):
        """Return the offset in the data of what is read next."""
        self.fileno()
        return self._position

    def seek(self, offset):
        """Choose what is read next, by its offset in the data."""
        self.fileno()
        if offset < 0:
            raise ValueError('seek to %d: must not be negative' % offset)
        self._position = offset
        return offset

    def read(self, size=-1):
        """Read the next bytes of the data.

        :param size: how many bytes at most; negative: all
        :raises CorruptRecord: if a block is not what was written
        """
        self.fileno()
        start = min(self._position, self.size)
        stop = self.size if size is None or size < 0 else min(
            self.size, start + size)
        data = self._slice(start, stop)
        self._position += len(data)
        return data

    def _slice(self, start, stop):
        if self._data:
            return self._data[start:stop]
        pieces = []
        while start < stop:
            index, skipped = divmod(start, BLOCK)
            piece = self._verified_block(index)[
                skipped:skipped + stop - start]
            pieces.append(piece)
            start += len(piece)
        return b''.join(pieces)

    def _verified_block(self, index):
        if self._block[0] != index:
            start = index * BLOCK
            data = pread(self._fd, min(BLOCK, self.size - start),
                         self._wanted.location.data_offset + start)
            try:
                self._footer.check_block(index, data)
            except FormatError as err:
                raise CorruptRecord(
                    errno.EIO, 'the record at %d is corrupt: %s' % (
                        self._wanted.location.offset, err),
                    self._wanted.path)
            self._block = index, data
        return self._block[1]

    @property
    def data_offset(self):
        """Where in the volume the data begins."""
        return self._wanted.location.data_offset

    def close(self):
        """Close the file, and unlock its range of the volume."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            self._data = b''

    # Swift forgets a data file that is not what it should be.
    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
