# SPDX-License-Identifier: Apache-2.0
"""
The databases on this node's devices that propagation follows: those of hidden
containers, and those of versioned users' containers, for the objects that are
older than versioning.
"""

import math
import os
import time
from collections import namedtuple
from contextlib import contextmanager
from sqlite3 import DatabaseError

from swift.common.concurrency import sleep
from swift.common.exceptions import LockTimeout
from swift.common.utils import audit_location_generator, get_db_files
from swift.container.backend import DATADIR, UNSHARDED, ContainerBroker

from swift_lightsync.versioning.core.keys import RESERVED, user_container
from swift_lightsync.versioning.core.sync_point import PAGE
from swift_lightsync.versioning.server.row_table import RowTable
from swift_lightsync.versioning.sites.database_rows import (
    Item,
    made_at,
    meaning_of,
)

#: Set by the middleware on a container whose objects have versions.
ENABLED = 'X-Container-Sysmeta-Site-Versions-Enabled'
MODE = 'X-Container-Sysmeta-Site-Versions-Mode'
#: What a broker raises when a database is gone, locked or damaged.
BROKER_ERRORS = (DatabaseError, LockTimeout, OSError)
_SYNC = 'site-versions/%s/%s'
#: Rows of a page that is kept for all tasks.
KEPT = 64
#: Seconds, more than those between two ticks of a file system's clock.
TICK = 0.1
#: Directories that are looked at without a pause.
YIELD = 500

_Looked = namedtuple('_Looked', 'state followed')


@contextmanager
def closed_after(broker):
    """
    Give a broker, and close what it has opened at the end: there may be
    thousands, of which few are written to.
    """
    try:
        yield broker
    finally:
        connection, broker.conn = broker.conn, None
        if connection is not None:
            connection.close()


class Database:
    """
    One replica of a container, or of a shard of it.

    :param broker: a ``ContainerBroker``
    :param device: the name of the device it is on
    :param site: the name of this site
    :param mode: of the user's container, a text; empty: there is no container,
        or it never had versions; None: nobody can tell
    """

    def __init__(self, broker, device, site, mode=''):
        self.broker = broker
        self.device = device
        self.site = site
        with closed_after(broker):
            root = broker.root_container
            self.account = broker.root_account
            #: whether it is none of a shard
            self.is_root = broker.is_root_container()
            self.id = broker.get_info()['id']
            prefix = _SYNC % (self.id, '')
            self._points = {
                each['remote_id'][len(prefix):]: each['sync_point']
                for each in broker.get_syncs(incoming=False)
                if each['remote_id'].startswith(prefix)}
        self.hidden = root.startswith(RESERVED)
        self.container = user_container(root) if self.hidden else root
        self.hidden_container = root if self.hidden else None
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
        """
        Read the next rows.

        :param after: a ROWID
        :returns: for each row that follows it: (ROWID, when it was made in
            Unix time, ``Item`` or None if it is no version)
        """
        if self._page and self._page[0] <= after:
            return [row for row in self._page[1] if row[0] > after]
        with closed_after(self.broker) as broker:
            last_row = broker.get_max_row()
            records = broker.get_items_since(after, limit)
        rows = [self._item(record) for record in records]
        if len(rows) < min(limit, KEPT):
            self._page, self._last_row = (after, rows), last_row
        return rows

    def _item(self, record):
        rowid = record['ROWID']
        try:
            found = meaning_of(
                self.site, self.hidden, record['name'], record['created_at'],
                record['size'], record['content_type'], record['etag'],
                record['deleted'])
        except ValueError as err:
            self.broker.logger.warning('%s: row %d: %s', self, rowid, err)
            return rowid, made_at(record), None
        return rowid, found.made, (found.entry or found.life) and Item(
            rowid, found.row, found.entry, found.life)

    @property
    def is_whole(self):
        """
        Whether it has the rows of all names, rather than those of a shard.
        """
        # What the broker knows of files it may know from before.
        return len(get_db_files(self.broker.db_file)) == 1 and \
            self.is_root and self.broker.get_db_state() == UNSHARDED

    @contextmanager
    def table(self):
        """Give the rows that it has, as a ``RowTable``."""
        with closed_after(self.broker) as broker:
            policy = broker.storage_policy_index
            with broker.get() as connection:
                yield RowTable(connection, policy)

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
        """
        Store how far all tasks are done, in one transaction.

        :param age: seconds that the oldest of this has waited, at least
        """
        if not self._unsaved or \
                time.monotonic() - self._unsaved_since < age:
            return
        with closed_after(self.broker) as broker:
            broker.merge_syncs([
                {'remote_id': _SYNC % (self.id, task), 'sync_point': point}
                for task, point in self._unsaved.items()], incoming=False)
            self._unsaved = {}
            # In this order: whoever writes now makes another state, or
            # another row.
            state = _state(os.path.dirname(broker.db_file))
            if broker.get_max_row() == self._last_row:
                self.quiet = state


def _state(directory):
    """Return a value that changes whenever a database there is written."""
    state = []
    with os.scandir(directory) as files:
        for each in files:
            if each.name.endswith(('.db', '.db.pending')):
                found = each.stat()
                state.append((each.name, found.st_mtime_ns, found.st_size))
    return tuple(sorted(state))


def _mode(broker):
    """Return the mode of a container; empty if it never had versions."""
    return broker.metadata.get(MODE, ('', ''))[0]


