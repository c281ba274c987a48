# SPDX-License-Identifier: Apache-2.0
"""
A diskfile whose writes are logged. PROTOCOL.md, "Writes".

It wraps any diskfile of a replicated policy. A write becomes durable within
one of the three calls that are logged here: :meth:`put` of a writer,
:meth:`write_metadata` and :meth:`delete`.
"""

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from swift.common.concurrency import tpool
from swift.common.exceptions import DiskFileNoSpace
from swift.common.utils import Timestamp

from swift_lightsync.proar.core.oplog import Op
from swift_lightsync.proar.log.oplog_file import Oplog


@dataclass(frozen=True)
class LogContext:
    """
    What the log entries of an object's writes have in common.

    :param oplog: the log of its partition
    :param slot: of its primary role
    :param path_hash: of the object, 16 bytes
    :param logger: Swift's, which counts the time that logging takes
    :param fence: what a fail-over write has to pass before it is done, or
        None
    """
    oplog: Oplog
    slot: int
    path_hash: bytes
    logger: Any
    fence: Any = None

    @contextmanager
    def logged(self, op, timestamp):
        """
        Log an operation, and its outcome when the context ends.

        :param op: an Op
        :param timestamp: its X-Timestamp, a Timestamp
        :raises DiskFileNoSpace: if it cannot be logged, for any reason: Swift
            answers 507
        """
        start = time.time()
        try:
            intent = tpool.execute(self.oplog.append, op, self.slot,
                                   self.path_hash, timestamp, start)
        except OSError as err:
            raise DiskFileNoSpace() from err
        self.logger.timing_since('proar.intent.timing', start)
        self._pass_fence(intent)
        try:
            yield
        except BaseException:
            # The error may come from before or after the link.
            intent.undecided()
            raise
        # One byte, which is not synced: no thread is worth it.
        intent.committed()

    def _pass_fence(self, intent):
        """
        Wait until the primary role does not answer for the object alone.

        :raises DiskFileNoSpace: if that cannot be told
        """
        if self.fence is None:
            return
        try:
            self.fence.pass_through()
        except OSError as err:
            intent.aborted()
            raise DiskFileNoSpace() from err
        except BaseException:
            intent.aborted()
            raise


class _Wrapper:
    """Passes on every attribute that a subclass does not define."""

    def __init__(self, wrapped, log):
        self._wrapped = wrapped
        self._log = log

    def __getattr__(self, name):
        return getattr(self._wrapped, name)


class LoggedWriter(_Wrapper):
    """A diskfile's writer that logs its put()."""

    def open(self):
        self._wrapped.open()
        return self

    def put(self, metadata):
        with self._log.logged(Op.MODIFY, Timestamp(metadata['X-Timestamp'])):
            self._wrapped.put(metadata)


class LoggedDiskFile(_Wrapper):
    """
    A diskfile that logs its writes.

    :param wrapped: a diskfile
    :param log: a LogContext
    """

    def writer(self, *args, **kwargs):
        return LoggedWriter(self._wrapped.writer(*args, **kwargs), self._log)

    @contextmanager
    def create(self, *args, **kwargs):
        with self._wrapped.create(*args, **kwargs) as writer:
            yield LoggedWriter(writer, self._log)

    def write_metadata(self, metadata):
        with self._log.logged(Op.MODIFY, Timestamp(metadata['X-Timestamp'])):
            self._wrapped.write_metadata(metadata)

    def delete(self, timestamp):
        with self._log.logged(Op.DELETE, Timestamp(timestamp)):
            self._wrapped.delete(timestamp)
