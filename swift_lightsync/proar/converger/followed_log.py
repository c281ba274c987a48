# SPDX-License-Identifier: Apache-2.0
"""The segments of a device's log, as the converger reads and notes them."""

import errno
import os
from dataclasses import replace

from swift_lightsync.proar.core.oplog import (
    CAPACITY,
    FormatError,
    State,
    place_of,
)
from swift_lightsync.proar.log.device_log import DeviceLog
from swift_lightsync.proar.log.holdings import CUT, DAMAGED, set_aside
from swift_lightsync.proar.log.segment import (
    numbers,
    open_segment,
    segment_path,
)
from swift_lightsync.proar.log.segment_source import HEADROOM


class FollowedLog:
    """The log of one device. Its methods block.

    :param directory: of the log
    :param logger: Swift's
    """

    def __init__(self, directory, logger):
        self.directory = directory
        self.logger = logger
        #: number -> an open Segment, and the index of the last record read
        self._segments = {}
        self._read = {}
        #: numbers of the segments that cannot be read, wholly or in part
        self.damaged = set()
        #: how many segments are gone that nobody had to remove
        self.lost_count = 0

    def close(self):
        """Forget all that was read."""
        for segment in self._segments.values():
            segment.close()
        self._segments.clear()
        self._read.clear()
        self.damaged.clear()

    def numbers(self):
        """Return the numbers of all segments, sorted."""
        return numbers(self.directory)

    def damaged_count(self):
        """Return how many segments are damaged, or were lost."""
        return len(self.damaged) + self.lost_count + len(
            set_aside(self.directory, DAMAGED))

    def new_entries(self, number):
        """Return the entries of a segment that have not been read yet.

        :raises OSError: if it cannot be read
        """
        segment = self._segment(number)
        if segment is None:
            return []
        found = segment.entries(self._read[number])
        if found:
            self._read[number] = place_of(found[-1][0])[1]
        for eversion, entry in found:
            if entry is None:
                self.damaged.add(number)
                self.logger.error(
                    'Entry %d of %s is damaged; what it named is left to the '
                    'object-replicator', eversion, segment.path)
        return [entry for _, entry in found if entry]

    def _segment(self, number):
        if number in self._segments:
            return self._segments[number]
        path = segment_path(self.directory, number)
        try:
            segment = _open(path)
        except FormatError as err:
            if number not in self.damaged:
                self.damaged.add(number)
                self.logger.error('Log %s is damaged; what it named is left '
                                  'to the object-replicator: %s', path, err)
            return None
        if segment:
            self._segments[number], self._read[number] = segment, 0
        return segment

    def lost(self):
        """Forget the segments that are gone, and return their numbers."""
        gone = [number for number, segment in self._segments.items()
                if not segment.is_named()]
        for number in gone:
            self.logger.warning_of('lost', 'Log %s is lost',
                                   self._segments[number].path)
            self._drop(number)
        self.lost_count += len(gone)
        return gone

    def present(self, intents):
        """Return some intents as they are now.

        :param intents: a list of Entries
        :returns: a list of Entries; in the state UNDECIDED if their writers
            have ended without telling the outcome; None for what is damaged
            or gone
        """
        return [self._present(intent) for intent in intents]

    def _present(self, intent):
        number, index = place_of(intent.eversion)
        segment = self._segments.get(number)
        if not segment:
            return None
        # In this order: a writer tells the outcome, and then it ends.
        has_writer = segment.has_writer()
        found = segment.entry(index)
        if found and found.state is State.INTENT and not has_writer:
            return replace(found, state=State.UNDECIDED)
        return found

    def note(self, marks):
        """Note what follows from pushes; nothing is synced.

        :raises OSError: if it cannot be written: it is pushed again then
        """
        for mark in marks:
            number, index = place_of(mark.eversion)
            if number in self._segments:
                self._segments[number].note(index, mark.state, mark.holders)

    def read_numbers(self):
        """Return the numbers of the segments that were read, sorted."""
        return sorted(self._segments)

    def written(self):
        """Return the numbers of the segments that have a writer."""
        return [number for number, segment in self._segments.items()
                if segment.has_writer()]

    def is_done(self, number):
        """Return whether no process writes, or will write, a segment."""
        return self._read[number] + HEADROOM > CAPACITY and \
            number not in self.written()

    def length(self, number):
        """Return how many records of a segment were read."""
        return self._read.get(number, 0)

    def remove(self, number):
        """Remove a segment, if it has no writer and nothing unread.

        :returns: whether it is gone; one that is damaged stays
        """
        if number in self.damaged or not self._lock(number):
            return False
        os.unlink(self._segments[number].path)
        self._drop(number)
        return True

    def carry(self, number, entries):
        """Write open entries of a segment anew, and remove it, likewise.

        They are durable before it is removed. A crash between the two leaves
        both: an entry that is pushed twice changes nothing.

        :raises OSError: if they cannot be written; the segment stays
        """
        writer = DeviceLog(os.path.dirname(self.directory), self.logger)
        try:
            intents = [writer.begin(replace(entry, eversion=0))
                       for entry in entries]
            for intent in intents:
                intent.begin_sync()
            for intent in intents:
                intent.sync()
        finally:
            writer.close()
        return self.remove(number)

    def cut(self, number):
        """Set a segment aside, though devices lack what it names, likewise.

        :returns: whether it is set aside; the newest one only is kept
        """
        if not self._lock(number):
            return False
        before = set_aside(self.directory, CUT)
        path = self._segments[number].path
        os.rename(path, path + CUT)
        for each in before:
            os.unlink(each)
        self._drop(number)
        return True

    def _lock(self, number):
        """Return whether a segment has no writer, and nothing unread."""
        segment = self._segments[number]
        if not segment.lock():
            return False
        if segment.entries(self._read[number]):
            segment.unlock()
            return False
        return True

    def _drop(self, number):
        self._segments.pop(number).close()
        self._read.pop(number)
        self.damaged.discard(number)


def _open(path):
    try:
        return open_segment(path)
    except OSError as err:
        if err.errno not in (errno.EROFS, errno.EACCES):
            raise
        # What a disk holds is pushed though nothing can be noted on it.
        return open_segment(path, os.O_RDONLY)
