# SPDX-License-Identifier: Apache-2.0
"""replicator: options, peers that fail, peers without the verb."""

import contextlib
import os
import shutil
from unittest import mock

from swift.common.concurrency import Timeout
from swift.obj.diskfile import DiskFileManager

from swift_lightsync.common.options import OptionError
from swift_lightsync.sync.connections import ConnectFailure
from swift_lightsync.sync.core.conversation import Told
from swift_lightsync.sync.core.replica_ring import clockwise
from swift_lightsync.sync.core.sync_round import Answer
from swift_lightsync.sync.keys import endpoint
from swift_lightsync.sync.replicator import LightSyncReplicator
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.fixtures import PARTITION, SwiftTestCase, node, ring_of
from tests.unit.sync.neighbourhood import ask


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

    def test_values_at_the_ends_of_what_is_allowed(self):
        for conn, http, interval, limit, batch in (
                ('0.001', '1', '1', '1', '1'),
                ('3600', '3600', '1e9', '1000000', '262144')):
            daemon = self.daemon(
                conn_timeout=conn, http_timeout=http, sync_method='ssync',
                full_exchange_interval=interval, sync_batch_partitions=batch,
                error_suppression_interval='1.5',
                error_suppression_limit=limit)
            self.assertEqual(
                (float(conn), int(http), float(interval), int(batch),
                 int(limit), 1.5, daemon.ssync),
                (daemon.conn_timeout, daemon.http_timeout,
                 daemon.full_exchange_interval, daemon.sync_batch_partitions,
                 daemon.neighbours.failures.table.limit,
                 daemon.neighbours.failures.table.interval,
                 daemon.sync_method))
        self.assertEqual(0, self.daemon(
            full_exchange_interval='0').full_exchange_interval)

    def test_a_bad_value_is_refused_by_name(self):
        bad = {'full_exchange_interval': ('x', '-1', None, '0.5', '1e-9'),
               'error_suppression_limit': ('0', '1.5', '1000001'),
               'conn_timeout': ('0', '-1', 'nan', '3600.1', ''),
               'http_timeout': ('0', '1.5', '3601'),
               'sync_method': ('Rsync', 'update', 'rsync '),
               'error_suppression_interval': ('x', '-1', 'inf'),
               'sync_batch_partitions': ('0', '262145', '1.5')}
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

    def test_jobs_share_their_nodes_as_long_as_the_ring_is_the_same(self):
        self.put_partitions(2, [0])

        def nodes():
            first, second = (job['nodes'] for job in self.jobs())
            self.assertEqual(2, len(first))
            for one, other in zip(first, second):
                self.assertIs(one, other)
            return first

        before = nodes()
        self.assertEqual({self.nodes[1].ip, self.nodes[2].ip},
                         {each['ip'] for each in before})
        for each in self.policy.object_ring.devs:
            each['meta'] = 'new'
        self.assertEqual({'new'}, {each['meta'] for each in nodes()})

    def test_side_by_side_each_is_counted_once(self):
        self.put_partitions(12, [0])
        self.nodes[1].broken['SSYNC'] = 507
        daemon = self.replicator(0, concurrency='6')
        with mock.patch.object(self.policy.object_ring, 'get_more_nodes',
                               return_value=iter(())):
            stats = self.run_pass(0, daemon)
        self.assertEqual(12, stats.attempted)
        # A round that has pushed goes on to the next device.
        self.assertEqual(12, stats.failure_nodes['127.0.0.3']['sda'])
        self.assertEqual(24, daemon.logger.counters[
            'partition.check.differ.sda'])
        for partition in range(12):
            self.assertTrue(os.path.exists(self.part_path(
                partition=partition, devices_dir=self.nodes[2].devices_dir)))

    def test_a_silent_node_costs_five_time_outs_a_hanging_device_one(self):
        self.put_partitions(24, [0, 2])
        self.assertGreater(self.neighbour_of(24), 5)
        for name, error, costs in (
                ('_connect', ConnectFailure(Answer.TIMEOUT, 'silent'),
                 ((1, 5), (24, 1))),
                ('ask_shared', Timeout(), ((1, 1), (2, 1), (24, 1)))):
            for batch, expected in costs:
                with self.subTest(name, batch=batch):
                    self.assert_costs(expected, batch, name, error)

    def assert_costs(self, expected, batch, name, error):
        """Check how often a pass meets an error of the first neighbour."""
        daemon = self.fresh_replicator(batch)
        client, asked = daemon.neighbours.client, []
        owner = client if name.startswith('ask') else client.connections
        genuine = getattr(owner, name)

        def fail(*args):
            if any(isinstance(each, dict) and each.get('replication_ip')
                   == self.nodes[1].ip for each in args):
                asked.append(args)
                raise error
            return genuine(*args)

        with mock.patch.object(owner, name, fail):
            stats = self.run_pass(0, daemon)
        self.assertEqual(expected, len(asked))
        self.assert_stats(stats, attempted=24, success=24,
                          failure=self.neighbour_of(24))


