# SPDX-License-Identifier: Apache-2.0
"""The task of the propagator that gives a peer each version it lacks."""

import random
import time

from swift.common.concurrency import GreenPool, Timeout
from swift.common.utils import close_if_possible

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.versioning.core.shipping import Offered
from swift_lightsync.versioning.sites.local_data import DataMissing
from swift_lightsync.versioning.sites.peer_client import (
    PeerDown,
    PeerRefused,
    Truncated,
)


def offered(item):
    """Return the ``Offered`` of an ``Item``."""
    entry = item.entry
    return Offered(entry.object, entry.version.id, entry.version.site,
                   entry.kind, entry.changed)


class PeerTask:
    """
    Offers versions to a peer, and ships those that it lacks.

    :param client: a ``PeerClient``
    :param source: ``LocalData``
    :param options: ``PropagatorOptions``
    :param limit: a function that returns when a version may be sent
    """

    delay = 0
    wants = None
    by_object = False
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

    def run(self, database, items):
        try:
            lacking = self.client.offer(
                database.account, database.container,
                [offered(item) for item in items])
            self.backoff.succeeded()
        except PeerDown as err:
            self._failed(err)
            return []
        except PeerRefused as err:
            self._refused(database, err)
            return [(item.rowid, False) for item in items]
        done = {item.rowid: True for item in items}
        pool = GreenPool(self._concurrency)
        done.update(pool.imap(
            lambda place: (items[place].rowid,
                           self._ship(database, items[place])), lacking))
        return list(done.items())

    def _ship(self, database, item):
        """Ship a version; return whether the peer has it now."""
        # A peer that has gone is not waited for once for each version.
        if self._now() < self.backoff.until:
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
