# SPDX-License-Identifier: Apache-2.0
"""Looks at all containers now and then, for what no row tells of.

It purges old versions of containers that say how long these are kept
(VERSIONING.md §6): ``X-Versions-Keep`` and ``X-Versions-Expire-Noncurrent``.
A version is *noncurrent* from when a newer one of its object was made. And it
makes the life record of a container that has none (§5), since its proxy died
before. The server of a container's first replica that is there looks at it;
what it does reaches the other sites like any change.
"""

import time
from collections.abc import Iterable, Iterator
from itertools import groupby

from swift.common.concurrency import Timeout, sleep

from swift_lightsync.versioning.core.life import EXPIRE, KEEP, Life
from swift_lightsync.versioning.core.row_data import VERSIONS, Entry, entry_of
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import MAX_ROWS, Page
from swift_lightsync.versioning.data.container_headers import (
    MODE,
    described,
    put_at,
    sysmeta,
)
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.sites.local_data import DataMissing

_DAY = 86400
#: Seconds in which the life record follows a hidden container.
_RECORD_SECONDS = 3600


def over(versions: Iterable[Entry], keep: int | None, days: int | None,
         now: float) -> Iterator[Entry]:
    """Yield the versions that are kept no longer, if there is a limit. One
    that either limit keeps stays, as in S3.

    :param versions: of one object, newest first
    :param keep: how many noncurrent ones, the newest, are kept; None: all
    :param days: since each became noncurrent; None: for ever
    :param now: Unix time
    """
    newer: Entry | None = None
    for number, entry in enumerate(versions):
        if newer is not None and (keep is None or number > keep) and (
                days is None or
                newer.version.id.seconds < now - days * _DAY):
            yield entry
        newer = entry


class Lifecycle:
    """Looks at all containers, every ``compare_interval``.

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
        keep, days = (int(headers[name]) if headers.get(name) else None
                      for name in (KEEP, EXPIRE))
        if keep is None and days is None:
            return
        rows = strategy.each(Page(VERSIONS, limit=MAX_ROWS))
        for _, versions in groupby(map(entry_of, rows),
                                   lambda entry: entry.object):
            for entry in over(versions, keep, days, time.time()):
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
                )).seconds < time.time() - _RECORD_SECONDS:
            # Its site is lost, or has failed to enable versions.
            strategy.set_life(Life(not strategy.is_empty(), Stamp(1),
                                   strategy.site))
