# SPDX-License-Identifier: Apache-2.0
"""A node that failed and comes back: seen by the first pass after that."""

from unittest import mock

from swift_lightsync.sync import failure_store
from swift_lightsync.sync.core import replica_ring
from swift_lightsync.sync.keys import endpoint
from swift_lightsync.sync.wire.notice import Notice
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.fixtures import PARTITION, served


class RejoiningTestCase(ClusterTestCase):
    """One partition on three nodes; ``sender`` asks ``peer`` first."""

    # A partition's turn for a full exchange would come at random.
    daemon_options = {'full_exchange_interval': '1e9'}
    def setUp(self):
        super().setUp()
        self.enterContext(mock.patch.object(failure_store, 'REFRESH', 0))
        self.start(3)
        ring = replica_ring.replica_ring(self.ring_nodes, PARTITION)
        self.sender, self.peer, self.third = (each['id'] for each in ring)
        self.daemon = self.daemons[self.sender]
        self.put_everywhere()

    def stop(self, number):
        self.servers[number].close()

    def restart(self, number):
        each = self.nodes[number]
        self.servers[number].enter_context(served(
            each, ip=each.ip,
            port=self.ring_nodes[number]['replication_port']))

    def has_failed(self, number):
        """For the sender."""
        return self.daemon.neighbours.has_failed(self.ring_nodes[number])

    def fail_by_refusals(self):
        self.stop(self.peer)
        passes = 0
        while not self.has_failed(self.peer):
            passes += 1
            self.run_pass(self.sender)
        self.assertEqual(10, passes)

    def fail_by_time_out(self):
        self.daemon.neighbours.failures.record(
            endpoint(self.ring_nodes[self.peer]), 10)

    def assert_next_pass_reaches_the_peer(self):
        self.nodes[self.sender].put('new', 2)
        self.run_pass(self.sender)
        self.assertEqual(self.nodes[self.sender].objects(),
                         self.nodes[self.peer].objects())
        self.assertFalse(self.has_failed(self.peer))


class TestAcceptingAgain(RejoiningTestCase):

    def test_the_next_pass_has_it_in_its_ring_again(self):
        self.fail_by_refusals()
        self.restart(self.peer)
        self.assert_next_pass_reaches_the_peer()
        self.assertIn(endpoint(self.ring_nodes[self.peer]),
                      self.daemon.neighbours.failures.rejoined())

    def test_until_then_passes_go_to_the_next_one_without_a_complaint(self):
        self.fail_by_refusals()
        self.daemon.logger.lines.clear()
        for stamp in (2, 3):
            self.nodes[self.sender].put('new', stamp)
            self.run_pass(self.sender)
            self.assertEqual(self.nodes[self.sender].objects(),
                             self.nodes[self.third].objects())
        self.assertEqual([], self.daemon.logger.at('ERROR'))

    def test_a_pass_under_way_moves_its_partitions_to_the_head(self):
        self.fail_by_refusals()
        self.nodes[self.sender].put('new', 2)
        with mock.patch.object(self.daemon, '_forget_jobs'):
            # As if it had not come to its end.
            self.run_pass(self.sender)
        self.nodes[self.sender].put('newer', 3)
        self.restart(self.peer)
        self.daemon._see_to_rejoined()
        self.assertEqual(self.nodes[self.sender].objects(),
                         self.nodes[self.peer].objects())
        self.assertIn('rejoining', self.daemon.logger.at('INFO')[-1])

    def test_it_may_come_and_go_as_often_as_it_likes(self):
        for stamp in (2, 3, 4):
            self.fail_by_refusals()
            self.restart(self.peer)
            self.nodes[self.sender].put('new', stamp)
            self.run_pass(self.sender)
            self.assertEqual(self.nodes[self.sender].objects(),
                             self.nodes[self.peer].objects())


class TestSending(RejoiningTestCase):
    """It failed by time-outs: its own sync message says that it is back."""

    def setUp(self):
        super().setUp()
        # With two replicas each is the clockwise neighbour of the other.
        self.set_ring([self.sender, self.peer])
        self.daemons = [self.replicator(number) for number in range(3)]
        self.daemon = self.daemons[self.sender]

    def test_the_next_pass_has_it_in_its_ring_again(self):
        self.fail_by_time_out()
        self.assertTrue(self.has_failed(self.peer))
        self.run_pass(self.peer)
        self.assert_next_pass_reaches_the_peer()

    def test_without_a_message_it_is_left_alone(self):
        self.fail_by_time_out()
        self.requests()
        self.run_pass(self.sender)
        self.assertEqual({}, self.requests()[self.peer])

    def test_a_refusal_then_does_not_close_the_ring_again(self):
        # Its replicator was up before its object-server.
        self.fail_by_time_out()
        self.stop(self.peer)
        self.run_pass(self.peer)
        self.run_pass(self.sender)
        self.assertFalse(self.has_failed(self.peer))
        self.restart(self.peer)
        self.assert_next_pass_reaches_the_peer()


class TestNoticed(RejoiningTestCase):

    def test_a_refusal_after_a_notice_does_not_close_the_ring(self):
        key = endpoint(self.ring_nodes[self.peer])
        self.daemons[self.third].neighbours.client.notify(
            self.ring_nodes[self.sender], Notice(
                endpoint(self.ring_nodes[self.third]), key).encode())
        self.assertIn(key, self.nodes[self.sender].app._failures.table.hints)
        self.stop(self.peer)
        self.run_pass(self.sender)
        self.assertFalse(self.has_failed(self.peer))
        self.restart(self.peer)
        self.assert_next_pass_reaches_the_peer()
