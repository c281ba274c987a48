# SPDX-License-Identifier: Apache-2.0
"""What the tests of neighbours share: a node whose peers do as told."""

import contextlib
import tempfile
from types import SimpleNamespace
from unittest import mock

from swift.common.concurrency import Timeout, sleep

from swift_lightsync.sync import failure_store, local_devices, neighbours
from swift_lightsync.sync.connections import ConnectFailure
from swift_lightsync.sync.core.conversation import (
    Condition,
    DeviceState,
    SharedTold,
)
from swift_lightsync.sync.core.engine.asking import asking_node
from swift_lightsync.sync.core.engine.grouping import pairs_of
from swift_lightsync.sync.core.engine.rounds import Round
from swift_lightsync.sync.core.sync_round import Answer, Check
from swift_lightsync.sync.keys import endpoint
from swift_lightsync.sync.neighbours import Neighbours
from swift_lightsync.sync.wire.notice import decode
from tests.unit.sync.fixtures import CapturingLogger, node

#: Of the local node.
HERE = ('127.0.0.1', 6200)


def refuse():
    raise ConnectFailure(Answer.REFUSED, 'refused')


def keep_silent():
    raise ConnectFailure(Answer.TIMEOUT, 'silent')


def hang():
    raise Timeout()


def break_off():
    raise ConnectionResetError()


def answer(idle=0):
    return SharedTold(states={'sda': DeviceState(Condition.READY, idle)})


class Clock:
    """Stands for the module ``time``."""

    def __init__(self):
        self.now = 1e9

    def time(self):
        return self.now

    monotonic = time


class FakeClient:
    """All nodes behave alike, until one is told to do otherwise.

    :ivar behaviour: a dict, endpoint to a function
    """

    def __init__(self):
        self.connections = SimpleNamespace(conn_timeout=0.5)
        self.behaviour = {}
        self.notices = []

    def behave(self, where):
        return self.behaviour.get(where, answer)()

    def ask_shared(self, sender, node, roots, hand_offs):
        return self.behave(endpoint(node))

    def notify(self, node, data):
        self.notices.append((node['id'], decode(data)))

    def connect(self, where):
        """Stands for ``socket.create_connection``."""
        behaviour = self.behaviour.get(where)
        if behaviour is refuse:
            raise ConnectionRefusedError()
        if behaviour is keep_silent:
            raise Timeout()
        return mock.Mock()


class Bench:
    """The neighbours of a node, with a client and a clock that are none.

    :param nodes: devices of other nodes
    """

    def __init__(self, nodes, **conf):
        self.stack = contextlib.ExitStack()
        self.root = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.clock = Clock()
        self.client = FakeClient()
        self.logger = CapturingLogger()
        self.conf = dict(conf, recon_cache_path=self.root)
        self.nodes = nodes
        self.ring = SimpleNamespace(devs=[node(0, HERE[1])] + nodes)
        for target, name, value in (
                (failure_store, 'time', self.clock),
                (local_devices, 'whataremyips', lambda ip: [HERE[0]]),
                (neighbours.socket, 'create_connection',
                 self.client.connect)):
            self.stack.enter_context(mock.patch.object(target, name, value))
        self.subject = Neighbours(self.conf, SimpleNamespace(
            logger=self.logger, ring_ip=HERE[0], port=HERE[1],
            conn_timeout=0.5, http_timeout=60, sync_batch_partitions=1,
            recon=mock.Mock()))
        self.subject.client = self.client
        self.policy = SimpleNamespace(object_ring=self.ring)

    def begin_pass(self):
        self.subject.begin_pass([{'nodes': self.nodes}])

    def ask(self, to):
        """As the rounds of a pass do: not who has failed."""
        if self.subject.has_failed(to):
            return None
        try:
            return ask(self.subject, to, Hashable(self.policy)).answer
        finally:
            # For the notices to be sent.
            sleep()


def ask(neighbours, to, policy):
    """Ask a neighbour about a partition, as a round does.

    :returns: what it said, a Told
    """
    asked = []

    def begin():
        asked.append((yield Check(to)))

    each = Round(neighbours, policy, 'sda', 1, 0, 'ab' * 16, 1)
    each.begin(begin())
    told = mock.Mock(wraps=neighbours.note)
    with mock.patch.object(neighbours, 'note', told):
        neighbours.drive(asking_node(neighbours, pairs_of([each])))
    return told.call_args.args[-1]


class Hashable:
    """A policy is one."""

    def __init__(self, policy):
        self.object_ring = policy.object_ring

    def __hash__(self):
        return 0

    __int__ = __hash__

    def __eq__(self, other):
        return True


def others(count):
    return [node(number, 6200, ip='127.0.0.%d' % (number + 1))
            for number in range(1, count + 1)]
