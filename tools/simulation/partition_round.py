# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""One partition in a pass of a node: the rounds that it plays, in a row."""

from dataclasses import dataclass

from swift_lightsync.sync.sync_round import full_exchange_due, sync_round


@dataclass(frozen=True)
class FullExchange:
    """Compare with all replicas, as stock Swift does."""


class PartitionRound:
    """
    :param node: the :class:`LightSyncNode`
    :param partition: the partition
    """

    def __init__(self, node, partition):
        self.node = node
        self.partition = partition
        self.pending = None
        self._actions = self._plan()
        self.go_on(None)

    @property
    def others(self):
        return [device for device
                in self.node.world.placement.part_nodes(self.partition)
                if device['id'] != self.node.number]

    def _plan(self):
        node = self.node
        replica = node.world.disks.replica(node.number, self.partition)
        interval = node.world.settings.full_exchange
        if interval is not None and full_exchange_due(
                self.partition, replica.exchanged, node.now, interval):
            yield FullExchange()
            return
        for devices in node.topology(
                node.world.placement.part_nodes(self.partition),
                self.partition, node.number, node.has_failed):
            yield from sync_round(devices, node.has_failed,
                                  node.cannot_reach)

    def go_on(self, outcome):
        """Take what came of the pending action."""
        try:
            self.pending = self._actions.send(outcome)
        except StopIteration:
            self.pending = None
