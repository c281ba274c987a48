# SPDX-License-Identifier: Apache-2.0
"""The task of the propagator that gives a peer each version it lacks.

1. What the peer itself has made it has. (Comparisons find what it has lost.)
2. A small version, or a life record, that was just made at this site, and
   that nobody has tried, is shipped at once: the peer lacks it. All others are
   offered before.
3. Small ones travel in packs, of many containers; a large one travels alone.
4. The peer is given only as much as it does in a few seconds, see ``Pace``.
   Large ones take half of the connections at most, so that small ones do not
   wait for them.
"""

import random
import time
from typing import Any

from swift.common.concurrency import GreenPool, Timeout, spawn

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.versioning.core.outbox import Outbox, Pace, Verb
from swift_lightsync.versioning.core.shipping import (
    LATER,
    MAX_PACK,
    MAX_PACKED,
    MAX_SMALL,
    Group,
    Offered,
    bounded,
)
from swift_lightsync.versioning.sites.local_data import DataMissing
from swift_lightsync.versioning.sites.outgoing import Truncated
from swift_lightsync.versioning.sites.peer_client import PeerDown, PeerRefused

#: Versions of a pack that are read at the same time.
READERS = 8
#: Work that is under way at a peer at most, and what may wait for that.
MOST = 4096
WAITING = 256

def offered(database, items):
    """Return the ``Group`` that offers some items of a database.

    :param items: each an ``Item``; the life record, if it is one, first
    """
    entries = [item.entry for item in items if item.entry]
    life = items[0].life
    return Group(database.account, database.container, tuple(
        Offered(entry.object, entry.version.id, entry.version.site,
                entry.kind, entry.changed) for entry in entries),
        life and life.stamp)


