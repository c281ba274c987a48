# SPDX-License-Identifier: Apache-2.0
"""
A node's knowledge of the other nodes, and its messages to them by LightSync.

The failure table, comparisons, the bytes of messages and the known sets are
the product's; a message is encoded by its sender, and decoded by its receiver.
"""

from swift_lightsync.sync.core.comparison import compare, differing_slices
from swift_lightsync.sync.core.failure_table import FailureTable
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.neighbours import MAX_NOTIFIED
from swift_lightsync.sync.patient_reads import PATIENCE
from swift_lightsync.sync.sync_batch import MESSAGES
from swift_lightsync.sync.wire import notice, sync_message
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

    def _knock(self):
        """Check whether nodes that refused connections accept them again."""
        refusing = self.table.refusing(self.node.now)
        for number in self.node.ring.sharing(self.node.number):
            key = endpoint(self.node.ring.devices[number])
            if key in refusing and self.world.network.reach(
                    self.node.number, number) in (Reach.ANSWERED,
                                                  Reach.UNMOUNTED):
                self.table.contact(key, self.node.now)

    def ask(self, device, partitions):
        """
        A process: send the roots of partitions to a neighbour.

        :returns: an Answer, and the partitions that differ
        """
        disks, placement = self.world.disks, self.world.placement
        comparison = compare({
            partition: disks.root(self.node.number, partition)
            for partition in partitions})
        sample = (Sample(self.world.weight, placement.pairs, MESSAGES)
                  if self.node.batch > 1 else
                  Sample(self.world.weight, self.world.weight))
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
                    self.endpoint, data, sample.messages)
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
        if other not in self._connected:
            self._connected.add(other)
            new = min(self.world.placement.pairs, sample.messages)
        for kept, number in ((False, new), (True, sample.messages - new)):
            if number:
                self.world.network.count(
                    'LIGHTSYNC', self.node.number, other, on_wire(
                        LIGHTSYNC_HEADS, request, answer, kept), number)

    def charge(self, device, reach):
        """
        Update the failure table with the outcome of a request.

        :returns: the outcome as an Answer, or None if it was answered
        """
        now = self.node.now
        if reach in (Reach.ANSWERED, Reach.UNMOUNTED):
            self.table.contact(endpoint(device), now)
            self.table.contact(device_key(device), now)
            return Answer.UNMOUNTED if reach is Reach.UNMOUNTED else None
        answer, key_of, weight_of = CHARGES[reach]
        key, weight = key_of(device), weight_of(self.table.limit)
        failed = self.table.record(key, now, weight)
        if (failed or weight > 1) and key not in self._notified:
            self._notified.add(key)
            self._notify(Notice(self.endpoint, key))
        return answer

    def _notify(self, message):
        """Tell the nodes of the closed rings (§5.4.2)."""
        ring = self.node.ring
        others = [number for number in ring.sharing(self.node.number)
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

    def take_roots(self, sender, data, messages):
        """
        Answer a sync message, as the object-server does.

        :param sender: the endpoint of the node that sent it
        :param messages: how many messages this one stands for
        :returns: the reply, and the seconds that it takes
        """
        world, number = self.world, self.node.number
        if self.table.has_failed(sender, self.node.now):
            self.table.hint(sender, self.node.now)
        message = sync_message.decode_roots(data)
        seconds = world.network.work(number, world.costs.message)
        partitions = self.known_sets.find(message)
        if partitions is None:
            return sync_message.encode_reply(Verdict.UNKNOWN_SET), seconds
        each = 0.0
        if self.node.batch > 1:
            each = world.network.work(
                number, world.costs.fingerprint * world.weight / messages)
        roots, until = {}, seconds + PATIENCE
        for partition in partitions:
            if seconds > until:
                return sync_message.encode_reply(
                    Verdict.NOT_YET, [1]), seconds
            roots[partition] = world.disks.root(number, partition)
            seconds += self.node.hash(partition) / messages + each
        return (sync_message.encode_reply(
            Verdict.COMPARED, differing_slices(
                partitions, message.roots, roots)), seconds)
