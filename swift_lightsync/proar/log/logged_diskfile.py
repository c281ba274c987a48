# SPDX-License-Identifier: Apache-2.0
"""
A diskfile whose one write is logged. PROTOCOL.md, "Writes".

PUT, POST and DELETE become durable when a writer of the diskfile puts a file.
The flush of the log begins when the writer is opened, before the first of a
body is awaited, and ends before the put begins.
"""

import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Callable, Optional

from swift.common.concurrency import tpool
from swift.common.exceptions import DiskFileNoSpace

from swift_lightsync.proar.log.intent import Intent

if TYPE_CHECKING:
    from swift.obj.diskfile import BaseDiskFileWriter as _Writer
else:
    _Writer = object


@dataclass(frozen=True)
class LogContext:
    """
    The log's part of a write.

    :param intent: an Intent
    :param logger: a QuietLogger, which counts the time that logging takes
    :param fence: what a fail-over write has to pass before it is done, or
        None
    :param failed: called if the write cannot be logged any more
    :param make_quorum: brings what is durable here to other devices at once,
        and returns whether a quorum has it; None: others are asked to take
        the write instead
    """
    intent: Intent
    logger: Any
    fence: Any = None
    failed: Callable[[], None] = lambda: None
    make_quorum: Optional[Callable[[], bool]] = None

    @contextmanager
    def logged(self):
        """
        Wait until the operation is logged, and note its outcome.

        :raises DiskFileNoSpace: if it could not be logged, and no quorum of
            devices has it
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
            self._tell_of(err)
            if self.make_quorum is None:
                # It is 507: the proxy asks another device.
                raise DiskFileNoSpace() from err
            yield
            if not self.make_quorum():
                raise DiskFileNoSpace() from err
            return
        self.logger.timing_since('proar.intent.timing', start)
        self._pass_fence(intent)
        try:
            yield
        except BaseException:
            # The error may come from before or after the link.
            intent.abandon(is_open=True)
            raise
        intent.commit()

    def _tell_of(self, err):
        self.logger.error_of(('intent', err.errno),
                             'Unable to log a write: %s', err)
        self.logger.increment('proar.intent.errors')
        self.failed()

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


class LoggedWrites(_Writer):
    """
    A mixin of a diskfile's writers: the log knows of a write first.

    :param log: a LogContext
    """

    def __init__(self, log, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._log = log

    def open(self):
        opened = super().open()
        self._log.intent.begin_sync()
        return opened

    def put(self, metadata):
        with self._log.logged():
            super().put(metadata)

    def close(self):
        # Without a put, nothing has changed.
        self._log.intent.abandon()
        super().close()


@lru_cache(maxsize=None)
def _logged(writer):
    """Return a subclass of a class of writers that logs what it puts."""
    return type(writer.__name__, (LoggedWrites, writer), {})


def log_writes(disk_file, log):
    """
    Have the one write of a diskfile logged: all that it writes, it puts.

    :param disk_file: of Swift, or of a class that is derived from it
    :param log: a LogContext
    :returns: the diskfile
    """
    disk_file.writer_cls = partial(_logged(disk_file.writer_cls), log)
    return disk_file
