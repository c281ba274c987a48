# SPDX-License-Identifier: Apache-2.0
"""Whether what a device has lost was brought back to it.

PROTOCOL.md, "What a device may have lost". No clock that can be set is
compared with that of another machine, or with itself before a restart.
"""

from dataclasses import dataclass, field, replace
from typing import Annotated, Dict, Iterable, Mapping, Tuple

from swift_lightsync.common.records import Between, Record

#: nanoseconds of a clock that only counts up
Time = Annotated[int, Between(0, (1 << 63) - 1)]
#: Unix time
Moment = Annotated[float, Between(0, 1e15)]
NS = 10 ** 9
#: Seconds by which a clock may be set back while a pass is under way, and in
#: which an object-replicator takes a ring that its node has told of.
SKEW = 60


@dataclass(frozen=True)
class Filling(Record):
    """How far a device was filled since it has last lost something.

    :param loss: what tells that loss from all others; 0: it cannot be told
    :param began: when it was first seen in this boot, nanoseconds
    :param served: seconds that the device was in service before this boot
    :param awaited: id of each peer that was heard since -> the time, by its
        clock, after which a pass of its object-replicator has to begin; 0.0
        if that pass has ended
    """
    loss: Time
    began: Time
    served: float = 0.0
    awaited: Dict[int, Moment] = field(default_factory=dict)

    def after(self, words: Mapping[int, Tuple[float, float]]) -> 'Filling':
        """Return the filling after a round of questions.

        :param words: id of a peer -> by its clock, when it answered, and when
            its last pass without a failure began, or 0.0
        """
        awaited = dict(self.awaited)
        for peer, (answered, passed) in words.items():
            if peer not in awaited:
                awaited[peer] = max(answered, passed) + SKEW
            elif passed > awaited[peer]:
                awaited[peer] = 0.0
        return replace(self, awaited=awaited)

    def after_restart(self, last: int, began: int) -> 'Filling':
        """Return the filling after the machine was started anew.

        :param last: until when it was in service, nanoseconds of the old boot
        :param began: since when it is again, of the new one
        """
        served = max(0, last - self.began) / NS
        return replace(self, began=began, served=self.served + served)

    def is_complete(self, now: int, peers: Iterable[int],
                    reclaim_age: float) -> bool:
        """Return whether all that the device has to hold was brought to it.

        :param now: nanoseconds
        :param peers: ids of all other devices of the ring
        :param reclaim_age: seconds of service after which Swift takes it for
            granted
        """
        return self.served + (now - self.began) / NS >= reclaim_age or all(
            self.awaited.get(peer) == 0.0 for peer in peers)
