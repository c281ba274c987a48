# SPDX-License-Identifier: Apache-2.0
"""
What a request of another site brings: offers are compared with the rows of
this site, shipments are stored, data first.

Each container that a request is about is opened once. What goes wrong with
one of them, or with one shipment, is the result of that one alone.
"""

from io import BytesIO
from typing import Any, Dict, List

from swift.common.concurrency import GreenPool, Timeout

from swift_lightsync.versioning.core.keys import purge_name, version_name
from swift_lightsync.versioning.core.row_data import Kind, entry_of
from swift_lightsync.versioning.core.shipping import Lacking, Result
from swift_lightsync.versioning.core.verb import MAX_ROWS, Request
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.sites.life import apply_life
from swift_lightsync.versioning.sites.refusals import Refusal, result_of

#: Containers, and then shipments, of a request that are worked on at once.
CONCURRENCY = 8
#: What object servers say to data that they have already.
_STORED_ALREADY = (202, 409)


def known(strategy, versions):
    """
    Read what a site has of some versions of a container.

    :param versions: pairs of an object and a ``Stamp``
    :returns: a dict, from such pairs to the ``Entry`` (see ``purged``) of
        those that are known
    """
    versions, found = sorted(set(versions)), {}
    half = MAX_ROWS // 2
    for start in range(0, len(versions), half):
        some = versions[start:start + half]
        rows = strategy.rows.read(Request(names=tuple(
            name(*each) for each in some
            for name in (version_name, purge_name)))).rows
        for each in some:
            record = rows.get(purge_name(*each))
            row = rows.get(version_name(*each)) \
                if record is None or record.deleted else record
            if row is not None:
                found[each] = entry_of(row)
    return found


def _identity(entry):
    return entry.object, entry.version.id


def _newest(*entries):
    """Return the newest stamp that data of some versions may have."""
    return max(stamp for each in entries for stamp in (
        each.version.id, each.changed, each.purged) if stamp)


def _is_purged(entry):
    return entry is not None and entry.purged is not None


def _is_deleted(life):
    """
    Check whether a container has been deleted: what comes then waits in the
    hidden one, until `.life` finds it live and makes the container again.
    """
    return life is not None and not life.exists


def _is_older(entry, changed):
    """Check whether the metadata here are older than another site's."""
    return changed is not None and (
        entry.changed or entry.version.id) < changed


def _lacks(mine, offered):
    """Check whether a version that is known as ``mine`` has to be shipped."""
    if mine is None:
        return True
    if mine.purged or offered.kind is Kind.PURGE:
        return not mine.purged
    return _is_older(mine, offered.changed)


