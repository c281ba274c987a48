# SPDX-License-Identifier: Apache-2.0
"""
What the nodes' answers come to: pure judgement, without any I/O.

RECON.md says what the states mean, and what is not well.
"""

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Optional

from swift_lightsync.common.nodes import Outcome
from swift_lightsync.report.answer import State
from swift_lightsync.sync.core.sync_round import NEXT, Answer, Next


class PairState(Enum):
    """A pair of devices, from the best state to the worst."""
    #: Not asked in the last pass: no neighbours any more, or not this time.
    IDLE = 'idle'
    AGREED = 'agreed'
    DIFFERING = 'differing'
    STALE = 'stale'
    UNREACHABLE = 'unreachable'


@dataclass(frozen=True)
class Ring:
    """
    :param policy: the policy's index
    :param name: its name
    :param devices: a dict, (IP, port, device) of the replication network to
        the (IP, port) of its object-server
    """
    policy: int
    name: str
    devices: dict


@dataclass(frozen=True)
class Pair:
    """
    :param record: the PairRecord
    :param state: its PairState
    :param age: seconds since it agreed, or None if it never has
    """
    record: object
    state: PairState
    age: Optional[float]


@dataclass(frozen=True)
class Sighting:
    """
    :param node: whose failure table: (IP, port) of its object-server
    :param suspect: the Suspect
    :param left: seconds until that is forgotten
    """
    node: tuple
    suspect: object
    left: float


@dataclass(frozen=True)
class LateDevice:
    """
    :param device: (IP, port, device)
    :param age: seconds since its last pass, or None if it has none
    """
    device: tuple
    age: Optional[float]


@dataclass(frozen=True)
class PolicyHealth:
    """
    :param ring: the Ring
    :param pairs: a tuple of Pairs, the worst first
    """
    ring: Ring
    pairs: tuple

    def count(self, *states):
        return sum(pair.state in states for pair in self.pairs)

    @property
    def in_use(self):
        return [pair for pair in self.pairs
                if pair.state is not PairState.IDLE]

    @property
    def oldest(self):
        """The pair that has not agreed for longest; None if there is none."""
        return max(self.in_use, key=_age, default=None)

    @property
    def as_stock(self):
        """How many pairs were compared as stock Swift does it."""
        return sum(pair.record.answer is Answer.UNSUPPORTED
                   for pair in self.in_use)

    @property
    def differing(self):
        return sum(pair.record.differing for pair in self.in_use)


@dataclass(frozen=True)
class Health:
    """
    :param time: when the nodes were asked, Unix time
    :param stale_after: seconds
    :param policies: a tuple of PolicyHealth
    :param replies: a tuple of Reply
    :param sightings: a tuple of Sightings
    :param late: a tuple of LateDevices
    """
    time: float
    stale_after: float
    policies: tuple
    replies: tuple
    sightings: tuple
    late: tuple

    def hosts(self, outcome):
        return [reply for reply in self.replies if reply.outcome is outcome]

    @property
    def complaints(self):
        """:returns: a list of what is not well, in words"""
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


def _age(pair):
    return float('inf') if pair.age is None else pair.age


def assess(rings, replies, stale_after, now):
    """
    :param rings: an iterable of Rings
    :param replies: a list of Replies
    :param stale_after: seconds without agreement after which a pair is stale,
        and without a pass after which a device is late
    :param now: the time, seconds
    :returns: a :class:`Health`
    """
    heard = _by_source(replies)
    return Health(
        now, stale_after,
        tuple(_policy(ring, heard, stale_after) for ring in rings),
        tuple(replies),
        tuple(Sighting(host, each, max(0, each.until - answer.time))
              for host, answer in heard for each in answer.suspects),
        tuple(_late(rings, replies, heard, stale_after)))


def _by_source(replies):
    """
    The (host, answer) that tell of different things: several servers of one
    host may have read the same file.
    """
    heard = {}
    for reply in replies:
        if reply.answer:
            source = reply.host[0], reply.answer.source
            heard.setdefault(source, (reply.host, reply.answer))
    return list(heard.values())


def _policy(ring, heard, stale_after):
    pairs = []
    for _, answer in heard:
        begun = {each.device: each.ended - each.duration
                 for each in answer.devices}
        failed = {each.key for each in answer.suspects
                  if each.state is State.FAILED}
        for record in answer.pairs:
            if record.policy == ring.policy:
                pairs.append(_pair(record, answer.time, begun, failed,
                                   stale_after))
    order = list(PairState)
    pairs.sort(key=lambda pair: (order.index(pair.state), _age(pair)),
               reverse=True)
    return PolicyHealth(ring, tuple(pairs))


def _pair(record, now, begun, failed, stale_after):
    age = None if record.agreed is None else max(0, now - record.agreed)
    is_failed = failed & {record.neighbour, record.neighbour[:2]}
    if record.checked < begun.get(record.device, 0) and not is_failed:
        state = PairState.IDLE
    elif is_failed or NEXT[record.answer] in (Next.PASS_OVER, Next.REPLACE):
        state = PairState.UNREACHABLE
    elif now - (record.since if age is None
                else record.agreed) > stale_after:
        state = PairState.STALE
    elif record.differing:
        state = PairState.DIFFERING
    else:
        state = PairState.AGREED
    return Pair(record, state, age)


def _late(rings, replies, heard, stale_after):
    """The devices of the nodes that have answered, but tell of no pass."""
    answered = {reply.host for reply in replies if reply.answer}
    ages = {}
    for _, answer in heard:
        for each in answer.devices:
            ages[each.device] = max(0, answer.time - each.ended)
    expected = {device for ring in rings
                for device, host in ring.devices.items() if host in answered}
    return [LateDevice(device, ages.get(device)) for device
            in sorted(expected)
            if ages.get(device, float('inf')) > stale_after]
