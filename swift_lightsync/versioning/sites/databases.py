# SPDX-License-Identifier: Apache-2.0
"""
The databases on this node's devices that propagation follows: those of hidden
containers, and those of versioned users' containers, for the objects that are
older than versioning.
"""

import math
import os
from collections import namedtuple
from contextlib import contextmanager
from sqlite3 import DatabaseError

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
            self.id = broker.get_info()['id']
        self.hidden = root.startswith(RESERVED)
        self.container = user_container(root) if self.hidden else root
        self.hidden_container = root if self.hidden else None
        self.mode = mode
        #: at which place of the ring it is, None: at none; and of how many
        self.place = (None, 1)

    def __str__(self):
        return '%s/%s on %s' % (self.account, self.broker.container,
                                self.device)

    def items(self, after, limit=PAGE):
        """
        Read the next rows.

        :param after: a ROWID
        :returns: for each row that follows it: (ROWID, when it was made in
            Unix time, ``Item`` or None if it is no version)
        """
        with closed_after(self.broker) as broker:
            records = broker.get_items_since(after, limit)
        return [self._item(record) for record in records]

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
            self.broker.is_root_container() and \
            self.broker.get_db_state() == UNSHARDED

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
        with closed_after(self.broker) as broker:
            return broker.get_sync(_SYNC % (self.id, task), incoming=False)

    def save_point(self, task, point):
        with closed_after(self.broker) as broker:
            broker.merge_syncs([{
                'remote_id': _SYNC % (self.id, task), 'sync_point': point}],
                incoming=False)


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
        # By directory.
        self._looked = {}
        # Of the containers of shards, as they were said to be in this scan.
        self._modes = {}

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
                if each.place[0] == 0 and each.broker.is_root_container()]

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
        for directory, device in there.items():
            try:
                self._look(directory, device)
            except BROKER_ERRORS as err:
                self._looked.pop(directory, None)
                self.logger.warning('%s is left out: %s', directory, err)

    def state(self, directory):
        """Return a value that changes with every write there, or None."""
        try:
            return _state(directory)
        except OSError:
            return None

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
        found = [Database(each, device, self.site, mode)
                 for each in broker.get_brokers()]
        return _Looked(state, tuple(
            self._kept(known.get(each.id, each), mode) for each in found))

    @staticmethod
    def _kept(database, mode):
        database.mode = mode
        return database

    def _mode_of_root(self, *root):
        if root not in self._modes:
            self._modes[root] = self._mode_of(*root)
        return self._modes[root]
