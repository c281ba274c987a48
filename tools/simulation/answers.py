# SPDX-License-Identifier: Apache-2.0
"""What a simulated node answers, as the product's object-server does."""

from swift_lightsync.sync.core.conversation import (
    Condition,
    DeviceState,
    differing_slices,
)
from swift_lightsync.sync.patient_reads import PATIENCE
from swift_lightsync.sync.wire import notice, sync_message
from swift_lightsync.sync.wire.known_sets import KnownSets
from swift_lightsync.sync.wire.sync_message import Verdict


class Answers:
    """The object-server of a node.

    :param node: the :class:`LightSyncNode`
    :param failures: the node's failure table
    :param rounds: when the rounds of its devices were played
    """

    def __init__(self, node, failures, rounds):
        self.node = node
        self.world = node.world
        self.failures = failures
        self.rounds = rounds
        self.known_sets = KnownSets()

    def take_roots(self, sender, data, messages, hand_offs):
        """Answer a sync message, as the object-server does.

        :param sender: the endpoint of the node that sent it
        :param messages: how many messages this one stands for
        :param hand_offs: whether to speak only of what the ring has here
        :returns: the reply, and the seconds that it takes
        """
        world = self.world
        self._hear_of(sender)
        message = sync_message.decode_roots(data)
        seconds = world.network.work(self.node.number, world.costs.message)
        items = self.known_sets.find(message)
        if items is None:
            return sync_message.encode_reply(Verdict.UNKNOWN_SET), seconds
        mates = {mate.device['device']: mate for mate in self.node.mates}
        roots, states, took = {}, {}, {}
        # A message's cost has a look at one partition.
        each = world.costs.fingerprint if len(items) > 1 else 0.0
        for item in items:
            _, device, partition = item
            node = mates[device]
            if not world.network.is_live(node.number):
                states[device] = DeviceState(Condition.UNMOUNTED)
            elif took.get(device, 0) > PATIENCE:
                states[device] = DeviceState(Condition.NOT_YET, PATIENCE)
            elif not hand_offs or node.is_ours(partition):
                roots[item] = world.disks.root(node.number, partition)
                took[device] = took.get(device, 0) + (
                    node.hash(partition) + world.network.work(
                        node.number, each * world.weight)) / messages
        told = [states.get(device, DeviceState(Condition.READY, int(
            self.rounds.seconds_since_round(device))))
            for device in items.devices]
        found = (Verdict.NOT_YET, ()) if states else (
            Verdict.COMPARED, differing_slices(items, message.roots, roots))
        return sync_message.encode_reply(*found, told), seconds + max(
            took.values(), default=0)

    def _hear_of(self, sender):
        if self.failures.has_failed(sender):
            self.failures.hint(sender)

    def take_notice(self, data):
        taken = notice.decode(data)
        self.failures.report(taken.reporter, taken.failed)
