# SPDX-License-Identifier: Apache-2.0
"""What a request of another site brings: offers are compared with the rows of
this site, shipments are stored, data first.

Each container that a request is about is opened once. What goes wrong with
one of them, or with one shipment, is the result of that one alone. What is not
begun when the request's time is over is told to come later: nothing is broken
off, and the answer does not keep the sender waiting.
"""

import time
from io import BytesIO
from typing import Any

from swift.common.concurrency import GreenPool, Timeout

from swift_lightsync.versioning.core.row_data import LIFE, Kind
from swift_lightsync.versioning.core.shipping import LATER, Lacking, Result
from swift_lightsync.versioning.core.stamp import ClockAhead
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.sites.applying import (
    apply_life,
    apply_version,
    identity,
    is_older,
    known,
    result_of,
)
from swift_lightsync.versioning.sites.shared import BOUND

#: Containers of a request that are worked on at once, as are the shipments of
#: one container.
CONCURRENCY = 8


def _lacks(mine, offered):
    """Check whether a version that is known as ``mine`` has to be shipped."""
    if mine is None:
        return True
    if mine.purged or offered.kind is Kind.PURGE:
        return not mine.purged
    return is_older(mine, offered.changed)


class Arrivals:
    """Answers what one request asks.

    :param receiver: the ``Receiver``
    :param env: of the request
    :param sender: the site that sent it
    """

    def __init__(self, receiver, env, sender):
        self._receiver = receiver
        self._infos = receiver.infos
        self._env = env
        self._sender = sender
        self._logger = receiver.logger
        self._begun = time.monotonic()
        # What waits for its sender keeps no worker from others.
        self._bounded = True

    @property
    def seconds(self):
        """How long it has taken so far."""
        return time.monotonic() - self._begun

    def lacking(self, offer):
        """Return the ``Lacking`` that answers an ``Offer``."""
        lacking: list[int] = []
        unknown: list[int] = []
        later: list[int] = []
        error, start = '', 0
        found = GreenPool(CONCURRENCY).imap(
            lambda group: self._tried(self._lacked, group), offer.groups)
        for group, places in zip(offer.groups, found):
            end = start + group.places
            if not isinstance(places, Result):
                lacking += [start + place for place in places]
            elif places.status == LATER:
                later += range(start, end)
            else:
                unknown += range(start, end)
                error = places.error
            start = end
        return Lacking(tuple(lacking), tuple(unknown), error, tuple(later),
                       self.seconds)

    def _lacked(self, group):
        container = self._container(group.account, group.container)
        every = range(group.places)
        if container is None:
            return every
        try:
            mine = known(container.strategy, [
                (each.object, each.id) for each in group.versions],
                life=bool(group.life))
        except RowsUnavailable as err:
            self._infos.forget(self._env, group.account, group.container)
            if err.missing:
                return every
            raise
        lacks = [_lacks(mine.get((each.object, each.id)), each)
                 for each in group.versions]
        if group.life:
            lacks.insert(0, LIFE not in mine or
                         mine[LIFE].stamp < group.life)
        return [place for place in every if lacks[place]]

    def store(self, pack, data):
        """Store the shipments of a ``Pack``.

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
            self._bounded = False
        # By container: places in the pack and what is there.
        places: dict[Any, list[Any]] = {}
        results: dict[int, Result] = {}
        for place, (frame, body) in enumerate(zip(pack.shipments, bodies)):
            found = self._checked(frame)
            if isinstance(found, Result):
                results[place] = found
            else:
                places.setdefault((found.account, found.container), []).append(
                    (place, found, body))
        # Their time begins when all of them is here.
        self._begun = time.monotonic()
        for done in GreenPool(CONCURRENCY).imap(
                lambda each: self._store_all(*each), places.items()):
            results.update(done)
        return [results[place] for place in sorted(results)]

    def _store_all(self, place, arrived):
        """Store what has come for one container.

        :returns: pairs of a place in the pack and a ``Result``
        """
        # What becomes of the container comes first.
        done = [(number, self._tried(self._follow, each))
                for number, each, _ in arrived if each.life]
        arrived = [each for each in arrived if each[1].entry]
        if arrived:
            opened = self._tried(self._open, place, [
                each.entry for _, each, _ in arrived], arrived[0][1].policy)
            done += GreenPool(CONCURRENCY).imap(
                lambda each: (each[0], self._tried(
                    self._take, opened, *each[1:])), arrived)
        return done

    def _tried(self, step, *args):
        """Return what a step returns, or the ``Result`` of its error, or that
        it is to come later.
        """
        try:
            return self._receiver.workers.do(
                step, *args,
                until=self._begun + BOUND if self._bounded else None)
        except (Exception, Timeout) as err:
            return self._result_of(err)

    def _result_of(self, err):
        found = result_of(err)
        if found is None:
            self._logger.exception('A request of site %s', self._sender)
            found = Result(500, type(err).__name__)
        return found

    def _checked(self, frame):
        """Return the shipment of a frame, or the ``Result`` of its error."""
        try:
            shipment = frame.open()
            self._check_clock(shipment)
            return shipment
        except Exception as err:
            if isinstance(err, ClockAhead):
                self._logger.increment('receiver.ahead.%s' % self._sender)
            return self._result_of(err)

    def _check_clock(self, shipment):
        """Raise ClockAhead if no site may have given a stamp of it yet. A
        purge waits for no clock: it hides no version but its own.
        """
        life, entry = shipment.life, shipment.entry
        if entry and entry.purged:
            return
        for stamp in (life.stamp,) if life else (
                entry.version.id, entry.changed,
                *(stamp for _, stamp in entry.version.vector)):
            if stamp is not None:
                self._receiver.clock.check(stamp, self._receiver.now())

    def _open(self, place, entries, policy):
        # The user's container is made by its life record: what comes before
        # that, or after a deletion, waits in the hidden one.
        container = self._container(*place, policy)
        # The sender has asked, or made it just now: nothing is known here.
        asked = [identity(entry) for entry in entries if entry.purged or
                 entry.changed or not container.exists]
        return container, known(container.strategy, asked) if asked else {}

    def _container(self, *place):
        return self._infos.open(self._env, *place)

    def _follow(self, shipment):
        """Follow a life record; return its ``Result``."""
        place = shipment.account, shipment.container
        self._infos.forget(self._env, *place)
        try:
            apply_life(self._infos, self._env, *place, shipment.life,
                       shipment.policy)
        finally:
            self._infos.forget(self._env, *place)
        self._logger.increment('receiver.stored.life')
        return Result(201)

    def _take(self, opened, shipment, body):
        """Store one version; return its ``Result``."""
        if isinstance(opened, Result):
            return opened
        container, mine = opened
        entry = shipment.entry
        try:
            apply_version(container, mine.get(identity(entry)), shipment,
                          body)
        except BaseException:
            # It may be another one by now.
            self._infos.forget(self._env, shipment.account,
                               shipment.container)
            raise
        finally:
            container.forget_latest(entry.object)
        self._logger.increment('receiver.stored.%s' % entry.kind.value)
        return Result(201)

