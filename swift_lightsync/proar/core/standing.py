# SPDX-License-Identifier: Apache-2.0
"""Whether a primary role may answer alone. PROTOCOL.md, "Vouching"."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Optional

from swift_lightsync.common.records import Length, Record
from swift_lightsync.proar.core.filling import NS, Filling, Moment, Time

Place = tuple[int, int]


@dataclass(frozen=True)
class Told(Record):
    """What one peer has answered.

    :param asked: when the question was sent, nanoseconds
    :param ring: the version of its ring
    :param can_tell: whether it knows what it holds
    :param held: the places of which it holds what the asker lacks
    :param is_older: whether it knows the asker's log to have been newer
    :param passed: when the last pass of its object-replicator began, if it
        had no failure, Unix time; 0: not known
    :param time: when it answered, by the same clock, Unix time
    :param is_unsure: whether it may have lost what it once held
    """
    asked: Time
    ring: int
    can_tell: bool
    held: tuple[Place, ...] = ()
    is_older: bool = False
    passed: Moment = 0.0
    time: Moment = 0.0
    is_unsure: bool = False


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
    :param filling: how far it was filled since it has its disk, and this ring
    """
    boot: Annotated[str, Length(64)]
    device: int
    ring: int
    seconds: float
    round: Time = 0
    told: dict[int, Told] = field(default_factory=dict)
    filling: Filling | None = None

    def after(self, began: int, answers: Mapping[int, Told],
              is_of_all: bool = True) -> 'Standing':
        """Return the standing after a round of questions.

        An older answer of a peer that was silent counts on.

        :param began: when the round began, nanoseconds
        :param answers: id of a peer -> what it has answered
        :param is_of_all: whether all devices of the ring were asked
        """
        if not is_of_all:
            return replace(self, told={**self.told, **answers})
        told: dict[int, Told] = {
            peer: each for peer, each in self.told.items()
            if self._counts(each.asked, began)}
        told.update(answers)
        return replace(self, round=began, told=told)

    def filled_after(self, began: int, answers: Mapping[int, Told],
                     known: Optional['Standing'], loss: int) -> 'Standing':
        """Return the standing with how far its disk was filled.

        What was answered counts only if nothing was lost since the round
        before: it may have been told of what was there then.

        :param began: when the round began, nanoseconds
        :param answers: id of a peer -> what it has answered
        :param known: the standing that was found on the disk, if any
        :param loss: what tells the last loss of the disk from all others
        """
        filling = known.filling if known and (known.device, known.ring) == (
            self.device, self.ring) else None
        if not known or not filling or filling.loss != loss:
            return replace(self, filling=Filling(loss, began))
        if known.boot != self.boot:
            # The clock counts anew.
            filling = replace(filling, seen=began)
        return replace(self, filling=filling.after(began, {
            peer: (each.time, each.passed) for peer, each in answers.items()
            if each.ring == self.ring}))

    def has_all(self, peers: Iterable[int], loss: int,
                reclaim_age: float) -> bool:
        """Return whether the device has all that was ever brought to it.

        :param peers: ids of all other devices of the ring
        :param loss: what tells the last loss of the disk from all others; 0
            if that cannot be told
        :param reclaim_age: as of Filling.is_complete
        """
        return self.filling is not None and 0 < loss == self.filling.loss \
            and not any(each.is_older for each in self.told.values()) \
            and self.filling.is_complete(peers, reclaim_age)

    def open_peers(self) -> frozenset[int]:
        """Return the peers whose last word keeps reads from being answered.

        They have another ring, hold what is missing here, or know the log
        to have been newer.
        """
        return frozenset(peer for peer, each in self.told.items()
                         if each.held or each.is_older
                         or each.ring != self.ring)

    def _counts(self, asked: int, now: int) -> bool:
        return asked <= now < asked + int(self.seconds * NS)

    def others(self) -> dict[int, int]:
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
               missed: int = 0) -> tuple[int, ...]:
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
                 takers: Iterable[int],
                 missed: int) -> tuple[int, ...] | None:
        """Return those of the ring's devices that may know of a write to a
        place which this one misses; None if any device may.

        :param now: nanoseconds
        :param devices: ids of all other devices of the ring
        :param takers: ids of those that take its writes
        :param missed: when the place was last missed
        """
        if self.objection(place, missed):
            return None
        return tuple({*self.silent(now, devices, missed),
                      *self.unsure(takers)})

    def unsure(self, peers: Iterable[int]) -> tuple[int, ...]:
        """Return those of some peers that may have lost what they held.

        :param peers: ids of devices
        """
        return tuple(peer for peer in peers
                     if peer in self.told and self.told[peer].is_unsure)

    def unheard(self, peers: Iterable[int]) -> tuple[int, ...]:
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
