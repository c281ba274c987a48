# SPDX-License-Identifier: Apache-2.0
"""
A node's knowledge of the other nodes, and its messages to them by LightSync.

Whom to ask, and what is charged, is the product's engine, and so are the
bytes of messages; this module encodes and decodes them, and takes the time.
"""

from swift_lightsync.sync.core.conversation import converse
from swift_lightsync.sync.core.engine.actions import (
    Failed,
    Knock,
    Outcome,
    Pause,
    Reply,
    Together,
)
from swift_lightsync.sync.core.engine.asking import MESSAGES
from swift_lightsync.sync.core.engine.peers import AskNode, Peers
from swift_lightsync.sync.core.failure_table import FailureTable
from swift_lightsync.sync.core.failures import Failures
from swift_lightsync.sync.core.shared_set import SharedSet
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.sync_client import SHORT
from swift_lightsync.sync.wire import sync_message
from swift_lightsync.sync.wire.sync_message import Verdict
from tools.simulation import events
from tools.simulation.answers import Answers
from tools.simulation.costs import LIGHTSYNC_HEADS, NOTICE_HEADS, on_wire
from tools.simulation.network import Reach
from tools.simulation.placement import Sample

#: What a Reach is to the engine.
OUTCOMES = {Reach.ANSWERED: Outcome.ANSWERED,
            Reach.UNMOUNTED: Outcome.ANSWERED,
            Reach.REFUSED: Outcome.REFUSED, Reach.SILENT: Outcome.SILENT,
            Reach.LOST: Outcome.SILENT, Reach.UNANSWERED: Outcome.HANGING}


class Rounds:
    """When the rounds of a node's devices were played.

    :param clock: returns the time, seconds
    """

    def __init__(self, clock):
        self.clock = clock
        self._played = {}

    def note_round(self, device):
        """Note that the rounds of a device are being played."""
        self._played[device] = self.clock()

    def seconds_since_round(self, device):
        """Return how long ago they were last played; 0: never."""
        return self.clock() - self._played.get(device, self.clock())


class Neighbours(Peers):
    """The neighbours of a node.

    :param node: the :class:`LightSyncNode`
    """

    def __init__(self, node):
        self.node = node
        self.world = node.world

        def clock():
            return self.world.events.now

        self.rounds = Rounds(clock)
        super().__init__(Failures(FailureTable(), clock), clock,
                         self.world.rng, self.rounds)
        self.endpoint = endpoint(node.device)
        self.answers = Answers(node, self.failures, self.rounds)
        self._connected = set()
        self._ring = node.ring

    @property
    def keeps_ring(self):
        """Whether the ring is still the one that the pass began with."""
        return self.node.ring is self._ring

    def beginning_pass(self):
        """Return the engine's process that begins a pass."""
        self._connected.clear()
        self._ring = ring = self.node.ring
        sharing = (ring.devices[number] for mate in self.node.mates
                   for number in ring.sharing(mate.number))
        return self.beginning(
            {device_key(device): device for device in sharing
             if endpoint(device) != self.endpoint}, self.node.batch > 1)

    def own(self, policy, device):
        """Return the device of this node that has a name."""
        return next((mate.device for mate in self.node.mates
                     if mate.device['device'] == device), None)

    def cannot_push(self, node):
        """Return whether pushes to a device fail: that is not simulated."""
        return False

    def play(self, process, perform=None):
        """A process: run one of the engine, in the time of the world.

        :param process: the engine's process
        :param perform: a function of an action that returns a process, whose
            result is that of the action
        """
        perform, result = perform or self.perform, None
        while True:
            try:
                action = process.send(result)
            except StopIteration as end:
                return end.value
            result = None
            if isinstance(action, Pause):
                yield action.seconds
            elif isinstance(action, Together):
                yield events.Together([
                    self.play(each, perform) for each in action.processes],
                    action.limit)
                # What nobody expects ends the simulation.
                result = [True] * len(action.processes)
            else:
                result = yield from perform(action)

    def perform(self, action):
        """A process: perform an action, and return its result."""
        if isinstance(action, tuple):
            method, *args = action
            return (yield from method(*args))
        if isinstance(action, AskNode):
            return (yield from self._ask_node(action))
        if isinstance(action, Knock):
            return self.reply(self.world.network.reach(
                self.node.number, action.node['id']))
        assert isinstance(action, Failed)
        for device in action.others if action.notice else ():
            self.world.events.spawn(self._notify_one(
                device['id'], action.notice.encode()))

    @staticmethod
    def reply(reach, value=None):
        """Return what a Reach is to the engine."""
        return Reply(OUTCOMES[reach], value, Answer.UNMOUNTED
                     if reach is Reach.UNMOUNTED else None)

    def _ask_node(self, action):
        """A process: compare with a node what its devices share with ours."""
        conversation = converse(action.roots)
        weight = self.world.weight
        # Unbatched, a message is about one partition.
        sample = Sample(weight, self.world.placement.pairs, MESSAGES) \
            if self.batched else Sample(weight, weight)
        reply = None
        while True:
            try:
                asked = conversation.send(reply)
            except StopIteration as end:
                return Reply(Outcome.ANSWERED, end.value)
            reply = yield from self._shared_reply(
                action.node, asked, sample, action.hand_offs)
            if isinstance(reply, Reply):
                return reply

    def _shared_reply(self, device, asked, sample, hand_offs):
        items = SharedSet(asked.partitions)
        peer = self.world.nodes[device['id']]
        for with_list in ((True,) if len(items.encoded) <= SHORT
                          else (False, True)):
            data = sync_message.encode_roots(items, asked.roots,
                                                  with_list)
            reach, seconds = self.reach(device)
            work = 0.0
            if reach is Reach.UNMOUNTED:
                # The node is there, and tells of all its devices.
                reach, seconds = Reach.ANSWERED, self.world.network.latency
            if reach in (Reach.ANSWERED, Reach.UNANSWERED):
                data, work = peer.neighbours.answers.take_roots(
                    self.endpoint, data, sample.messages, hand_offs)
                verdict, reply = sync_message.decode_reply(
                    data, len(asked.roots), len(items.devices))
                size = len(sync_message.encode_roots(
                    items, asked.roots, with_list))
                question, answer = sample.root_bytes(
                    asked, with_list, size, len(reply.differing))
                self.count(device['id'], sample, question, answer + len(
                    reply.states) * sync_message.STATE.size)
            reach, seconds = self.in_time(reach, seconds, work)
            yield seconds * (1 if reach in (Reach.SILENT, Reach.REFUSED)
                             else sample.turns)
            if reach is not Reach.ANSWERED:
                return self.reply(reach)
            if verdict is not Verdict.UNKNOWN_SET:
                return reply
        raise AssertionError('the set is unknown where it was just sent')

    def reach(self, device):
        """Reach a node as ``Node.attempt`` does, on a connection of our own.
        """
        return self.node.attempt(device['id'], self.world.costs.conn_timeout)

    def in_time(self, reach, seconds, work):
        """Time out an answer that takes the peer too long.

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

    def _notify_one(self, number, data):
        reach, seconds = self.node.attempt(number,
                                           self.world.costs.conn_timeout)
        yield seconds
        if reach in (Reach.ANSWERED, Reach.UNANSWERED):
            self.world.network.count(
                'notice', self.node.number, number, on_wire(
                    NOTICE_HEADS, len(data), 0, kept=False))
            self.world.nodes[number].neighbours.answers.take_notice(data)
