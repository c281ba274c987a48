# SPDX-License-Identifier: Apache-2.0
"""Who is pushed to when: swift_lightsync/proar/converger/peer_queue.py."""

import unittest
from unittest import mock

from swift.common.concurrency import Event, sleep

from swift_lightsync.common.quiet_logger import QuietLogger
from swift_lightsync.proar.converger import peer_queue
from swift_lightsync.proar.converger.converger_options import ConvergerOptions
from swift_lightsync.proar.converger.peer_queue import PeerQueue, PeerQueues
from tests.unit.sync.fixtures import CapturingLogger, node, wait_for

OPTIONS = ConvergerOptions(concurrency=2, retry_delay=0.01,
                           max_retry_delay=0.04)
PEER = node(7, 6200)
MORE = object()


class Log:
    """What pushes to a peer: one problem, '' or MORE a turn."""

    def __init__(self, *turns, pushing=None):
        self.turns = list(turns)
        self.pushing = pushing
        self.peers = []

    def push(self, peer, pusher, go_on):
        self.peers.append(peer)
        turn = self.turns.pop(0) if self.turns else ''
        if turn is MORE:
            go_on()
        if self.pushing:
            self.pushing(self)
        if isinstance(turn, Exception):
            raise turn
        return '' if turn is MORE else turn


class TestPeerQueue(unittest.TestCase):

    def setUp(self):
        self.now = 0.0
        self.enterContext(mock.patch.object(
            peer_queue, 'time', mock.Mock(monotonic=lambda: self.now)))
        self.enterContext(mock.patch.object(peer_queue, 'sleep', self.sleep))
        self.logger = QuietLogger(CapturingLogger())
        self.queue = self.new_queue()

    def sleep(self, seconds):
        sleep(0)
        self.now += seconds

    def new_queue(self, **kwargs):
        return PeerQueue(PEER, OPTIONS, None, self.logger, **kwargs)

    def run_queue(self, *logs, queue=None):
        queue = queue or self.queue
        for log in logs:
            queue.add(log, PEER['id'])
        wait_for(lambda: queue.is_idle, 'the queue is idle')

    def test_a_log_is_pushed_until_it_has_no_more(self):
        log = Log(MORE, MORE)
        self.run_queue(log)
        self.assertEqual([7, 7, 7], log.peers)

    def test_a_log_with_more_lets_the_others_go_first(self):
        order = []
        one, other, third = (Log(MORE, pushing=order.append)
                             for _ in range(3))
        self.run_queue(one, other, third)
        self.assertEqual({one, other, third}, set(order[:3]))

    def test_a_log_that_is_added_while_it_is_pushed_has_another_turn(self):
        log = Log()
        log.pushing = lambda _: len(log.peers) == 1 and self.queue.add(log, 7)
        self.run_queue(log)
        self.assertEqual([7, 7], log.peers)

    def test_a_log_that_waits_is_not_added_twice(self):
        log = Log()
        self.run_queue(log, log, log)
        self.assertEqual([7], log.peers)

    def test_so_many_push_at_a_time(self):
        gate, at_work, most = Event(), [], []

        def pushing(log):
            at_work.append(log)
            most.append(len(at_work))
            gate.wait()
            at_work.remove(log)
        for _ in range(5):
            self.queue.add(Log(pushing=pushing), 7)
        wait_for(lambda: len(at_work) == 2, 'two are at work')
        gate.send()
        wait_for(lambda: self.queue.is_idle, 'the queue is idle')
        self.assertEqual((2, 5), (max(most), len(most)))

    def test_several_push_for_one_log_that_has_more(self):
        gate, at_work = Event(), []

        def pushing(log):
            at_work.append(log)
            gate.wait()
        log = Log(MORE, pushing=pushing)
        self.queue.add(log, 7)
        wait_for(lambda: at_work == [log, log], 'two are at work')
        gate.send()
        wait_for(lambda: self.queue.is_idle, 'the queue is idle')

    def test_a_peer_that_takes_nothing_is_asked_ever_more_seldom(self):
        delays = []
        backoff = self.queue._backoff
        failed = Log(*('down' for _ in range(5)),
                     pushing=lambda _: delays.append(backoff.delay))
        self.run_queue(failed)
        self.assertEqual([0, 0.01, 0.02, 0.04, 0.04, 0.04], delays)
        self.assertEqual(0, backoff.delay)
        self.assertEqual(
            ['Unable to push to 127.0.0.1:6200/sda: down'],
            self.logger.at('WARNING'))

    def test_only_one_asks_whether_a_peer_is_back(self):
        failures = []

        def pushing(log):
            failures.append(self.queue._backoff.failures)
            sleep(0)
        logs = [Log(*('down' for _ in range(3)), pushing=pushing)
                for _ in range(4)]
        for log in logs:
            self.queue.add(log, 7)
        wait_for(lambda: self.queue.is_idle, 'the queue is idle')
        # Two at first, and then one for each delay, until it is back.
        self.assertEqual([0, 0, *range(1, 11)], failures[:12])
        self.assertEqual({4}, {len(log.peers) for log in logs})

    def test_an_error_ends_the_turn_and_is_logged(self):
        log, other = Log(ValueError('oops')), Log()
        self.run_queue(log, other)
        self.assertEqual(([7], [7]), (log.peers, other.peers))
        self.assertEqual(1, len(self.logger.at('ERROR')))

    def test_once_a_peer_that_takes_nothing_is_given_up(self):
        queue = self.new_queue(once=True)
        log = Log('down')
        others = [Log() for _ in range(9)]
        self.run_queue(log, *others, queue=queue)
        self.assertEqual([7], log.peers)
        self.assertTrue(any(not other.peers for other in others))

    def test_what_waits_can_be_forgotten(self):
        log = Log()
        log.pushing = lambda _: (self.queue.add(log, 7), self.queue.clear())
        self.run_queue(log)
        self.assertEqual([7], log.peers)


class TestPeerQueues(unittest.TestCase):

    def test_a_dead_peer_delays_nobody_else(self):
        queues = PeerQueues(ConvergerOptions(retry_delay=100), None,
                            QuietLogger(CapturingLogger()))
        dead, alive = Log('down'), Log()
        queues.add(dead, PEER)
        queues.add(alive, node(8, 6201))
        wait_for(lambda: alive.peers, 'the other is pushed to')
        self.assertFalse(queues.are_idle)
        queues.clear()

    def test_devices_of_several_rings_share_their_queue(self):
        queues = PeerQueues(OPTIONS, None, QuietLogger(CapturingLogger()))
        log, other = Log(), Log()
        queues.add(log, PEER)
        queues.add(other, dict(PEER, id=3))
        wait_for(lambda: queues.are_idle, 'all are idle')
        self.assertEqual(([7], [3]), (log.peers, other.peers))
        self.assertEqual(1, len(queues._queues))
