# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is for a full exchange, and with which replicas.

PROTOCOL.md, "A sync round".
"""

import math
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from swift.common.concurrency import Timeout, tpool
from swift.common.storage_policy import POLICIES, StoragePolicy

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import full_exchange_due, phase_of
from swift_lightsync.sync.driving import log_trouble
from swift_lightsync.sync.keys import Job, JobKey, device_key, job_key

if TYPE_CHECKING:
    from swift_lightsync.sync.replicator import LightSyncReplicator

#: Partitions of a device that a pass may list anew, however short it is.
LEAST = 64
#: Bits of a partition number.
BITS = 32


def _packed(key: JobKey) -> int:
    """Return a number that tells a job from the others of its device."""
    return key[1] << BITS | int(key[2])


@dataclass(frozen=True)
class Turn:
    """A full exchange whose turn has come.

    :param nodes: the devices to exchange with
    :param when: when all the others were exchanged with, seconds
    """
    __slots__ = ('nodes', 'when')
    nodes: tuple[RingDevice, ...]
    when: float


@dataclass(frozen=True)
class _Incomplete:
    """A full exchange that skipped replicas, or did not go well with some.

    :param when: when it was, seconds
    :param skipped: the ``device_key`` of each that had failed before
    """
    __slots__ = ('when', 'skipped')
    when: float
    skipped: frozenset[DeviceTuple]


class FullExchanges:
    """The full exchanges of a replicator.

    One that skipped a replica, or did not go well with one, is not noted as
    done. It is repeated in the next interval, and with those that were skipped
    as soon as all of them are back.

    Of a daemon whose passes follow each other, a pass takes note of whole
    turns, and leaves what its pace has no room for to the next passes; else
    it takes note of each partition, in its changed.pkl.

    :param daemon: the replicator
    """

    def __init__(self, daemon: 'LightSyncReplicator') -> None:
        self.daemon = daemon
        self._incomplete: dict[JobKey, _Incomplete] = {}
        #: What was skipped in this pass, which is the same for many.
        self._skipped: dict[frozenset[DeviceTuple],
                            frozenset[DeviceTuple]] = {}
        #: When the partitions of a device, policy and phase had their turn.
        self._turns: dict[tuple[str, int, int], float] = {}
        #: Those that were given to partitions in this pass, like _turns; None
        #: while each partition is noted by itself.
        self._given: dict[tuple[str, int, int], float] | None = None
        #: When the one of them that was compared first was, likewise, and as
        #: far as this pass has found.
        self._compared: dict[tuple[str, int, int], float] = {}
        self._found: dict[tuple[str, int, int], float] = {}
        #: By device: partitions of such turns that were not played to their
        #: ends, in the order of their turns, and when they last had been. Of
        #: a replicator that begins these can be nearly all.
        self._owed: dict[str, dict[int, float]] = defaultdict(dict)
        #: When the pass began, and how many partitions of each device it may
        #: list yet.
        self._begun = time.time()
        self._room: dict[str, float] = {}

    def begin_pass(self) -> None:
        """Begin a pass."""
        now, before = time.time(), self._begun
        pace = self.daemon.full_exchange_partitions_per_second
        most = max(LEAST, pace * (now - before)) \
            if pace and self.daemon.full_exchange_interval else math.inf
        self._begun, self._room = now, defaultdict(lambda: most)
        self._found, self._skipped = {}, {}

    def take_turns(self, by_turns: bool) -> None:
        """Begin to play rounds.

        :param by_turns: whether the rounds of all partitions of the pass's
            devices begin together, and further passes follow
        """
        self._given = {} if by_turns else None

    def end_turns(self, devices: Collection[str],
                  jobs: Iterable[Job]) -> None:
        """Note the turns of a pass, all of whose rounds have begun.

        :param devices: those of which it has looked at all partitions
        :param jobs: the jobs of these
        """
        self._turns.update(self._given or {})
        here: dict[str, set[int]] = {
            device: set() for device in devices if self._owed[device]}
        for job in jobs if here else ():
            if job['device'] in here:
                here[job['device']].add(_packed(job_key(job)))
        for device, found in here.items():
            for number in self._owed[device].keys() - found:
                del self._owed[device][number]
        self._compared = {
            place: when for place, when in self._compared.items()
            if place[0] not in devices}
        self._compared.update(self._found)

    def age(self, device: str, now: float) -> float:
        """Return how long ago the partition was listed anew, and compared with
        all, that waits for it longest.

        :param device: name of the local device
        :param now: the time, seconds
        """
        return max(0.0, now - min(
            [*self._owed[device].values(), *(
                when for (name, _, _), when in self._compared.items()
                if name == device)], default=now))

    def turn(self, job: Job, exchanged: float, now: float) -> Turn | None:
        """Return the full exchange that a partition wants now.

        :param job: the job of the partition
        :param exchanged: when it last had one, seconds
        :param now: the time, seconds
        :returns: the exchange, or None if its turn has not come
        """
        partition = int(job['partition'])
        interval = self.daemon.full_exchange_interval
        key, phase = job_key(job), phase_of(partition)
        place, number = (*key[:2], phase), _packed(key)
        owed = self._owed[key[0]]
        exchanged = owed.get(number, max(
            exchanged, self._turns.get(place, 0.0)))
        before = self._incomplete.get(key)
        is_due = number in owed or full_exchange_due(
            partition, exchanged, now, interval)
        is_whole = before is None or full_exchange_due(
            partition, before.when, now, interval)
        if is_due and is_whole and self._given is not None:
            owed.setdefault(number, exchanged)
            self._room[key[0]] -= 1
            is_due = self._room[key[0]] >= 0
        if not is_due:
            self._found[place] = min(exchanged, self._found.get(place, now))
            return None
        self._found.setdefault(place, now)
        if before is None or is_whole:
            if self._given is not None:
                self._given[place] = now
            return Turn(tuple(job['nodes']), now)
        back = tuple(node for node in job['nodes']
                     if device_key(node) in before.skipped)
        if not back or any(map(self.daemon.neighbours.has_failed, back)):
            return None
        return Turn(back, before.when)

    def owe(self, device: str,
            due: Iterable[tuple[StoragePolicy, int]]) -> None:
        """Note partitions whose turn has come.

        :param device: name of the local device
        :param due: the policy and number of each
        """
        for policy, partition in due:
            self._owed[device].setdefault(
                _packed((device, int(policy), str(partition))),
                self._turns.get((device, int(policy), phase_of(partition)),
                                self._begun))

    def waiting(self, device: str) -> Iterator[tuple[StoragePolicy, int]]:
        """Yield the partitions of a device that this pass may exchange with
        all: those that wait longest, and those that skipped replicas.

        :param device: name of the local device
        """
        most = self._room[device]
        owed = islice(self._owed[device],
                      None if math.isinf(most) else int(most))
        for number in [*owed, *(
                _packed(key) for key, before in self._incomplete.items()
                if key[0] == device and before.skipped)]:
            policy = POLICIES.get_by_index(number >> BITS)
            if policy:
                yield policy, number & (1 << BITS) - 1

    def played(self, job: Job, turn: Turn, skipped: Collection[DeviceTuple],
               went_well: bool) -> None:
        """Note how a full exchange went.

        :param job: the job of the partition
        :param turn: the exchange
        :param skipped: the ``device_key`` of each device that had failed
        :param went_well: whether it went well with all others
        """
        key = job_key(job)
        self._owed[key[0]].pop(_packed(key), None)
        if skipped or not went_well:
            same = frozenset(skipped)
            self._incomplete[key] = _Incomplete(
                turn.when, self._skipped.setdefault(same, same))
            return
        self._incomplete.pop(key, None)
        self.daemon.recon.note_full_exchange(job)
        if self._given is not None:
            return
        try:
            tpool.execute(
                self.daemon.fingerprints(job['policy']).note_exchange,
                job['device'], job['partition'], turn.when)
        except (Exception, Timeout) as err:
            log_trouble(
                self.daemon.logger, err, 'Unable to note that partition %s '
                'on %s was compared with all replicas; it will be again',
                job['partition'], job['device'])
