# SPDX-License-Identifier: Apache-2.0
"""Writes the records of one process to a device's log, those of many requests
at once.

Group commit: a native thread takes the intents that wait, writes them to the
segment of which this process is the writer, and syncs it once for all of
them. What comes meanwhile is next. No process waits for another one.
"""

import errno
import logging
import os
from collections import Counter
from typing import Any

from swift.common.concurrency import patcher

from swift_lightsync.proar.core.oplog import CAPACITY, State
from swift_lightsync.proar.log.intent import Intent
from swift_lightsync.proar.log.segment_source import (
    HEADROOM,
    new_segment,
    take_segment,
)

threading = patcher.original('threading')

#: the most records of one sync
BATCH = 256
#: With so many records left, the next segment is made.
LOW = CAPACITY // 4


class SegmentWriter:
    """The segments of one device that one process writes.

    Any number of native threads may call it at the same time. Its own thread
    begins with the first intent.

    :param directory: of the device's log
    :param logger: is told of segments that are damaged
    """

    def __init__(self, directory, logger=logging):
        self.directory = directory
        self.logger = logger
        #: the Segment that is written, None before the first; the index of
        #: its next record; and the Segment that follows it
        self._active: Any = None
        self._spare: Any = None
        self._next = 0
        self._condition = threading.Condition()
        self._making = threading.Lock()
        self._waiting: list[Intent] = []
        self._ended: list[tuple[Intent, State]] = []
        #: how many outcomes were told, and how many are noted
        self._told = self._noted = 0
        #: Segment -> how many intents in it have not ended
        self._uses: Counter[Any] = Counter()
        #: numbers of the segments that could not be written
        self._failed: set[int] = set()
        self._thread: Any = None
        self._is_closed = False

    # Its callers

    def is_ready(self):
        """Return whether there is room for records, without waiting."""
        active = self._active
        if active is None or (self._next + HEADROOM > CAPACITY
                              and self._spare is None):
            return False
        try:
            flags = os.statvfs(self.directory).f_flag
        except FileNotFoundError:
            return False  # It was removed: it is made again.
        return not flags & os.ST_RDONLY and active.is_named()

    def make_ready(self):
        """Open or make what is needed for records; it may take long.

        :raises OSError: if there is no room
        """
        with self._making:
            if self._is_usable():
                return
            if self._active is None or not self._active.is_named():
                segment = take_segment(self.directory, self._failed,
                                       self.logger)
                with self._condition:
                    self._switch(segment, segment.last() + 1)
            if self._next + HEADROOM > CAPACITY and self._spare is None:
                self._spare = new_segment(self.directory)

    def _is_usable(self):
        try:
            if self.is_ready():
                return True
            if os.statvfs(self.directory).f_flag & os.ST_RDONLY:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS),
                              self.directory)
        except FileNotFoundError:
            pass
        return False

    def add(self, intent):
        """Write and sync an intent, soon."""
        with self._condition:
            self._waiting.append(intent)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name='proar-log', daemon=True)
                self._thread.start()
            self._condition.notify_all()

    def end(self, intent, state):
        """Note the outcome of an intent, soon."""
        with self._condition:
            if intent in self._waiting:
                self._waiting.remove(intent)
            else:
                self._ended.append((intent, state))
                self._told += 1
                self._condition.notify_all()

    def drain(self):
        """Wait until the outcomes that have been told are noted."""
        with self._condition:
            told = self._told
            while self._noted < told and not self._is_closed:
                self._condition.wait()

    def close(self):
        """End the thread when all is written, and give the segments back."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        if self._thread:
            self._thread.join()
        for segment in {self._active, self._spare, *self._uses} - {None}:
            segment.close()

    # Its thread

    def _run(self):
        while True:
            with self._condition:
                while not (self._waiting or self._ended or self._is_closed):
                    self._condition.wait()
                if not (self._waiting or self._ended):
                    return
                batch = self._waiting[:BATCH]
                del self._waiting[:BATCH]
            while batch:
                batch = self._write(batch)
            with self._condition:
                ended, self._ended = self._ended, []
            for intent, state in ended:
                self._note(intent, state)
            with self._condition:
                self._noted += len(ended)
                self._condition.notify_all()

    def _write(self, batch):
        """Write what the segment takes, and return the rest."""
        try:
            self._find_room()
        except OSError as err:
            for intent in batch:
                intent.failed(err)
            return []
        with self._condition:
            segment, index = self._active, self._next
            room = CAPACITY + 1 - index if segment else 0
            batch, rest = batch[:room], batch[room:]
            if not batch:
                return rest
            self._next += len(batch)
            self._uses[segment] += len(batch)
        try:
            segment.write([intent.entry for intent in batch], index)
            segment.sync()
        except OSError as err:
            self._fail(segment, index, batch, err)
        else:
            for number, intent in enumerate(batch, index):
                intent.written(segment, number)
        if CAPACITY - self._next < LOW and not self._spare:
            threading.Thread(target=self._prepare, daemon=True).start()
        return rest

    def _find_room(self):
        """Have an active segment with room for a record at least."""
        if self._active and self._active.is_named():
            if self._next <= CAPACITY:
                return
            with self._making, self._condition:
                if self._spare:
                    spare, self._spare = self._spare, None
                    self._switch(spare, 1)
                    return
                self._switch(None, 0)
        self.make_ready()

    def _fail(self, segment, index, batch, error):
        """Tell a batch that it was not written.

        What of it reached the disk is unknown: nothing may follow it.
        """
        for number, intent in enumerate(batch, index):
            self._end_use(segment, number, State.ABORTED)
            intent.failed(error)
        self._leave(segment)

    def _note(self, intent, state):
        if intent.segment and not self._end_use(
                intent.segment, intent.index, state):
            # Without a writer, its intents are decided by the disk.
            self._leave(intent.segment)

    def _end_use(self, segment, index, state):
        try:
            segment.note(index, state)
        except OSError:
            return False
        finally:
            with self._condition:
                self._uses[segment] -= 1
                self._close_unused(segment)
        return True

    def _prepare(self):
        with self._making:
            if self._spare is None:
                try:
                    self._spare = new_segment(self.directory)
                except OSError as err:
                    # Writes go on, until they need it and are refused.
                    self.logger.warning('Unable to make a segment in %s: %s',
                                        self.directory, err)

    def _leave(self, segment):
        self._failed.add(segment.number)
        with self._condition:
            if segment is self._active:
                self._switch(None, 0)

    def _switch(self, segment, index):
        """Write another segment from now on; the condition is held."""
        before, self._active, self._next = self._active, segment, index
        if before:
            self._close_unused(before)

    def _close_unused(self, segment):
        if not self._uses[segment]:
            del self._uses[segment]
            if segment not in (self._active, self._spare):
                segment.close()
