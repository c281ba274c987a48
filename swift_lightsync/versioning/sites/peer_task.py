# SPDX-License-Identifier: Apache-2.0
"""
A task of the propagator: a peer gets each version that it lacks.

A task has a ``name``, for its sync points; ``wants`` tells of an item whether
it is a matter of this task at all, ``delay`` after how many seconds it is,
``subject`` what it is about, if the last item about it stands for all before;
``is_ready`` whether anything can be done now; ``run`` does the work for some
items of one database, and yields (ROWID, whether it is done) of each.
"""

import random
import time

from swift.common.concurrency import GreenPool, Timeout
from swift.common.utils import close_if_possible

from swift_lightsync.versioning.core.shipping import Offered
from swift_lightsync.versioning.core.sync_point import Backoff
from swift_lightsync.versioning.sites.local_data import DataMissing
from swift_lightsync.versioning.sites.peer_client import (
    PeerDown,
    PeerRefused,
    Truncated,
)


def offered(item):
    """:returns: the ``Offered`` of an ``Item``"""
    entry = item.entry
    return Offered(entry.object, entry.version.id, entry.version.site,
                   entry.kind, entry.changed)


class PeerTask:
    """
    :param client: a ``PeerClient``
    :param source: ``LocalData``
    :param options: ``PropagatorOptions``
    :param limit: a function that returns when a version may be sent
    """

    delay = 0
    of_hidden = True

    def __init__(self, client, source, options, logger, limit=lambda: None,
                 now=time.time):
        self.name = client.peer.name
        self.client = client
        self.backoff = Backoff(options.retry_delay, options.max_retry_delay,
                               random.random)
        self.shipped = 0
        self.shipped_bytes = 0
        self.error = ''
        self._source = source
        self._concurrency = options.concurrency
        self._logger = logger
        self._limit = limit
        self._now = now

    def wants(self, item):
        return True

    def subject(self, item):
        return None

    def is_ready(self, now):
        return self.backoff.may_try(now)

    def run(self, database, items):
        try:
            lacking = self.client.offer(
                database.account, database.container,
                [offered(item) for item in items])
            self.backoff.succeeded()
        except PeerDown as err:
            self._failed(err)
            return
        except PeerRefused as err:
            self._refused(database, err)
            yield from ((item.rowid, False) for item in items)
            return
        missing = [items[place] for place in lacking]
        known = {item.rowid for item in missing}
        yield from ((item.rowid, True) for item in items
                    if item.rowid not in known)
        pool = GreenPool(self._concurrency)
        yield from pool.imap(lambda item: (
            item.rowid, self._ship(database, item)), missing)

    def _ship(self, database, item):
        """:returns: whether the peer has it now"""
        # A peer that has gone is not waited for once for each version.
        if not self.is_ready(self._now()):
            return False
        self._limit()
        start, data = time.time(), ()
        try:
            shipment, data = self._source.open(database, item)
            self.client.ship(database.account, database.container, shipment,
                             data)
        except PeerDown as err:
            self._failed(err)
            return False
        except (PeerRefused, DataMissing, Truncated) as err:
            self._refused(database, err)
            return False
        except (Exception, Timeout) as err:
            # The version stays, and is tried again.
            self._logger.exception('%s: row %d was not shipped to site %s',
                                   database, item.rowid, self.name)
            self.error = str(err)
            return False
        finally:
            close_if_possible(data)
        self.shipped += 1
        self.shipped_bytes += shipment.length
        self._logger.increment('shipped.%s.%s' % (item.entry.kind.value,
                                                  self.name))
        self._logger.update_stats('bytes.%s' % self.name, shipment.length)
        self._logger.timing_since('ship.timing', start)
        return True

    def _failed(self, err):
        self.error = str(err)
        self.backoff.failed(self._now())
        self._logger.increment('failures.%s' % self.name)
        self._logger.warning('%s; next try in %.1f s', err,
                             self.backoff.until - self._now())

    def _refused(self, database, err):
        self.error = str(err)
        self._logger.increment('held.%s' % self.name)
        self._logger.warning('%s: held for site %s: %s', database, self.name,
                             err)
