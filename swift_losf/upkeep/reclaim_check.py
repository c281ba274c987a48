# SPDX-License-Identifier: Apache-2.0
"""
Checks that no file has a range of a volume before its space is given back.

An entry of the index is believed if it points to a record of that length
which no file has, or to nothing but zeros: an interrupted round has been
there. Anything else has to be a gap: no file has any of it, and it has no
valid record.
"""

import logging

from swift_losf.format.header import FormatError, aligned
from swift_losf.format.ranges import Ranges
from swift_losf.format.values import UNIT
from swift_losf.volumes.space import is_zero
from swift_losf.volumes.volume import find_header, iter_records, location_of

logger = logging.getLogger(__name__)


class ReclaimCheck:
    """
    Checks ranges of one volume that the index has queued.

    :param index: the Index
    :param fd: of a volume
    :param volume_header: its VolumeHeader
    """

    def __init__(self, index, fd, volume_header):
        self._index = index
        self._fd = fd
        self._header = volume_header

    def select(self, entries):
        """
        Choose the ranges whose space may be given back; log the others.

        :param entries: a list of (offset, length)
        :returns: those whose space may be given back; the others are logged
        """
        unsure = [each for each in entries
                  if not self._is_removed(*each) and not self._is_gone(*each)]
        free = self._unclaimed(unsure)
        wrong = {each for each in unsure
                 if each not in free or self._has_record(*each)}
        for offset, length in sorted(wrong):
            logger.error('volume %d, offset %d: the space of %d bytes is not '
                         'given back: the volume or the index has a file '
                         'there', self._header.number, offset, length)
        return [each for each in entries if each not in wrong]

    def _is_removed(self, offset, length):
        try:
            header = find_header(self._fd, self._header, offset)
        except FormatError:
            return False
        location = location_of(self._header.number, offset, header)
        return location.length == length and not self._index.reader.is_entered(
            header.partition, header.hash, location)

    def _is_gone(self, offset, length):
        return is_zero(self._fd, offset, offset + length)

    def _unclaimed(self, entries):
        if not entries:
            return set()
        ranges = Ranges()
        for offset, length in entries:
            ranges.add(offset, self._end(offset, length))
        self._index.reader.subtract_entries({self._header.number: ranges})
        return {each for each in entries if ranges.has(
            each[0], self._end(*each))}

    def _has_record(self, offset, length):
        end = aligned(offset + length, self._header.alignment)
        return any(True for _ in iter_records(
            self._fd, self._header, offset, end))

    @staticmethod
    def _end(offset, length):
        return aligned(offset + length, UNIT)
