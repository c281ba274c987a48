# SPDX-License-Identifier: Apache-2.0
"""replicator: options, peers that fail, peers without the verb."""

import contextlib
import os
import shutil
import time
from unittest import mock

from swift.common.concurrency import Timeout
from swift.obj.diskfile import DiskFileManager

from swift_lightsync.common.options import OptionError
from swift_lightsync.sync.connections import ConnectFailure
from swift_lightsync.sync.core.replica_ring import clockwise
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.replicator import LightSyncReplicator
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.fixtures import PARTITION, SwiftTestCase, node, ring_of


class TestOptions(SwiftTestCase):

    def daemon(self, **conf):
        self.policy.object_ring = ring_of(self.root, [node(0, 6200)])
        return LightSyncReplicator(dict(self.conf, **conf),
                                   logger=self.logger)

    def test_defaults(self):
        daemon = self.daemon()
        self.assertEqual(3600, daemon.full_exchange_interval)
        self.assertEqual(10, daemon.neighbours.failures.table.limit)
        self.assertEqual(60, daemon.neighbours.failures.table.interval)
        self.assertEqual(65536, daemon.sync_batch_partitions)

    def test_rsync_is_refused_where_a_diskfile_cannot_be_pushed_by_it(self):
        for method, supports, refused in (
                ('rsync', False, True), (None, False, True),
                ('', False, True), ('ssync', False, False),
                ('rsync', True, False), (None, None, False)):
            conf = {'__file__': 'object-server.conf'}
            if method is not None:
                conf['sync_method'] = method
            with self.subTest(method=method, supports=supports), \
                    contextlib.ExitStack() as stack:
                if supports is not None:
                    stack.enter_context(mock.patch.object(
                        DiskFileManager, 'supports_rsync', supports,
                        create=True))
                if refused:
                    stack.enter_context(self.assertRaisesRegex(
                        OptionError, '^object-server.conf: sync_method = '
                        r'rsync: .*policy 0 \(zero\).*DiskFileManager.*; '
                        'must be ssync$'))
                self.daemon(**conf)

    def test_values(self):
        daemon = self.daemon(full_exchange_interval='0',
                             error_suppression_limit='3',
                             error_suppression_interval='1.5',
                             sync_batch_partitions='262144')
        self.assertEqual(0, daemon.full_exchange_interval)
        self.assertEqual(3, daemon.neighbours.failures.table.limit)
        self.assertEqual(1.5, daemon.neighbours.failures.table.interval)
        self.assertEqual(262144, daemon.sync_batch_partitions)

    def test_values_at_the_ends_of_what_is_allowed(self):
        for conn, http, interval, limit in (('0.001', '1', '1', '1'),
                                            ('3600', '3600', '1e9',
                                             '1000000')):
            daemon = self.daemon(
                conn_timeout=conn, http_timeout=http, sync_method='ssync',
                full_exchange_interval=interval,
                error_suppression_limit=limit)
            self.assertEqual(float(conn), daemon.conn_timeout)
            self.assertEqual(int(http), daemon.http_timeout)
            self.assertEqual(float(interval), daemon.full_exchange_interval)
            self.assertEqual(int(limit),
                             daemon.neighbours.failures.table.limit)
            self.assertEqual(daemon.ssync, daemon.sync_method)

    def test_a_bad_value_is_refused_by_name(self):
        bad = {'full_exchange_interval': ('x', '-1', 'nan', 'inf', '', None,
                                          '0.5', '1e-9'),
               'error_suppression_limit': ('0', '-1', '1.5', 'x', '',
                                           '1000001'),
               'conn_timeout': ('0', '-1', 'nan', 'inf', '3600.1', 'x', ''),
               'http_timeout': ('0', '-1', '1.5', '3601', 'x', ''),
               'sync_method': ('Rsync', 'update', 'x', 'rsync '),
               'error_suppression_interval': ('x', '-1', 'nan', 'inf'),
               'sync_batch_partitions': ('0', '-1', '262145', 'x', '', '1.5',
                                         'inf')}
        for option, values in bad.items():
            for value in values:
                with self.subTest(option=option, value=value):
                    with self.assertRaises(OptionError) as caught:
                        self.daemon(**{option: value})
                    self.assertIn('%s = %s: '
                                  % (option, value), str(caught.exception))


