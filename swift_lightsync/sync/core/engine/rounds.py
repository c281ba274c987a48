# SPDX-License-Identifier: Apache-2.0
"""One partition in a replication pass: what it wants next, and what it got.

``pending`` is the action that its round wants next. A Check may be answered,
and an Exchange done, alone or together with those of other partitions.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from swift_lightsync.common.address import DeviceTuple
from swift_lightsync.sync.core.device_keys import device_key
from swift_lightsync.sync.core.replica_ring import RingDevice
from swift_lightsync.sync.core.sync_round import (
    NEXT,
    Action,
    Answer,
    Check,
    Exchange,
    Exchanged,
    Next,
)


@dataclass(frozen=True)
class Relist:
    """Lists the suffixes of the partition anew; its outcome is True."""
    __slots__ = ()


#: The actions of a round.
Actions = Generator[Action | Relist, Any, Any]


class Around(Protocol):
    """What a round asks of its pass."""

    def has_failed(self, node: RingDevice) -> bool:
        """Return whether to skip a device."""

    def has_verb(self, node: RingDevice) -> bool:
        """Return False if its node answered like stock Swift."""

    def cannot_push(self, node: RingDevice) -> bool:
        """Return whether a device has failed to take what was pushed."""


def full_comparison(nodes: Iterable[RingDevice],
                    has_failed: Callable[[RingDevice], bool]
                    ) -> Generator[Action | Relist, Any,
                                   list[DeviceTuple]]:
    """List a partition anew, and compare its root with all its replicas.

    Those that differ, and those that are not mounted, are exchanged with at
    the end, so that as many hand-offs are found as are needed.

    :param nodes: the devices of the other replicas
    :param has_failed: returns whether to skip a device
    :returns: a generator of actions, which returns the keys of the devices
        that were skipped
    """
    yield Relist()
    skipped, differing = [], []
    for node in nodes:
        if has_failed(node):
            skipped.append(device_key(node))
        elif NEXT[(yield Check(node))] in (Next.EXCHANGE, Next.REPLACE):
            differing.append(node)
    if differing:
        yield Exchange(tuple(differing))
    return skipped


def exchange_with_all(nodes: Iterable[RingDevice],
                      has_failed: Callable[[RingDevice], bool]) -> Actions:
    """Exchange a partition with devices, as stock Swift does.

    :param nodes: the devices
    :param has_failed: returns whether to skip a device
    """
    able = tuple(node for node in nodes if not has_failed(node))
    if able:
        yield Exchange(able)


class Round:
    """One partition's part in a replication pass.

    All partitions of a device have one at the same time, so it is kept small.

    :param around: the pass
    :param policy: the policy
    :param device: name of the local device that holds the partition
    :param region: the device's region
    :param partition: the partition's number
    :param root: the partition's root
    :param suffixes: how many suffixes it has
    """

    __slots__ = ('around', 'policy', 'device', 'region', 'partition', 'root',
                 'suffixes', 'pending', 'matched', 'passed_over', 'complete',
                 '_tried', '_done', '_actions')
    #: Whether the partition does not belong to the device.
    is_hand_off = False

    def __init__(self, around: Around, policy: Any, device: str, region: int,
                 partition: int, root: str, suffixes: int) -> None:
        self.around = around
        self.policy = policy
        self.device = device
        self.region = region
        self.partition = partition
        self.root = root
        self.suffixes = suffixes
        #: How many devices answered that they hold the same.
        self.matched = 0
        #: The keys of the devices that were passed over.
        self.passed_over: frozenset[DeviceTuple] = frozenset()
        self.pending: Action | Relist | None = None
        #: The devices with which the pending Exchange was tried, and done.
        self._tried: tuple[DeviceTuple, ...] = ()
        self._done: tuple[RingDevice, ...] = ()
        #: Whether nothing was left out so far, and all went well.
        self.complete = True
        self._actions: Actions | None = None

    def begin(self, actions: Actions) -> None:
        """Begin to play.

        :param actions: a generator of actions, like ``sync_round``
        """
        self._actions = actions
        self._go_on(None)

    def _go_on(self, outcome: Answer | Exchanged | bool | None
               ) -> None:
        if self._actions is None:
            raise ValueError('the round of partition %d is over'
                             % self.partition)
        self._tried = self._done = ()
        try:
            self.pending = self._actions.send(outcome)
        except StopIteration:
            self.pending = self._actions = None

    def has_failed(self, node: RingDevice) -> bool:
        """Return whether to skip a device, which then is passed over."""
        failed = self.around.has_failed(node)
        if failed:
            self.pass_over(node)
        return failed

    def pass_over(self, node: RingDevice) -> None:
        """Note that a device is passed over."""
        self.passed_over |= {device_key(node)}

    def answer(self, answer: Answer) -> None:
        """Take the answer to the pending Check.

        :param answer: the neighbour's answer
        """
        if answer is Answer.MATCH:
            self.matched += 1
        elif isinstance(self.pending, Check) and NEXT[answer] in (
                Next.PASS_OVER, Next.REPLACE, Next.POSTPONE):
            self.pass_over(self.pending.device)
            self.complete &= NEXT[answer] is Next.REPLACE
        self._go_on(answer)

    def relisted(self, root: str, suffixes: int) -> None:
        """Take the success of the pending Relist.

        :param root: the partition's root now
        :param suffixes: how many suffixes it has now
        """
        self.root, self.suffixes = root, suffixes
        self._go_on(True)

    def exchangeable(self) -> list[RingDevice]:
        """Return the devices that the pending Exchange can be tried with now,
        together with other partitions.

        There is only one of each other region, so that data travels there
        once.
        """
        if not isinstance(self.pending, Exchange):
            return []
        found: list[RingDevice] = []
        regions: set[int] = set()
        for node in self.pending.devices:
            region = node['region']
            if device_key(node) in self._tried or region in regions \
                    or not self.around.has_verb(node) \
                    or self.around.has_failed(node) \
                    or self.around.cannot_push(node):
                continue
            found.append(node)
            if region != self.region:
                regions.add(region)
        return found

    def trying(self, key: DeviceTuple) -> None:
        """Note that the pending Exchange is being tried with a device.

        :param key: its ``device_key``
        """
        self._tried += (key,)

    def exchanged(self, key: DeviceTuple, pushed: int, suffixes: int) -> int:
        """Take the success of the pending Exchange with one of its devices.

        :param key: the device's ``device_key``
        :param pushed: to how many suffixes something was pushed
        :param suffixes: how many suffixes the partition has
        :returns: how many devices of its region get it from that one, as in
            stock Swift
        """
        if not isinstance(self.pending, Exchange):
            raise ValueError('partition %d has no exchange pending'
                             % self.partition)
        self.suffixes = suffixes
        node, left = self._without(self.pending, key)
        spared = 0
        if pushed and node['region'] != self.region:
            staying = [each for each in left
                       if each['region'] != node['region']]
            spared, left = len(left) - len(staying), staying
        self._done += (node,)
        if left:
            self.pending = replace(self.pending, devices=tuple(left))
        else:
            self.note_exchanged()
            self._go_on(Exchanged.PUSHED if pushed else Exchanged.DONE)
        return spared

    def note_exchanged(self) -> None:
        """Take note of the devices with which the Exchange was done."""

    def put_off(self, key: DeviceTuple) -> None:
        """Leave the pending Exchange with one of its devices to a later pass.

        :param key: the device's ``device_key``
        """
        if not isinstance(self.pending, Exchange):
            return
        node, left = self._without(self.pending, key)
        self.pass_over(node)
        self.complete = False
        if left:
            self.pending = replace(self.pending, devices=tuple(left))
        else:
            self._go_on(True)

    @staticmethod
    def _without(pending: Exchange, key: DeviceTuple
                 ) -> tuple[RingDevice, list[RingDevice]]:
        """Return one of the devices of an Exchange, and the others."""
        node, = (each for each in pending.devices if device_key(each) == key)
        return node, [each for each in pending.devices if each is not node]

    def able(self) -> list[RingDevice]:
        """Return the devices of the pending Exchange that are left to try."""
        if not isinstance(self.pending, Exchange):
            return []
        nodes = []
        for node in self.pending.devices:
            if self.has_failed(node):
                continue
            if self.around.cannot_push(node):
                self.pass_over(node)
                continue
            nodes.append(node)
        self.complete &= len(nodes) == len(self.pending.devices)
        # Who is tried counts by how that goes.
        self.passed_over -= {device_key(node) for node in nodes}
        return nodes

    def exchanged_alone(self, done: bool) -> None:
        """Take the outcome of the pending Exchange, done by itself.

        :param done: whether all went well
        """
        self.complete &= done
        self._go_on(done)
