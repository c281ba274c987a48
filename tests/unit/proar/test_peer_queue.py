# SPDX-License-Identifier: Apache-2.0
"""Who is pushed to when: swift_lightsync/proar/converger/peer_queue.py."""

import unittest

from swift.common.concurrency import Event, sleep

from swift_lightsync.proar.converger.converger_options import (
    ConvergerOptions,
)
from swift_lightsync.proar.converger.followed_log import Turn
from swift_lightsync.proar.converger.peer_queue import Lane, Lanes
from tests.unit.sync.fixtures import CapturingLogger, node, wait_for

OPTIONS = ConvergerOptions(concurrency=2, retry_delay=0.01,
                           max_retry_delay=0.04)
PEER = node(7, 6200)


class Log:
    """A log whose turns are given."""

    def __init__(self, *turns, pushing=None):
        self.turns = list(turns)
        self.pushing = pushing
        self.peers = []

    def push(self, peer, pusher):
        self.peers.append(peer)
        if self.pushing:
            self.pushing(self)
        turn = self.turns.pop(0) if self.turns else Turn()
        if isinstance(turn, Exception):
            raise turn
        return turn


class TestLane(unittest.TestCase):

    def setUp(self):
        self.logger = CapturingLogger()
        self.lane = self.new_lane()

    def new_lane(self, **kwargs):
        return Lane(PEER, OPTIONS, None, self.logger, **kwargs)

    def run_lane(self, *logs, lane=None):
        lane = lane or self.lane
        for log in logs:
            lane.add(log, PEER['id'])
        wait_for(lambda: lane.is_idle, 'the lane is idle')

    def test_a_log_is_pushed_until_it_has_no_more(self):
        log = Log(Turn(has_more=True), Turn(has_more=True), Turn())
        self.run_lane(log)
        self.assertEqual([7, 7, 7], log.peers)

    def test_a_log_with_more_lets_the_others_go_first(self):
        order = []
        one, other, third = (Log(Turn(has_more=True), pushing=order.append)
                             for _ in range(3))
        self.run_lane(one, other, third)
        self.assertEqual({one, other, third}, set(order[:3]))

    def test_a_log_that_is_added_while_it_is_pushed_has_another_turn(self):
        log = Log()
        log.pushing = lambda _: len(log.peers) == 1 and self.lane.add(log, 7)
        self.run_lane(log)
        self.assertEqual([7, 7], log.peers)

    def test_a_log_that_waits_is_not_added_twice(self):
        log = Log()
        self.run_lane(log, log, log)
        self.assertEqual([7], log.peers)

    def test_so_many_logs_are_pushed_at_a_time_and_none_twice(self):
        gate, at_work, most = Event(), [], []

        def pushing(log):
            self.assertNotIn(log, at_work)
            at_work.append(log)
            most.append(len(at_work))
            gate.wait()
            at_work.remove(log)
        logs = [Log(pushing=pushing) for _ in range(5)]
        for log in logs:
            self.lane.add(log, 7)
        wait_for(lambda: len(at_work) == 2, 'two are at work')
        for log in logs:
            self.lane.add(log, 7)
        gate.send()
        wait_for(lambda: self.lane.is_idle, 'the lane is idle')
        self.assertEqual(2, max(most))

    def test_a_peer_that_takes_nothing_is_asked_ever_more_seldom(self):
        delays = []
        failed = Log(*(Turn('down') for _ in range(5)),
                     pushing=lambda _: delays.append(self.lane._delay))
        self.run_lane(failed)
        self.assertEqual([0, 0.01, 0.02, 0.04, 0.04, 0.04], delays)
        self.assertEqual(0, self.lane._delay)
        self.assertEqual(
            ['Unable to push to 127.0.0.1:6200/sda: down'],
            self.logger.at('WARNING'))

    def test_only_one_asks_whether_a_peer_is_back(self):
        calls = []

        def pushing(log):
            calls.append(log)
            sleep(0.005)
        logs = [Log(*(Turn('down') for _ in range(3)), pushing=pushing)
                for _ in range(4)]
        for log in logs:
            self.lane.add(log, 7)
        wait_for(lambda: self.lane._delay == 0.04, 'it backs off')
        # two at first, and one for each delay
        self.assertLessEqual(len(calls), 2 + 3)
        wait_for(lambda: self.lane.is_idle, 'the lane is idle')
        self.assertEqual({4}, {len(log.peers) for log in logs})

    def test_an_error_ends_the_turn_and_is_logged(self):
        log, other = Log(ValueError('oops')), Log()
        self.run_lane(log, other)
        self.assertEqual(([7], [7]), (log.peers, other.peers))
        self.assertEqual(1, len(self.logger.at('ERROR')))

    def test_once_a_peer_that_takes_nothing_is_given_up(self):
        lane = self.new_lane(once=True)
        log = Log(Turn('down'))
        others = [Log() for _ in range(9)]
        self.run_lane(log, *others, lane=lane)
        self.assertEqual([7], log.peers)
        self.assertTrue(any(not other.peers for other in others))

    def test_what_waits_can_be_forgotten(self):
        log = Log()
        log.pushing = lambda _: (self.lane.add(log, 7), self.lane.clear())
        self.run_lane(log)
        self.assertEqual([7], log.peers)


class TestLanes(unittest.TestCase):

    def test_a_dead_peer_delays_nobody_else(self):
        lanes = Lanes(ConvergerOptions(retry_delay=100), None,
                      CapturingLogger())
        dead, alive = Log(Turn('down')), Log()
        lanes.add(dead, PEER)
        lanes.add(alive, node(8, 6201))
        wait_for(lambda: alive.peers, 'the other is pushed to')
        self.assertFalse(lanes.are_idle)
        lanes.clear()

    def test_devices_of_several_rings_share_their_lane(self):
        lanes = Lanes(OPTIONS, None, CapturingLogger())
        log, other = Log(), Log()
        lanes.add(log, PEER)
        lanes.add(other, dict(PEER, id=3))
        wait_for(lambda: lanes.are_idle, 'all are idle')
        self.assertEqual(([7], [3]), (log.peers, other.peers))
        self.assertEqual(1, len(lanes._lanes))


if __name__ == '__main__':
    unittest.main()
