# SPDX-License-Identifier: Apache-2.0
"""One partition in a pass of a node: the rounds that it plays, in a row."""

from dataclasses import dataclass

from swift_lightsync.sync.core.sync_round import (
    Exchange,
    full_exchange_due,
    sync_round,
)


@dataclass(frozen=True)
class FullExchange:
    """Exchange with all replicas."""
    devices: tuple


class PartitionRound:
    """
    The rounds of one partition.

    :param node: the :class:`LightSyncNode`
    :param partition: the partition
    """

    __slots__ = ('node', 'partition', 'pending', 'done', '_actions')

    def __init__(self, node, partition):
        self.node = node
        self.partition = partition
        self.pending = None
        #: Numbers of the nodes that the pending exchange was done with.
        self.done = ()
        self._actions = self._plan()
        self.go_on(None)

    def _plan(self):
        node, ring = self.node, self.node.ring
        replica = node.world.disks.replica(node.number, self.partition)
        interval = node.world.settings.full_exchange
        if interval is not None and full_exchange_due(
                self.partition, replica.exchanged, node.now, interval):
            replica.exchanged = node.now
            yield FullExchange(tuple(
                device for device in node.others(self.partition)
                if not node.neighbours.has_failed(device)))
            return
        for devices in node.topology(
                ring.part_nodes(self.partition), self.partition, node.number,
                node.neighbours.has_failed):
            yield from sync_round(devices, node.neighbours.has_failed,
                                  node.neighbours.cannot_reach,
                                  ring.more_nodes(self.partition))

    def wanted(self):
        """Return the devices that the pending exchange still lacks."""
        if not isinstance(self.pending, (Exchange, FullExchange)):
            return []
        return [device for device in self.pending.devices
                if device['id'] not in self.done]

    def exchanged(self, number):
        """Record that the pending exchange was done with a node."""
        self.done += (number,)
        if not self.wanted():
            self.go_on(True)

    def go_on(self, outcome):
        """Continue with the outcome of the pending action."""
        self.done = ()
        try:
            self.pending = self._actions.send(outcome)
        except StopIteration:
            self.pending = None
