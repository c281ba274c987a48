# SPDX-License-Identifier: Apache-2.0
"""One sync round of one partition, as one of its devices plays it.

LightSync §5.3, Algorithm 1, with the closed ring of §5.4.2:

1. Mostly a round takes one sync message, to the clockwise neighbour.
2. A device that cannot be reached, or cannot take what we push, is passed
   over, so that what we hold travels on by the next one.
3. For a device that is not mounted, a hand-off has to hold what we hold as
   well. A round that meets such a device goes all the way round, so that all
   of them are counted.
4. Where a neighbour does not pass on what it holds to the device after it,
   this round continues with that device.
5. One that is busy is left to the next pass. ``is_cut`` says when it has been
   for too long.
6. What had to be pushed may be lacking further on: the round goes on until a
   device lacks nothing. Of another region one device is pushed to.

The round is a generator of actions; whoever runs it performs each one, and
sends back the outcome. It neither waits nor talks, so the daemon, the tests
and a simulator can run the same rounds.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

from swift_lightsync.sync.core.replica_ring import RingDevice


class Answer(Enum):
    """The outcome of a sync message; the value is its name in metrics."""
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
    #: The node has too much to do.
    BUSY = 'busy'
    #: The device has not read, or cannot read now, what it was asked about.
    NOT_YET = 'notyet'


@dataclass(frozen=True)
class Check:
    """Sends our root to a device.

    Its outcome is an :class:`Answer`.
    """
    __slots__ = ('device',)
    device: RingDevice


@dataclass(frozen=True)
class Exchange:
    """Compares suffix by suffix with each of the devices, and pushes what it
    lacks.

    Its outcome is an :class:`Exchanged`.
    """
    __slots__ = ('devices',)
    devices: tuple[RingDevice, ...]


class Exchanged(IntEnum):
    """The outcome of an exchange; a bool will do where nothing is known."""
    #: Something went wrong.
    FAILED = False
    #: All went well, or was put off to a later pass.
    DONE = True
    #: All went well, and something was pushed.
    PUSHED = 2


#: What a round wants done. What is sent back is an Answer or an Exchanged.
Action = Check | Exchange
Round = Generator[Action, Any, None]


class Next(Enum):
    """How a round goes on after an answer."""
    DONE = 1
    EXCHANGE = 2
    REPLACE = 3
    PASS_OVER = 4
    POSTPONE = 5


NEXT = {
    Answer.MATCH: Next.DONE,
    Answer.DIFFER: Next.EXCHANGE,
    Answer.UNSUPPORTED: Next.EXCHANGE,
    Answer.INVALID: Next.EXCHANGE,
    # A hand-off takes the place of a missing disk.
    Answer.UNMOUNTED: Next.REPLACE,
    Answer.REFUSED: Next.PASS_OVER,
    Answer.TIMEOUT: Next.PASS_OVER,
    # Neither makes work: the next pass asks again.
    Answer.BUSY: Next.POSTPONE,
    Answer.NOT_YET: Next.POSTPONE,
}


#: In so many turns an interval the partitions have their full exchanges.
TURNS = 12
#: After these a round has nothing more to do with a device.
_SETTLED = (Next.DONE, Next.POSTPONE)


def _nobody(*devices: RingDevice) -> bool:
    return False


def sync_round(clockwise: Iterable[RingDevice],
               has_failed: Callable[[RingDevice], bool],
               is_cut: Callable[[RingDevice, RingDevice], bool] = _nobody,
               hand_offs: Iterable[RingDevice] = (),
               region: int | None = None) -> Round:
    """Go round the replica ring until a neighbour holds what we hold.

    :param clockwise: the other devices of the ring, as from
        ``replica_ring.clockwise``
    :param has_failed: returns whether to skip a device
    :param is_cut: returns whether what the first device holds does not reach
        the second through the first
    :param hand_offs: stand-ins for devices that are not mounted, in order
    :param region: of the device that plays the round; None: all are in one
    :returns: a generator of actions, which is sent their outcomes
    """
    to_replace = 0
    agreed, is_spreading = None, False
    crossed: set[Any] = set()
    for device in clockwise:
        if agreed and not is_spreading and not to_replace \
                and not is_cut(agreed, device):
            break
        if has_failed(device) or device.get('region') in crossed:
            continue
        following, outcome = yield from _reach(device)
        to_replace += following is Next.REPLACE
        if outcome:
            agreed = device
            if following is not Next.POSTPONE:
                is_spreading = outcome == Exchanged.PUSHED
        if outcome == Exchanged.PUSHED and region not in (
                None, device.get('region')):
            crossed.add(device['region'])
    for stand_in in hand_offs if to_replace else ():
        if not has_failed(stand_in):
            _, outcome = yield from _reach(stand_in)
            to_replace -= bool(outcome)
            if not to_replace:
                return


def _reach(device: RingDevice) -> Generator[Action, Any,
                                            tuple[Next, Exchanged]]:
    """Compare with a device, and push what it lacks if they differ."""
    following = NEXT[(yield Check(device))]
    if following is Next.EXCHANGE:
        return following, (yield Exchange((device,)))
    return following, (Exchanged.DONE if following in _SETTLED
                       else Exchanged.FAILED)


def full_exchange_due(partition: int, last: float, now: float,
                      interval: float) -> bool:
    """
    Return whether it is a partition's turn to be exchanged with all replicas.

    Time is cut into intervals, at one of TURNS phases for each partition; its
    turn has come as soon as the last exchange is not of this interval. So no
    partition waits longer than one interval for the next pass to exchange
    it, the exchanges of a device's partitions are spread over the interval,
    those of one turn share messages, the passes between turns ask about the
    same sets, and a clock that was wrong once puts nothing off.

    :param partition: its number
    :param last: when it last had an exchange with all, seconds
    :param now: the time, seconds
    :param interval: seconds; 0 makes it due always
    """
    if interval <= 0:
        return True
    phase = phase_of(partition)
    return turn(phase, now, interval) != turn(phase, last, interval)


def phase_of(partition: int) -> int:
    """Return with which of the TURNS a partition has its full exchange."""
    # The golden ratio spreads consecutive numbers evenly.
    return int(partition * 0.6180339887498949 % 1 * TURNS)


def turn(phase: int, now: float, interval: float) -> int:
    """Return what changes whenever a phase has its turn."""
    return int(now / interval + phase / TURNS)
