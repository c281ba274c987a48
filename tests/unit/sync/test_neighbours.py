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
"""Neighbours: what is charged to whom, who is told, and what it all costs."""

import contextlib
import shutil
import tempfile
import unittest
from functools import partial
from types import SimpleNamespace
from unittest import mock

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, \
    invariant, rule

from swift.common.concurrency import Timeout, sleep

from swift_lightsync.sync import failure_store, neighbours, replica_ring
from swift_lightsync.sync.failure_store import FailureStore
from swift_lightsync.sync.neighbours import MAX_NOTIFIED, Neighbours, \
    device_key, endpoint
from swift_lightsync.sync.notice import decode
from swift_lightsync.sync.sync_client import ConnectFailure, Refusal
from swift_lightsync.sync.sync_message import SyncMessageError
from swift_lightsync.sync.sync_round import Answer
from tests.unit.sync.fixtures import CapturingLogger, node

#: Of the local node.
HERE = ('127.0.0.1', 6200)
POLICY = 'policy'
ROOTS = {0: 'ab' * 16}


def refuse():
    raise ConnectFailure(Answer.REFUSED, 'refused')


def keep_silent():
    raise ConnectFailure(Answer.TIMEOUT, 'silent')


def hang():
    raise Timeout()


def break_off():
    raise ConnectionResetError()


def answer(idle=None):
    return Answer.MATCH, set(), idle


class Clock:
    """Stands for the module ``time``."""

    def __init__(self):
        self.now = 1e9

    def time(self):
        return self.now

    monotonic = time


class FakeClient:
    """
    All nodes behave alike, until one is told to do otherwise.

    :ivar behaviour: a dict, endpoint to a function
    """

    conn_timeout = 0.5

    def __init__(self):
        self.behaviour = {}
        self.notices = []

    def behave(self, where):
        return self.behaviour.get(where, answer)()

    def ask(self, sender, node, policy, roots):
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
    """
    The neighbours of a node, with a client and a clock that are none.

    :param nodes: devices of other nodes
    """

    def __init__(self, nodes, **conf):
        self.stack = contextlib.ExitStack()
        self.root = tempfile.mkdtemp()
        self.stack.callback(shutil.rmtree, self.root)
        self.clock = Clock()
        self.client = FakeClient()
        self.logger = CapturingLogger()
        self.conf = dict(conf, recon_cache_path=self.root)
        self.nodes = nodes
        self.ring = SimpleNamespace(devs=[node(0, HERE[1])] + nodes)
        for target, name, value in (
                (failure_store, 'time', self.clock),
                (neighbours, 'whataremyips', lambda ip: [HERE[0]]),
                (neighbours.socket, 'create_connection',
                 self.client.connect)):
            self.stack.enter_context(mock.patch.object(target, name, value))
        self.subject = Neighbours(self.conf, SimpleNamespace(
            logger=self.logger, ring_ip=HERE[0], port=HERE[1],
            conn_timeout=0.5, http_timeout=60, recon=mock.Mock()))
        self.subject.client = self.client
        self.policy = SimpleNamespace(object_ring=self.ring)

    def begin_pass(self):
        self.subject.begin_pass([{'nodes': self.nodes}])

    def ask(self, to):
        """As the rounds of a pass do: not who has failed."""
        if self.subject.has_failed(to):
            return None
        try:
            return self.subject.ask('sda', to, Hashable(self.policy),
                                    ROOTS)[0]
        finally:
            # For the notices to be sent.
            sleep()


class Hashable:
    """A policy is one."""

    def __init__(self, policy):
        self.object_ring = policy.object_ring

    def __hash__(self):
        return 0

    def __eq__(self, other):
        return True


def others(count):
    return [node(number, 6200, ip='127.0.0.%d' % (number + 1))
            for number in range(1, count + 1)]


class NeighboursTestCase(unittest.TestCase):

    def bench(self, count=3, **conf):
        bench = Bench(others(count), **conf)
        self.addCleanup(bench.stack.close)
        bench.begin_pass()
        return bench


