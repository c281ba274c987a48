# SPDX-License-Identifier: Apache-2.0
"""An operation that is about to be done. PROTOCOL.md, "The log"."""

from typing import Any

from swift.common.concurrency import patcher

from swift_lightsync.proar.core.oplog import State

# Its threads are native ones, whatever eventlet has patched.
threading = patcher.original('threading')


class Intent:
    """An operation that is to be logged, and its record once it is.

    Its owner ends it, by :meth:`commit` or :meth:`abandon`.

    :param writer: the SegmentWriter that logs it
    :param entry: an Entry without an eversion
    """

    def __init__(self, writer, entry):
        self.entry = entry
        #: where the record is: a Segment and an index; None until it is
        #: written
        self.segment: Any = None
        self.index = 0
        self._writer = writer
        self._error: Any = None
        self._is_begun = False
        self._written = threading.Lock()
        self._written.acquire()

    @property
    def eversion(self):
        """The place of its record in the log, once that is written."""
        return self.segment.eversion(self.index)

    def begin_sync(self):
        """Have the record written and synced, and do not wait for it."""
        if not self._is_begun:
            self._is_begun = True
            self._writer.add(self)

    def sync(self):
        """Return when the record is durable; to be called in a native thread.

        :raises OSError: if it could not be written
        """
        self.begin_sync()
        with self._written:
            if self._error:
                raise self._error

    def commit(self):
        """Note, soon, that the operation is durable."""
        self._end(State.COMMITTED)

    def abandon(self, is_open=False):
        """Note, soon, that the operation has changed nothing.

        :param is_open: if that is not sure: the disk has to tell
        """
        self._end(State.UNDECIDED if is_open else State.ABORTED)

    def _end(self, state):
        if self._is_begun:
            self._is_begun = False
            self._writer.end(self, state)

    # For its writer

    def written(self, segment, index):
        """Take in where the record is; it is durable."""
        self.segment, self.index = segment, index
        self._written.release()

    def failed(self, error):
        """Take in why the record could not be written."""
        self._error = error
        self._written.release()
