# SPDX-License-Identifier: Apache-2.0
"""The log of a partition: written, read, compacted. PROTOCOL.md, "The log"."""

import fcntl
import logging
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import List, Optional, Tuple

from swift.common.concurrency import patcher
from swift.common.utils import fsync_dir

from swift_lightsync.proar.core.oplog import (
    CHUNK,
    RECORD,
    Entry,
    FormatError,
    State,
    encode_header,
    exposed_after,
    place_of,
    start_of,
)
from swift_lightsync.proar.log.cursor_file import read_cursors
from swift_lightsync.proar.log.intent import Intent
from swift_lightsync.proar.log.log_file import (
    LogFile,
    LostError,
    Mark,
    begin,
    is_blank,
    is_named,
    lay_out,
    open_log,
    sync_name,
    write_all,
)

DAMAGED_SUFFIX = '.damaged'
#: seconds for which writers are kept out until those at work are done
PATIENCE = 1.0

# Its threads are native ones, whatever eventlet has patched.
_native_sleep = patcher.original('time').sleep


def _is_idle(log):
    """
    Wait for the writers at work, and return whether they have all ended.

    The caller has the flock, which keeps new ones out.
    """
    deadline = time.monotonic() + PATIENCE
    while log.has_locks():
        if time.monotonic() > deadline:
            return False
        _native_sleep(PATIENCE / 100)
    return True


@dataclass(frozen=True)
class LogView:
    """
    What a log held at one moment.

    :param base: the eversion of its first record
    :param last_update: that of its last one; base - 1 if there is none
    :param entries: the entries asked for that can be read, in order
    :param damaged: the eversions of the entries asked for that cannot be read
    :param mark: of its last record; None if there is none
    """
    base: int
    last_update: int
    entries: List[Entry]
    damaged: List[int]
    mark: Optional[Mark] = field(default=None, compare=False)


@dataclass(frozen=True)
class Exposure:
    """
    The operations that no other device holds.

    :param entries: how many
    :param since: Unix time in seconds of the oldest of them, None if there is
        none
    """
    entries: int = 0
    since: Optional[float] = None


