# SPDX-License-Identifier: Apache-2.0
"""
What waits to be sent to another site, and what the next request takes of it.

Small versions travel in packs, of many containers; a large one travels alone.
Large ones have half of the connections at most, so that small ones do not wait
for them.
"""

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import Any, Deque, Iterable, List, Optional, Set, Tuple

from swift_lightsync.versioning.core.pace import Burst, Pace
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


class Verb(Enum):
    """What a request does: it asks, or ships small ones, or a large one."""

    OFFER = 'offer'
    PACK = 'pack'
    STREAM = 'stream'


@dataclass(frozen=True)
class Sending:
    """One request, with some works."""
    verb: Verb
    works: List[Any]
    burst: Burst


def _place(work: Any) -> Tuple[str, str]:
    return work.database.account, work.database.container


def _weight(work: Any) -> int:
    entry = work.item.entry
    return _OFFERED + len(encoded((*_place(work), entry and entry.object)))


class Outbox:
    """
    Works that wait, and the requests that are under way.

    :param pace: of the other site
    :param connections: requests at the same time
    :param batch_size: versions that are offered at once
    """

    def __init__(self, pace: Pace, connections: int, batch_size: int) -> None:
        self.pace = pace
        self._connections = connections
        self._batch_size = batch_size
        self._asked: Deque[Any] = deque()
        self._small: Deque[Any] = deque()
        self._large: Deque[Any] = deque()
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

    def next(self) -> Optional[Sending]:
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

    def _is_worth_it(self, queue: Deque[Any]) -> bool:
        return bool(queue) and \
            self.pace.room >= min(len(queue), self.pace.share)

    def _begun(self, verb: Verb, works: List[Any], count: int) -> Sending:
        self._requests += 1
        return Sending(verb, works, self.pace.sent(count))

    def _pack(self) -> List[Any]:
        first = [self._small[place] for place in range(min(
            len(self._small), self.pace.share))]
        works = next(bounded(first, MAX_PACKED, MAX_PACK,
                             lambda work: work.size))
        for _ in works:
            self._small.popleft()
        return works

    def _offer(self) -> Tuple[List[Any], int]:
        """Take works of as many containers as one request may ask about."""
        places: Set[Any] = set()
        works: List[Any] = []
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