class Databases:
    """
    Finds the databases to follow.

    :param devices: the directory of all devices
    :param site: the name of this site
    :param mode_of: a function of the account and the name of a container: a
        text, its mode, empty if it never had versions; None if nobody can
        tell
    :param place_of: a function of a ``Database`` that returns its ``place``
    """

    def __init__(self, devices, mount_check, site, logger, mode_of,
                 place_of=lambda database: (None, 1)):
        self.devices = devices
        self.mount_check = mount_check
        self.site = site
        self.logger = logger
        self._mode_of = mode_of
        self._place_of = place_of
        # By directory: what was scanned; the state of its files, and of rows.
        self._looked = {}
        self._states = {}
        self._refreshed = None
        # Of the containers of shards, as they were said to be in this scan.
        self._modes = {}

    def refresh(self, age=0.0):
        """
        Look which databases were written to.

        :param age: seconds for which what was seen last holds
        """
        if self._refreshed and time.monotonic() - self._refreshed < age:
            return
        self._refreshed = time.monotonic()
        for number, (directory, looked) in enumerate(
                list(self._looked.items())):
            if looked.followed:
                self._refresh(directory, looked.followed)
            if number % YIELD == YIELD - 1:
                sleep(0)

    def _refresh(self, directory, followed):
        try:
            found = _state(directory)
        except OSError:
            found = None
        before = self._states.get(directory)
        if before and before[0] == found:
            return
        # Where only points were stored, rows are what they were.
        if before and len(followed) == 1 and found and \
                followed[0].quiet == found:
            self._states[directory] = found, before[1]
            return
        # What is written at the same tick of the clock is not seen later.
        settled = found and max(changed for _, changed, _ in found) < (
            time.time() - TICK) * 10 ** 9
        self._states[directory] = (found, found) if settled else (None, None)
        for each in followed:
            each.forget()

    def flush(self, age=0.0, most=math.inf):
        """
        Store how far all tasks are done, see ``Database``.

        :param most: seconds that this may take
        """
        end = time.monotonic() + most
        for _, each in self:
            if time.monotonic() >= end:
                return
            try:
                each.flush(age)
            except BROKER_ERRORS as err:
                # What is done twice is the same as once.
                self.logger.warning('%s: how far it is done is not stored: '
                                    '%s', each, err)

    def __iter__(self):
        return iter([(directory, each)
                     for directory, looked in self._looked.items()
                     for each in looked.followed])

    def followed(self, hidden):
        """
        Return the databases of hidden containers, or of users' ones.

        :returns: a list of pairs of a directory and a ``Database``
        """
        return [(directory, each) for directory, each in self
                if each.hidden is hidden]

    def first_replicas(self):
        """
        Return the databases of hidden containers that no other server has the
        first replica of; none of shards.
        """
        return [each for _, each in self.followed(True)
                if each.place[0] == 0 and each.is_root]

    def scan(self):
        """
        Look for databases that are new, gone or versioned since the last scan.
        """
        there, self._modes = {}, {}
        for path, device, _ in audit_location_generator(
                self.devices, DATADIR, '.db', mount_check=self.mount_check,
                logger=self.logger):
            there[os.path.dirname(path)] = device
        for directory in set(self._looked) - set(there):
            del self._looked[directory]
            self._states.pop(directory, None)
        for directory, device in there.items():
            try:
                self._look(directory, device)
            except BROKER_ERRORS as err:
                self._looked.pop(directory, None)
                self.logger.warning('%s is left out: %s', directory, err)

    def state(self, directory):
        """
        Return a value that changes with every write there, as of the last
        ``refresh``; None: nobody knows.
        """
        return self._states.get(directory, (None, None))[1]

    def _look(self, directory, device):
        state = _state(directory)
        looked = self._looked.get(directory)
        if looked is None or looked.state != state:
            self._looked[directory] = self._looked_at(
                directory, device, state, looked.followed if looked else ())
        # A ring that has changed takes effect with a scan.
        for each in self._looked[directory].followed:
            each.place = self._place_of(each)

    def _looked_at(self, directory, device, state, before):
        """Read which databases of a directory to follow, a ``_Looked``."""
        name = os.path.basename(directory) + '.db'
        with closed_after(ContainerBroker(
                os.path.join(directory, name), logger=self.logger)) as broker:
            return self._followed(broker, device, state, before)

    def _followed(self, broker, device, state, before):
        root = broker.root_container
        hidden = root.startswith(RESERVED)
        known = {each.id: each for each in before}
        if hidden:
            try:
                user = user_container(root)
            except ValueError:
                return _Looked(state, ())
            # Once it is known it never changes.
            mode = _mode(broker) or next(
                (each.mode for each in before), '') or \
                self._mode_of_root(broker.root_account, user)
            state = state if mode else None
        elif broker.is_root_container():
            mode = _mode(broker)
        else:
            # That its container gets versions does not change the shard.
            state, mode = None, self._mode_of_root(broker.root_account, root)
            if mode is None:
                return _Looked(state, before)
        if not (hidden or mode) or broker.is_deleted():
            return _Looked(state, ())
        brokers = broker.get_brokers()
        if len(brokers) == 1:
            # Of the same file.
            brokers[0].conn, broker.conn = broker.conn, None
        return _Looked(state, tuple(
            self._database(each, known, device, mode) for each in brokers))

    def _database(self, broker, known, device, mode):
        with closed_after(broker):
            found = known.get(broker.get_info()['id']) or Database(
                broker, device, self.site, mode)
        found.mode = mode
        return found

    def _mode_of_root(self, *root):
        if root not in self._modes:
            self._modes[root] = self._mode_of(*root)
        return self._modes[root]
