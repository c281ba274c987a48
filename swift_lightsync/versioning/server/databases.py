# SPDX-License-Identifier: Apache-2.0
"""How requests get at containers' databases: the lock, in the order of asking,
and connections that are kept, since to open one costs as much as to read it.

1. A connection belongs to one request at a time.
2. Before it is used again, the file that it has open must still be the one
   that has its path: databases are replaced by replicas of other servers,
   quarantined and removed. SQLite itself finds out what others have changed
   in a file.
3. Those that nobody uses are closed soon, so that a disk can be unmounted.

And what counts as an object in one of a hidden container (VERSIONING.md §3,
"Counts"). Swift's triggers count each row; there they count only listing rows
(Write-Repair) or versions (Read-Repair), so that all that Swift reports is
what clients expect. One that has taken ``MOST_COUNTED`` rows gets Swift's
triggers back, and shards keep them: the sharder has to count rows.
"""

import os
import re
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from sqlite3 import Connection, Cursor, DatabaseError
from typing import Any, Callable, List, Optional, Tuple
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
#: Rows that a database has ever taken.
MOST_COUNTED = 500000
_TRIGGERS = ('object_insert_policy_stat', 'object_delete_policy_stat')
_STOCK = re.compile(r'\(1 - (new|old)\.deleted\)'
                    r'(?: \* \(\1\.name >= char\(0, \d+, 0\)'
                    r' AND \1\.name < char\(0, \d+, 1\)\))?')

#: What tells files apart: their device and inode.
_Identity = Tuple[int, int]


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


def _identity(path: str) -> Optional[_Identity]:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _changes(connection: Connection) -> Tuple[int, int]:
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
        self._kept: 'OrderedDict[int, _Kept]' = OrderedDict()
        self._is_closing = False
        #: By path and request: the connection that has read the answer, and
        #: what its ``_changes`` were before.
        self._answers: 'OrderedDict[Any, Tuple[Any, Any, bytes]]' = \
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
                   read: Callable[[], Optional[bytes]]) -> Optional[bytes]:
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

    def _found(self, path: str, file: Optional[_Identity]
               ) -> Optional[Connection]:
        """Return a kept connection to the file that has a path now."""
        for each in [kept for kept in self._kept.values()
                     if kept.path == path][::-1]:
            del self._kept[id(each.connection)]
            if each.file == file:
                return each.connection
            each.connection.close()
        return None

    @staticmethod
    def _opened(broker: Any, file: Optional[_Identity]
                ) -> Optional[Connection]:
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
        unused: List[_Kept] = [each for each in self._kept.values()
                               if each.since <= before]
        for each in unused:
            del self._kept[id(each.connection)]
            each.connection.close()


@lru_cache(16)
def _wanted(sql: str, kind: str) -> str:
    """Return the statement that makes a trigger.

    :param sql: that has made the present one
    :param kind: the letter of the rows that count; empty: all count
    """
    only = (r' * (\1.name >= char(0, %d, 0) AND \1.name < char(0, %d, 1))'
            % (ord(kind), ord(kind)) if kind else '')
    return _STOCK.sub(lambda found: found.expand(
        r'(1 - \1.deleted)' + only), sql)


def count_rows(connection: Cursor, listed: bool) -> None:
    """Make the triggers of a database count what its mode says.

    :param connection: a cursor in a transaction that the caller commits
    :param listed: whether its objects have listing rows
    """
    present = dict(connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND "
        'name IN (?, ?)', _TRIGGERS).fetchall())
    taken, = connection.execute(
        'SELECT COALESCE(MAX(ROWID), 0) FROM object').fetchone()
    kind = '' if taken > MOST_COUNTED else 'A' if listed else 'V'
    changed = {name: wanted for name, sql in present.items()
               if (wanted := _wanted(sql, kind)) != sql}
    if not changed:
        return
    for name, wanted in changed.items():
        connection.execute('DROP TRIGGER %s' % name)
        connection.execute(wanted)
    only = ('AND name >= char(0, %d, 0) AND name < char(0, %d, 1)'
            % (ord(kind), ord(kind)) if kind else '')
    connection.execute(
        'UPDATE policy_stat SET object_count = '  # nosec: B608
        '(SELECT COUNT(*) FROM '
        'object WHERE deleted = 0 AND object.storage_policy_index = '
        'policy_stat.storage_policy_index %s)' % only)
