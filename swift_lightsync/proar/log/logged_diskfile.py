# SPDX-License-Identifier: Apache-2.0
"""
A diskfile whose one write is logged. PROTOCOL.md, "Writes".

It wraps any diskfile of a replicated policy. A write becomes durable within
one of the three calls that are logged here: :meth:`put` of a writer,
:meth:`write_metadata` and :meth:`delete`. The flush of the log begins when the
first of the body is awaited, and ends before one of these begins.
"""

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from swift.common.concurrency import tpool
from swift.common.exceptions import DiskFileNoSpace

from swift_lightsync.proar.log.intent import Intent


@dataclass(frozen=True)
class LogContext:
    """
    The log's part of a write.

    :param intent: an Intent
    :param logger: a QuietLogger, which counts the time that logging takes
    :param fence: what a fail-over write has to pass before it is done, or
        None
    """
    intent: Intent
    logger: Any
    fence: Any = None

    @contextmanager
    def logged(self):
        """
        Wait until the operation is logged, and note its outcome.

        :raises DiskFileNoSpace: if it could not be logged
        """
        start = time.time()
        intent = self.intent
        intent.begin_sync()
        try:
            if intent.is_over:
                intent.sync()
            else:
                tpool.execute(intent.sync)
        except OSError as err:
            self.logger.error_of(('intent', err.errno),
                                 'Unable to log a write: %s', err)
            self.logger.increment('proar.intent.errors')
            # It is 507: the proxy asks another device.
            raise DiskFileNoSpace() from err
        self.logger.timing_since('proar.intent.timing', start)
        self._pass_fence(intent)
        try:
            yield
        except BaseException:
            # The error may come from before or after the link.
            intent.abandon(is_open=True)
            raise
        intent.commit()

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
            intent.abandon()
            raise DiskFileNoSpace() from err
        except BaseException:
            intent.abandon()
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
        self._log.intent.begin_sync()
        return self

    def put(self, metadata):
        with self._log.logged():
            self._wrapped.put(metadata)

    def close(self):
        # Without a put, nothing has changed.
        self._log.intent.abandon()
        self._wrapped.close()


class LoggedDiskFile(_Wrapper):
    """
    A diskfile that logs its write.

    :param wrapped: a diskfile
    :param log: a LogContext
    """

    def writer(self, *args, **kwargs):
        return LoggedWriter(self._wrapped.writer(*args, **kwargs), self._log)

    @contextmanager
    def create(self, *args, **kwargs):
        writer = self.writer(*args, **kwargs)
        try:
            yield writer.open()
        finally:
            writer.close()

    def write_metadata(self, metadata):
        with self._log.logged():
            self._wrapped.write_metadata(metadata)

    def delete(self, timestamp):
        with self._log.logged():
            self._wrapped.delete(timestamp)
