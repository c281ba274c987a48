# SPDX-License-Identifier: Apache-2.0
"""A diskfile whose one write is logged. PROTOCOL.md, "Writes".

PUT, POST and DELETE become durable when a writer of the diskfile puts a file.
The flush of the log begins when the writer is opened, before the first of a
body is awaited, and goes on beside that of the file. The file becomes visible
when both have ended.
"""

import copy
import time
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING

from swift.common.concurrency import tpool
from swift.common.exceptions import DiskFileNoSpace

if TYPE_CHECKING:
    from swift.obj.diskfile import BaseDiskFileWriter as _Writer
else:
    _Writer = object


class LoggedWrite:
    """The log's part of a write.

    :param intent: an Intent
    :param logger: a QuietLogger, which counts the time that logging takes
    :param fence: what a fail-over write has to pass before it is done, or
        None
    :param failed: called if the write cannot be logged any more
    :param make_quorum: brings what is durable here to other devices at once,
        and returns whether a quorum has it; None: others are asked to take
        the write instead
    """

    def __init__(self, intent, logger, fence=None, failed=lambda: None,
                 make_quorum=None):
        self.intent = intent
        self._logger = logger
        self._fence = fence
        self._failed = failed
        self._make_quorum = make_quorum
        #: whether the file is put, and seconds that it waited for the log
        self._is_put = False
        self._waited = 0.0
        #: why it could not be logged, or None
        self._error = None

    @contextmanager
    def logged(self):
        """Log the operation, which has to call :meth:`wait`; note its outcome.

        :raises DiskFileNoSpace: if it could not be logged, and no quorum of
            devices has it
        """
        intent = self.intent
        intent.begin_sync()
        self._is_put = True
        try:
            if self._fence is not None:
                tpool.execute(self.wait)
                self._fence.pass_through()
        except BaseException as err:
            intent.abandon()
            self._tell()
            if isinstance(err, OSError):
                raise DiskFileNoSpace() from err
            raise
        try:
            yield
        except BaseException:
            # The error may come from before or after the link.
            intent.abandon(is_open=True)
            raise
        finally:
            self._is_put = False
            self._tell()
        if self._error is None:
            intent.commit()
        elif not self._make_quorum():
            raise DiskFileNoSpace() from self._error

    def wait(self):
        """Return when the operation may become visible; in a native thread.

        :raises DiskFileNoSpace: if it cannot be logged: it is 507, and the
            proxy asks another device
        """
        if not self._is_put:
            return
        start = time.time()
        try:
            self.intent.sync()
        except OSError as err:
            self._error = err
            if self._make_quorum is None:
                raise DiskFileNoSpace() from err
        self._waited += time.time() - start

    def _tell(self):
        err = self._error
        if err is None:
            self._logger.timing('proar.intent.timing', self._waited * 1000)
            return
        self._logger.error_of(('intent', err.errno),
                              'Unable to log a write: %s', err)
        self._logger.increment('proar.intent.errors')
        self._failed()


class LoggedWrites(_Writer):
    """A mixin of a diskfile's writers: the log knows of a write first.

    :param log: a LoggedWrite
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


@cache
def _logged(writer):
    """Return a subclass of a class of writers that logs what it puts."""
    return type(writer.__name__, (LoggedWrites, writer), {})


def log_writes(disk_file, log):
    """Have the one write of a diskfile logged: all that it writes, it puts.

    :param disk_file: of Swift, or of a class that is derived from it
    :param log: a LoggedWrite
    :returns: the diskfile
    """
    disk_file.writer_cls = partial(_logged(disk_file.writer_cls), log)
    disk_file._manager = _waiting_for(log, disk_file.manager)
    return disk_file


def _waiting_for(log, manager):
    """Return a manager that returns from invalidating when a write is logged.

    A writer, of files as of volumes, invalidates the hash of the suffix that
    it changes in the thread of its put, when its data is flushed and before
    it can be seen.
    """
    stock = manager.invalidate_hash

    def invalidate_hash(suffix_dir):
        stock(suffix_dir)
        log.wait()
    found = copy.copy(manager)
    found.invalidate_hash = invalidate_hash
    return found