class PeerTask:
    """Offers versions to a peer, and ships those that it lacks.

    :param client: a ``PeerClient``
    :param reader: ``Reader``
    :param options: ``PropagatorOptions``
    :param limit: a function that returns when a version may be sent
    """

    delay = 0
    of_hidden = True

    def __init__(self, client, reader, options, logger, limit=lambda: None,
                 now=time.time):
        self.name = client.peer.name
        self.site = client.site
        self.client = client
        self.backoff = Backoff(options.retry_delay, options.max_retry_delay,
                               random.random)
        self.pace = Pace(MOST)
        self.shipped = 0
        self.shipped_bytes = 0
        self.error = ''
        self._reader = reader
        self._options = options
        self._logger = logger
        self._limit = limit
        self._now = now
        self._outbox = Outbox(self.pace, options.concurrency,
                              options.batch_size)
        self._jobs = {Verb.OFFER: self._offer, Verb.PACK: self._ship_small,
                      Verb.STREAM: self._ship_large}

    def wants(self, item):
        """Leave out what the peer itself has made."""
        entry = item.entry
        if entry is None:
            return item.life.site != self.name
        return entry.version.site != self.name or bool(
            entry.purged or entry.changed)

    @property
    def room(self):
        """How many more items may wait here; the others wait in turn."""
        return max(WAITING, 2 * int(self.pace.size)) - self._outbox.waiting

    def run(self, works):
        """Start to work on some items; see ``TaskRunner``."""
        for work in works:
            (self._outbox.ship if self._is_lacked(work) else
             self._outbox.ask)([work])
        self._send_on()

    def _is_lacked(self, work):
        """Check that the peer surely lacks a version, and nothing is lost."""
        entry = work.item.entry
        made = entry.version if entry else work.item.life
        return work.fresh and made.site == self.client.site and not (
            work.size > MAX_SMALL or entry and entry.changed)

    # Requests

    def _send_on(self):
        """Start as many requests as the peer is to have under way."""
        while sending := self._outbox.next():
            spawn(self._run, sending)

    def _run(self, sending):
        left: list[Any] = []
        try:
            # A peer that has gone is not waited for by each of many.
            if self._now() >= self.backoff.until:
                left = self._guarded(sending)
        finally:
            self._outbox.ended(sending)
            for work in set(sending.works).difference(left):
                work.put_back()
            self._outbox.ship(left)
            self._send_on()

    def _guarded(self, sending):
        """Make a request; return the works that are to be shipped after it."""
        works, burst = sending.works, sending.burst
        try:
            left = self._jobs[sending.verb](works, burst)
            self.backoff.succeeded()
            return left
        except PeerDown as err:
            self._failed(err)
        except PeerRefused as err:
            if err.status == LATER:
                self.error = str(err)
                # It has not even looked at it.
                self.backoff.until = self._now() + self._options.retry_delay
                self._put_off(burst, works)
            else:
                for work in works:
                    self._refused(work, err)
        except (Exception, Timeout) as err:
            # The versions stay, and are tried again.
            self._logger.exception('%d versions were not shipped to site %s',
                                   len(works), self.name)
            self.error = str(err)
            for work in works:
                work.failed()
        return []

    def _offer(self, works, burst):
        """Ask what the peer lacks; return what is to be shipped."""
        groups: dict[Any, list[Any]] = {}
        for work in works:
            groups.setdefault(work.database, []).append(work)
        for group in groups.values():
            group.sort(key=lambda work: work.item.life is None)
        works = [work for group in groups.values() for work in group]
        answer = self.client.offer([
            offered(database, [work.item for work in group])
            for database, group in groups.items()])
        self._answered(burst, answer.seconds,
                       [works[place] for place in answer.later])
        lacking, later = set(answer.lacking), set(answer.later)
        unknown = set(answer.unknown) - later
        for place, work in enumerate(works):
            if place in unknown:
                self._refused(work, PeerRefused(503, 'site %s: %s' % (
                    self.name, answer.error)))
            elif place not in lacking | later:
                work.done()
        return [works[place] for place in sorted(lacking - unknown - later)]

    def _ship_small(self, works, burst):
        """Ship what is small; return what turns out not to be."""
        found = [each for each in GreenPool(READERS).imap(
            self._open, works) if each is not None]
        for some in bounded((each for each in found if each.is_small),
                            MAX_PACKED, MAX_PACK, lambda each: each.weight):
            self._send(some, b''.join(each.data for each in some), burst)
        return [each.work for each in found if not each.is_small]

    def _ship_large(self, works, burst):
        """Ship one version whose data is not kept in memory."""
        found = self._open(works[0], keep=True)
        if found is not None:
            try:
                self._send([found], found.data, burst)
            except Truncated as err:
                self._refused(works[0], err)
            finally:
                found.close()
        return []

    def _send(self, some, data, burst):
        start = time.time()
        answer = self.client.ship(
            [each.frame for each in some], data,
            sum(each.shipment.length for each in some))
        later = []
        for each, result in zip(some, answer.results):
            if result.is_stored:
                self._shipped(each, start)
            elif result.status == LATER:
                later.append(each.work)
            else:
                self._refused(each.work, PeerRefused(
                    result.status, 'site %s answers %d: %s' % (
                        self.name, result.status, result.error)))
        self._answered(burst, answer.seconds, later)

    def _open(self, work, keep=False):
        """Return the ``Outgoing`` of a work, or None if it cannot be read.

        :param keep: whether large data is left open, to be sent as it is read
        """
        self._limit()
        try:
            return self._reader.open(work, keep)
        except (DataMissing, Truncated) as err:
            self._refused(work, err)
        except (Exception, Timeout) as err:
            self._logger.exception('%s: row %d was not read', work.database,
                                   work.item.rowid)
            self.error = str(err)
            work.failed()
        return None

    # What becomes of them

    def _shipped(self, sent, start):
        entry, length = sent.shipment.entry, sent.shipment.length
        sent.work.done()
        self.shipped += 1
        self.shipped_bytes += length
        self._logger.increment('shipped.%s.%s' % (
            entry.kind.value if entry else 'life', self.name))
        self._logger.update_stats('bytes.%s' % self.name, length)
        self._logger.timing_since('ship.timing', start)

    def _failed(self, err):
        self.error = str(err)
        # Requests that were under way together fail together.
        if self._now() >= self.backoff.until:
            self.backoff.failed(self._now())
        self._logger.increment('failures.%s' % self.name)
        self._logger.warning('%s; next try in %.1f s', err,
                             self.backoff.until - self._now())

    def _answered(self, burst, seconds, later):
        """Take note of what the peer has put off, or how fast it was."""
        if later:
            self._put_off(burst, later)
        elif burst.count:
            self.pace.took(burst, seconds)

    def _put_off(self, burst, works):
        """Leave what the peer has not begun as it was."""
        self.pace.put_off(burst)
        self._logger.increment('later.%s' % self.name)
        for work in works:
            work.put_back()

    def _refused(self, work, err):
        self.error = str(err)
        work.failed()
        self._logger.increment('held.%s' % self.name)
        self._logger.warning('%s: held for site %s: %s', work.database,
                             self.name, err)