class TestManyPartitions(ClusterTestCase):

    def put_partitions(self, count, numbers):
        for partition in range(count):
            for number in numbers:
                self.put(self.nodes[number].disk, 'sda', 'o',
                         partition=partition)

    def setUp(self):
        super().setUp()
        self.start(3)
        # Any number of partitions, all on the same devices.
        ring = self.policy.object_ring
        genuine = ring.get_part_nodes
        self.enterContext(mock.patch.object(
            ring, 'get_part_nodes', lambda partition: genuine(PARTITION)))

    def neighbour_of(self, count):
        """Of how many partitions node 1 is the clockwise neighbour of 0."""
        firsts = [clockwise(self.ring_nodes, partition, 0)[0]['id']
                  for partition in range(count)]
        self.assertIn(1, firsts)
        self.assertIn(2, firsts)
        return firsts.count(1)

    def fresh_replicator(self, batch):
        """One that no other has told of its failures."""
        recon = self.nodes[0].conf['recon_cache_path']
        shutil.rmtree(recon)
        os.mkdir(recon)
        return self.replicator(0, sync_batch_partitions=str(batch))

    def test_side_by_side_each_is_counted_once(self):
        self.put_partitions(12, [0])
        self.nodes[1].broken['SSYNC'] = 507
        daemon = self.replicator(0, concurrency='6')
        with mock.patch.object(self.policy.object_ring, 'get_more_nodes',
                               return_value=iter(())):
            stats = self.run_pass(0, daemon)
        first = self.neighbour_of(12)
        self.assertEqual(12, stats.attempted)
        self.assertEqual(first, stats.failure_nodes['127.0.0.3']['sda'])
        self.assertEqual(12 + first, daemon.logger.counters[
            'partition.check.differ.sda'])
        for partition in range(12):
            self.assertTrue(os.path.exists(self.part_path(
                partition=partition, devices_dir=self.nodes[2].devices_dir)))

    def test_a_silent_node_costs_five_time_outs_and_no_more(self):
        self.put_partitions(24, [0, 2])
        self.assertGreater(self.neighbour_of(24), 5)
        for batch, expected in ((1, 5), (24, 1)):
            with self.subTest(batch=batch):
                self.silent_node_costs(expected, batch)

    def silent_node_costs(self, expected, batch):
        daemon = self.fresh_replicator(batch)
        asked = []
        connections = daemon.neighbours.client.connections
        genuine = connections._connect

        def connect(peer):
            if peer['replication_ip'] == self.nodes[1].ip:
                asked.append(peer)
                raise ConnectFailure(Answer.TIMEOUT, 'silent')
            return genuine(peer)

        with mock.patch.object(connections, '_connect', connect):
            stats = self.run_pass(0, daemon)
        self.assertEqual(expected, len(asked))
        self.assert_stats(stats, attempted=24, success=24,
                          failure=self.neighbour_of(24))

    def test_a_hanging_device_costs_one_time_out_and_no_more(self):
        self.put_partitions(12, [0, 2])
        for batch in (1, 2, 12):
            with self.subTest(batch=batch):
                self.hanging_device_costs_one(batch)

    def hanging_device_costs_one(self, batch):
        daemon = self.fresh_replicator(batch)
        asked = []
        genuine = daemon.neighbours.client.ask

        def ask(sender, peer, *args):
            if peer['replication_ip'] == self.nodes[1].ip:
                asked.append(peer)
                raise Timeout()
            return genuine(sender, peer, *args)

        with mock.patch.object(daemon.neighbours.client, 'ask', ask):
            stats = self.run_pass(0, daemon)
        self.assertEqual(1, len(asked))
        self.assert_stats(stats, attempted=12, success=12,
                          failure=self.neighbour_of(12))


