# SPDX-License-Identifier: Apache-2.0
"""
Tasks of the propagator for this site alone: they audit listing rows, adopt
objects from before versioning, finish what was left of purges, and remove
purge records that are no longer needed. ``Follower`` in sync_point describes
the attributes of a task.
"""

import sys
from dataclasses import replace
from typing import Any, Callable, Dict, List, Optional

from swift.common.concurrency import Timeout

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.versioning.core.heads import is_listed_right
from swift_lightsync.versioning.core.keys import (
    listing_name,
    purge_name,
    version_name,
)
from swift_lightsync.versioning.core.row_data import Kind, entry_of
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Request, WireRow
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
from swift_lightsync.versioning.sites.database import Item
from swift_lightsync.versioning.sites.local_data import DataMissing


class Upkeep:
    """What these tasks have in common."""

    name: str
    _logger: Any
    delay = 0.0
    wants: Optional[Callable[[Item], bool]] = None
    by_object = False
    of_hidden = True
    site = None
    #: nothing fails for long: it is always ready, and for all
    backoff = Backoff(0, 0)
    room = sys.maxsize

    def run(self, works):
        """Work on some items, on those of one database at once."""
        found: Dict[Any, List[Any]] = {}
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
        """
        Work on some items of a database.

        :returns: pairs of a ROWID and whether the item is done
        """
        raise NotImplementedError


class RepairTask(Upkeep):
    """
    The auditor of Write-Repair's listing rows (VERSIONING.md §5). Where one
    replica's does not follow the head that this replica holds, the server of
    the replica is asked to let it follow.

    :param strategy: a function of a ``Database`` that returns its strategy
    :param replicas: a function of a ``Database`` that returns ``Replicas``
    :param delay: seconds after which racing writers have finished
    """

    name = '.repair'
    by_object = True

    def __init__(self, strategy, replicas, delay, logger):
        self.delay = delay
        self.repaired = 0
        self._strategy = strategy
        self._replicas = replicas
        self._logger = logger

    def wants(self, item: Item) -> bool:
        return item.entry is not None

    def work_on(self, database, items):
        # Another replica's server looks at the rows of a hand-off later.
        if database.mode == 'read-repair' or database.place[0] is None or \
                database.mode == '':
            return [(item.rowid, True) for item in items]
        if database.mode is None:
            return [(item.rowid, False) for item in items]
        done = {obj: self._audit(database, obj)
                for obj in {item.entry.object for item in items}}
        return [(item.rowid, done[item.entry.object]) for item in items]

    def _audit(self, database, obj):
        """
        Repair a listing row that is wrong; return whether it is right now.
        """
        try:
            if not database.is_whole:
                # The versions and the listing row may be in two shards.
                strategy = self._strategy(database)
                strategy.rows.write(Request(obj, listed=True,
                                            stamp=strategy.tick()))
                return True
            if self._is_right(database, obj):
                return True
            done = self._ask(database, Request(obj, listed=True))
        except RowsUnavailable as err:
            self._logger.warning('%s: the listing row of %r is not looked '
                                 'at: %s', database, obj, err)
            return False
        if done is None:
            return False
        self.repaired += 1
        self._logger.increment('repaired')
        self._logger.info('%s: the listing row of %r was repaired', database,
                          obj)
        return True

    def _ask(self, database, request):
        """Return what the server of this very replica answers, or None."""
        place = database.account, database.hidden_container
        replicas = self._replicas(database)
        _, nodes = replicas.ring.get_nodes(*place)
        return replicas.one(place, request, nodes[database.place[0]])

    @staticmethod
    def _is_right(database, obj):
        with database.table() as table:
            heads = table.newest(obj, 1)
            known = table.named([listing_name(obj)])
        return is_listed_right(known[0] if known else None,
                               heads[0] if heads else None, obj)