class Oplog:
    """
    The log of one partition of a device.

    All methods block: call them in native threads. Any number of threads and
    processes may call them at the same time, on one Oplog or on several of
    the same log.

    :param path: of the log
    :param cursors_path: of the cursors of its peers
    :param logger: is told of files that are damaged
    """

    def __init__(self, path, cursors_path, logger=logging):
        self.path = path
        self.cursors_path = cursors_path
        self.logger = logger
        # A file's inode and base, and an eversion behind which its end is.
        # That was synced, or read from the start on: none before it is
        # missing.
        self._hint: Tuple[Optional[int], Optional[int], int] = None, None, 0

    def reserve(self):
        """
        Open the log, made if need be, and lay out room for an operation.

        :returns: the Exposure of the log
        :raises OSError: if nothing can be logged
        """
        with self._make() as file:
            log = LogFile(file)
            place = place_of(self._last(log) + 1, log.base)
            if place + RECORD > os.fstat(file.fileno()).st_size:
                lay_out(file, place)
            return self._exposure(log)

    def append(self, op, slot, path_hash, timestamp, now):
        """
        Make durable that an operation is about to be done.

        The log and its directory are made if they are missing; the device is
        not.

        :param op: an Op
        :param slot: of the primary role that it is for, or NO_SLOT
        :param path_hash: of the object, 16 bytes
        :param timestamp: its X-Timestamp, a Timestamp
        :param now: Unix time in seconds
        :returns: an Intent that the caller has to end
        :raises OSError: if it cannot be logged; ENOSPC or EDQUOT if there is
            no space
        """
        file = self._make()
        try:
            log = LogFile(file)
            entry = Entry(op, slot, self._last(log) + 1, path_hash,
                          timestamp.raw, timestamp.offset, int(now * 1e6))
            log.write(entry)
            fcntl.flock(file, fcntl.LOCK_UN)
        except BaseException:
            file.close()
            raise
        intent = Intent(log, entry)
        try:
            intent.sync()
        except OSError:
            # This has the kernel write again what it failed to write, too: no
            # record may be durable that follows one that is not.
            intent.aborted()
            raise
        self._hint = log.inode, log.base, entry.eversion
        return intent

    def read(self, after=0, mark=None):
        """
        Return a LogView of the log as it is now.

        To compare it with the cursors, read the log first: its first writer
        after a power cut removes cursors that are beyond its end.

        :param after: an eversion; the entries behind it are wanted
        :param mark: of an earlier LogView, if it has to be the same log
        :returns: a view without entries if there is no log
        :raises LostError: if it is not the same log
        :raises FormatError: if its header is damaged; the next append sets
            such a log aside
        """
        with self._opened() as log:
            if mark and not (log and log.has(mark)):
                raise LostError()
            if log is None:
                base = self._base()
                return LogView(base, base - 1, [], [])
            view = self._view(log, after)
            if view.damaged:
                # By no writer that is at work? They have the flock.
                fcntl.flock(log.file, fcntl.LOCK_SH)
                view = self._view(log, after)
            self._hint = log.inode, log.base, view.last_update
            return view

    def in_progress(self, eversion):
        """Return whether an entry's writer is still at work."""
        with self._opened() as log:
            return log is not None and eversion >= log.base and \
                log.is_locked(eversion)

    def exposure(self):
        """
        Return the Exposure: what the device holds alone, by its cursors.

        It is cheap, since it is asked for before each write.
        """
        try:
            with self._opened() as log:
                if log is None:
                    return Exposure()
                return self._exposure(log)
        except FormatError:
            return Exposure()

    def compact(self, after, mark=None):
        """
        Drop the entries that all peers hold.

        :param after: the entries up to this eversion
        :param mark: as of :meth:`read`
        :returns: False if a writer is at work for long, or if it is not the
            same log
        :raises OSError: if the log could not be replaced; it stays
        """
        try:
            file = open_log(self.path)
        except FileNotFoundError:
            return True
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            log = None if is_blank(file) else LogFile(file)
            if not is_named(file, self.path) or log and not (
                    log.has(mark) and _is_idle(log)):
                return False
            if log is None or after >= log.last():
                # In this order: cursors without a log tell where the next
                # one begins, a log without cursors is pushed anew.
                os.unlink(self.path)
                self._forget_cursors()
            elif after >= log.base:
                self._replace(log, after)
            return True

    @contextmanager
    def _opened(self):
        """
        Open the log; the context yields a LogFile, or None without a log.

        :raises FormatError: if its header is damaged
        """
        try:
            file = open_log(self.path, os.O_RDONLY)
        except FileNotFoundError:
            yield None
            return
        with file:
            yield None if is_blank(file) else LogFile(file)

    def _make(self):
        """Return the open file of the log, made if need be, with the flock."""
        while True:
            try:
                file = open_log(self.path, os.O_RDWR | os.O_CREAT)
            except FileNotFoundError:
                with suppress(FileExistsError):
                    os.mkdir(os.path.dirname(self.path))
                continue
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if self._is_ready(file):
                    return file
            except BaseException:
                file.close()
                raise
            file.close()

    def _is_ready(self, file):
        if not is_named(file, self.path):
            return False
        if is_blank(file):
            begin(file, self.path, self._base())
        try:
            LogFile(file)
        except FormatError as err:
            aside = self.path + DAMAGED_SUFFIX
            os.rename(self.path, aside)
            self.logger.error('A damaged log is %s now: %s', aside, err)
            return False
        return True

    def _base(self):
        """Return the eversion with which a new log begins."""
        return 1 + max(self._cursors().values(), default=0)

    def _last(self, log):
        """Return the eversion of the last record; needs the flock."""
        known = self._known(log)
        last = log.last(known)
        if not known and last + 1 < self._base():
            # They name eversions that are given anew now.
            self._forget_cursors()
            fsync_dir(os.path.dirname(self.path))
        return last

    def _known(self, log):
        inode, base, known = self._hint
        return known if (inode, base) == (log.inode, log.base) else 0

    def _cursors(self):
        return read_cursors(self.cursors_path, self.logger)

    def _forget_cursors(self):
        with suppress(FileNotFoundError):
            os.unlink(self.cursors_path)

    def _view(self, log, after):
        last = log.last(self._known(log))
        entries = list(log.entries(after)) if after < last else []
        if entries:
            last, _ = entries[-1]
        return LogView(
            log.base, last, [entry for _, entry in entries if entry],
            [eversion for eversion, entry in entries if not entry],
            log.mark(last))

    def _exposure(self, log):
        last = log.last(self._known(log))
        after = exposed_after(
            [start_of(cursor, log.base, last) for cursor
             in self._cursors().values()]
            or [log.base - 1], last)
        for _, entry in log.entries(after):
            if entry and entry.state is not State.ABORTED:
                return Exposure(last - after, entry.logged / 1e6)
        return Exposure()

    def _replace(self, log, after):
        fresh = self.path + '.new'
        with open_log(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC) as file:
            # Whoever opens it as the log waits until its name is durable.
            fcntl.flock(file, fcntl.LOCK_EX)
            content = encode_header(after + 1) + b''.join(
                record for _, record in log.records(after))
            write_all(file, content.ljust(
                -len(content) // CHUNK * -CHUNK, b'\0'), 0)
            os.fsync(file.fileno())
            os.rename(fresh, self.path)
            sync_name(self.path)