class TestMixed(ClusterTestCase):

    def test_with_a_stock_peer_it_converges(self):
        self.start(3, stock=(1,))
        self.put_everywhere()
        self.nodes[0].put('new')
        for _ in range(2):
            for number in (0, 1, 2):
                self.assertEqual(0, self.run_pass(number).failure)
        self.assert_same_objects()

    def test_a_stock_peer_is_asked_once_a_pass(self):
        self.start(2, stock=(1,))
        self.put_everywhere()
        daemon = self.daemons[0]
        self.run_pass(0)
        self.assertEqual({'LIGHTSYNC': 1, 'REPLICATE': 1},
                         self.requests()[1])
        self.assertEqual({('127.0.0.3',
                           self.ring_nodes[1]['replication_port'])},
                         daemon.neighbours.without_verb)
        self.assertEqual((Answer.UNSUPPORTED, set()), daemon.neighbours.ask(
            'sda', self.ring_nodes[1], self.policy, {0: 'ab' * 16}))
        self.assertEqual({}, self.requests()[1])
        # It may have been upgraded by the next pass.
        self.run_pass(0)
        self.assertEqual(1, self.requests()[1]['LIGHTSYNC'])

    def test_a_400_is_taken_for_a_peer_without_the_verb(self):
        self.start(2)
        self.nodes[1].broken['LIGHTSYNC'] = 400
        self.nodes[0].put('o')
        self.run_pass(0)
        self.assertEqual(self.nodes[0].objects(), self.nodes[1].objects())
        self.assertTrue(self.daemons[0].neighbours.without_verb)

    def test_a_500_or_503_leads_to_an_exchange_and_is_no_exception(self):
        self.start(2)
        for stamp, status in enumerate((500, 503), 1):
            with self.subTest(status):
                self.nodes[1].broken['LIGHTSYNC'] = status
                self.nodes[0].put('o', stamp)
                stats = self.run_pass(0)
                self.assert_stats(stats, attempted=1, failure=0)
                self.assertEqual(self.nodes[0].objects(),
                                 self.nodes[1].objects())
                daemon = self.daemons[0]
                self.assertIn('status %d' % status,
                              daemon.logger.at('ERROR')[-1])
                self.assertFalse(daemon.neighbours.without_verb)
                self.assertEqual({}, daemon.neighbours.failures.table.rows)


