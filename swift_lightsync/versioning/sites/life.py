# SPDX-License-Identifier: Apache-2.0
"""Containers live and die at all sites (VERSIONING.md §5, core/life.py): what
a site does with another one's life record, and what a propagator sees to.
"""

import time
from dataclasses import replace
from functools import partial

from swift.common.concurrency import Timeout
from swift.common.direct_client import (
    direct_delete_container,
    direct_head_container,
)
from swift.common.exceptions import ClientException
from swift.common.http import (
    HTTP_CONFLICT,
    HTTP_NOT_FOUND,
    is_server_error,
    is_success,
)
from swift.common.swob import HTTPException
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
from swift_lightsync.versioning.sites.local_data import DataMissing
from swift_lightsync.versioning.sites.upkeep_tasks import Upkeep

_LIVE = Page(VERSIONS, limit=1)
#: Of containers whose hidden one does not tell it.
_MODE = 'write-repair'
#: Seconds for which what a deletion knew of may come after it. An older one
#: was here, and is gone; sites would tell each other of it again and again.
_UNDER_WAY = 86400


class Refusal(Exception):
    """What another site has sent is refused.

    :param status: of the answer
    """

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


def apply_life(helper, env, account, container, life, policy):
    """Follow the life record of another site, if it is newer than ours: take
    it, and have Swift do what it says.

    :param helper: ``SiteRequests``
    :param env: of the other site's request
    :param container: the user's
    :param life: the record, a ``Life``
    :param policy: the name of the container's storage policy there
    :raises Refusal: if the container does not follow now
    :raises HTTPException: if Swift refuses to make the container
    :raises RowsUnavailable: if too few container servers answer
    """
    found = _opened(helper, (env, account, container), life, policy)
    if found is None:
        return
    mine = found.strategy.life()
    if mine and mine.stamp >= life.stamp:
        return
    if not life.exists and not found.strategy.is_empty():
        raise Refusal(HTTP_CONFLICT, 'the container has versions; their '
                      'purges are not here yet, or they not there')
    if life.is_older_than(mine):
        # Who deletes or revives it may not know what it has become here.
        life = _next(found.strategy, life, mine)
    if life.exists:
        # First: nobody finds the container without a record. What comes to
        # its middle only `.life` ends.
        found.strategy.set_life(life)
        _make(found.make, found.strategy, life, found.headers())
    else:
        _delete(found, life)


def _opened(helper, path, life, policy):
    """Return the container of a record; None: it is a deletion of what is not
    here, and cannot come.
    """
    if life.exists:
        return helper.open(*path, policy)
    found = helper.open(*path)
    if found or life.stamp.seconds < time.time() - _UNDER_WAY:
        return found
    try:
        return helper.open(*path, policy)
    except HTTPException as err:
        if is_server_error(err.status_int):
            raise
        return None


def _next(strategy, life, other=None):
    """Return a record that counts instead of another one, and no later than
    need be: a deletion that has not come here may have known of all of this.

    :param other: the record that says what the container is; None: the same
    """
    return life.after(strategy.clock.tick(0, life.stamp), strategy.site,
                      other)


def _living(strategy, life):
    """Return the record of a container that lives on against its deletion."""
    return replace(_next(strategy, life), exists=True)


def _make(make, strategy, life, before):
    """Have Swift make a container what its record says.

    :param make: does it, and returns a status
    :param before: the headers that it has; none: it is not there
    """
    status = make(life, before)
    if status == HTTP_CONFLICT and strategy.life() == life:
        # Its deletion, which is newer, has no record.
        life = life.after(strategy.tick(), strategy.site)
        strategy.set_life(life)
        status = make(life, before)
    if not is_success(status) and strategy.life() == life:
        raise Refusal(503, 'PUT of the container: %d' % status)


def _delete(container, life):
    """Record the deletion of a container, and delete it as of its record; if
    it was made again since, record that instead.
    """
    strategy = container.strategy
    if not container.exists:
        strategy.set_life(life)
        return
    found = container.headers()
    if int(found.get('X-Container-Object-Count', 0)):
        # These become versions, which its deleter did not know of.
        raise Refusal(HTTP_CONFLICT, 'the container has objects that are '
                      'older than its versioning')
    # A deletion that is refused clears the metadata all the same.
    if put_at(found) <= life.stamp:
        # First: who is refused to make the container finds out why.
        strategy.set_life(life)
        status = container.delete(life)
        if is_success(status) or status == HTTP_NOT_FOUND:
            return
        if status != HTTP_CONFLICT:
            raise Refusal(503, 'DELETE of the container: %d' % status)
    strategy.set_life(_living(strategy, life))


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
        _make(partial(self._node.source.make_container, database,
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
            life = _living(strategy, life)
            strategy.set_life(life)
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
        # A deletion that is refused clears the metadata all the same.
        if any([self._is_used(node, part, place, life.stamp)
                for node in nodes]) or not all([
                    self._delete(node, part, place, stamp)
                    for node in nodes]):
            strategy.set_life(_living(strategy, life))

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