class TestCharges(NeighboursTestCase):

    def times_until_failed(self, behaviour, limit):
        bench = self.bench(error_suppression_limit=limit)
        peer = bench.nodes[0]
        bench.client.behaviour[endpoint(peer)] = behaviour
        count = 0
        while bench.ask(peer) is not None:
            count += 1
        return count, bench

    def test_exceptions_it_takes_to_fail(self):
        for behaviour, counts in (
                (refuse, {1: 1, 2: 2, 5: 5, 10: 10, 12: 12}),
                (break_off, {1: 1, 10: 10}),
                (keep_silent, {1: 1, 2: 1, 5: 3, 10: 5, 12: 4, 100: 5}),
                (hang, {1: 1, 10: 1, 100: 1})):
            for limit, count in counts.items():
                with self.subTest(behaviour, limit=limit):
                    self.assertEqual(count, self.times_until_failed(
                        behaviour, limit)[0])

    def test_no_connection_is_charged_to_the_node_silence_to_the_device(self):
        for behaviour, is_node in ((refuse, True), (keep_silent, True),
                                   (hang, False), (break_off, False)):
            with self.subTest(behaviour):
                _, bench = self.times_until_failed(behaviour, 10)
                self.assertEqual(is_node, bench.subject.has_failed(
                    dict(bench.nodes[0], device='sdb')))
                self.assertFalse(bench.subject.has_failed(bench.nodes[1]))

    def test_an_answer_that_is_an_error_is_an_answer(self):
        for error in (Refusal(Answer.UNMOUNTED), SyncMessageError('x')):
            bench = self.bench()
            peer = bench.nodes[0]
            for key in (endpoint(peer), device_key(peer)):
                bench.subject.failures.record(key, 9)
            with self.assertRaises(type(error)):
                bench.subject.call(None, peer, mock.Mock(side_effect=error))
            self.assertEqual({}, bench.subject.failures.table.rows)

    def test_who_lacks_the_verb_is_not_asked_again_in_the_pass(self):
        bench = self.bench()
        peer = bench.nodes[0]
        bench.client.behaviour[endpoint(peer)] = lambda: (
            Answer.UNSUPPORTED, set(), None)
        self.assertIs(Answer.UNSUPPORTED, bench.ask(peer))
        bench.client.behaviour.clear()
        self.assertIs(Answer.UNSUPPORTED, bench.ask(peer))
        bench.begin_pass()
        self.assertIs(Answer.MATCH, bench.ask(peer))


class TestNotices(NeighboursTestCase):

    def test_who_waited_tells_all_others_once_a_pass(self):
        bench = self.bench(4)
        peer = bench.nodes[0]
        bench.client.behaviour[endpoint(peer)] = keep_silent
        for _ in range(3):
            bench.ask(peer)
        self.assertEqual([2, 3, 4], sorted(
            number for number, _ in bench.client.notices))
        self.assertEqual({(HERE, endpoint(peer))}, {
            (sent.reporter, sent.failed)
            for _, sent in bench.client.notices})
        bench.begin_pass()
        bench.ask(peer)
        self.assertEqual(6, len(bench.client.notices))

    def test_a_refusal_is_told_once_the_node_has_failed(self):
        bench = self.bench()
        peer = bench.nodes[0]
        bench.client.behaviour[endpoint(peer)] = refuse
        for _ in range(9):
            bench.ask(peer)
        self.assertEqual([], bench.client.notices)
        bench.ask(peer)
        self.assertEqual(2, len(bench.client.notices))

    def test_who_has_failed_itself_is_not_told(self):
        bench = self.bench()
        bench.subject.failures.record(endpoint(bench.nodes[1]), 10)
        bench.client.behaviour[endpoint(bench.nodes[0])] = hang
        bench.ask(bench.nodes[0])
        self.assertEqual([3], [number for number, _
                               in bench.client.notices])

    def test_one_notice_goes_to_a_bounded_number(self):
        bench = self.bench(200)
        bench.client.behaviour[endpoint(bench.nodes[0])] = hang
        bench.ask(bench.nodes[0])
        self.assertEqual(MAX_NOTIFIED, len({
            number for number, _ in bench.client.notices}))

    def test_a_notice_that_cannot_be_delivered_is_no_end(self):
        bench = self.bench()
        bench.client.behaviour[endpoint(bench.nodes[0])] = hang
        bench.client.notify = mock.Mock(side_effect=OSError('x'))
        self.assertIs(Answer.TIMEOUT, bench.ask(bench.nodes[0]))
        self.assertEqual(2, len(bench.logger.at('DEBUG')))

    def test_who_says_that_it_cannot_reach_another(self):
        bench = self.bench()
        one, two, three = bench.nodes
        bench.subject.failures.report(endpoint(one), endpoint(two))
        bench.subject.failures.report(endpoint(one), device_key(three))
        for other, said in ((two, True), (three, True),
                            (dict(three, device='sdb'), False)):
            self.assertEqual(said, bench.subject.is_cut('sda', one, other))
        self.assertFalse(bench.subject.is_cut('sda', two, three))


