# SPDX-License-Identifier: Apache-2.0
"""
Tasks of the propagator for this site alone: they audit pointers, give null
versions their rows, and remove purge markers that are no longer needed.
``Follower`` in sync_point describes the attributes of a task.
"""

from typing import Callable, Optional

from swift.common.concurrency import Timeout
from swift.common.direct_client import (
    direct_delete_container_object,
    direct_get_container,
)
from swift.common.exceptions import ClientException

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.versioning.core.keys import WriteRepairKeys
from swift_lightsync.versioning.core.row_data import PURGE_MARKER, Kind
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.sites.database_rows import Item
from swift_lightsync.versioning.sites.databases import BROKER_ERRORS

#: The container servers take names with null characters only with it.
RESERVED_NAMES = {'X-Backend-Allow-Reserved-Names': 'true'}


class _Upkeep:

    delay = 0
    wants: Optional[Callable[[Item], bool]] = None
    by_object = False
    #: nothing fails for long: it is always ready
    backoff = Backoff(0, 0)


class RepairTask(_Upkeep):
    """
    The pointer auditor of Write-Repair (VERSIONING.md §5).

    :param strategy: a function of a ``Database`` that returns its strategy
    :param local: the same, but the strategy reads one replica only; it returns
        None if that replica lacks rows
    :param delay: seconds after which racing writers have finished
    """

    name = '.repair'
    of_hidden = True
    by_object = True

    def __init__(self, strategy, local, delay, logger):
        self.delay = delay
        self.repaired = 0
        self._strategy = strategy
        self._local = local
        self._logger = logger

    def wants(self, item: Item) -> bool:
        return item.keys is WriteRepairKeys

    def run(self, database, items):
        local = self._local(database)
        done = {obj: self._audit(database, local, obj)
                for obj in {item.entry.object for item in items}}
        return [(item.rowid, done[item.entry.object]) for item in items]

    def _audit(self, database, local, obj):
        """
        Repair a pointer that looks wrong; return whether it seems right now.
        """
        looks_right = self._looks_right(local, obj)
        if looks_right:
            return True
        # A majority that was read may be without what looked wrong here.
        return self._repair(database, obj) and (
            looks_right is None
            or self._looks_right(local, obj) is not False)

    @staticmethod
    def _looks_right(local, obj):
        """
        Return whether one replica shows the right pointer; None: unknown.
        """
        try:
            return local and local.is_right(obj)
        except (RowsUnavailable, ValueError, *BROKER_ERRORS):
            return None

    def _repair(self, database, obj):
        try:
            if self._strategy(database).repair(obj):
                self.repaired += 1
                self._logger.increment('repaired')
                self._logger.info('%s: the pointer of %r was repaired',
                                  database, obj)
        except RowsUnavailable as err:
            self._logger.warning('%s: the pointer of %r is not looked at: %s',
                                 database, obj, err)
            return False
        return True


class AdoptTask(_Upkeep):
    """
    Gives a row to each object that is older than its container's versioning.
    With a row, the object goes to the other sites like any version.

    :param strategy: a function of a ``Database`` that returns its strategy
    """

    name = '.adopt'
    of_hidden = False

    def __init__(self, strategy, logger):
        self._strategy = strategy
        self._logger = logger

    def run(self, database, items):
        strategy = self._strategy(database)
        return [(item.rowid, self._adopt(database, strategy, item))
                for item in items]

    def _adopt(self, database, strategy, item):
        try:
            strategy.adopt(item.entry.object)
        except RowsUnavailable as err:
            self._logger.warning('%s: %r gets no row: %s', database,
                                 item.entry.object, err)
            return False
        return True


class PurgeTask(_Upkeep):
    """
    Removes a purge marker once it is old and both all peers and all replicas
    of the container have it: nothing can bring the version back then.

    :param ring: of containers
    :param peers: the names of all peers
    :param delay: seconds for which markers are kept
    """

    name = '.purge'
    of_hidden = True

    def __init__(self, ring, peers, delay, logger):
        self.delay = delay
        self.removed = 0
        self._ring = ring
        self._peers = peers
        self._logger = logger

    def wants(self, item: Item) -> bool:
        return item.entry.kind is Kind.PURGE

    def run(self, database, items):
        shipped = min((database.point(peer) for peer in self._peers),
                      default=None)
        broker = database.broker
        part, nodes = self._ring.get_nodes(broker.account, broker.container)
        return [(item.rowid, (shipped is None or item.rowid <= shipped)
                 and self._removed(broker, part, nodes, item.row))
                for item in items]

    def _removed(self, broker, part, nodes, row):
        """
        Remove a marker that all replicas have; return whether that was done.
        """
        try:
            for node in nodes:
                _, found = direct_get_container(
                    node, part, broker.account, broker.container, limit=1,
                    prefix=row.name, headers=dict(RESERVED_NAMES))
                if not found or found[0]['name'] != row.name or \
                        found[0]['content_type'] != PURGE_MARKER:
                    return False
            for node in nodes:
                direct_delete_container_object(
                    node, part, broker.account, broker.container, row.name,
                    headers={**RESERVED_NAMES,
                             'X-Timestamp': str(Stamp(row.stamp.ticks + 1)),
                             'X-Backend-Storage-Policy-Index':
                                 str(broker.storage_policy_index)})
        except (ClientException, OSError, Timeout) as err:
            self._logger.warning('%s: a purge marker stays: %s', broker.path,
                                 err)
            return False
        self.removed += 1
        return True
