# SPDX-License-Identifier: Apache-2.0
"""One database that propagation follows: what its rows mean, and how far the
tasks have come with them.
"""

import math
import os
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from sqlite3 import DatabaseError, connect
from urllib.parse import quote

from swift.common.db import GreenDBConnection
from swift.common.exceptions import LockTimeout
from swift.common.utils import decode_timestamps, get_db_files
from swift.container.backend import UNSHARDED

from swift_lightsync.versioning.core.life import Life, life_of
from swift_lightsync.versioning.core.row_data import (
    LIFE,
    PURGES,
    RESERVED,
    VERSIONS,
    Entry,
    Row,
    entry_of,
    parameters_of,
    user_container,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.sync_point import PAGE
from swift_lightsync.versioning.core.version import Version
from swift_lightsync.versioning.server.row_table import Container, RowTable
from swift_lightsync.versioning.sites.directories import state_of

#: What a broker raises when a database is gone, locked or damaged.
BROKER_ERRORS = (DatabaseError, LockTimeout, OSError)
_SYNC = 'site-versions/%s/%s'
_SYNCS = 'SELECT remote_id, sync_point FROM outgoing_sync'
_LAST = "SELECT seq FROM SQLITE_SEQUENCE WHERE name = 'object'"
_SINCE = ('SELECT ROWID, name, created_at, size, content_type, etag, deleted '
          'FROM object WHERE ROWID > ? ORDER BY ROWID LIMIT ?')
_AT = ('SELECT ROWID, name, created_at, size, content_type, etag, deleted '
       'FROM object WHERE ROWID IN (%s)')
#: Values of one statement; SQLite has 999 at least.
_AT_ONCE = 500
#: Records of which is remembered what they mean: each task reads them.
_REMEMBERED = 4096
#: Rows of a page that is kept for all tasks.
KEPT = 64


@dataclass(frozen=True)
class Item:
    """A row of a database that a task may have to do with.

    :param rowid: in its database
    :param row: a ``Row``
    :param entry: the version that the row or purge record is about; in a
        user's container, the null version that its object is to be; None of
        a life record
    :param life: the life record that the row is, or None
    """
    rowid: int
    row: Row
    entry: Entry | None = None
    life: Life | None = None


@lru_cache(_REMEMBERED)
def meaning_of(site, hidden, name, created_at, size, content_type, etag,
               deleted):
    """Read a record of a database.

    :param site: the name of this site
    :param hidden: whether the record is one of a hidden container
    :returns: when it was made, Unix time; its row, version and life record,
        see ``Item``
    :raises ValueError: if it should be a version but cannot be read
    """
    stamp = Stamp.parse(decode_timestamps(created_at)[0].internal)
    row = Row(name, stamp, size, content_type, etag, bool(deleted))
    if row.deleted:
        return stamp.seconds, row, None, None
    if not hidden:
        return stamp.seconds, row, _legacy(row, site), None
    if name.startswith((VERSIONS, PURGES)):
        return stamp.seconds, row, entry_of(row), None
    life = life_of(row) if name == LIFE else None
    return stamp.seconds, row, None, life


def made_at(created_at):
    """Return when a record of a database was made, in Unix time."""
    return float(decode_timestamps(created_at)[0])


def _legacy(row, site):
    """Return the null version that an object becomes when it is adopted."""
    etag, _ = parameters_of(row.etag)
    return Entry(row.name, Version.after((), row.stamp, site), row.size, etag,
                 row.content_type, null=True)


@contextmanager
def reading(broker):
    """Give a connection that only reads a broker's database. It is made in a
    fourth of the time of a broker's own, which sets what writers need.
    """
    try:
        # Never made by this, if it has been removed.
        with closing(connect(
                'file:%s?mode=rw' % quote(broker.db_file),
                factory=GreenDBConnection, timeout=broker.timeout, uri=True,
                check_same_thread=False)) as connection:
            yield connection
    except DatabaseError as err:
        # Raises it, or what says that the database was damaged.
        broker.possibly_quarantine(err)


def described(broker):
    """Read what a database says of itself.

    :returns: its ``Container``, and its sync points: (name, ROWID)
    """
    with reading(broker) as connection:
        return Container.of(connection), connection.execute(_SYNCS).fetchall()


@contextmanager
def closed_after(broker):
    """Give a broker, and close what it has opened at the end: there may be
    thousands, of which few are written to.
    """
    try:
        yield broker
    finally:
        connection, broker.conn = broker.conn, None
        if connection is not None:
            connection.close()


class Database:
    """One replica of a container, or of a shard of it.

    :param broker: a ``ContainerBroker``
    :param device: the name of the device it is on
    :param site: the name of this site
    :param mode: of the user's container, a text; empty: there is no container,
        or it never had versions; None: nobody can tell
    :param told: what ``described`` has read of it, if it has been read
    """

    def __init__(self, broker, device, site, mode='', told=None):
        self.broker = broker
        self.device = device
        self.site = site
        found, syncs = told or described(broker)
        #: of its storage policy
        self.policy = found.policy
        self.account = found.account
        broker.account, broker.container = found.own
        #: whether it is none of a shard
        self.is_root = found.is_root
        self.id = found.id
        prefix = _SYNC % (self.id, '')
        self._points = {name[len(prefix):]: point for name, point in syncs
                        if name.startswith(prefix)}
        self.hidden = found.root.startswith(RESERVED)
        self.container = user_container(found.root) if self.hidden \
            else found.root
        self.hidden_container = found.root if self.hidden else None
        self.mode = mode
        #: at which place of the ring it is, None: at none; and of how many
        self.place = (None, 1)
        #: the state of its directory in which it has nothing but points that
        #: its last reader has not seen
        self.quiet = None
        self._unsaved = {}
        self._unsaved_since = 0.0
        # A whole page that all tasks read: (after, rows).
        self._page = None
        # The last ROWID that had ever been given before that was read.
        self._last_row = None

    def __str__(self):
        return '%s/%s on %s' % (self.account, self.broker.container,
                                self.device)

    def forget(self):
        """Take note that rows may have been written."""
        self._page = None

    def items(self, after, limit=PAGE):
        """Read the next rows.

        :param after: a ROWID
        :returns: for each row that follows it: (ROWID, when it was made in
            Unix time, ``Item`` or None if it is no version)
        """
        if self._page and self._page[0] <= after:
            return [row for row in self._page[1] if row[0] > after]
        if not self.hidden and os.path.exists(self.broker.pending_file):
            with closed_after(self.broker) as broker:
                broker._commit_puts_stale_ok()
        with reading(self.broker) as connection:
            last = connection.execute(_LAST).fetchone()
            records = connection.execute(_SINCE, (after, limit)).fetchall()
        last_row = last[0] if last else -1
        rows = [self._item(*record) for record in records]
        if len(rows) < min(limit, KEPT):
            self._page, self._last_row = (after, rows), last_row
        return rows

    def items_at(self, rowids):
        """Read rows that were read before.

        :param rowids: one at least
        :returns: the ``Item`` of each that is still there, by ROWID
        """
        after, page = self._page or (math.inf, ())
        if after < min(rowids):
            found = page
        else:
            records = []
            with reading(self.broker) as connection:
                for first in range(0, len(rowids), _AT_ONCE):
                    some = rowids[first:first + _AT_ONCE]
                    records += connection.execute(
                        _AT % ','.join('?' * len(some)), some)
            found = [self._item(*record) for record in records]
        wanted = set(rowids)
        return {rowid: item for rowid, _, item in found
                if item and rowid in wanted}

    def _item(self, rowid, name, created_at, *fields):
        try:
            made, row, entry, life = meaning_of(
                self.site, self.hidden, name, created_at, *fields)
        except ValueError as err:
            self.broker.logger.warning('%s: row %d: %s', self, rowid, err)
            return rowid, made_at(created_at), None
        return rowid, made, (entry or life) and Item(rowid, row, entry, life)

    @property
    def is_whole(self):
        """Whether it has the rows of all names, rather than those of a shard.
        """
        # What the broker knows of files it may know from before.
        return len(get_db_files(self.broker.db_file)) == 1 and \
            self.is_root and self.broker.get_db_state() == UNSHARDED

    @contextmanager
    def table(self):
        """Give the rows that it has, as a ``RowTable``."""
        with reading(self.broker) as connection:
            yield RowTable(connection, self.policy)

    def shipped(self, peers):
        """Return the ROWID up to which some peers have all."""
        return min((self.point(peer) for peer in peers), default=math.inf)

    def point(self, task):
        """Return the ROWID up to which a task is done, or -1."""
        # A copy of the database has another id and begins anew: its ROWIDs
        # are its own.
        return self._points.get(task, -1)

    def save_point(self, task, point):
        """Remember how far a task is done, to be stored by ``flush``."""
        if not self._unsaved:
            self._unsaved_since = time.monotonic()
        self._points[task] = self._unsaved[task] = point

    def flush(self, age=0.0):
        """Store how far all tasks are done, in one transaction.

        :param age: seconds that the oldest of this has waited, at least
        :returns: whether there was something to store
        """
        if not self._unsaved or \
                time.monotonic() - self._unsaved_since < age:
            return False
        with closed_after(self.broker) as broker:
            broker.merge_syncs([
                {'remote_id': _SYNC % (self.id, task), 'sync_point': point}
                for task, point in self._unsaved.items()], incoming=False)
            self._unsaved = {}
            # In this order: whoever writes now makes another state, or
            # another row.
            state = state_of(os.path.dirname(broker.db_file))
            if broker.get_max_row() == self._last_row:
                self.quiet = state
        return True
