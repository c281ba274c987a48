# SPDX-License-Identifier: Apache-2.0
"""Full exchanges: with all replicas, and in batches."""

import errno
import os
import shutil
import time
from unittest import mock

from swift_lightsync.sync import changed_file
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.keys import endpoint
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.exchanges import PARTS, ExchangeTestCase
from tests.unit.sync.fixtures import PARTITION


class FullExchangeTestCase(ClusterTestCase):

    def make_due(self, number=0):
        self.daemons[number].fingerprints(self.policy).note_exchange(
            'sda', PARTITION, 1.0)

    def start_due(self, count, **options):
        """Start nodes, the first of which is to compare with all."""
        self.start_full(count, **options)
        self.make_due()


class TestFullExchange(FullExchangeTestCase):

    def test_an_interval_of_nothing_is_stock_swift(self):
        self.start_full(3)
        daemon = self.replicator(0, full_exchange_interval='0')
        for _ in range(2):
            stats = self.run_pass(0, daemon)
            self.assert_stats(stats, attempted=1, hashmatch=2, success=2,
                              failure=0)
            self.assertEqual([{}, {'LIGHTSYNC': 1}, {'LIGHTSYNC': 1}],
                             self.requests())
            # The roots are equal, so that nothing has to be exchanged.
            self.assertEqual([[], [], []], self.asked())

    def test_when_due_all_are_compared_and_it_is_noted(self):
        self.start_due(3)
        before = time.time()
        self.run_pass(0)
        self.assertEqual([{}, {'LIGHTSYNC': 1}, {'LIGHTSYNC': 1}],
                         self.requests())
        self.assertGreaterEqual(self.nodes[0].exchanged(), before)
        self.run_pass(0)
        self.assertEqual([{}, {'LIGHTSYNC': 1}, {}], self.requests())
        self.assertEqual([[], [], []], self.asked())

    def test_it_finds_a_suffix_whose_invalidation_was_lost(self):
        self.start_full(2)
        self.run_pass(0)
        self.nodes[0].put('lost')
        with open(os.path.join(self.nodes[0].part_path, 'hashes.invalid'),
                  'w'):
            pass
        self.run_pass(0)
        self.assertEqual(1, len(self.nodes[1].objects()))
        self.make_due()
        self.run_pass(0)
        self.assertEqual(2, len(self.nodes[1].objects()))

    def test_a_failed_replica_is_left_out_and_counted(self):
        self.start_due(3)
        peer = self.ring_nodes[1]
        self.daemons[0].neighbours.failures.table.record(
            (peer['replication_ip'], peer['replication_port']),
            time.time(), 10)
        stats = self.run_pass(0)
        self.assertEqual([{}, {}, {'LIGHTSYNC': 1}], self.requests())
        self.assert_stats(stats, attempted=1, success=1, failure=1)
        # It is no success until the one that was skipped had its turn.
        self.assertEqual(1.0, self.nodes[0].exchanged())
        self.run_pass(0)
        self.requests()
        before = time.time()
        self.daemons[0].neighbours.failures.contact(endpoint(peer))
        self.run_pass(0)
        self.assertEqual([{}, {'LIGHTSYNC': 1}, {}], self.requests())
        self.assertTrue(1.0 < self.nodes[0].exchanged() < before)

    def test_one_that_went_wrong_waits_for_its_next_turn(self):
        self.start_due(3)
        self.nodes[1].broken['LIGHTSYNC'] = 503
        for expected in ({'LIGHTSYNC': 1}, {}):
            self.run_pass(0)
            self.assertEqual(1.0, self.nodes[0].exchanged())
            self.assertEqual(expected, self.requests()[2])
        for each in self.daemons[0].recon._read()[1].values():
            self.assertEqual(0, each.full_exchanges)

    def test_a_disk_without_room_has_its_exchange_once(self):
        self.start_due(2)
        with mock.patch.object(changed_file, 'replace_file',
                               side_effect=OSError(errno.ENOSPC, 'full')):
            stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, hashmatch=1)
        self.assertEqual([{}, {'LIGHTSYNC': 1}], self.requests())

    def test_a_replica_that_is_not_mounted_has_a_hand_off_each(self):
        self.start(5, rows=[0, 1, 2])
        self.put_everywhere(numbers=[0, 1, 2])
        for number in (1, 2):
            shutil.rmtree(os.path.join(self.nodes[number].devices_dir,
                                       'sda'))
        self.make_due()
        stats = self.run_pass(0)
        for number in (3, 4):
            self.assertEqual(self.nodes[0].objects(),
                             self.nodes[number].objects())
        self.assert_stats(stats, attempted=1, failure=2, success=2)

    def test_a_replica_without_the_verb_is_exchanged_with_by_stock_swift(
            self):
        self.start(3, stock=[1])
        self.nodes[0].put('new')
        self.make_due()
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, rsync=2, success=2, failure=0)
        self.assertFalse(self.daemons[0].neighbours.has_verb(
            self.ring_nodes[1]))
        for each in self.nodes[1:]:
            self.assertEqual(self.nodes[0].objects(), each.objects())
        self.assertEqual([1, None, None], [
            each.get('REPLICATE') for each in self.requests()[1:]] + [None])

    def test_of_another_region_one_is_pushed_to(self):
        self.start(4, regions=[1, 1, 2, 2])
        self.nodes[0].put('new')
        self.make_due()
        stats = self.run_pass(0)
        self.assertEqual(self.nodes[0].objects(), self.nodes[1].objects())
        self.assertEqual([0, 1], sorted(
            len(each.objects()) for each in self.nodes[2:]))
        # As stock Swift counts it: the other is not known to have failed.
        self.assert_stats(stats, attempted=1, rsync=2, success=3, failure=0)

    def test_of_another_region_all_are_compared_if_none_lacks_anything(self):
        self.start_due(4, regions=[1, 1, 2, 2])
        stats = self.run_pass(0)
        self.assertEqual([{}] + [{'LIGHTSYNC': 1}] * 3, self.requests())
        self.assert_stats(stats, attempted=1, hashmatch=3, success=3)

    def test_a_partition_that_cannot_be_listed_harms_no_pass(self):
        self.start_due(2)
        with mock.patch.object(Fingerprints, 'relist',
                               side_effect=OSError(5, 'EIO')):
            stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, hashmatch=1, failure=0)
        self.assertEqual({'REPLICATE': 1}, self.requests()[1])
        self.assertEqual(1.0, self.nodes[0].exchanged())

    def test_one_that_could_not_be_noted_is_repeated(self):
        self.start_due(2)
        with mock.patch.object(Fingerprints, 'note_exchange',
                               side_effect=OSError(5, 'EIO')):
            self.assertEqual(1, self.run_pass(0).hashmatch)
        self.assertIn('Unable to note that partition 0 on sda',
                      str(self.daemons[0].logger.at('ERROR')))
        self.requests()
        note = Fingerprints.note_exchange
        with mock.patch.object(Fingerprints, 'note_exchange', autospec=True,
                               side_effect=note) as noted:
            self.run_pass(0)
        self.assertTrue(noted.called)
        self.assertEqual([{}, {'LIGHTSYNC': 1}], self.requests())


class TestManyPartitions(ExchangeTestCase):

    daemon_options = {'full_exchange_interval': '0'}

    def test_they_are_exchanged_in_batches(self):
        self.put_all('o', 1)
        self.put_all('o', 2, [0], (1, 5))
        stats = self.run_pass(0)
        self.assert_converged(files=PARTS)
        self.assertEqual(['suffixes', 'rehash'], self.others())
        requests = self.requests()[1]
        self.assertEqual((None, 2), (requests.get('REPLICATE'),
                                     requests['SSYNC']))
        self.assertEqual(
            {'attempted': PARTS, 'failure': 0, 'success': PARTS, 'rsync': 2,
             'hashmatch': PARTS - 2, 'suffix_sync': 2,
             'suffix_count': PARTS}, self.figures(stats))

    def test_a_pass_counts_what_stock_swift_would(self):
        self.put_all('o', 1)
        self.put_all('o', 2, [0], (1, 5))
        ours = self.figures(self.run_pass(0))
        self.put_all('o', 3, [0], (1, 5))
        with self.one_by_one():
            stock = self.figures(self.run_pass(0))
        self.assertEqual(stock, ours)
