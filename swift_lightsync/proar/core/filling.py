# SPDX-License-Identifier: Apache-2.0
"""Whether what a device has lost was brought back to it.

PROTOCOL.md, "What a device may have lost". No clock that can be set is
compared with that of another machine, or with itself before a restart.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from swift_lightsync.common.records import Between, Record

#: nanoseconds of a clock that only counts up
Time = Annotated[int, Between(0, (1 << 63) - 1)]
#: Unix time
Moment = Annotated[float, Between(0, 1e15)]
NS = 10 ** 9
#: Seconds by which a clock may be set back while a pass is under way, and in
#: which an object-replicator takes a ring that its node has told of.
SKEW = 60
#: Seconds from a round of questions to the next one in which a device that
#: was there at both was so all the time.
GAP = 3600


@dataclass(frozen=True)
class Filling(Record):
    """How far a device was filled since it has last lost something.

    :param loss: what tells that loss from all others; 0: it cannot be told
    :param seen: when the last round of questions began, nanoseconds
    :param served: seconds that the device was in service until then
    :param awaited: id of each peer that was heard since -> the time, by its
        clock, after which a pass of its object-replicator has to begin; 0.0
        if that pass has ended
    """
    loss: Time
    seen: Time
    served: float = 0.0
    awaited: dict[int, Moment] = field(default_factory=dict)

    def after(self, began: int,
              words: Mapping[int, tuple[float, float]]) -> 'Filling':
        """Return the filling after a round of questions.

        :param began: when the round began, nanoseconds
        :param words: id of a peer -> by its clock, when it answered, and when
            its last pass without a failure began, or 0.0
        """
        awaited = dict(self.awaited)
        for peer, (answered, passed) in words.items():
            if peer not in awaited:
                awaited[peer] = max(answered, passed) + SKEW
            elif passed > awaited[peer]:
                awaited[peer] = 0.0
        gap = (began - self.seen) / NS
        return Filling(self.loss, began, self.served + (
            gap if 0 < gap < GAP else 0.0), awaited)

    def is_complete(self, peers: Iterable[int], reclaim_age: float) -> bool:
        """Return whether all that the device has to hold was brought to it.

        :param peers: ids of all other devices of the ring
        :param reclaim_age: seconds of service after which Swift takes it for
            granted
        """
        return self.served >= reclaim_age or all(
            self.awaited.get(peer) == 0.0 for peer in peers)