class Arrivals:
    """
    Answers what one request asks.

    :param helper: ``SiteRequests``
    :param env: of the request
    :param sender: the site that sent it
    :param clock: ``SiteClock``
    :param now: returns the wall time in seconds
    """

    def __init__(self, helper, env, sender, clock, logger, now):
        self._helper = helper
        self._env = env
        self._sender = sender
        self._clock = clock
        self._logger = logger
        self._now = now
        # By account and container: a ``SiteContainer`` and the versions that
        # are known, or the Result of what went wrong.
        self._opened = {}

    def lacking(self, offer):
        """Return the ``Lacking`` that answers an ``Offer``."""
        lacking: List[int] = []
        unknown: List[int] = []
        error, start = '', 0
        found = GreenPool(CONCURRENCY).imap(
            lambda group: self._tried(self._lacked, group), offer.groups)
        for group, places in zip(offer.groups, found):
            end = start + len(group.versions)
            if isinstance(places, Result):
                unknown += range(start, end)
                error = places.error
            else:
                lacking += [start + place for place in places]
            start = end
        return Lacking(tuple(lacking), tuple(unknown), error)

    def _lacked(self, group):
        container = self._helper.open(self._env, group.account,
                                      group.container)
        every = range(len(group.versions))
        if container is None:
            return every
        try:
            mine = known(container.strategy, [
                (each.object, each.id) for each in group.versions])
        except RowsUnavailable as err:
            if err.missing:
                return every
            raise
        return [place for place in every if _lacks(
            mine.get((group.versions[place].object,
                      group.versions[place].id)), group.versions[place])]

    def store(self, pack, data):
        """
        Store the shipments of a ``Pack``.

        :param data: the ``Data`` that follow the head
        :returns: a ``Result`` for each shipment
        :raises SignatureError: if it is a small one, and the data are not
            what was signed
        """
        if pack.is_small:
            whole = BytesIO(b''.join(data))
            data.verify()
            bodies = [BytesIO(whole.read(frame.length))
                      for frame in pack.shipments]
        else:
            bodies = [data]
        shipments = [self._tried(self._checked, frame)
                     for frame in pack.shipments]
        versions: Dict[Any, List[Any]] = {}
        for each in shipments:
            if getattr(each, 'entry', None):
                versions.setdefault((each.account, each.container), []).append(
                    each.entry)
        pool = GreenPool(CONCURRENCY)
        self._opened = dict(zip(versions, pool.imap(
            lambda each: self._tried(self._open, *each), versions.items())))
        return list(pool.imap(
            lambda shipment, body: self._tried(self._take, shipment, body),
            shipments, bodies))

    def _tried(self, step, *args):
        """Return what a step returns, or the ``Result`` of its error."""
        try:
            return step(*args)
        except (Exception, Timeout) as err:
            found = result_of(err)
            if found is None:
                self._logger.exception('A request of site %s', self._sender)
                found = Result(500, type(err).__name__)
            return found

    def _checked(self, frame):
        """
        Return the shipment of a frame.

        :raises ClockAhead: if no site may have given a stamp of it yet
        """
        shipment, now = frame.open(), self._now()
        if shipment.life:
            self._clock.check(shipment.life.stamp, now)
            return shipment
        version = shipment.entry.version
        for stamp in (version.id, shipment.entry.purged,
                      shipment.entry.changed,
                      *(stamp for _, stamp in version.vector)):
            if stamp is not None:
                self._clock.check(stamp, now)
        return shipment

    def _open(self, place, entries):
        container, mine = self._helper.open(self._env, *place), {}
        # The sender has asked, or made it just now: nothing is known here.
        asked = [_identity(entry) for entry in entries if entry.purged or
                 entry.changed or container and not container.exists]
        if container and asked:
            mine = known(container.strategy, asked)
        # What is purged brings no container back.
        live = any(not (entry.purged or _is_purged(
            mine.get(_identity(entry)))) for entry in entries)
        if container is None or live and not container.exists and \
                not _is_deleted(container.strategy.life()):
            container = self._helper.open(self._env, *place, create=True)
        return container, mine

    def _take(self, shipment, body):
        """Store one shipment; return its ``Result``."""
        if isinstance(shipment, Result):
            if shipment.status == 409:
                self._logger.increment('receiver.ahead.%s' % self._sender)
            return shipment
        if shipment.life:
            apply_life(self._helper, self._env, shipment.account,
                       shipment.container, shipment.life)
            self._logger.increment('receiver.stored.life')
            return Result(201)
        opened = self._opened[shipment.account, shipment.container]
        if isinstance(opened, Result):
            return opened
        container, mine = opened
        entry = shipment.entry
        try:
            self._store(container, mine.get(_identity(entry)), shipment, body)
        finally:
            container.forget_latest(entry.object)
        self._logger.increment('receiver.stored.%s' % entry.kind.value)
        return Result(201)

    def _store(self, container, mine, shipment, body):
        entry = shipment.entry
        if entry.purged:
            # Without a row there may be data nevertheless: its row follows
            # it, perhaps now. And first: a sender asks no more when the purge
            # is there.
            if mine is None or mine.kind is Kind.DATA:
                container.delete_data((mine or entry).data_name,
                                      _newest(entry, mine or entry))
            container.strategy.apply(entry)
        elif mine is None:
            if entry.kind is Kind.DATA:
                self._put(container, shipment, body)
            self._drop(container, container.strategy.apply(entry), entry)
        elif not mine.purged and _is_older(mine, entry.changed):
            self._post(container, shipment, mine.data_name)
            container.strategy.amend(mine, entry.content_type, entry.changed)

    def _put(self, container, shipment, body):
        entry = shipment.entry
        response = container.put_data(entry, body, {
            **dict(shipment.headers), 'content-length': str(shipment.length)})
        self._check(response)
        if entry.changed:
            self._post(container, shipment, entry.data_name)

    def _post(self, container, shipment, name):
        self._check(container.post_data(name, shipment.entry.changed,
                                        dict(shipment.headers)))

    @staticmethod
    def _drop(container, gone, entry):
        """Delete the data of overwritten null versions, or its own."""
        for old in gone:
            own = _identity(old) == _identity(entry)
            if own or old.kind is Kind.DATA:
                container.delete_data((entry if own else old).data_name,
                                      _newest(entry, old))

    @staticmethod
    def _check(response):
        """Raise Refusal unless the data is stored or changed as asked."""
        status = response.status_int
        if not 200 <= status < 300 and status not in _STORED_ALREADY:
            raise Refusal(status if status >= 500 else 409,
                          'the data was not stored: %s' % response.status)