class TestIdle(NeighboursTestCase):

    def test_who_plays_no_rounds_passes_nothing_on(self):
        bench = self.bench()
        one, two, three = bench.nodes
        for seconds, idle in ((None, False), (0, False), (300, False),
                              (301, True), (2 ** 32, True)):
            with self.subTest(seconds=seconds):
                bench.begin_pass()
                bench.client.behaviour[endpoint(one)] = partial(
                    answer, seconds)
                bench.ask(one), bench.ask(two)
                self.assertEqual(idle, bench.subject.is_cut(
                    'sda', one, three))
                self.assertFalse(bench.subject.is_cut('sda', two, three))

    def test_it_is_logged_once_a_pass(self):
        bench = self.bench()
        bench.client.behaviour[endpoint(bench.nodes[0])] = partial(
            answer, 999)
        for passes in (1, 2):
            bench.begin_pass()
            bench.ask(bench.nodes[0]), bench.ask(bench.nodes[0])
            lines = bench.logger.at('WARNING')
            self.assertEqual(passes, len(lines))
            self.assertRegex(lines[0], '127.0.0.2:6200/sda were not played '
                             'for 999 s')


class TestClockwise(NeighboursTestCase):

    def clockwise(self, bench, **job):
        return bench.subject.clockwise(dict({
            'policy': Hashable(bench.policy), 'device': 'sda',
            'partition': '5', 'nodes': bench.nodes}, **job))

    def test_it_is_the_replica_ring_without_a_look_at_the_partition(self):
        bench = self.bench()
        self.assertEqual(
            replica_ring.clockwise(bench.ring.devs, 5, 0),
            self.clockwise(bench))

    def test_there_is_none_if_the_ring_changed_meanwhile(self):
        bench = self.bench()
        self.assertIsNone(self.clockwise(bench, device='sdz'))
        self.assertIsNone(self.clockwise(bench, nodes=bench.ring.devs))


class TestOwnEndpoint(NeighboursTestCase):

    def own(self, bench, device='sda'):
        return bench.subject.own_endpoint(Hashable(bench.policy), device)

    def test_it_is_the_one_that_the_ring_has_of_the_device(self):
        bench = self.bench()
        self.assertEqual(HERE, self.own(bench))
        self.assertIsNone(self.own(bench, 'sdb'))

    def test_it_follows_a_change_of_the_ring_from_the_next_pass_on(self):
        bench = self.bench()
        self.own(bench), self.own(bench, 'sdb')
        bench.ring.devs[0] = dict(bench.ring.devs[0], device='sdb')
        bench.ring.devs.append(None)
        bench.begin_pass()
        self.assertIsNone(self.own(bench))
        self.assertEqual(HERE, self.own(bench, 'sdb'))

    def test_it_is_looked_up_once_a_pass(self):
        bench = self.bench()
        with mock.patch.object(neighbours, 'whataremyips',
                               return_value=[HERE[0]]) as looking:
            for _ in range(5):
                self.own(bench)
        self.assertEqual(1, looking.call_count)


