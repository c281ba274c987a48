# SPDX-License-Identifier: Apache-2.0
"""
A node's knowledge of the other nodes, and its messages to them by LightSync.

The failure table, comparisons, the bytes of messages and the known sets are
the product's; a message is encoded by its sender, and decoded by its receiver.
"""

from swift_lightsync.sync.core.comparison import compare, differing_slices
from swift_lightsync.sync.core.conversation import (
    Condition,
    DeviceState,
    converse,
)
from swift_lightsync.sync.core.engine.charging import MAX_NOTIFIED
from swift_lightsync.sync.core.failure_table import FailureTable
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.patient_reads import PATIENCE
from swift_lightsync.sync.sync_batch import MESSAGES
from swift_lightsync.sync.sync_client import SHORT
from swift_lightsync.sync.wire import notice, shared_message, sync_message
from swift_lightsync.sync.wire.known_sets import KnownSets
from swift_lightsync.sync.wire.notice import Notice
from swift_lightsync.sync.wire.sync_message import Verdict
from tools.simulation.costs import LIGHTSYNC_HEADS, NOTICE_HEADS, on_wire
from tools.simulation.network import Reach
from tools.simulation.placement import Sample

#: What an attempt without answer is, which key it is charged to, and for how
#: many exceptions it counts, given ESL: PROTOCOL.md, "Failed neighbours".
CHARGES = {
    Reach.REFUSED: (Answer.REFUSED, endpoint, lambda limit: 1),
    Reach.SILENT: (Answer.TIMEOUT, endpoint,
                   lambda limit: max(2, -(-limit // 5))),
    Reach.LOST: (Answer.TIMEOUT, endpoint,
                 lambda limit: max(2, -(-limit // 5))),
    Reach.UNANSWERED: (Answer.TIMEOUT, device_key,
                       lambda limit: max(2, limit)),
}


class Neighbours:
    """
    The neighbours of a node.

    :param node: the :class:`LightSyncNode`
    """

    def __init__(self, node):
        self.node = node
        self.world = node.world
        self.endpoint = endpoint(node.device)
        self.table = FailureTable()
        self.known_sets = KnownSets()
        self.known_shared = KnownSets(decode=SharedSet.decode)
        self._connected = set()
        self._notified = set()
        self._rejoined = {}

    def begin_pass(self):
        self._connected.clear()
        self._notified.clear()
        self._knock()
        self._rejoined = dict(self.table.rejoined)

    def has_failed(self, device):
        return (self.table.has_failed(endpoint(device), self.node.now)
                or self.table.has_failed(device_key(device), self.node.now))

    def cannot_reach(self, device, other):
        return any(
            self.table.is_reported(endpoint(device), key, self.node.now)
            for key in (endpoint(other), device_key(other)))

    def newly_rejoined(self):
        """Return the keys that have come back since the last call."""
        self._knock()
        new = self.table.rejoined.items() - self._rejoined.items()
        self._rejoined = dict(self.table.rejoined)
        return {key for key, _ in new}

    def _sharing(self):
        """Return a device of each node that shares partitions with ours."""
        ring = self.node.ring
        nodes = {endpoint(ring.devices[number]): number
                 for mate in self.node.mates
                 for number in ring.sharing(mate.number)}
        return [number for where, number in nodes.items()
                if where != self.endpoint]

    def _knock(self):
        """Check whether nodes that refused connections accept them again."""
        refusing = self.table.refusing(self.node.now)
        for number in self._sharing():
            key = endpoint(self.node.ring.devices[number])
            if key in refusing and self.world.network.reach(
                    self.node.number, number) in (Reach.ANSWERED,
                                                  Reach.UNMOUNTED):
                self.table.contact(key, self.node.now)

    def ask_node(self, rounds):
        """
        A process: compare with a node what its devices share with ours.

        :param rounds: rounds whose pending Checks are of devices of that node
        :returns: a SharedTold, or an Answer that holds for all of them
        """
        device = rounds[0].pending.device
        conversation = converse({
            (0, each.pending.device['device'], each.partition):
            self.world.disks.root(each.node.number, each.partition)
            for each in rounds})
        sample = Sample(self.world.weight, self.world.placement.pairs,
                        MESSAGES)
        reply = None
        while True:
            try:
                asked = conversation.send(reply)
            except StopIteration as end:
                return end.value
            reply = yield from self._shared_reply(device, asked, sample)
            if isinstance(reply, Answer):
                return reply

    def _shared_reply(self, device, asked, sample):
        items = SharedSet(asked.partitions)
        peer = self.world.nodes[device['id']]
        for with_list in ((True,) if len(items.encoded) <= SHORT
                          else (False, True)):
            data = shared_message.encode_question(items, asked.roots,
                                                  with_list)
            reach, seconds = self.reach(device)
            work = 0.0
            if reach is Reach.UNMOUNTED:
                # The node is there, and tells of all its devices.
                reach, seconds = Reach.ANSWERED, self.world.network.latency
            if reach in (Reach.ANSWERED, Reach.UNANSWERED):
                data, work = peer.neighbours.take_shared(
                    self.endpoint, data, sample.messages)
                verdict, reply = shared_message.decode_reply(
                    data, len(asked.roots), len(items.devices))
                size = len(shared_message.encode_question(
                    items, asked.roots, with_list))
                question, answer = sample.root_bytes(
                    asked, with_list, size, len(reply.differing))
                self.count(device['id'], sample, question, answer + len(
                    reply.states) * shared_message.STATE.size)
            reach, seconds = self.in_time(reach, seconds, work)
            yield seconds * (1 if reach in (Reach.SILENT, Reach.REFUSED)
                             else sample.turns)
            answer = self.charge(device, reach, endpoint)
            if answer:
                return answer
            if verdict is not Verdict.UNKNOWN_SET:
                return reply
        raise AssertionError('the set is unknown where it was just sent')

    def take_shared(self, sender, data, messages):
        """Answer a question of a conversation; as :meth:`take_roots`."""
        world = self.world
        self._hear_of(sender)
        message = shared_message.decode_question(data)
        seconds = world.network.work(self.node.number, world.costs.message)
        items = self.known_shared.find(message)
        if items is None:
            return shared_message.encode_reply(Verdict.UNKNOWN_SET), seconds
        mates = {mate.device['device']: mate for mate in self.node.mates}
        each, roots, states, took = world.costs.fingerprint, {}, {}, {}
        for item in items:
            _, device, partition = item
            node = mates[device]
            if not world.network.is_live(node.number):
                states[device] = DeviceState(Condition.UNMOUNTED)
            elif took.get(device, 0) > PATIENCE:
                states[device] = DeviceState(Condition.NOT_YET, PATIENCE)
            else:
                roots[item] = world.disks.root(node.number, partition)
                took[device] = took.get(device, 0) + (
                    node.hash(partition) + world.network.work(
                        node.number, each * world.weight)) / messages
        told = [states.get(device, DeviceState(Condition.READY))
                for device in items.devices]
        seconds += max(took.values(), default=0)
        if states:
            return shared_message.encode_reply(
                Verdict.NOT_YET, (), told), seconds
        return shared_message.encode_reply(
            Verdict.COMPARED, differing_slices(items, message.roots, roots),
            told), seconds

    def _hear_of(self, sender):
        if self.table.has_failed(sender, self.node.now):
            self.table.hint(sender, self.node.now)

    def ask(self, node, device, partitions):
        """
        A process: send the roots of partitions of a device to a neighbour.

        :returns: an Answer, and the partitions that differ
        """
        comparison = compare({
            partition: self.world.disks.root(node.number, partition)
            for partition in partitions})
        sample = Sample(self.world.weight, self.world.weight)
        outcome = None
        while True:
            try:
                asked = comparison.send(outcome)
            except StopIteration as end:
                differing = end.value.differing
                return (Answer.DIFFER if differing else Answer.MATCH,
                        differing)
            outcome = yield from self._differing(device, asked, sample)
            if isinstance(outcome, Answer):
                return outcome, set()

    def _differing(self, device, asked, sample):
        partitions = asked.partitions
        is_short = len(partitions.encoded) <= sync_message.DIGEST_BYTES
        peer = self.world.nodes[device['id']]
        for with_list in ((True,) if is_short else (False, True)):
            data = sync_message.encode_roots(partitions, asked.roots,
                                             with_list=with_list)
            reach, seconds = self.reach(device)
            work = 0.0
            if reach in (Reach.ANSWERED, Reach.UNANSWERED):
                reply, work = peer.neighbours.take_roots(
                    peer, self.endpoint, data, sample.messages)
                verdict, differing = sync_message.decode_reply(
                    reply, len(asked.roots))
                self.count(device['id'], sample, *sample.root_bytes(
                    asked, with_list, len(data), len(differing)))
            elif reach is Reach.UNMOUNTED:
                self.count(device['id'], sample, len(data), 0)
            reach, seconds = self.in_time(reach, seconds, work)
            # One that was lost by chance is one of many alike.
            yield seconds * (1 if reach in (Reach.SILENT, Reach.REFUSED)
                             else sample.turns)
            answer = self.charge(device, reach)
            if answer:
                return answer
            if verdict is Verdict.NOT_YET:
                return Answer.NOT_YET
            if verdict is Verdict.COMPARED:
                return differing
        raise AssertionError('the set is unknown where it was just sent')

    def reach(self, device):
        """
        Reach a node as ``Node.attempt`` does, on a connection of our own.
        """
        return self.node.attempt(device['id'], self.world.costs.conn_timeout)

    def in_time(self, reach, seconds, work):
        """
        Time out an answer that takes the peer too long.

        :param work: seconds that the peer takes for its answer
        :returns: a Reach, and the seconds until the answer or the timeout
        """
        if reach is not Reach.ANSWERED:
            return reach, seconds
        if work > self.world.costs.http_timeout:
            return Reach.UNANSWERED, self.world.costs.http_timeout
        return reach, seconds + work + self.world.network.latency

    def count(self, other, sample, request, answer):
        """Count sync messages, with the bytes of their bodies."""
        answer += len(sync_message.encode_reply(Verdict.COMPARED))
        new = 0.0
        where = endpoint(self.node.ring.devices[other])
        if where not in self._connected:
            self._connected.add(where)
            new = min(self.world.placement.pairs, sample.messages)
        for kept, number in ((False, new), (True, sample.messages - new)):
            if number:
                self.world.network.count(
                    'LIGHTSYNC', self.node.number, other, on_wire(
                        LIGHTSYNC_HEADS, request, answer, kept), number)

    def charge(self, device, reach, hanging_key=device_key):
        """
        Update the failure table with the outcome of a request.

        :param hanging_key: what is charged if no answer comes
        :returns: the outcome as an Answer, or None if it was answered
        """
        now = self.node.now
        if reach in (Reach.ANSWERED, Reach.UNMOUNTED):
            self.table.contact(endpoint(device), now)
            self.table.contact(device_key(device), now)
            return Answer.UNMOUNTED if reach is Reach.UNMOUNTED else None
        answer, key_of, weight_of = CHARGES[reach]
        if key_of is device_key:
            key_of = hanging_key
        key, weight = key_of(device), weight_of(self.table.limit)
        failed = self.table.record(key, now, weight)
        if (failed or weight > 1) and key not in self._notified:
            self._notified.add(key)
            self._notify(Notice(self.endpoint, key))
        return answer

    def _notify(self, message):
        """Tell the nodes of the closed rings (§5.4.2)."""
        ring = self.node.ring
        others = [number for number in self._sharing()
                  if not self.has_failed(ring.devices[number])
                  and endpoint(ring.devices[number]) not in (
                      message.reporter, message.failed[:2])]
        for number in self.world.rng.sample(
                others, min(len(others), MAX_NOTIFIED)):
            self.world.events.spawn(self._notify_one(number,
                                                     message.encode()))

    def _notify_one(self, number, data):
        reach, seconds = self.node.attempt(number,
                                           self.world.costs.conn_timeout)
        yield seconds
        if reach in (Reach.ANSWERED, Reach.UNANSWERED):
            self.world.network.count(
                'notice', self.node.number, number, on_wire(
                    NOTICE_HEADS, len(data), 0, kept=False))
            self.world.nodes[number].neighbours.take_notice(data)

    def take_notice(self, data):
        taken = notice.decode(data)
        self.table.report(taken.reporter, taken.failed, self.node.now)

    def take_roots(self, node, sender, data, messages):
        """
        Answer a sync message, as the object-server does.

        :param node: the device that is asked
        :param sender: the endpoint of the node that sent it
        :param messages: how many messages this one stands for
        :returns: the reply, and the seconds that it takes
        """
        world, number = self.world, node.number
        self._hear_of(sender)
        message = sync_message.decode_roots(data)
        seconds = world.network.work(number, world.costs.message)
        partitions = self.known_sets.find(message)
        if partitions is None:
            return sync_message.encode_reply(Verdict.UNKNOWN_SET), seconds
        roots, until = {}, seconds + PATIENCE
        for partition in partitions:
            if seconds > until:
                return sync_message.encode_reply(
                    Verdict.NOT_YET, [1]), seconds
            roots[partition] = world.disks.root(number, partition)
            seconds += node.hash(partition) / messages
        return (sync_message.encode_reply(
            Verdict.COMPARED, differing_slices(
                partitions, message.roots, roots)), seconds)
