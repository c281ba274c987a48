# SPDX-License-Identifier: Apache-2.0
"""Tasks of the propagator for this site alone: they repair what writers have
left undone, adopt objects from before versioning, and remove purge records
that are no longer needed. ``Follower`` in sync_point describes the attributes
of a task.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from swift.common.concurrency import Timeout

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.versioning.core.heads import is_listed_right
from swift_lightsync.versioning.core.row_data import (
    Kind,
    Row,
    entry_of,
    listing_name,
    purge_name,
    version_name,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Request, WireRow
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
from swift_lightsync.versioning.sites.database import Item
from swift_lightsync.versioning.sites.local_data import DataMissing


class Upkeep:
    """What these tasks have in common.

    :param node: the ``VersionsPropagator``
    """

    name: str
    delay = 0.0
    wants: Callable[[Item], bool] | None = None
    of_hidden = True
    site = None
    #: nothing fails for long: it is always ready, and for all
    backoff = Backoff(0, 0)
    room = sys.maxsize

    def __init__(self, node: Any) -> None:
        self._node = node
        self._logger = node.logger

    def run(self, works):
        """Work on some items, on those of one database at once."""
        found: dict[Any, list[Any]] = {}
        for work in works:
            found.setdefault(work.database, []).append(work)
        for database, some in found.items():
            done = {}
            try:
                done = dict(self.work_on(database, [
                    work.item for work in some]))
            except (Exception, Timeout):
                # What is not done stays so, and is found again.
                self._logger.exception('%s: task %s failed', database,
                                       self.name)
            for work in some:
                (work.done if done.get(work.item.rowid) else work.failed)()

    def work_on(self, database, items):
        """Work on some items of a database.

        :returns: pairs of a ROWID and whether the item is done
        """
        raise NotImplementedError


@dataclass(frozen=True)
class _Held:
    """What a database holds of some items.

    :param heads: by object, the row of its newest version, or None
    :param rows: by name: listing rows, versions and purge records
    """
    heads: dict[str, Row | None]
    rows: dict[str, Row]

    @classmethod
    def of(cls, database, objects, entries):
        names = [*map(listing_name, objects), *(
            name for entry in entries for name in _names(entry))]
        with database.table() as table:
            heads = {obj: next(iter(table.newest(obj, 1)), None)
                     for obj in objects}
            return cls(heads, {row.name: row for row in table.named(names)})


def _names(entry):
    """Return the names of a version's row and of its purge record."""
    return [name(entry.object, entry.version.id)
            for name in (version_name, purge_name)]


class RepairTask(Upkeep):
    """Looks at what has come to a database, and repairs three things
    (VERSIONING.md §5).

    1. The listing row of Write-Repair: where one replica's does not follow the
       head that this replica holds, the server of the replica is asked to let
       it follow.
    2. Of several null versions of an object the newest stays: the writer of
       that one may have died before it purged the others, or a replica that
       was away has brought one back.
    3. A version that is there beside its purge record is purged again: only
       the container-replicator brings one to a database that has its record.
    """

    name = '.repair'

    def __init__(self, node):
        super().__init__(node)
        # Racing writers have finished then.
        self.delay = node.options.repair_delay
        self.repaired = 0

    def wants(self, item: Item) -> bool:
        return item.entry is not None

    def work_on(self, database, items):
        entries = [item.entry for item in items]
        objects = {entry.object for entry in entries}
        # Rows of one object may be in two shards.
        held = _Held.of(database, objects, entries) if database.is_whole \
            else None
        # Another replica's server looks at the rows of a hand-off later.
        listed = database.place[0] is not None and \
            database.mode not in ('read-repair', '')
        right = {obj: not listed or database.mode is not None and
                 self._tried(self._audit, database, obj, held)
                 for obj in objects}
        return [(item.rowid, self._tried(
            self._tidy, database, item.entry, held) and
            right[item.entry.object]) for item in items]

    def _tried(self, step, database, what, held):
        """Do a step; return whether that came to its end."""
        try:
            return step(database, what, held)
        except (RowsUnavailable, ClockRefused, DataMissing) as err:
            self._logger.warning('%s: not repaired: %s', database, err)
            return False

    def _audit(self, database, obj, held):
        """Repair a listing row that is wrong; return whether it is right now.
        """
        if held is None:
            strategy = self._node.strategy(database)
            strategy.rows.write(Request(obj, listed=True,
                                        stamp=strategy.tick()))
            return True
        if is_listed_right(held.rows.get(listing_name(obj)),
                           held.heads[obj], obj):
            return True
        if self._ask(database, Request(obj, listed=True)) is None:
            return False
        self.repaired += 1
        self._logger.increment('repaired')
        self._logger.info('%s: the listing row of %r was repaired', database,
                          obj)
        return True

    def _ask(self, database, request):
        """Return what the server of this very replica answers, or None."""
        place = database.account, database.hidden_container
        _, nodes = self._node.ring.get_nodes(*place)
        return self._node.replicas.one(place, request,
                                       nodes[database.place[0]])

    def _tidy(self, database, entry, held):
        """Finish what was left of purges."""
        names = _names(entry)
        rows = held.rows if held else self._node.strategy(database).rows.read(
            Request(names=tuple(names))).rows
        version, record = map(rows.get, names)
        if version and record and not (version.deleted or record.deleted):
            self._node.strategy(database).apply(entry_of(record))
        elif entry.null and not entry.purged:
            strategy = self._node.strategy(database)
            self._node.source.delete_data(
                database, strategy.replace_nulls(entry.object), strategy)
        return True


class AdoptTask(Upkeep):
    """Makes a null version of each object that is older than its container's
    versioning. So it goes to the other sites like any version.
    """

    name = '.adopt'
    of_hidden = False

    def work_on(self, database, items):
        strategy = self._node.strategy(database)
        return [(item.rowid, self._adopt(database, strategy, item))
                for item in items]

    def _adopt(self, database, strategy, item):
        try:
            self._node.source.adopt(database, item.entry.object, strategy)
        except (RowsUnavailable, DataMissing, ValueError) as err:
            self._logger.warning('%s: %r is not adopted: %s', database,
                                 item.entry.object, err)
            return False
        return True


class PurgeTask(Upkeep):
    """Removes a purge record once it is old and both all peers and all
    replicas of the container have it, and not the version: nothing can bring
    that back then.
    """

    name = '.purge'

    def __init__(self, node):
        super().__init__(node)
        self.delay = node.options.reclaim_age
        self.removed = 0

    def wants(self, item: Item) -> bool:
        return item.entry is not None and item.entry.kind is Kind.PURGE

    def work_on(self, database, items):
        shipped = database.shipped(self._node.peers)
        return [(item.rowid, item.rowid <= shipped and
                 self._removed(database, item.row)) for item in items]

    def _removed(self, database, row):
        """
        Remove a record that all replicas have; return whether that was done.
        """
        gone = replace(row, stamp=Stamp(row.stamp.ticks + 1), etag='',
                       content_type='application/deleted', deleted=True)
        broker = database.broker
        place = broker.account, broker.container
        entry = entry_of(row)
        names = row.name, version_name(entry.object, entry.version.id)

        def is_right(answer):
            return [each for each in answer.rows
                    if each.name == row.name or not each.deleted
                    ] == [WireRow.of(row)]
        replicas = self._node.replicas
        if not replicas.all(place, Request(names=names), is_right) or \
                not replicas.all(place, Request(rows=(WireRow.of(gone),)),
                                 lambda answer: not answer.left):
            return False
        self.removed += 1
        return True
