# SPDX-License-Identifier: Apache-2.0
"""What a propagator sees to so that containers live and die at all sites
(VERSIONING.md §5, core/life.py).
"""

import time
from functools import partial

from swift.common.concurrency import Timeout
from swift.common.direct_client import direct_delete_container
from swift.common.exceptions import ClientException
from swift.common.http import HTTP_CONFLICT, HTTP_NOT_FOUND
from swift.common.utils import Timestamp

from swift_lightsync.versioning.core.life import life_row
from swift_lightsync.versioning.core.row_data import LIFE, VERSIONS
from swift_lightsync.versioning.core.verb import Page, Request, WireRow
from swift_lightsync.versioning.data.container_headers import (
    MODE,
    is_as,
    put_at,
    sysmeta,
)
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.sites.applying import Refusal, living, make_as
from swift_lightsync.versioning.sites.local_data import DataMissing
from swift_lightsync.versioning.sites.upkeep_tasks import Upkeep

_LIVE = Page(VERSIONS, limit=1)
#: Of containers whose hidden one does not tell it.
_MODE = 'write-repair'


class LifeTask(Upkeep):
    """Sees to what life records say.

    1. A container that is said to exist is made what its record says, where it
       is missing, or is something else.
    2. A container that is said to be deleted is made again if it has a live
       version: its writer did not know of the deletion.
    3. A container that is there although it is said to be deleted is deleted:
       a proxy has died between the record and the deletion. If it was made or
       changed since, or has objects of its own, it is recorded to exist.
    4. If it has none for long enough, and all peers have all rows, its hidden
       container is deleted; without peers at once. (One that was sharded
       stays.)
    """

    name = '.life'

    def __init__(self, node):
        super().__init__(node)
        self.delay = node.options.repair_delay

    def wants(self, item):
        return item.life is not None

    def work_on(self, database, items):
        return [(item.rowid, self._settled(database, item.life))
                for item in items]

    def _settled(self, database, life):
        """Return whether nothing is left to be done for a record."""
        try:
            return (self._is_there if life.exists else self._is_gone)(
                database, life)
        except (RowsUnavailable, DataMissing, Refusal, ClientException,
                OSError, Timeout) as err:
            self._logger.warning('%s: its container is not as its record '
                                 'says: %s', database, err)
            return False

    def _headers(self, database):
        return self._node.source.headers(database.account,
                                         database.container)

    def _is_there(self, database, life):
        found = self._headers(database)
        if not is_as(life, found) and \
                self._node.strategy(database).life() == life:
            self._make(database, life, found)
        return True

    def _make(self, database, life, before):
        make_as(partial(self._node.source.make_container, database,
                      database.mode or _MODE),
              self._node.strategy(database), life, before)

    def _is_gone(self, database, life):
        with database.table() as table:
            live = table.page(_LIVE)
        # The record and the versions may be in two shards.
        if live or not (database.is_whole or
                        self._node.strategy(database).is_empty()):
            return self._revive(database, life)
        found = self._headers(database)
        if found.get(sysmeta(MODE)):
            self._finish(database, life, found)
            return False
        # Peers may have versions that come later.
        end = life.stamp.seconds + (
            self._node.options.reclaim_age if self._node.peers else 0)
        if end > time.time() or not database.is_whole or \
                database.items(database.shipped(self._node.peers), 1):
            return False
        return self._removed(database, life)

    def _revive(self, database, life):
        strategy = self._node.strategy(database)
        if strategy.life() == life:
            if strategy.is_empty():
                return False
            # First: a container is never there against its record.
            life = strategy.set_life(living(strategy, life))
            if life.exists:
                self._make(database, life, self._headers(database))
            self._logger.info('%s: its container was deleted, but has live '
                              'versions: it is made again', database)
        return True

    def _removed(self, database, life):
        """Delete the hidden container; return whether that was done."""
        # Who makes it again meanwhile does that at a later time.
        stamp = Timestamp(time.time()).internal
        place = database.account, database.hidden_container
        part, nodes = self._node.ring.get_nodes(*place)
        if not self._node.replicas.all(
                place, Request(names=(LIFE,), page=_LIVE), lambda answer: not (
                    answer.page or answer.shards) and
                answer.rows == (WireRow.of(life_row(life)),)):
            return False
        if self._headers(database).get(sysmeta(MODE)):
            return False
        for node in nodes:
            self._delete(node, part, place, stamp)
        return True

    def _finish(self, database, life, found):
        """Delete the user's container as of the time of its record, or, if it
        is newer or has objects, record that it exists: a replica that is or
        has any refuses to be deleted.

        :param found: its headers
        """
        strategy = self._node.strategy(database)
        # A clock that is ahead says nothing of what was made since.
        if life.stamp.seconds > time.time() or strategy.life() != life or \
                not strategy.is_empty():
            return
        place = database.account, database.container
        stamp = str(life.stamp)
        part, nodes = self._node.ring.get_nodes(*place)
        if int(found['X-Container-Object-Count']) or \
                put_at(found) > life.stamp or not all([
                    self._delete(node, part, place, stamp)
                    for node in nodes]):
            strategy.set_life(living(strategy, life))

    @staticmethod
    def _delete(node, part, place, stamp):
        """Delete one replica; return whether it is gone."""
        try:
            direct_delete_container(node, part, *place, headers={
                'X-Timestamp': stamp,
                'X-Backend-Allow-Reserved-Names': 'true'})
        except ClientException as err:
            if err.http_status not in (HTTP_NOT_FOUND, HTTP_CONFLICT):
                raise
            return err.http_status == HTTP_NOT_FOUND
        return True
