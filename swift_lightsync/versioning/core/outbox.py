# SPDX-License-Identifier: Apache-2.0
"""
What waits to be sent to another site, and what the next request takes of it.

Small versions travel in packs, of many containers; a large one travels alone.
Large ones have half of the connections at most, so that small ones do not wait
for them.

A site is given as much at once as it does in a few seconds, by the time that
its answers say it has taken. So its answers come long before anybody gives
them up, however slow it is, and the way to it is never empty, however long
that is. What it puts off halves the work; what it does adds as much again, up
to what it does in ``TARGET`` seconds.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from swift_lightsync.versioning.core.shipping import (
    MAX_HEAD,
    MAX_PACK,
    MAX_PACKED,
    MAX_SMALL,
    bounded,
    encoded,
)

#: Bytes of an offered version without its names.
_OFFERED = 300
#: Seconds of work that is to be under way at another site.
TARGET = 2.0
#: What is under way at first, and what always may be.
START = 32
LEAST = 4
#: Requests among which it is shared out: while one is answered, others travel.
SHARES = 4


@dataclass(frozen=True)
class Burst:
    """Work that was sent in one request.

    :param count: how much
    :param number: of the request
    :param under_way: the work that was under way then, with this
    """
    count: int
    number: int
    under_way: int


class Pace:
    """Follows how fast another site works. The unit of work is a shipment, or
    a container that is asked about.

    :param most: the most work that is under way at once
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.size = float(min(START, most))
        self._under_way = 0
        self._sent = 0
        # Requests that were sent before belong to the time before.
        self._narrowed = 0

    @property
    def room(self) -> int:
        """How much more may be sent now."""
        return max(0, int(self.size) - self._under_way)

    @property
    def share(self) -> int:
        """How much one request may have."""
        return max(1, min(MAX_PACKED, int(self.size) // SHARES))

    def sent(self, count: int) -> Burst:
        """Take note of a request."""
        self._sent += 1
        self._under_way += count
        return Burst(count, self._sent, self._under_way)

    def ended(self, burst: Burst) -> None:
        """Take note that a request is not under way any more."""
        self._under_way -= burst.count

    def took(self, burst: Burst, seconds: float) -> None:
        """Take note that all of a request was done.

        :param seconds: that the site has worked on it, beside what else was
            under way there
        """
        goal = max(LEAST, burst.under_way * TARGET / max(seconds, 0.001))
        self.size = min(self.most, goal, self.size + burst.count)

    def put_off(self, burst: Burst) -> None:
        """Take note that some of a request was more than the site could do."""
        if burst.number > self._narrowed:
            self._narrowed = self._sent
            self.size = max(LEAST, self.size / 2)


class Verb(Enum):
    """What a request does: it asks, or ships small ones, or a large one."""

    OFFER = 'offer'
    PACK = 'pack'
    STREAM = 'stream'


@dataclass(frozen=True)
class Sending:
    """One request, with some works."""
    verb: Verb
    works: list[Any]
    burst: Burst


def _place(work: Any) -> tuple[str, str]:
    return work.database.account, work.database.container


def _weight(work: Any) -> int:
    entry = work.item.entry
    return _OFFERED + len(encoded((*_place(work), entry and entry.object)))


class Outbox:
    """Works that wait, and the requests that are under way.

    :param pace: of the other site
    :param connections: requests at the same time
    :param batch_size: versions that are offered at once
    """

    def __init__(self, pace: Pace, connections: int, batch_size: int) -> None:
        self.pace = pace
        self._connections = connections
        self._batch_size = batch_size
        self._asked: deque[Any] = deque()
        self._small: deque[Any] = deque()
        self._large: deque[Any] = deque()
        self._requests = self._streams = 0

    def ask(self, works: Iterable[Any]) -> None:
        """Add works that are to be offered."""
        self._asked.extend(works)

    def ship(self, works: Iterable[Any]) -> None:
        """Add works that the other site lacks."""
        for each in works:
            (self._small if each.size <= MAX_SMALL else
             self._large).append(each)

    @property
    def waiting(self) -> int:
        """How many works wait, without large ones."""
        return len(self._asked) + len(self._small)

    def next(self) -> Sending | None:
        """Return the next request, if there is to be one now."""
        if self._requests >= self._connections:
            return None
        if self._large and self._streams < max(1, self._connections // 2):
            self._streams += 1
            return self._begun(Verb.STREAM, [self._large.popleft()], 0)
        # A request for less than its share is not worth it while answers are
        # to come.
        if self._is_worth_it(self._small):
            works = self._pack()
            return self._begun(Verb.PACK, works, len(works))
        if self._is_worth_it(self._asked):
            return self._begun(Verb.OFFER, *self._offer())
        return None

    def ended(self, sending: Sending) -> None:
        """Take note that a request is not under way any more."""
        self.pace.ended(sending.burst)
        self._requests -= 1
        self._streams -= sending.verb is Verb.STREAM

    def _is_worth_it(self, queue: deque[Any]) -> bool:
        return bool(queue) and \
            self.pace.room >= min(len(queue), self.pace.share)

    def _begun(self, verb: Verb, works: list[Any], count: int) -> Sending:
        self._requests += 1
        return Sending(verb, works, self.pace.sent(count))

    def _pack(self) -> list[Any]:
        first = [self._small[place] for place in range(min(
            len(self._small), self.pace.share))]
        works = next(bounded(first, MAX_PACKED, MAX_PACK,
                             lambda work: work.size))
        for _ in works:
            self._small.popleft()
        return works

    def _offer(self) -> tuple[list[Any], int]:
        """Take works of as many containers as one request may ask about."""
        places: set[Any] = set()
        works: list[Any] = []
        weight = 0
        while self._asked and len(works) < self._batch_size:
            work = self._asked[0]
            place, more = _place(work), _weight(work)
            if works and (weight + more > MAX_HEAD or place not in places
                          and len(places) >= self.pace.share):
                break
            weight += more
            places.add(place)
            works.append(self._asked.popleft())
        return works, len(places)
