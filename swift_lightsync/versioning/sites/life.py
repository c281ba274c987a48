# SPDX-License-Identifier: Apache-2.0
"""What a propagator sees to so that containers live and die at all sites
(VERSIONING.md §5, core/life.py), and so that old versions go (§6).
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from swift.common.concurrency import Timeout, sleep
from swift.common.direct_client import (
    direct_delete_container,
    direct_head_container,
)
from swift.common.exceptions import ClientException
from swift.common.http import HTTP_CONFLICT, HTTP_NOT_FOUND
from swift.common.utils import Timestamp

from swift_lightsync.versioning.core.life import Life, life_row
from swift_lightsync.versioning.core.row_data import (
    LIFE,
    VERSIONS,
    Entry,
    entry_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import (
    MAX_ROWS,
    Page,
    Request,
    WireRow,
)
from swift_lightsync.versioning.data.container_headers import (
    MODE,
    described,
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
_SYSMETA = 'X-Container-Sysmeta-Site-Versions-'
KEEP = _SYSMETA + 'Keep'
EXPIRE = _SYSMETA + 'Expire-Noncurrent'
_DAY = 86400
#: Seconds in which the life record follows a hidden container.
_UNDER_WAY = 3600


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
        if self._headers(database).get(sysmeta(MODE)):
            self._finish(database, life)
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

    def _finish(self, database, life):
        """Delete the user's container as of the time of its record, or, if a
        replica is newer or has objects, record that it exists.
        """
        strategy = self._node.strategy(database)
        # A clock that is ahead says nothing of what was made since.
        if life.stamp.seconds > time.time() or strategy.life() != life or \
                not strategy.is_empty():
            return
        place = database.account, database.container
        stamp = str(life.stamp)
        part, nodes = self._node.ring.get_nodes(*place)
        # Of all replicas or of none.
        if any([self._is_used(node, part, place, life.stamp)
                for node in nodes]) or not all([
                    self._delete(node, part, place, stamp)
                    for node in nodes]):
            strategy.set_life(living(strategy, life))

    @staticmethod
    def _is_used(node, part, place, stamp):
        """Check whether a replica was made since, or has objects."""
        try:
            found = direct_head_container(node, part, *place)
        except ClientException as err:
            if err.http_status != HTTP_NOT_FOUND:
                raise
            return False
        return int(found['X-Container-Object-Count']) > 0 or \
            put_at(found) > stamp

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


@dataclass(frozen=True)
class Limits:
    """How long noncurrent versions are kept. One that either limit keeps
    stays, as in S3.

    :param keep: how many of an object, the newest; None: all
    :param days: since each became noncurrent; None: for ever
    """
    keep: int | None = None
    days: int | None = None

    @classmethod
    def of(cls, headers) -> 'Limits':
        """Read the headers of a container.

        :raises ValueError: if there are others than the filter stores
        """
        return cls(*(int(headers[name]) if headers.get(name) else None
                     for name in (KEEP, EXPIRE)))

    def over(self, versions: Iterable[Entry], now: float) -> Iterator[Entry]:
        """Yield the versions that are kept no longer, if there is a limit.

        :param versions: of one object, newest first
        :param now: Unix time
        """
        newer: Entry | None = None
        for number, entry in enumerate(versions):
            if newer is not None and (
                    self.keep is None or number > self.keep) and (
                    self.days is None or
                    newer.version.id.seconds < now - self.days * _DAY):
                yield entry
            newer = entry


class Lifecycle:
    """Looks at all containers now and then, for what no row tells of.

    It purges old versions of containers that say how long these are kept:
    ``X-Versions-Keep`` and ``X-Versions-Expire-Noncurrent``. A version is
    *noncurrent* from when a newer one of its object was made. And it makes
    the life record of a container that has none, since its proxy died before.
    The server of a container's first replica that is there looks at it, every
    ``compare_interval``; what it does reaches the other sites like any change.

    :param node: the ``VersionsPropagator``
    """

    def __init__(self, node):
        self._node = node
        self._logger = node.logger

    def run_forever(self):
        while True:
            sleep(self._node.options.compare_interval)
            self.run_pass()

    def run_pass(self):
        """Look at all containers now."""
        for database in self._node.first_replicas():
            try:
                self._look(database)
            except (RowsUnavailable, DataMissing) as err:
                self._logger.warning('%s: its old versions stay: %s',
                                     database, err)
            except (Exception, Timeout):
                # The next look sees the same.
                self._logger.exception('%s: its old versions stay', database)

    def _look(self, database):
        headers = self._node.source.headers(database.account,
                                            database.container)
        strategy = self._node.strategy(database)
        if strategy.life() is None:
            self._record(database, headers, strategy)
        limits = Limits.of(headers)
        if limits == Limits():
            return
        rows = strategy.each(Page(VERSIONS, limit=MAX_ROWS))
        for _, versions in groupby(map(entry_of, rows),
                                   lambda entry: entry.object):
            for entry in limits.over(versions, time.time()):
                strategy.purge(entry)
                self._node.source.delete_data(database, [entry], strategy)
                self._logger.increment('expired')

    def _record(self, database, headers, strategy):
        """Make a life record that any other is better than.

        :param headers: of the user's container; none: it is not there
        """
        if headers.get(sysmeta(MODE)):
            # Before then: that of the change itself is better, if it comes.
            stamp = Stamp(put_at(headers).ticks - 1)
            strategy.set_life(Life(True, stamp, strategy.site).describing(
                described(headers)))
        elif not headers and put_at(self._node.source.headers(
                database.account, database.hidden_container
                )).seconds < time.time() - _UNDER_WAY:
            # Its site is lost, or has failed to enable versions.
            strategy.set_life(Life(not strategy.is_empty(), Stamp(1),
                                   strategy.site))