class TestFailures(ClusterTestCase):

    @staticmethod
    def exceptions(daemon, key):
        table = daemon.neighbours.failures.table
        return table.row(key, time.time()).n_exception

    def stop(self, number):
        self.servers[number].close()
        self.nodes[number].requests.clear()

    def test_past_a_dead_neighbour_to_the_next(self):
        self.start(3)
        self.put_everywhere('o')
        self.nodes[0].put('new')
        self.stop(1)
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, success=1, failure=1)
        self.assertEqual({'127.0.0.3': {'sda': 1}},
                         {ip: dict(failed) for ip, failed
                          in stats.failure_nodes.items()})
        self.assertEqual(self.nodes[0].objects(), self.nodes[2].objects())
        self.assertEqual(1, self.daemons[0].logger.counters[
            'partition.check.refused.sda'])

    def test_the_tenth_refusal_closes_the_ring(self):
        self.start(3)
        self.put_everywhere()
        self.stop(1)
        daemon, dead = self.daemons[0], self.ring_nodes[1]
        for number in range(10):
            self.assertFalse(daemon.neighbours.has_failed(dead))
            self.run_pass(0)
        self.assertTrue(daemon.neighbours.has_failed(dead))
        warning, = daemon.logger.at('WARNING')[-1:]
        self.assertIn('Closing the replica rings over 127.0.0.3:', warning)
        logged = len(daemon.logger.at('ERROR'))
        stats = self.run_pass(0)
        self.assertEqual(logged, len(daemon.logger.at('ERROR')))
        self.assert_stats(stats, attempted=1, success=1, failure=1)

    def test_after_the_suppression_it_is_asked_again(self):
        self.start(2)
        self.put_everywhere()
        daemon, peer = self.daemons[0], self.ring_nodes[1]
        endpoint = peer['replication_ip'], peer['replication_port']
        daemon.neighbours.failures.table.record(endpoint, time.time(), 10)
        self.run_pass(0)
        self.assertEqual({}, self.requests()[1])
        daemon.neighbours.failures.table.record(endpoint, time.time() - 61, 10)
        self.run_pass(0)
        self.assertEqual({'LIGHTSYNC': 1}, self.requests()[1])
        self.assertEqual(0, self.exceptions(daemon, endpoint))

    def test_an_answer_ends_the_count(self):
        self.start(2)
        self.put_everywhere()
        daemon, peer = self.daemons[0], self.ring_nodes[1]
        endpoint = peer['replication_ip'], peer['replication_port']
        for key in (endpoint, endpoint + ('sda',)):
            daemon.neighbours.failures.table.record(key, time.time(), 9)
        self.run_pass(0)
        for key in (endpoint, endpoint + ('sda',)):
            self.assertEqual(0, self.exceptions(daemon, key))

    def test_a_device_that_never_answers_fails_by_its_first_time_out(self):
        # With http_timeout as long as the suppression, a second time-out
        # comes too late to be added to the first.
        self.start(3)
        daemon, peer = self.daemons[0], self.ring_nodes[1]
        with mock.patch.object(daemon.neighbours.client, 'ask',
                               side_effect=Timeout()):
            self.assertEqual((Answer.TIMEOUT, set()), daemon.neighbours.ask(
                'sda', peer, self.policy, {0: 'ab' * 16}))
        self.assertTrue(daemon.neighbours.has_failed(peer))
        self.assertFalse(daemon.neighbours.has_failed(
            dict(peer, device='sdb')))

    def test_garbage_is_charged_to_the_device(self):
        self.start(3)

        def garbage(env, start_response):
            sock = env['wsgi.input'].get_socket()
            sock.sendall(b'garbage\r\n\r\n')
            sock.shutdown(2)
            start_response('200 OK', [('Content-Length', '0')])
            return [b'']

        self.put_everywhere()
        self.nodes[1].app = garbage
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, success=1, failure=1)
        key = (self.nodes[1].ip, self.ring_nodes[1]['replication_port'],
               'sda')
        self.assertEqual(1, self.exceptions(self.daemons[0], key))
        self.assertNotIn('Error in the sync round',
                         str(self.daemons[0].logger.lines))

    def test_an_unmounted_neighbour_sends_the_data_to_a_hand_off(self):
        self.start(4, rows=[0, 1, 2])
        self.put_everywhere(numbers=[0, 2])
        shutil.rmtree(os.path.join(self.nodes[1].devices_dir, 'sda'))
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, failure=1)
        self.assertEqual(self.nodes[0].objects(), self.nodes[3].objects())
        self.assertEqual(1, self.daemons[0].logger.counters[
            'partition.check.unmounted.sda'])

    def test_one_refused_and_one_unmounted_fail_once_each(self):
        self.start(4, rows=[0, 1, 2])
        self.put_everywhere(numbers=[0])
        self.stop(1)
        shutil.rmtree(os.path.join(self.nodes[2].devices_dir, 'sda'))
        stats = self.run_pass(0)
        self.assertEqual(
            {'127.0.0.3': {'sda': 1}, '127.0.0.4': {'sda': 1}},
            {ip: dict(failed) for ip, failed in stats.failure_nodes.items()})
        self.assertEqual(2, stats.failure)
        self.assertEqual(self.nodes[0].objects(), self.nodes[3].objects())

    def test_a_neighbour_that_cannot_store_does_not_stop_the_round(self):
        self.start(3)
        self.put_everywhere()
        self.nodes[0].put('new')
        self.nodes[1].broken['SSYNC'] = 507
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, failure=1)
        self.assertEqual(self.nodes[0].objects(), self.nodes[2].objects())

    def test_if_all_others_are_dead_the_pass_ends(self):
        self.start(3)
        self.put_everywhere()
        self.stop(1)
        self.stop(2)
        for _ in range(12):
            stats = self.run_pass(0)
            self.assert_stats(stats, attempted=1, success=0, failure=2)
