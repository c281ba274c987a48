# SPDX-License-Identifier: Apache-2.0
"""Appends records to volumes, those of many threads at once.

Group commit: of the threads that have a record to append, one leads. It
writes what is waiting, syncs it once, and wakes the others. What came
meanwhile is led by the first of those that came.
"""

import os

from swift.common.concurrency import patcher

from swift_losf.volumes.volume_pool import Pending, VolumePool

threading = patcher.original('threading')

#: the most records that are appended at once
BATCH = 128


class _Request:
    """A record that is to be appended.

    :param record: a NewRecord
    :param data: its data
    """

    def __init__(self, record, data):
        self.record = record
        self.data = data
        self.pending = None
        self.error = None
        #: released when it is done, or when its thread has to lead
        self.wake = threading.Lock()
        self.wake.acquire()

    @property
    def open(self):
        return self.pending is None and self.error is None


class _GroupCommit:
    """Appends the small records of one process.

    :param pool: a VolumePool
    """

    def __init__(self, pool):
        self._pool = pool
        self._lock = threading.Lock()
        self._waiting = []
        self._led = False

    def commit(self, record, data):
        request = _Request(record, data)
        with self._lock:
            self._waiting.append(request)
            lead, self._led = not self._led, True
        if not lead:
            request.wake.acquire()
        if request.open:
            self._lead()
        if request.error:
            raise request.error
        return request.pending

    def _lead(self):
        with self._lock:
            batch = self._waiting[:BATCH]
            del self._waiting[:BATCH]
        try:
            self._append(batch)
        except BaseException as err:
            # of whatever kind: a thread that is not woken waits for ever
            self._fail(batch, err)
        finally:
            with self._lock:
                woken = batch + self._waiting[:1]
                self._led = bool(self._waiting)
            for each in woken:
                each.wake.release()

    @staticmethod
    def _fail(batch, err):
        for each in batch:
            each.error = each.error or err

    def _append(self, batch):
        held = self._pool.take()
        start = held.volume.end
        written = self._write(held, batch)
        try:
            held.volume.sync()
        except OSError as err:
            # what of it reached the disk is unknown, and stays so
            self._pool.undo(held, start)
            self._pool.abandon(held)
            self._fail(batch, err)
        else:
            for each, location in written:
                each.pending = Pending(self._pool, held, location)
        finally:
            self._pool.release(held)

    def _write(self, held, batch):
        """Return the requests that were written, with their locations."""
        start = end = held.volume.end
        buffers, written = [], []
        for each in batch:
            length = each.record.length
            offset = self._pool.begin(held, length)
            location, header, footer = each.record.place(
                held.volume.header, offset)
            buffers += [bytes(offset - end), header, each.data, footer]
            end = offset + length
            written.append((each, location))
        try:
            held.volume.append(buffers, start)
        except OSError as err:
            self._pool.undo(held, start)
            if len(batch) == 1 or held.broken:
                self._fail(batch, err)
                return []
            return [pair for each in batch
                    for pair in self._write(held, [each])]
        return written


class Appender:
    """Appends the records of one device, policy and type of volume.

    A process that was forked has volumes of its own; the arguments are those
    of a VolumePool.
    """

    def __init__(self, layout, volume_type, options, reserve_volume):
        self._arguments = layout, volume_type, options, reserve_volume
        self._processes = {}

    def _process(self):
        """Return the VolumePool and the _GroupCommit of this process."""
        pid = os.getpid()
        if pid not in self._processes:
            inherited = list(self._processes)
            pool = VolumePool(*self._arguments)
            self._processes.setdefault(pid, (pool, _GroupCommit(pool)))
            for each in inherited:
                self._drop(each, inherited=True)
        return self._processes[pid]

    def close(self):
        """Unlock all volumes of this process. REQUIRES: none is in use."""
        self._drop(os.getpid())

    def _drop(self, pid, inherited=False):
        pool, _ = self._processes.pop(pid, (None, None))
        if pool is not None:
            pool.close(inherited)

    @property
    def pool(self):
        """The VolumePool, for records that are written piece by piece."""
        return self._process()[0]

    def commit(self, record, data):
        """Append a record. It is durable on return.

        REQUIRES: a native thread, if other greenthreads of this one commit
        too: the leader of a group must not give way to them.

        :param record: a NewRecord
        :param data: its data
        :returns: a Pending
        :raises OSError: if it could not be written; it is not there then
        """
        return self._process()[1].commit(record, data)
