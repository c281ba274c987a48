# SPDX-License-Identifier: Apache-2.0
"""sync_batch: peers and partitions in trouble."""

import contextlib
import os
import shutil
import time
from unittest import mock

from swift.common.utils import lock_path

from swift_lightsync.sync import changed_file, neighbours
from swift_lightsync.sync.core.engine.peers import Peers
from swift_lightsync.sync.core.postponed import MOST
from swift_lightsync.sync.exchange_batch import ExchangeBatch
from tests.unit.sync.batches import PARTS, BatchTestCase
from tests.unit.sync.exchanges import Meddler


class TestTrouble(BatchTestCase):

    def setUp(self):
        super().setUp()
        self.fill(policies=[self.policy])

    def errors(self):
        return self.daemons[0].logger.at('ERROR')

    @staticmethod
    def much_later():
        """Let the turn of all who have put us off have come."""
        clock = mock.Mock(wraps=time)
        clock.monotonic.side_effect = lambda: time.monotonic() + 2 * MOST
        return mock.patch.object(neighbours, 'time', clock)

    def asked_first_of_node_1(self):
        return sum(peer % self.hosts == 1
                   for _, peer in self.first_neighbours())

    def test_a_partition_that_is_a_file_is_removed_as_by_stock_swift(self):
        path = self.path(0)
        shutil.rmtree(path)
        with open(path, 'w'):
            pass
        stats = self.one_pass()
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.held() - 1, stats['hashmatch'])
        self.assertEqual([], self.errors())

    def test_a_partition_that_vanishes_is_no_error(self):
        genuine = changed_file.load

        def vanish(path):
            if path == self.path(0):
                shutil.rmtree(path, ignore_errors=True)
            return genuine(path)

        with mock.patch.object(changed_file, 'load', vanish):
            stats = self.one_pass()
        self.assertEqual([], self.errors())
        self.assert_stats(stats, attempted=self.held(), failure=0)

    def test_a_device_that_is_unmounted_meanwhile_fails_alone(self):
        daemon = self.daemons[0]
        manager = daemon._df_router[self.policy]
        genuine = manager.get_dev_path
        with mock.patch.object(
                manager, 'get_dev_path', lambda device, mount_check=None:
                None if device == 'sdb' else genuine(device)):
            self.one_pass()
        self.assertIn('Unable to take fingerprints on sdb', self.errors()[0])
        sda = daemon.stats_for_dev['sda']
        held = sum(0 in part for part in self.parts)
        self.assert_stats(sda, attempted=held, hashmatch=held, failure=0)
        self.assertEqual(self.held() - held,
                         daemon.stats_for_dev['sdb'].attempted)

    def test_one_locked_partition_does_not_stop_the_others(self):
        for host in (0, 1):
            path = self.path(0, self.row_of(0, host))
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(path, 'hashes.pkl'))
            with mock.patch('swift.common.utils.DEFAULT_LOCK_TIMEOUT', 0.2), \
                    lock_path(path):
                stats = self.one_pass()
            self.assertEqual(self.held(), stats['attempted'])
            self.assertGreaterEqual(stats['hashmatch'], self.held() - 1)
            self.assertLessEqual(self.sent('REPLICATE'), 3)

    def test_a_dead_neighbour_regroups_to_the_next(self):
        for number in range(self.hosts):
            self.one_pass(number)
        self.servers[1].close()
        stats = self.one_pass()
        self.assert_stats(stats, attempted=self.held(), rsync=0)
        # Each partition is settled by its one neighbour that is alive.
        self.assertEqual(self.held(), stats['hashmatch'])
        self.assertEqual(self.asked_first_of_node_1(), stats['failure'])
        requests = self.requests()[2]
        self.assertEqual({'LIGHTSYNC'}, set(requests))
        # Twice, and each time again as long as the set is not known.
        self.assertLessEqual(requests['LIGHTSYNC'], 4)

    def test_a_neighbour_without_the_verb_is_exchanged_with(self):
        self.nodes[1].broken['LIGHTSYNC'] = 405
        stats = self.one_pass()
        self.assert_stats(stats, attempted=self.held(), hashmatch=self.held(),
                          failure=0)
        requests = self.requests()[1]
        self.assertEqual(self.asked_first_of_node_1(), requests['REPLICATE'])
        self.assertEqual(1, requests['LIGHTSYNC'])

    def test_an_answer_that_is_unusable_leads_to_exchanges(self):
        self.nodes[1].broken['LIGHTSYNC'] = 500
        self.nodes[2].broken['LIGHTSYNC'] = 500
        stats = self.one_pass()
        self.assert_stats(stats, attempted=self.held(), hashmatch=self.held(),
                          failure=0)
        self.assertEqual(self.held(), self.sent('REPLICATE'))

    def test_what_nobody_expects_of_one_exchange_ends_it_alone(self):
        genuine = ExchangeBatch._suffix_hashes
        for part in range(PARTS):
            if any(number % self.hosts == 0 for number in self.parts[part]):
                self.put_one('new', part, self.row_of(part))

        def suffix_hashes(batch, action):
            if action.batch.device == 'sdb':
                raise KeyError('nobody expects it')
            return genuine(batch, action)

        with mock.patch.object(ExchangeBatch, '_suffix_hashes',
                               suffix_hashes):
            stats = self.one_pass()
        self.assertIn('one by one', self.errors()[0])
        self.assert_stats(stats, attempted=self.held(), failure=0)
        self.assertTrue(stats['rsync'])

    def test_what_nobody_expects_of_one_answer_ends_no_pass(self):
        genuine = Peers.note

        def note(peers, device, node, *args):
            if node['replication_port'] == self.ring_nodes[1][
                    'replication_port']:
                raise KeyError('nobody expects it')
            return genuine(peers, device, node, *args)

        with mock.patch.object(Peers, 'note', note):
            stats = self.one_pass()
        self.assert_stats(stats, attempted=self.held(), hashmatch=self.held(),
                          failure=0)

    def test_a_peer_that_takes_no_such_messages_is_exchanged_with(self):
        with Meddler(self.nodes[1], 'roots', reply=400) as met:
            stats = self.one_pass()
        self.assert_stats(stats, attempted=self.held(), failure=0)
        self.assertEqual(1, met.calls)
        self.assertGreater(self.requests()[1]['REPLICATE'], 2)

    def test_a_disk_of_a_node_that_is_not_mounted_has_hand_offs(self):
        shutil.rmtree(os.path.join(self.nodes[1].devices_dir, 'sdb'))
        stats = self.one_pass()
        gone = sum(peer % self.hosts == 1 and peer // self.hosts == 1
                   for _, peer in self.first_neighbours())
        self.assertTrue(gone)
        self.assertEqual(gone, self.daemons[0].logger.counters[
            'partition.check.unmounted.sda'] + self.daemons[
                0].logger.counters['partition.check.unmounted.sdb'])
        self.assertEqual(self.held(), stats['attempted'])

    def test_a_disk_that_is_cold_is_left_out_until_its_time_comes(self):
        for _ in range(2):
            self.one_pass()
        self.requests()
        cold = mock.patch.object(
            self.nodes[1].app._shared._reads, 'in_time',
            lambda read, device, partitions, deadline: (
                ({}, list(partitions)) if device == 'sdb'
                else (read(device, partitions), [])))
        with cold, mock.patch.object(self.nodes[1].app._shared._reads,
                                     'read_on', return_value=100):
            stats = self.one_pass()
        left = stats['failure']
        self.assertGreater(left, 0)
        self.assert_stats(stats, hashmatch=self.held() - left, rsync=0)
        self.requests()
        # Its time has not come: it is not asked.
        stats = self.one_pass()
        self.assert_stats(stats, hashmatch=self.held() - left, rsync=0)
        self.assertLessEqual(self.requests()[1]['LIGHTSYNC'], 2)
        with self.much_later():
            self.assertEqual(self.held(), self.one_pass()['hashmatch'])

    def test_those_that_are_busy_are_left_to_later_passes(self):
        for peer in self.nodes[1:]:
            peer.broken['LIGHTSYNC'] = 503
        stats = self.one_pass()
        self.assert_stats(stats, attempted=self.held(), hashmatch=0, rsync=0,
                          failure=self.held())
        self.assertEqual([{}] + [{'LIGHTSYNC': 1}] * 2, self.requests())
        self.assertEqual({}, self.daemons[0].neighbours.failures.table.rows)
        self.one_pass()
        self.assertEqual([{}] * 3, self.requests())
        for peer in self.nodes[1:]:
            peer.broken.clear()
        # Its turn has come.
        with self.much_later():
            self.assertEqual(self.held(), self.one_pass()['hashmatch'])

    def test_who_is_busy_for_long_no_longer_ends_the_rounds(self):
        self.nodes[1].broken['LIGHTSYNC'] = 503
        self.one_pass()
        self.requests()
        with self.much_later():
            stats = self.one_pass()
        self.assertEqual(self.held(), stats['hashmatch'])
        self.assertEqual({'LIGHTSYNC'}, set(self.requests()[2]))

    def test_a_partition_that_is_not_read_yet_makes_no_exchange(self):
        path = self.path(0, self.row_of(0, 1))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(path, 'hashes.pkl'))
        self.put_one('new', 0, self.row_of(0))
        with mock.patch('swift.common.utils.DEFAULT_LOCK_TIMEOUT', 0.2), \
                lock_path(path):
            stats = self.one_pass()
        self.assertEqual(0, self.sent('REPLICATE') + self.sent('SSYNC'))
        self.assert_stats(stats, attempted=self.held(), rsync=0, failure=1)

    def test_while_there_are_hand_offs_handoffs_first_asks_nobody(self):
        daemon = self.replicator(0, handoffs_first='yes')
        for _ in range(2):
            self.one_pass(0, daemon)
        self.assertEqual(self.hosts - 1, self.sent())
        part = next(part for part, row in enumerate(self.parts)
                    if 0 not in row)
        self.put(self.nodes[0].disk, 'sda', 'h', partition=part)
        for each in self.nodes:
            each.broken['REPLICATE'] = 507
        with self.asking(daemon) as messages:
            self.one_pass(0, daemon)
            # Nothing was batched: at most what came before the hand-off.
            self.assertTrue(all(len(roots) == 1 for roots in messages))

    def test_a_ring_that_changes_during_the_batch_ends_the_pass(self):
        daemon = self.daemons[0]
        with mock.patch.object(daemon, 'check_ring', return_value=False):
            self.put_one('new', 0, self.row_of(0))
            self.one_pass()
        self.assertEqual(0, self.sent('SSYNC'))
        self.assertIn('Ring change detected', str(daemon.logger.lines))

    def test_overrides_are_those_of_stock_swift(self):
        daemon = self.daemons[0]
        self.run_pass(0, override_devices=['sda'],
                      override_partitions=[0, 4, 5])
        self.assertEqual({'sda'}, {
            device for device, stats in daemon.stats_for_dev.items()
            if stats.attempted})
        self.assertEqual(sum(0 in self.parts[part] for part in (0, 4, 5)),
                         daemon.total_stats.hashmatch)
