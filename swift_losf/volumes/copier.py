# SPDX-License-Identifier: Apache-2.0
"""Copies records from one volume to another. FORMAT.md, "Compaction".

A record is bound to its place, so its header and the CRC at its end are made
anew; its data is verified, and copied as it is.
"""

from contextlib import suppress
from typing import Any

from swift_losf.format.header import BLOCK, SMALL, FormatError, block_count
from swift_losf.format.record import Footer, NewRecord
from swift_losf.volumes.volume import pread
from swift_losf.volumes.writable import WritableVolume


class Target:
    """The volume of one type that copies are appended to.

    :param layout: a Layout
    :param type_: a VolumeType
    :param max_volume_size: bytes from which on a volume gets no more records
    :param reserve_volume: a callable that gives the number of a new volume
    """

    def __init__(self, layout, type_, max_volume_size, reserve_volume):
        self.type = type_
        self._layout = layout
        self._max_volume_size = max_volume_size
        self._reserve_volume = reserve_volume
        self._volume: Any = None
        self._start = 0

    @property
    def number(self):
        """The number of the volume; None while there is none."""
        return self._volume.header.number if self._volume else None

    def volume(self):
        """Return a locked volume that takes more records."""
        if self._volume and self._volume.end >= self._max_volume_size:
            self.close()
        if self._volume is None:
            self._volume = WritableVolume.create_next(
                self._layout, self._reserve_volume, self.type)
        return self._volume

    def close(self):
        """Let others have the volume."""
        if self._volume:
            volume, self._volume = self._volume, None
            # What is laid out stays, if it cannot be given back.
            with suppress(OSError):
                volume.finish()

    def copy(self, fd, records, copied=lambda count: None):
        """Append copies of records, durably.

        :param fd: of the volume that has them
        :param records: a list of Found
        :param copied: called with the bytes of each piece that was copied
        :returns: (a list of those that were copied, a list of the Locations
            of their copies, where the volume ends with them); what cannot be
            read or verified is left out
        :raises OSError: if the copies could not be written; none is there
        """
        volume = self.volume()
        self._start, done, places = volume.end, [], []
        try:
            for found in records:
                location = self._copy(volume, fd, found, copied)
                if location:
                    done.append(found)
                    places.append(location)
            if done:
                volume.sync()
        except BaseException:
            self.undo()
            raise
        return done, places, volume.end

    def undo(self):
        """Cut off what was copied last, and never use the volume again."""
        volume, self._volume = self._volume, None
        try:
            volume.cut(self._start)
        finally:
            volume.close()

    @staticmethod
    def _copy(volume, fd, found, copied):
        """Return where a copy is now; None if the record is damaged."""
        try:
            source = _Source(fd, found)
            data = source.short_data()
        except (FormatError, DamagedSource):
            return None
        location, header, footer = NewRecord.copy_of(
            found.header, source.footer).place(volume.header, volume.end)
        if data is not None:
            volume.write_at([header, data, footer], location.offset)
            copied(location.length)
        else:
            try:
                for offset, block in source.blocks():
                    volume.write_at([block], location.data_offset + offset)
                    copied(len(block))
            except (FormatError, DamagedSource):
                volume.cut(location.offset)
                return None
            volume.write_at([footer], location.footer_offset)
            volume.write_at([header], location.offset)
        volume.end = volume.align(location.offset + location.length)
        return location


class DamagedSource(Exception):
    """A record cannot be read from its disk."""


class _Source:
    """A record that is to be copied."""

    def __init__(self, fd, found):
        self._fd = fd
        self._location = found.location
        end = found.location.offset + found.location.length
        self.footer = Footer.unpack(
            self._read(end - found.location.footer_offset,
                       found.location.footer_offset),
            found.header.hash, found.location)

    def _read(self, length, offset):
        try:
            return pread(self._fd, length, offset)
        except OSError as err:
            raise DamagedSource(str(err)) from err

    def short_data(self):
        """Return the data, verified; None if it is longer than SMALL."""
        if self._location.data_length > SMALL:
            return None
        return b''.join(block for _, block in self.blocks())

    def blocks(self):
        """Yield each block of the data, verified: (offset in it, bytes)."""
        length = self._location.data_length
        for index in range(block_count(length)):
            start = index * BLOCK
            block = self._read(min(BLOCK, length - start),
                               self._location.data_offset + start)
            self.footer.check_block(index, block)
            yield start, block


