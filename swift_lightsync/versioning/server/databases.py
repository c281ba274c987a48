# SPDX-License-Identifier: Apache-2.0
"""How requests get at containers' databases: the lock, in the order of asking,
and connections that are kept, since to open one costs as much as to read it.

1. A connection belongs to one request at a time.
2. Before it is used again, the file that it has open must still be the one
   that has its path: databases are replaced by replicas of other servers,
   quarantined and removed. SQLite itself finds out what others have changed
   in a file.
3. Those that nobody uses are closed soon, so that a disk can be unmounted.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from sqlite3 import Connection, Cursor, DatabaseError
from typing import Any
from weakref import WeakValueDictionary

from swift.common.concurrency import Semaphore, sleep, spawn_n
from swift.common.db import get_db_connection
from swift.common.exceptions import LockTimeout
from swift.common.utils import lock_parent_directory

#: Connections that one process keeps, each of some 130 KiB: as many as the
#: containers of the requests that other sites make at the same time.
MOST = 128
#: Seconds for which one is kept that nobody uses.
SECONDS = 5
#: Answers of which this process remembers what was asked, and bytes of each.
ANSWERS = 1024
MAX_ANSWER = 1 << 12

#: What tells files apart: their device and inode.
_Identity = tuple[int, int]


_semaphores: 'WeakValueDictionary[str, Semaphore]' = WeakValueDictionary()


@contextmanager
def locked(path: str, seconds: float) -> Iterator[None]:
    """Hold Swift's lock of the directory of a file. Swift's is polled, ten
    times a second once it has waited for a while: of many writers of one
    container some would wait for seconds. Those of one process therefore wait
    for each other, and only one of them polls.

    :param path: of the file
    :param seconds: how long to wait, for this process and then for others
    :raises LockTimeout: if that was not enough
    """
    semaphore = _semaphores.setdefault(path, Semaphore(1))
    with LockTimeout(seconds, path):
        semaphore.acquire()
    try:
        with lock_parent_directory(path, seconds):
            yield
    finally:
        semaphore.release()


@dataclass(frozen=True)
class _Kept:
    """A connection that nobody uses.

    :param file: what it has open
    :param since: when it was used last, by ``time.monotonic``
    """
    path: str
    connection: Connection
    file: _Identity
    since: float


def _identity(path: str) -> _Identity | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _changes(connection: Connection) -> tuple[int, int]:
    """Return what differs once anybody has changed a database: others, or
    this connection itself.
    """
    # Swift's cursor would wait for a lock, and costs as much again.
    version, = connection.cursor(Cursor).execute(
        'PRAGMA data_version').fetchone()
    return version, connection.total_changes


class KeptDatabases:
    """The connections that one process keeps."""

    def __init__(self) -> None:
        #: From the one that was used longest ago on.
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        self._is_closing = False
        #: By path and request: the connection that has read the answer, and
        #: what its ``_changes`` were before.
        self._answers: OrderedDict[Any, tuple[Any, Any, bytes]] = \
            OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @contextmanager
    def lent(self, broker: Any) -> Iterator[None]:
        """Lend a broker a connection to its database, if there is one.

        :param broker: a ``ContainerBroker`` without a connection
        """
        path = broker.db_file
        file = _identity(path)
        broker.conn = self._found(path, file) or self._opened(broker, file)
        lent = broker.conn
        try:
            yield
        finally:
            connection, broker.conn = broker.conn, None
            if connection is not None and connection is lent and file:
                self._keep(_Kept(path, connection, file, time.monotonic()))
            elif connection is not None:
                connection.close()

    def remembered(self, broker: Any, asked: Hashable,
                   read: Callable[[], bytes | None]) -> bytes | None:
        """Return what was read before, unless its database has changed.

        :param broker: with a connection of ``lent``; its only database
        :param asked: what is read
        :param read: reads it; None is not remembered
        """
        connection, key = broker.conn, (broker.db_file, asked)
        try:
            now = connection and _changes(connection)
        except DatabaseError:
            now = None
        if now is None:
            # Who reads finds out what is wrong.
            return read()
        known, changes, found = self._answers.pop(key, (None, None, b''))
        told = found if known is connection and changes == now else read()
        if told and len(told) <= MAX_ANSWER:
            self._answers[key] = connection, now, told
            if len(self._answers) > ANSWERS:
                self._answers.popitem(last=False)
        return told

    def _found(self, path: str, file: _Identity | None
               ) -> Connection | None:
        """Return a kept connection to the file that has a path now."""
        for each in [kept for kept in self._kept.values()
                     if kept.path == path][::-1]:
            del self._kept[id(each.connection)]
            if each.file == file:
                return each.connection
            each.connection.close()
        return None

    @staticmethod
    def _opened(broker: Any, file: _Identity | None
                ) -> Connection | None:
        """Open a database, unless it is replaced meanwhile."""
        if file is None:
            return None
        try:
            connection: Connection = get_db_connection(
                broker.db_file, broker.timeout, broker.logger)
        except DatabaseError:
            # The broker finds out what is wrong, and quarantines it.
            return None
        if _identity(broker.db_file) == file:
            return connection
        connection.close()
        return None

    def _keep(self, kept: _Kept) -> None:
        self._kept[id(kept.connection)] = kept
        if len(self._kept) > MOST:
            self._kept.popitem(last=False)[1].connection.close()
        if not self._is_closing:
            self._is_closing = True
            spawn_n(self._close_unused)

    def _close_unused(self) -> None:
        try:
            while self._kept:
                sleep(SECONDS)
                self.close_unused()
        finally:
            self._is_closing = False

    def close_unused(self) -> None:
        """Close the connections that nobody has used for ``SECONDS``."""
        before = time.monotonic() - SECONDS
        unused: list[_Kept] = [each for each in self._kept.values()
                               if each.since <= before]
        for each in unused:
            del self._kept[id(each.connection)]
            each.connection.close()
