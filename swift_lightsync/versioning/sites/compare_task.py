# SPDX-License-Identifier: Apache-2.0
"""Compares what this site and another one have, all containers every few hours
(VERSIONING.md §5), and offers again what differs: nobody has to trust that
what was once shipped is still there.

1. The server of a container's first replica that is there compares it: 1,000
   containers in one request, by the roots of their digests.
2. Where the roots differ, this site offers all its versions and purges in the
   buckets that do, and its life record. The other site does the same.
3. Such a container is compared again soon, and is different until a comparison
   finds no bucket that has differed in each one since the first.
"""

import random
import time
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from swift.common.concurrency import GreenPool, Queue, Timeout, sleep

from swift_lightsync.common.backoff import delay_after
from swift_lightsync.versioning.core.comparing import (
    LIFE_BUCKET,
    MAX_COMPARED,
    MAX_DIFFERENT,
    Compared,
    Difference,
    Differences,
    Digest,
    bucket_of,
)
from swift_lightsync.versioning.core.life import life_row
from swift_lightsync.versioning.core.row_data import PURGES, VERSIONS, entry_of
from swift_lightsync.versioning.core.shipping import MAX_HEAD, bounded, encoded
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.sync_point import PAGE
from swift_lightsync.versioning.core.verb import MAX_ROWS, Page
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.sites.database import BROKER_ERRORS, Item
from swift_lightsync.versioning.sites.peer_client import PeerDown, PeerRefused
from swift_lightsync.versioning.sites.shared import BOUND

#: Seconds after which a version should be at all sites.
SETTLED = 300
#: Containers whose digests are read at the same time.
READERS = 4
#: The logs of both sites say of which containers.
UNREADABLE = 'there are containers whose rows no server tells'
#: Bytes of a container in a comparison, without its names.
_COMPARED = 100


def told_differences(helper, env, comparison):
    """Compare what another site has with what this one has, within ``BOUND``.

    :param helper: ``SiteRequests``
    :param env: of the other site's request
    :param comparison: a ``Comparison``
    :returns: ``Differences``
    """
    def digest(asked):
        try:
            found = helper.open(env, asked.account, asked.container)
            return found.strategy.rows.digest(comparison.until) if found \
                else Digest()
        except RowsUnavailable as err:
            return Digest() if err.missing else None

    different, unknown, looked = [], [], 0
    end = time.monotonic() + BOUND
    mine = GreenPool(READERS).imap(digest, comparison.containers)
    for place, found in enumerate(mine):
        looked = place + 1
        if found is None:
            unknown.append(place)
        elif found.root != comparison.containers[place].root:
            different.append(Difference(place, found.buckets))
        if len(different) == MAX_DIFFERENT or time.monotonic() >= end:
            break
    return Differences(looked, tuple(different), tuple(unknown))


class _Again:
    """A version that is offered again: a ``Work`` of no follower."""

    fresh = False

    def __init__(self, database, item, ended):
        self.database, self.item = database, item
        self.size = item.entry.size if item.entry else 0
        self._ended = ended

    def done(self):
        ended, self._ended = self._ended, lambda: None
        ended()

    failed = done

    def put_back(self, until=None):
        # The next comparison finds it again.
        self.done()


@dataclass(frozen=True)
class _Differs:
    """A container that differs.

    :param buckets: that have differed in each comparison since then
    :param since: when that was first seen, Unix time
    :param count: how often it was
    :param until: when it is compared again, Unix time
    """
    buckets: frozenset[int]
    since: float
    count: int
    until: float


