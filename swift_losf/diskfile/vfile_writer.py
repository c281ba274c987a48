# SPDX-License-Identifier: Apache-2.0
"""Writes a file: it becomes a record of a volume. FORMAT.md, "Writing a file".
"""

import time
from typing import Any

from swift_losf.format.header import HEADER_LENGTH, SMALL
from swift_losf.format.record import BlockSums, NewRecord
from swift_losf.volumes.volume_pool import Pending

#: what is written of a long file before it is synced
BYTES_PER_SYNC = 512 * 2 ** 20


def call(function, *args):
    """Call a function here, where it may block."""
    return function(*args)


class VFileWriter:
    """Writes one file. Short ones are kept in memory until they are finished.

    :param appender: an Appender
    :param bytes_per_sync: how much of a long file is written before a sync
    :param run: calls what it is given, function and arguments, where it may
        block: Swift's tpool.execute
    """

    def __init__(self, appender, bytes_per_sync=BYTES_PER_SYNC, run=call):
        self._appender = appender
        self._bytes_per_sync = bytes_per_sync
        self._run = run
        self._chunks = []
        self._sums = BlockSums()
        self._length = self._unsynced = 0
        # Of a long file: where it is written.
        self._pool: Any = None
        self._held: Any = None
        self._offset = 0
        self._open = True

    def _need_open(self):
        if not self._open:
            raise ValueError('the file is finished, aborted or failed')

    def write(self, chunk):
        """Take in the next bytes of the data.

        :param chunk: the next bytes of the data
        :returns: the length of the data so far
        :raises OSError: if they could not be written; the file is aborted
        """
        self._need_open()
        chunk = bytes(chunk)
        self._sums.add(chunk)
        self._chunks.append(chunk)
        self._length += len(chunk)
        if self._length > SMALL:
            self._aborted_on_error(self._flush)
        return self._length

    def _aborted_on_error(self, function, *args):
        try:
            return function(*args)
        except BaseException:
            self.abort()
            raise

    def _flush(self):
        if self._held is None:
            self._run(self._take)
        length = sum(map(len, self._chunks))
        self._held.volume.write_at(
            self._chunks,
            self._offset + HEADER_LENGTH + self._length - length)
        self._chunks = []
        self._unsynced += length
        if self._unsynced >= self._bytes_per_sync:
            self._run(self.sync)

    def _take(self):
        self._pool = self._appender.pool
        self._held = self._pool.take()
        self._offset = self._pool.begin(self._held)

    def sync(self):
        """Make durable what has been written of a long file."""
        if self._held is not None:
            self._held.volume.sync()
            self._unsynced = 0

    def finish(self, name, metadata, partition, hash_):
        """Make the file durable, as a whole or not at all.

        This blocks: call it in a native thread.

        :param name: of the file
        :param metadata: a dict
        :param partition: of the object
        :param hash_: of the object's name, 16 bytes
        :returns: a Pending
        :raises FormatError: if one of them cannot be stored
        :raises OSError: if it could not be written; the file is aborted
        """
        self._need_open()
        return self._aborted_on_error(
            self._finish, partition, hash_, name, metadata)

    def _finish(self, partition, hash_, name, metadata):
        record = NewRecord.make(
            partition, hash_, name, metadata, self._length,
            self._sums.pack(), time.time_ns())
        if self._held is None:
            pending = self._appender.commit(record, b''.join(self._chunks))
        else:
            pending = self._finish_long(record)
        self._open = False
        self._chunks = []
        return pending

    def _finish_long(self, record):
        volume = self._held.volume
        location, header, footer = record.place(volume.header, self._offset)
        volume.write_at([footer], location.footer_offset)
        volume.write_at([header], location.offset)
        try:
            volume.sync()
        except OSError:
            self._pool.abandon(self._held)
            raise
        volume.end = volume.align(location.offset + location.length)
        self._pool.release(self._held)
        return Pending(self._pool, self._held, location)

    def abort(self):
        """Drop what was written. A finished file stays."""
        if self._open and self._held is not None:
            self._pool.undo(self._held, self._offset)
            self._pool.release(self._held)
        self._open = False
        self._chunks = []

    close = abort
