# SPDX-License-Identifier: Apache-2.0
"""The log of a device, as an object-server uses it. PROTOCOL.md, "The log"."""

import logging
import os
import time
from dataclasses import dataclass

from swift_lightsync.proar.core.oplog import FormatError, exposed
from swift_lightsync.proar.log.intent import Intent
from swift_lightsync.proar.log.segment import (
    logs_path,
    numbers,
    open_segment,
    segment_path,
)
from swift_lightsync.proar.log.segment_writer import SegmentWriter

#: Seconds after which an exposure is measured anew, if there are writes, and
#: for which it is good enough at all.
FRESH, GOOD = 0.5, 5.0
#: A file's time tells of changes so many nanoseconds later for sure.
TICK = 50 * 10 ** 6


@dataclass(frozen=True)
class Exposure:
    """The operations that no other device holds.

    :param entries: how many
    :param since: Unix time in seconds of the oldest of them, None if there is
        none
    """
    entries: int = 0
    since: float | None = None


class DeviceLog:
    """The log of one device, written by this process among others.

    :param device_path: of the device
    :param logger: is told of files that are damaged
    """

    def __init__(self, device_path, logger=logging):
        self.directory = logs_path(device_path)
        self._writer = SegmentWriter(self.directory, logger)
        #: number of a segment -> (what changes with it, its Exposure)
        self._seen: dict[int, tuple[tuple[int, bool], Exposure]] = {}
        #: when it was measured, in seconds of two clocks, and how many have
        #: begun since
        self._measured, self._measured_at = -GOOD, 0.0
        self._begun = 0
        self._exposure = Exposure()

    def begin_now(self, entry):
        """Return the Intent of an operation, unless that has to wait.

        :returns: None if :meth:`begin` has to be called
        :raises OSError: if it cannot be told
        """
        return self._begin(entry) if self._writer.is_ready() else None

    def begin(self, entry):
        """Reserve what is needed to log an operation; it waits if need be.

        :param entry: an Entry
        :returns: an Intent
        :raises OSError: if there is no room, or no access to it
        """
        self._writer.make_ready()
        return self._begin(entry)

    def _begin(self, entry):
        self._begun += 1
        return Intent(self._writer, entry)

    def close(self):
        """Write what is to be written, and leave the segments to others."""
        self._writer.close()

    def estimate(self):
        """Return the Exposure, too great rather than too small.

        :returns: None if :meth:`exposure` has to be asked
        """
        if time.monotonic() - self._measured > GOOD:
            return None
        known = self._exposure
        since = known.since
        if since is None and self._begun:
            since = self._measured_at
        return Exposure(known.entries + self._begun, since)

    def is_fresh(self):
        """Return whether the estimate is of now, other processes' included."""
        return time.monotonic() - self._measured <= FRESH

    def exposure(self):
        """Return the Exposure as the log tells it now.

        :raises OSError: if the log cannot be read
        """
        # What was committed is not noted at once.
        self._writer.drain()
        self._measured, self._measured_at = time.monotonic(), time.time()
        self._begun = 0
        before, self._seen = self._seen, {}
        for number in numbers(self.directory):
            self._seen[number] = self._of_segment(
                segment_path(self.directory, number), before.get(number))
        found = [exposure for _, exposure in self._seen.values()]
        self._exposure = Exposure(
            sum(each.entries for each in found),
            min((each.since for each in found if each.since), default=None))
        return self._exposure

    def _of_segment(self, path, before):
        """Return what changes with a segment, and its Exposure."""
        try:
            segment = open_segment(path, os.O_RDONLY)
        except FormatError:
            segment = None
        if segment is None:
            return (0, False), Exposure()
        with segment.file:
            changed = os.fstat(segment.file.fileno()).st_mtime_ns
            state = changed, segment.has_writer()
            if before and before[0] == state:
                return before
            count, first = exposed(segment.content(), state[1])
            oldest = segment.entry(first) if first else None
            if time.time_ns() - changed < TICK:
                # It may change again at what is the same time.
                state = 0, False
            return state, Exposure(count, oldest and oldest.logged / 1e6)
