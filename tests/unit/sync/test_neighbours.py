# SPDX-License-Identifier: Apache-2.0
"""Neighbours: what is charged to whom, who is told, who has come back."""

import contextlib
import unittest
from functools import partial
from unittest import mock

from swift.common.concurrency import sleep

from swift_lightsync.sync import local_devices, neighbours
from swift_lightsync.sync.connections import Refusal
from swift_lightsync.sync.core import replica_ring
from swift_lightsync.sync.core.engine.charging import MAX_NOTIFIED
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import device_key, endpoint
from swift_lightsync.sync.wire.sync_message import SyncMessageError
from tests.unit.sync.neighbourhood import (
    HERE,
    Bench,
    Hashable,
    answer,
    break_off,
    hang,
    keep_silent,
    others,
    refuse,
)


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

    def test_an_answer_ends_the_count_though_it_is_an_error(self):
        for error in (None, Refusal(Answer.UNMOUNTED), SyncMessageError('x')):
            bench = self.bench()
            peer = bench.nodes[0]
            for key in (endpoint(peer), device_key(peer)):
                bench.subject.failures.record(key, 9)
            with contextlib.ExitStack() as stack:
                if error:
                    stack.enter_context(self.assertRaises(type(error)))
                bench.subject.call(None, peer, mock.Mock(side_effect=error))
            self.assertEqual({}, bench.subject.failures.table.rows)

    def test_who_lacks_the_verb_is_not_asked_again_in_the_pass(self):
        bench = self.bench()
        peer = bench.nodes[0]
        bench.client.behaviour[endpoint(peer)] = mock.Mock(
            side_effect=Refusal(Answer.UNSUPPORTED))
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
        for seconds, idle in ((0, False), (300, False), (301, True),
                              (2 ** 32 - 1, True)):
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
        return bench.subject.local.clockwise(dict({
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
        return bench.subject.local.endpoint(Hashable(bench.policy), device)

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
        with mock.patch.object(local_devices, 'whataremyips',
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
        bench.client.connections.conn_timeout = 0.01
        with mock.patch.object(neighbours.socket, 'create_connection',
                               lambda where: sleep(60)):
            bench.begin_pass()
        self.assertEqual(1, len(bench.logger.at('ERROR')))
