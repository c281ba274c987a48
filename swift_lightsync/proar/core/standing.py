# SPDX-License-Identifier: Apache-2.0
"""Whether a primary role may answer alone. PROTOCOL.md, "Vouching"."""

from dataclasses import dataclass, field, replace
from typing import (
    Annotated,
    Collection,
    Dict,
    FrozenSet,
    Iterable,
    Mapping,
    Optional,
    Tuple,
)

from swift_lightsync.common.records import Between, Length, Record

Place = Tuple[int, int]
#: nanoseconds of a clock that only counts up
Time = Annotated[int, Between(0, (1 << 63) - 1)]
#: Unix time
Moment = Annotated[float, Between(0, 1e15)]
NS = 10 ** 9
#: seconds by which the clocks of machines may differ
SKEW = 60


@dataclass(frozen=True)
class Told(Record):
    """What one peer has answered.

    :param asked: when the question was sent, nanoseconds
    :param ring: the version of its ring
    :param can_tell: whether it knows what it holds
    :param held: the places of which it holds what the asker lacks
    :param is_older: whether it knows the asker's log to have been newer
    :param passed: when the last pass of its object-replicator with its ring
        began, if it had no failure, Unix time; 0: not known
    """
    asked: Time
    ring: int
    can_tell: bool
    held: Tuple[Place, ...] = ()
    is_older: bool = False
    passed: Moment = 0.0


@dataclass(frozen=True)
class Standing(Record):
    """How a device stands with its peers, in one policy.

    :param boot: id of the boot of the machine that the times belong to
    :param device: id of the device
    :param ring: the version of its object ring
    :param seconds: how long an answer counts
    :param round: when the last round of questions to all devices began,
        nanoseconds
    :param told: id of a peer -> what it has answered last
    :param since: when the device got this ring, or its disk, Unix time
    :param passes: id of each peer that has ever told it -> when a pass of its
        object-replicator began, as of Told
    """
    boot: Annotated[str, Length(64)]
    device: int
    ring: int
    seconds: float
    round: Time = 0
    told: Dict[int, Told] = field(default_factory=dict)
    since: Moment = 0.0
    passes: Dict[int, Moment] = field(default_factory=dict)

    def after(self, began: int, answers: Mapping[int, Told],
              is_of_all: bool = True) -> 'Standing':
        """Return the standing after a round of questions.

        An older answer of a peer that was silent counts on.

        :param began: when the round began, nanoseconds
        :param answers: id of a peer -> what it has answered
        :param is_of_all: whether all devices of the ring were asked
        """
        passes = {**self.passes, **{
            peer: each.passed for peer, each in answers.items()
            if each.passed and each.ring == self.ring}}
        if not is_of_all:
            return replace(self, told={**self.told, **answers},
                           passes=passes)
        told: Dict[int, Told] = {
            peer: each for peer, each in self.told.items()
            if self._counts(each.asked, began)}
        told.update(answers)
        return replace(self, round=began, told=told, passes=passes)

    def is_filled(self, now: float, peers: Iterable[int],
                  reclaim_age: float) -> bool:
        """Return whether what the device has to hold was brought to it.

        :param now: Unix time
        :param peers: ids of all other devices of the ring
        :param reclaim_age: seconds after which Swift takes it for granted
        """
        return now - self.since >= reclaim_age or all(
            self.passes.get(peer, 0) > self.since + SKEW for peer in peers)

    def open_peers(self) -> FrozenSet[int]:
        """Return the peers whose last word keeps reads from being answered.

        They have another ring, hold what is missing here, or know the log
        to have been newer.
        """
        return frozenset(peer for peer, each in self.told.items()
                         if each.held or each.is_older
                         or each.ring != self.ring)

    def _counts(self, asked: int, now: int) -> bool:
        return asked <= now < asked + int(self.seconds * NS)

    def others(self) -> Dict[int, int]:
        """Return the peers that have another ring, and its version."""
        return {peer: each.ring for peer, each in self.told.items()
                if each.ring != self.ring}

    def agrees(self, ring: int, since: int = 0) -> bool:
        """Return whether all who answered have a version of the ring.

        :param ring: the version
        :param since: all have to have been asked later, nanoseconds
        """
        return self.ring == ring and self.round > since \
            and not self.others()

    def may_take_alone(self, ring: int) -> bool:
        """Return whether the device may take a write that it alone holds then.

        It has to have asked with the version of the ring that it has now.
        Another version that it has heard of counts, however long ago: its
        converger may have stopped.
        """
        return self.ring == ring and self.round > 0 and all(
            each.ring == ring for each in self.told.values())

    def silent(self, now: int, peers: Iterable[int],
               missed: int = 0) -> Tuple[int, ...]:
        """Return those of some peers whose word does not count.

        :param now: nanoseconds
        :param peers: ids of devices
        :param missed: when the place in question was last missed
        """
        found = []
        for peer in peers:
            told = self.told.get(peer)
            if not (told and told.can_tell and told.ring == self.ring
                    and told.asked > missed
                    and self._counts(told.asked, now)):
                found.append(peer)
        return tuple(found)

    def doubters(self, now: int, place: Place, devices: Collection[int],
                 missed: int) -> Optional[Tuple[int, ...]]:
        """Return those of the ring's devices that may know of a write to a
        place which this one misses; None if any device may.

        :param now: nanoseconds
        :param devices: ids of all other devices of the ring
        :param missed: when the place was last missed
        """
        if self.objection(place, missed) or any(
                each.is_older for each in self.told.values()):
            return None
        return self.silent(now, devices, missed)

    def unheard(self, peers: Iterable[int]) -> Tuple[int, ...]:
        """Return those of some peers that did not vouch when last asked.

        :param peers: ids of devices
        """
        return tuple(peer for peer in peers if not (
            peer in self.told and self.told[peer].can_tell
            and self.told[peer].ring == self.ring
            and self.told[peer].asked >= self.round))

    def obstacle(self, now: int, place: Place, peers: Collection[int],
                 missed: int = 0) -> str:
        """Return why a read of a place cannot be answered alone, or ''.

        :param now: nanoseconds
        :param place: partition and slot
        :param peers: ids of the other roles of the partition
        :param missed: when the place was last missed, by any device
        """
        objection = self.objection(place, missed)
        silent = self.silent(now, peers, missed)
        if silent and not objection:
            return 'device %d does not vouch' % silent[0]
        return objection

    def objection(self, place: Place, missed: int = 0) -> str:
        """Return what was heard that keeps a read from being answered, or ''.

        Who is silent objects to nothing.
        """
        if self.round <= missed:
            return 'nobody was asked, or not since a write was missed'
        for peer, each in self.told.items():
            if place in each.held:
                return 'device %d holds what is missing' % peer
        for peer, ring in self.others().items():
            return 'device %d has ring %d, this one %d' % (
                peer, ring, self.ring)
        return ''