class TestMixed(ClusterTestCase):

    def test_with_a_stock_peer_it_converges(self):
        self.start_full(3, stock=(1,))
        self.nodes[0].put('new')
        for _ in range(2):
            for number in (0, 1, 2):
                self.assertEqual(0, self.run_pass(number).failure)
        self.assert_same_objects()

    def test_a_stock_peer_is_asked_once_a_pass(self):
        self.start_full(2, stock=(1,))
        daemon = self.daemons[0]
        self.run_pass(0)
        self.assertEqual({'LIGHTSYNC': 1, 'REPLICATE': 1},
                         self.requests()[1])
        self.assertEqual({endpoint(self.ring_nodes[1])},
                         daemon.neighbours.without_verb)
        self.assertEqual(Told(Answer.UNSUPPORTED), ask(
            daemon.neighbours, self.ring_nodes[1], self.policy))
        self.assertEqual({}, self.requests()[1])
        # It may have been upgraded by the next pass.
        self.run_pass(0)
        self.assertEqual(1, self.requests()[1]['LIGHTSYNC'])

    def test_a_500_leads_to_an_exchange_and_is_no_exception(self):
        self.start(2)
        self.nodes[1].broken['LIGHTSYNC'] = 500
        self.nodes[0].put('o')
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, failure=0)
        self.assertEqual(self.nodes[0].objects(), self.nodes[1].objects())
        daemon = self.daemons[0]
        self.assertIn('status 500', daemon.logger.at('ERROR')[-1])
        self.assertFalse(daemon.neighbours.without_verb)
        self.assertEqual({}, daemon.neighbours.failures.table.rows)


class TestLog(ClusterTestCase):

    def test_a_pass_says_what_it_did(self):
        self.start_full(3)
        self.nodes[0].put('new')
        self.nodes[2].broken['LIGHTSYNC'] = 503
        for number, messages, rest in (
                (0, r'[2-9]', '2 asked about, of which 1 differed and 1'),
                (1, '1', '1 asked about, of which 0 differed and 1')):
            self.run_pass(number)
            line, = [line for line in self.daemons[number].logger.at('INFO')
                     if 'The pass took' in line]
            self.assertRegex(line, r'The pass took [0-9.]+ s and %s messages: '
                             r'0 partitions were equal as a whole, %s were '
                             'put off; [01] were pushed something, 0 listed '
                             'anew, and all of them within [0-9]+ s; 0 '
                             'hand-offs are left; rings were closed over 0 '
                             'nodes and devices' % (messages, rest))


class TestFailures(ClusterTestCase):

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
        self.start_full(3)
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

    def test_garbage_in_a_conversation_is_charged_to_the_node(self):
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
        self.assertEqual(
            {endpoint(self.ring_nodes[1]): 1},
            {key: row.n_exception for key, row
             in self.daemons[0].neighbours.failures.table.rows.items()})
        self.assertNotIn('Error in the sync round',
                         str(self.daemons[0].logger.lines))

    def test_one_refused_and_one_unmounted_fail_once_each(self):
        self.start(4, rows=[0, 1, 2])
        self.put_everywhere(numbers=[0])
        self.stop(1)
        shutil.rmtree(os.path.join(self.nodes[2].devices_dir, 'sda'))
        stats = self.run_pass(0)
        self.assertEqual(
            {'127.0.0.3': {'sda': 1}, '127.0.0.4': {'sda': 1}},
            {ip: dict(failed) for ip, failed in stats.failure_nodes.items()})
        self.assert_stats(stats, attempted=1, failure=2)
        self.assertEqual(self.nodes[0].objects(), self.nodes[3].objects())
        self.assertEqual(1, self.daemons[0].logger.counters[
            'partition.check.unmounted.sda'])

    def test_a_neighbour_that_cannot_store_does_not_stop_the_round(self):
        self.start_full(3)
        self.nodes[0].put('new')
        self.nodes[1].broken['SSYNC'] = 507
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, failure=1)
        self.assertEqual(self.nodes[0].objects(), self.nodes[2].objects())

    def test_if_all_others_are_dead_the_pass_ends(self):
        self.start_full(3)
        self.stop(1)
        self.stop(2)
        for _ in range(12):
            stats = self.run_pass(0)
            self.assert_stats(stats, attempted=1, success=0, failure=2)