class AdoptTask(Upkeep):
    """
    Makes a null version of each object that is older than its container's
    versioning. So it goes to the other sites like any version.

    :param strategy: a function of a ``Database`` that returns its strategy
    :param source: ``LocalData``
    """

    name = '.adopt'
    of_hidden = False

    def __init__(self, strategy, source, logger):
        self._strategy = strategy
        self._source = source
        self._logger = logger

    def work_on(self, database, items):
        strategy = self._strategy(database)
        return [(item.rowid, self._adopt(database, strategy, item))
                for item in items]

    def _adopt(self, database, strategy, item):
        try:
            self._source.adopt(database.account, database.container,
                               item.entry.object, strategy)
        except (RowsUnavailable, DataMissing, ValueError) as err:
            self._logger.warning('%s: %r is not adopted: %s', database,
                                 item.entry.object, err)
            return False
        return True


class TidyTask(Upkeep):
    """
    Finishes purges.

    1. Of several null versions of an object the newest stays: the writer of
       that one may have died before it purged the others, or a replica that
       was away has brought one back.
    2. A version that is there beside its purge record is purged again: only
       the container-replicator brings one to a database that has its record.

    :param strategy: a function of a ``Database`` that returns its strategy
    :param source: ``LocalData``
    :param delay: seconds after which writers have finished
    """

    name = '.tidy'

    def __init__(self, strategy, source, delay, logger):
        self.delay = delay
        self._strategy = strategy
        self._source = source
        self._logger = logger

    def wants(self, item: Item) -> bool:
        return item.entry is not None

    def work_on(self, database, items):
        return [(item.rowid, self._tidied(database, item.entry))
                for item in items]

    def _tidied(self, database, entry):
        try:
            record = self._record_beside(database, entry)
            if record is not None:
                self._strategy(database).apply(record)
            elif entry.null and not entry.purged:
                self._replace_nulls(database, entry.object)
        except (RowsUnavailable, ClockRefused, DataMissing) as err:
            self._logger.warning('%s: a purge of %r is not finished: %s',
                                 database, entry.object, err)
            return False
        return True

    def _record_beside(self, database, entry):
        """Return what says that a live version is purged, or None."""
        stamp = entry.version.id
        names = [name(entry.object, stamp)
                 for name in (version_name, purge_name)]
        if database.is_whole:
            with database.table() as table:
                rows = {row.name: row for row in table.named(names)}
        else:
            # They may be in two shards.
            rows = self._strategy(database).rows.read(
                Request(names=tuple(names))).rows
        version, record = map(rows.get, names)
        if version is None or record is None or version.deleted or \
                record.deleted:
            return None
        return entry_of(record)

    def _replace_nulls(self, database, obj):
        strategy = self._strategy(database)
        self._source.delete_data(database.account, database.container,
                                 strategy.replace_nulls(obj), strategy)


class PurgeTask(Upkeep):
    """
    Removes a purge record once it is old and both all peers and all replicas
    of the container have it, and not the version: nothing can bring that back
    then.

    :param replicas: a function of a ``Database`` that returns ``Replicas``
    :param peers: the names of all peers
    :param delay: seconds for which records are kept
    """

    name = '.purge'

    def __init__(self, replicas, peers, delay, logger):
        self.delay = delay
        self.removed = 0
        self._replicas = replicas
        self._peers = peers
        self._logger = logger

    def wants(self, item: Item) -> bool:
        return item.entry is not None and item.entry.kind is Kind.PURGE

    def work_on(self, database, items):
        shipped = database.shipped(self._peers)
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
        replicas = self._replicas(database)
        _, nodes = replicas.ring.get_nodes(*place)
        entry = entry_of(row)
        names = row.name, version_name(entry.object, entry.version.id)
        for node in nodes:
            answer = replicas.one(place, Request(names=names), node)
            if answer is None or [
                    each for each in answer.rows
                    if each.name == row.name or not each.deleted
                    ] != [WireRow.of(row)]:
                return False
        for node in nodes:
            answer = replicas.one(
                place, Request(rows=(WireRow.of(gone),)), node)
            if answer is None or answer.left:
                return False
        self.removed += 1
        return True