class TestKnocking(NeighboursTestCase):

    def failed(self, behaviour, **conf):
        bench = self.bench(**conf)
        peer = bench.nodes[0]
        bench.client.behaviour[endpoint(peer)] = behaviour
        while bench.ask(peer) is not None:
            pass
        bench.logger.lines.clear()
        return bench, peer

    def test_who_accepts_connections_again_is_back_with_the_next_pass(self):
        bench, peer = self.failed(refuse)
        bench.client.behaviour.clear()
        self.assertTrue(bench.subject.has_failed(peer))
        bench.begin_pass()
        self.assertIs(Answer.MATCH, bench.ask(peer))

    def test_and_in_the_course_of_one_it_is_rejoining(self):
        bench, peer = self.failed(refuse)
        bench.begin_pass()
        self.assertEqual([], bench.subject.newly_rejoined(bench.nodes))
        bench.client.behaviour.clear()
        self.assertEqual([peer], bench.subject.newly_rejoined(bench.nodes))
        self.assertEqual([], bench.subject.newly_rejoined(bench.nodes))

    def test_who_refuses_still_is_as_before_and_nothing_is_logged(self):
        bench, peer = self.failed(refuse)
        rows = dict(bench.subject.failures.table.rows)
        for _ in range(20):
            bench.begin_pass()
        self.assertEqual(rows, bench.subject.failures.table.rows)
        self.assertEqual([], bench.logger.lines)

    def test_nobody_waits_for_who_is_silent(self):
        bench, peer = self.failed(keep_silent)
        bench.client.connect = None
        with mock.patch.object(neighbours.socket, 'create_connection') as \
                connecting:
            bench.begin_pass()
            bench.subject.newly_rejoined(bench.nodes)
        self.assertFalse(connecting.called)

    def test_who_falls_silent_instead_costs_one_time_out(self):
        bench, peer = self.failed(refuse)
        bench.client.behaviour[endpoint(peer)] = keep_silent
        bench.begin_pass()
        self.assertEqual(1, len(bench.logger.at('ERROR')))
        bench.begin_pass()
        self.assertEqual(1, len(bench.logger.at('ERROR')))
        self.assertTrue(bench.subject.has_failed(peer))

    def test_a_connection_may_take_no_longer_than_conn_timeout(self):
        bench, peer = self.failed(refuse)
        bench.client.conn_timeout = 0.01
        with mock.patch.object(neighbours.socket, 'create_connection',
                               lambda where: sleep(60)):
            bench.begin_pass()
        self.assertEqual(1, len(bench.logger.at('ERROR')))


class FlappingNode(RuleBasedStateMachine):
    """
    Whatever a node does, what others and itself say of it: it costs a bounded
    number of time-outs, and who is well is not left out for longer than ESI.
    """

    ESI = 60
    #: Time-outs until a node fails, and the one of a second chance.
    MOST = 6

    def __init__(self):
        super().__init__()
        self.bench = Bench(others(2))
        self.peer = self.bench.nodes[0]
        self.key = endpoint(self.peer)
        self.behave(answer)
        #: When it was waited for.
        self.waits = {keep_silent: [], hang: []}
        self.asked = 0

    @initialize()
    def start(self):
        self.bench.begin_pass()

    def teardown(self):
        self.bench.stack.close()

    @property
    def now(self):
        return self.bench.clock.now

    def other_process(self):
        """The object-server of the node."""
        return FailureStore(self.bench.conf, self.bench.logger)

    @rule(behaviour=st.sampled_from([
        answer, refuse, break_off, keep_silent, hang]))
    def behave(self, behaviour):
        self.well_since = self.now if behaviour is answer else None
        self.bench.client.behaviour[self.key] = behaviour
        self.behaviour = behaviour

    @rule(count=st.sampled_from([1, 3, 12]))
    def ask(self, count):
        for _ in range(count):
            if self.bench.ask(self.peer) is not None:
                self.waits.get(self.behaviour, []).append(self.now)

    @rule(behaviour=st.sampled_from([keep_silent, hang]))
    def answer_one_message_in_two(self, behaviour):
        for _ in range(8):
            for each in (behaviour, answer):
                self.behave(each)
                self.ask(1)

    @rule()
    def next_pass(self):
        knocked = self.key in self.bench.subject.failures.refusing()
        self.bench.begin_pass()
        if knocked and self.behaviour is keep_silent:
            self.waits[keep_silent].append(self.now)
        if knocked and self.behaviour in (answer, hang):
            assert not self.bench.subject.failures.has_failed(self.key)

    @rule()
    def a_notice_comes(self):
        self.other_process().report(('127.0.0.9', 6200), self.key)

    @rule()
    def its_sync_message_comes(self):
        store = self.other_process()
        if store.has_failed(self.key):
            store.hint(self.key)

    @rule(seconds=st.sampled_from([0.6, 7, 30, 59, 60]))
    def wait(self, seconds):
        self.bench.clock.now += seconds

    @invariant()
    def time_outs_are_bounded(self):
        for behaviour, most in ((keep_silent, self.MOST), (hang, 1)):
            recent = [then for then in self.waits[behaviour]
                      if self.now - then < self.ESI]
            assert len(recent) <= most, recent

    @invariant()
    def who_is_well_is_not_left_out(self):
        if self.well_since is not None and \
                self.now - self.well_since >= self.ESI:
            assert not self.bench.subject.has_failed(self.peer)


TestFlappingNode = FlappingNode.TestCase
TestFlappingNode.settings = settings(max_examples=100,
                                     stateful_step_count=30)

if __name__ == '__main__':
    unittest.main()
