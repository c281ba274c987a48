# SPDX-License-Identifier: Apache-2.0
"""Judges the nodes' answers: which pairs agree, and what is not well.

This module only computes. RECON.md says what the states mean, and what is
complained about.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from swift_lightsync.common.address import DeviceTuple, NodeTuple, PlaceTuple
from swift_lightsync.common.nodes import Outcome, Reply
from swift_lightsync.report.answer import NodeAnswer, State, Suspect
from swift_lightsync.sync.core.sync_round import NEXT, Answer, Next
from swift_lightsync.sync.recon_records import PairRecord, PassRecord


class PairState(Enum):
    """The state of a pair of devices, from the best to the worst."""
    #: Not asked in the last pass: no longer neighbours, or nothing to compare.
    IDLE = 'idle'
    AGREED = 'agreed'
    DIFFERING = 'differing'
    STALE = 'stale'
    UNREACHABLE = 'unreachable'


@dataclass(frozen=True)
class Ring:
    """The object ring of a policy, as far as the report needs it.

    :param policy: the policy's index
    :param name: its name
    :param devices: the object-server of each device; devices have their
        address in the replication network
    """
    policy: int
    name: str
    devices: Mapping[DeviceTuple, NodeTuple]


@dataclass(frozen=True)
class Pair:
    """A device and a neighbour, judged.

    :param record: what the device's node knows of them
    :param state: how they are
    :param age: seconds since they agreed, or None if they never have
    """
    record: PairRecord
    state: PairState
    age: float | None


@dataclass(frozen=True)
class Sighting:
    """A row of a node's failure table.

    :param node: the object-server that has the table
    :param suspect: the row
    :param left: seconds until it is forgotten
    """
    node: NodeTuple
    suspect: Suspect
    left: float


@dataclass(frozen=True)
class LateDevice:
    """A device that no recent pass went over.

    :param device: the device
    :param age: seconds since its last pass, or None if it had none
    """
    device: DeviceTuple
    age: float | None


@dataclass(frozen=True)
class PolicyHealth:
    """How the pairs of one policy are.

    :param ring: the policy's ring
    :param pairs: the pairs, the worst first
    """
    ring: Ring
    pairs: tuple[Pair, ...]

    def count(self, *states: PairState) -> int:
        """Return how many pairs are in one of the states."""
        return sum(pair.state in states for pair in self.pairs)

    @property
    def in_use(self) -> list[Pair]:
        """The pairs that are not idle."""
        return [pair for pair in self.pairs
                if pair.state is not PairState.IDLE]

    @property
    def oldest(self) -> Pair | None:
        """The pair that has not agreed for longest; None if there is none."""
        return max(self.in_use, key=_age, default=None)

    @property
    def as_stock(self) -> int:
        """How many pairs were compared as stock Swift does it."""
        return sum(pair.record.answer is Answer.UNSUPPORTED
                   for pair in self.in_use)

    @property
    def differing(self) -> int:
        """How many partitions are known to differ, over all pairs."""
        return sum(pair.record.differing for pair in self.in_use)


@dataclass(frozen=True)
class Health:
    """Everything that the report says.

    :param time: when the nodes were asked, Unix time
    :param stale_after: seconds without agreement after which a pair is stale
    :param policies: the pairs of each policy
    :param replies: what each node replied
    :param sightings: the rows of all failure tables
    :param late: the devices without a recent pass
    """
    time: float
    stale_after: float
    policies: tuple[PolicyHealth, ...]
    replies: tuple[Reply, ...]
    sightings: tuple[Sighting, ...]
    late: tuple[LateDevice, ...]

    def hosts(self, outcome: Outcome) -> list[Reply]:
        """Return the replies with an outcome."""
        return [reply for reply in self.replies if reply.outcome is outcome]

    @property
    def passes(self) -> list[PassRecord]:
        """The last passes over all devices, as they say."""
        found = {each.device: each for reply in self.replies if reply.answer
                 for each in reply.answer.devices}
        return [found[device] for device in sorted(found)]

    @property
    def with_hand_offs(self) -> list[PassRecord]:
        """The devices that hold partitions of others."""
        return [each for each in self.passes if each.hand_offs]

    @property
    def complaints(self) -> list[str]:
        """What is not well, in words."""
        pairs = Counter(pair.state for policy in self.policies
                        for pair in policy.pairs)
        failed = {each.suspect.key for each in self.sightings
                  if each.suspect.state is State.FAILED}
        answered = len(self.hosts(Outcome.ANSWERED))
        counts = (
            ('unreachable nodes', len(self.hosts(Outcome.UNREACHABLE))),
            ('unusable answers', len(self.hosts(Outcome.INVALID))),
            ('stale pairs', pairs[PairState.STALE]),
            ('unreachable pairs', pairs[PairState.UNREACHABLE]),
            ('failed neighbours', len(failed)),
            ('devices without a recent pass', len(self.late)),
            ('policies whose neighbours all answer as stock Swift, on the '
             'replication port', sum(
                 0 < len(policy.in_use) == policy.as_stock
                 for policy in self.policies)))
        found = ['%s: %d' % each for each in counts if each[1]]
        return found if answered else found + ['no node with LightSync: %d '
                                               'asked' % len(self.replies)]


def _age(pair: Pair) -> float:
    return float('inf') if pair.age is None else pair.age


def assess(rings: Sequence[Ring], replies: Sequence[Reply],
           stale_after: float, now: float) -> Health:
    """Judge what the nodes replied.

    :param rings: the ring of each policy
    :param replies: what each node replied
    :param stale_after: seconds without agreement after which a pair is stale,
        and without a pass after which a device is late
    :param now: the time, seconds
    """
    heard = _by_source(replies)
    return Health(
        now, stale_after,
        tuple(_policy(ring, heard, stale_after) for ring in rings),
        tuple(replies),
        tuple(Sighting(host, each, max(0, each.until - answer.time))
              for host, answer in heard for each in answer.suspects),
        tuple(_late(rings, replies, heard, stale_after)))


def _by_source(replies: Iterable[Reply]
               ) -> list[tuple[NodeTuple, NodeAnswer]]:
    """Return the hosts that answered and their answers, each file's once.

    Several servers of one host may have read the same file.
    """
    heard: dict[tuple[str, str], tuple[NodeTuple, NodeAnswer]] = {}
    for reply in replies:
        if reply.answer:
            source = reply.host[0], reply.answer.source
            heard.setdefault(source, (reply.host, reply.answer))
    return list(heard.values())


def _policy(ring: Ring, heard: Iterable[tuple[NodeTuple, NodeAnswer]],
            stale_after: float) -> PolicyHealth:
    pairs = []
    for _, answer in heard:
        begun = {each.device: each.ended - each.duration
                 for each in answer.devices}
        failed: set[PlaceTuple] = {
            each.key for each in answer.suspects
            if each.state is State.FAILED}
        for record in answer.pairs:
            if record.policy == ring.policy:
                pairs.append(_pair(record, answer.time, begun, failed,
                                   stale_after))
    order = list(PairState)
    pairs.sort(key=lambda pair: (order.index(pair.state), _age(pair)),
               reverse=True)
    return PolicyHealth(ring, tuple(pairs))


def _pair(record: PairRecord, now: float, begun: Mapping[DeviceTuple, float],
          failed: Collection[PlaceTuple], stale_after: float) -> Pair:
    agreed = record.agreed
    age = None if agreed is None else max(0, now - agreed)
    is_failed = (record.neighbour in failed
                 or record.neighbour[:2] in failed)
    if record.checked < begun.get(record.device, 0) and not is_failed:
        state = PairState.IDLE
    elif is_failed or NEXT[record.answer] in (Next.PASS_OVER, Next.REPLACE):
        state = PairState.UNREACHABLE
    elif now - (record.since if agreed is None else agreed) > stale_after:
        state = PairState.STALE
    elif record.differing:
        state = PairState.DIFFERING
    else:
        state = PairState.AGREED
    return Pair(record, state, age)


def _late(rings: Iterable[Ring], replies: Iterable[Reply],
          heard: Iterable[tuple[NodeTuple, NodeAnswer]],
          stale_after: float) -> list[LateDevice]:
    """Return the devices of nodes that answered, but had no recent pass."""
    answered = {reply.host for reply in replies if reply.answer}
    ages: dict[DeviceTuple, float] = {}
    for _, answer in heard:
        for each in answer.devices:
            ages[each.device] = max(0, answer.time - each.ended)
    expected = {device for ring in rings
                for device, host in ring.devices.items() if host in answered}
    return [LateDevice(device, ages.get(device)) for device
            in sorted(expected)
            if ages.get(device, float('inf')) > stale_after]