class CompareTask:
    """Compares all containers with one peer.

    :param node: the ``VersionsPropagator``
    :param task: the ``PeerTask`` of the peer
    """

    def __init__(self, node, task, now=time.time):
        self._task = task
        self._node = node
        self._databases = node.databases
        self._options = node.options
        self._logger = node.logger
        self._now = now
        #: when everything had been compared, Unix time, or None
        self.compared = None
        #: why that was not done since, or ''
        self.error = ''
        self._failures = 0
        # By account and container.
        self._differing: dict[Any, _Differs] = {}
        self._next = now() + random.random() * \
            self._options.compare_interval

    @property
    def differing(self):
        """How many containers differ."""
        return len(self._differing)

    @property
    def since(self):
        """Since when the first one differs, Unix time, or None."""
        return min((each.since for each in self._differing.values()),
                   default=None)

    def run_forever(self):
        """Compare everything, each time after the interval."""
        while True:
            try:
                self.run_due()
            except (Exception, Timeout):
                # The next comparison sees the same.
                self._logger.exception('Site %s was not compared',
                                       self._task.name)
            sleep(self._options.scan_interval)

    def run_due(self):
        """Compare what is due."""
        if self._now() >= self._next:
            self.run_pass()
        due = {place for place, each in self._differing.items()
               if each.until <= self._now()}
        self._compare_all(list({
            _place(each): each for each in self._databases.roots()
            if _place(each) in due}.values()), 0)

    def run_pass(self):
        """Compare everything now."""
        start = self._now()
        databases = self._node.first_replicas()
        for place in set(self._differing) - set(map(_place, databases)):
            del self._differing[place]
        # In half of the interval: that leaves time for delays.
        self.error = self._compare_all(
            databases, self._options.compare_interval * MAX_COMPARED / 2 /
            max(1, len(databases)))
        self._failures = self._failures + 1 if self.error else 0
        if not self.error:
            self.compared = start
        self._next = start + (delay_after(
            self._failures, self._options.max_retry_delay,
            self._options.compare_interval) or self._options.compare_interval)

    def _compare_all(self, databases, pause):
        """Compare containers; return why some were not, or ''."""
        complete = True
        for number, some in enumerate(bounded(
                databases, MAX_COMPARED, MAX_HEAD, _weight)):
            if number:
                sleep(pause)
            try:
                complete &= self._compare(some)
            except (PeerDown, PeerRefused) as err:
                self._logger.warning('Not compared: %s', err)
                return str(err)
        return '' if complete else UNREADABLE

    def _compare(self, databases):
        """Compare some containers, and offer again what differs.

        :returns: whether both sites could tell of all of them
        """
        until = Stamp(int((self._now() - SETTLED) * TICKS))
        known = [pair for pair in zip(databases, GreenPool(READERS).imap(
            lambda each: self._digest(each, until), databases))
            if pair[1] is not None]
        complete = len(known) == len(databases)
        while known:
            told = self._task.client.compare(until, [
                Compared(database.account, database.container, digest.root)
                for database, digest in known])
            complete &= not told.unknown and told.looked > 0
            theirs = {each.place: each.digest for each in told.different}
            for place, (database, digest) in enumerate(known[:told.looked]):
                if place not in told.unknown:
                    self._see(database, digest.differing(
                        theirs.get(place, digest)))
            if not told.looked:
                break
            known = known[told.looked:]
        return complete

    def _digest(self, database, until):
        try:
            return self._node.strategy(database).rows.digest(until)
        except RowsUnavailable as err:
            self._logger.warning('%s: not compared: %s', database, err)
            return None

    def _see(self, database, buckets):
        """Remember which buckets of a container differ, and offer them."""
        place, now = _place(database), self._now()
        before = self._differing.pop(place, None)
        if not buckets or self._is_behind(database):
            return
        common = buckets & before.buckets if before else buckets
        count = before.count + 1 if before and common else 1
        self._differing[place] = _Differs(
            common or buckets, before.since if before and common else now,
            count, now + delay_after(count, self._options.max_retry_delay,
                                     self._options.compare_interval))
        self._logger.increment('differing.%s' % self._task.name)
        self._logger.info('%s: %d of its buckets differ at site %s', database,
                          len(buckets), self._task.name)
        try:
            self._offer(database, buckets)
        except (RowsUnavailable, *BROKER_ERRORS) as err:
            self._logger.warning('%s: not offered again: %s', database, err)

    def _is_behind(self, database):
        """Check whether much has never been offered yet."""
        point = database.point(self._task.name)
        return len(database.items(point, PAGE)) == PAGE

    def _offer(self, database, buckets):
        strategy = self._node.strategy(database)
        life = strategy.life() if LIFE_BUCKET in buckets else None
        if life:
            self._run(database, [Item(0, life_row(life), None, life)])
        rows = chain.from_iterable(
            strategy.each(Page(prefix, limit=MAX_ROWS))
            for prefix in (VERSIONS, PURGES))
        items = (Item(0, row, entry) for row, entry in (
            (row, entry_of(row)) for row in rows)
            if bucket_of(entry.object) in buckets)
        while some := list(islice(items, MAX_ROWS)):
            self._run(database, some)

    def _run(self, database, items):
        """Let the peer's task offer items, and wait until it has."""
        ended = Queue()
        works = [_Again(database, item, lambda: ended.put(None))
                 for item in items]
        self._task.run(works)
        for _ in works:
            ended.get()


def _place(database):
    return database.account, database.container


def _weight(database):
    return _COMPARED + len(encoded(_place(database)))
