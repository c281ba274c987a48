# SPDX-License-Identifier: Apache-2.0
"""An operation that is logged, and not over. PROTOCOL.md, "The log"."""

import os
from contextlib import closing, suppress

from swift_lightsync.proar.core.oplog import STATE_OFFSET, State, place_of


class Intent:
    """
    A logged operation, whose record is locked until it ends.

    Its owner ends it; otherwise it ends with this object or with the process.

    :param log: the LogFile, which is closed at the end
    :param entry: the Entry
    """

    def __init__(self, log, entry):
        self.entry = entry
        self._file = log.file
        self._place = place_of(entry.eversion, log.base)

    def committed(self):
        """Note that the operation is durable."""
        self._end(State.COMMITTED)

    def aborted(self):
        """Note that the operation has changed nothing."""
        self._end(State.ABORTED)

    def undecided(self):
        """Leave it to the disk to tell whether the operation was done."""
        self._file.close()

    def sync(self):
        """Make the record durable."""
        os.fdatasync(self._file.fileno())

    def _end(self, state):
        # If it cannot be written, the disk has to tell.
        with closing(self._file), suppress(OSError):
            os.pwrite(self._file.fileno(), bytes([state]),
                      self._place + STATE_OFFSET)
