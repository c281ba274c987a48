# SPDX-License-Identifier: Apache-2.0
"""
One sync round of one partition, as one of its devices plays it.

LightSync §5.3, Algorithm 1, with the closed ring of §5.4.2. The round is a
generator of actions; whoever runs it performs each one, and sends back what
came of it. It neither waits nor talks, so the daemon, the tests and a
simulator can run the same rounds.
"""

from dataclasses import dataclass
from enum import Enum


class Answer(Enum):
    """What came of a sync message; the value is its name in metrics."""
    MATCH = 'match'
    DIFFER = 'differ'
    #: The peer does not know the verb: stock Swift.
    UNSUPPORTED = 'unsupported'
    #: An answer that cannot be used.
    INVALID = 'invalid'
    #: 507: the device is not mounted.
    UNMOUNTED = 'unmounted'
    REFUSED = 'refused'
    TIMEOUT = 'timeout'


@dataclass(frozen=True)
class Check:
    """Send our root to the device; to be answered with an Answer."""
    __slots__ = ('device',)
    device: dict


@dataclass(frozen=True)
class Exchange:
    """
    Compare suffix by suffix with each of the devices and push what it lacks;
    to be answered with True if all went well.
    """
    __slots__ = ('devices',)
    devices: tuple


class Next(Enum):
    """How a round goes on after an answer."""
    DONE = 1
    EXCHANGE = 2
    REPLACE = 3
    PASS_OVER = 4


NEXT = {
    Answer.MATCH: Next.DONE,
    Answer.DIFFER: Next.EXCHANGE,
    Answer.UNSUPPORTED: Next.EXCHANGE,
    Answer.INVALID: Next.EXCHANGE,
    # A hand-off takes the place of a missing disk.
    Answer.UNMOUNTED: Next.REPLACE,
    Answer.REFUSED: Next.PASS_OVER,
    Answer.TIMEOUT: Next.PASS_OVER,
}


def _nobody(*devices):
    return False


def sync_round(clockwise, has_failed, is_cut=_nobody, hand_offs=()):
    """
    Go round the replica ring until a neighbour holds what we hold.

    Mostly that takes one sync message, to the clockwise neighbour. A device
    that cannot be reached, or cannot take what we push, is passed over, so
    that what we hold travels on by the next one. For one that is not mounted
    a hand-off has to hold it as well; who meets one goes all the way round,
    so that all of them are counted. Where a neighbour does not pass on what it
    holds to the device after it, we see to that one in its place.

    :param clockwise: the other devices of the ring, as from
        ``replica_ring.clockwise``
    :param has_failed: a function of a device: is it to be skipped?
    :param is_cut: a function of two devices: does what the first holds not
        get to the second by it?
    :param hand_offs: an iterable of the devices that stand in for devices
        that are not mounted, in order
    :returns: a generator of :class:`Check` and :class:`Exchange`
    """
    to_replace = 0
    agreed = None
    for device in clockwise:
        if agreed and not to_replace and not is_cut(agreed, device):
            break
        if has_failed(device):
            continue
        following = NEXT[(yield Check(device))]
        if following is Next.REPLACE:
            to_replace += 1
        elif following is Next.DONE or (
                following is Next.EXCHANGE and (yield Exchange((device,)))):
            agreed = device
    hand_offs = iter(hand_offs if to_replace else ())
    while to_replace:
        device = next(hand_offs, None)
        if device is None:
            return
        if has_failed(device):
            continue
        following = NEXT[(yield Check(device))]
        if following is Next.DONE or (
                following is Next.EXCHANGE and (yield Exchange((device,)))):
            to_replace -= 1


def full_exchange_due(partition, last, now, interval):
    """
    Whether a partition's turn for an exchange with all replicas has come.

    Time is cut into intervals, at a different phase for each partition; its
    turn has come as soon as the last exchange is not of this interval. So no
    partition waits longer than one interval for the next pass to exchange
    it, the exchanges of a device's partitions are spread over the interval,
    and a clock that was wrong once puts nothing off.

    :param partition: its number
    :param last: when it last had an exchange with all, seconds
    :param now: the time, seconds
    :param interval: seconds; 0 makes it due always
    """
    if interval <= 0:
        return True
    # The golden ratio spreads consecutive numbers evenly.
    phase = partition * 0.6180339887498949 % 1
    return int(now / interval + phase) != int(last / interval + phase)
