# SPDX-License-Identifier: Apache-2.0
"""partition_round: passes of real daemons over real object-servers."""

import itertools
import os
import shutil
from unittest import mock

from swift.common.concurrency import Timeout
from swift.common.exceptions import DiskFileDeviceUnavailable

from swift_lightsync.sync import changed_file, partition_round
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.partition_round import PartitionRound
from swift_lightsync.sync.sync_client import SyncClient
from tests.unit.sync.cluster import ClusterTestCase


class TestPass(ClusterTestCase):

    def test_equal_replicas_cost_one_message_a_node(self):
        self.start_full(3)
        for number in range(3):
            stats = self.run_pass(number)
            self.assert_stats(stats, attempted=1, hashmatch=1, success=1,
                              failure=0, rsync=0)
            self.assertEqual(1, stats.suffix_count)
        self.assertEqual([{'LIGHTSYNC': 1}] * 3, self.requests())
        counters = self.daemons[0].logger.counters
        self.assertEqual(1, counters['partition.check.match.sda'])
        self.assertEqual(1, counters['partition.update.count.sda'])
        self.assertEqual(1, len(self.daemons[0].partition_times))

    def test_hashing_is_counted_when_it_is_done(self):
        self.start_full(2)
        self.assertEqual(1, self.run_pass(0).suffix_hash)
        self.assertEqual(1, self.daemons[0].logger.counters['suffix.hashes'])
        self.assertEqual(0, self.run_pass(0).suffix_hash)

    def test_a_difference_goes_to_all_that_lack_it(self):
        self.start_full(3)
        self.nodes[0].put('new')
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, hashmatch=0, success=2,
                          failure=0, rsync=2)
        self.assertEqual([1, 1], [each['LIGHTSYNC']
                                  for each in self.requests()[1:]])
        self.assert_same_objects()
        self.assertEqual(1, self.daemons[0].logger.counters[
            'partition.update.count.sda'])

    def test_a_single_copy_reaches_all_in_r_minus_1_rounds(self):
        self.start(5, regions=[2, 1, 2, 1, 1])
        self.put_everywhere('old')
        self.nodes[3].put('new')
        for _ in range(4):
            for number in (0, 4, 2, 1, 3):
                self.assertEqual(0, self.run_pass(number).failure)
        self.assert_same_objects(2)

    def test_older_and_newer_meet(self):
        self.start(3)
        for number, each in enumerate(self.nodes):
            each.put('o', stamp=1 + number)
            each.put('only%d' % number)
        for _ in range(2):
            for number in range(3):
                self.run_pass(number)
        self.assert_same_objects(4)

    def test_a_node_alone_sends_nothing(self):
        self.start_full(1)
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, hashmatch=0, success=0,
                          failure=0)
        self.assertEqual([{}], self.requests())

    def test_more_replicas_than_nodes(self):
        self.start(2, rows=[0, 1, 0])
        self.nodes[0].put('o')
        stats = self.run_pass(0)
        self.assert_stats(stats, attempted=1, failure=0)
        self.run_pass(1)
        self.assertEqual(self.nodes[0].objects(), self.nodes[1].objects())
        self.requests()
        self.run_pass(0)
        self.assertEqual([{}, {'LIGHTSYNC': 1}], self.requests())

    def test_connections_do_not_outlive_the_pass(self):
        self.start_full(2)
        self.run_pass(0)
        self.assertFalse(self.daemons[0].neighbours.client.connections._idle)

    def test_a_hand_off_is_asked_about_and_pushed_once(self):
        self.start(4, rows=[0, 1, 2])
        self.nodes[3].put('o')
        stats = self.run_pass(3)
        self.assert_stats(stats, attempted=1, remove=1)
        self.assertEqual([{'LIGHTSYNC': 1, 'SSYNC': 1}] * 3 + [{}],
                         self.requests())
        for each in self.nodes[:3]:
            self.assertEqual(1, len(each.objects()))
        self.assertFalse(os.path.exists(self.nodes[3].part_path))


class TestRing(ClusterTestCase):

    def test_if_it_changed_meanwhile_the_round_is_that_of_the_job(self):
        self.start(4, rows=[0, 1, 2])
        self.put_everywhere(numbers=[0, 1, 2])
        job = self.job()
        self.set_ring([0, 1, 3])
        self.daemons[0].update(job)
        _, *others, added = self.requests()
        self.assertEqual([{}, {'LIGHTSYNC': 1}],
                         sorted(others, key=len))
        self.assertEqual({}, added)
        self.assertEqual(1, self.daemons[0].stats_for_dev['sda'].attempted)

    def test_without_the_device_it_leads_to_a_full_comparison(self):
        self.start_full(3, rows=[0, 1, 2])
        job = self.job()
        with mock.patch.object(self.daemons[0].neighbours.local, 'find',
                               return_value=None):
            self.daemons[0].update(job)
        self.assertEqual([[], ['suffixes'], ['suffixes']], self.asked())
        self.assertEqual(1, self.daemons[0].stats_for_dev['sda'].attempted)

    def test_a_device_replaced_meanwhile_loses_nothing(self):
        self.start(4, rows=[0, 1, 2])
        self.nodes[0].put('only')
        job = self.job()
        self.set_ring([3, 1, 2])
        self.daemons[0].update(job)
        self.assertTrue(any(self.nodes[0].objects() == each.objects()
                            for each in self.nodes[1:3]))
        self.run_pass(0)
        for each in self.nodes[1:]:
            self.assertEqual(1, len(each.objects()))

    def test_a_ring_that_lost_all_replicas_of_before(self):
        self.start(4, rows=[0, 1])
        self.put_everywhere(numbers=[0, 1])
        job = self.job()
        self.set_ring([2, 3])
        self.daemons[0].update(job)
        self.assertEqual([{}, {'LIGHTSYNC': 1}, {}, {}], self.requests())


class TestFallBack(ClusterTestCase):

    def fails(self, target, name, error, **conf):
        """A pass of node 0, which alone has an object, with an error."""
        self.start(3)
        self.put_everywhere(numbers=[0])
        daemon = self.replicator(0, **conf)
        with mock.patch.object(target, name, side_effect=error):
            stats = self.run_pass(0, daemon)
        self.assertEqual(1, stats.attempted)
        return daemon.logger.at('ERROR')

    def test_an_error_before_the_round_leads_to_the_stock_exchange(self):
        for target, name, error in (
                (changed_file, 'load', OSError(5, 'EIO')),
                (changed_file, 'load', Timeout()),
                (partition_round, 'sync_round', RuntimeError())):
            for batch in ('1', '65536'):
                with self.subTest(name, error=error, batch=batch):
                    errors = self.fails(target, name, error,
                                        sync_batch_partitions=batch)
                    self.assertIn('Error in the sync round of partition 0',
                                  str(errors))
                    self.assert_same_objects(1)
                self.doCleanups()
                self.setUp()

    def test_a_partition_that_cannot_be_read_is_said_in_lines(self):
        self.start(3)
        self.put_everywhere(numbers=[0])
        for error in (OSError(117, 'Structure needs cleaning'),
                      DiskFileDeviceUnavailable()):
            daemon = self.replicator(0)
            daemon.logger.exception = None
            with mock.patch.object(
                    type(daemon._df_router[self.policy]), '_get_hashes',
                    side_effect=error):
                stats = self.run_pass(0, daemon)
            self.assertEqual((1, 2), (stats.attempted, stats.failure))
            self.assertIn('Unable to hash partition 0 on sda: %s: '
                          % type(error).__name__,
                          str(daemon.logger.at('ERROR')))

    def test_an_error_in_the_round_leads_to_the_stock_exchange(self):
        errors = self.fails(PartitionRound, 'answer',
                            ZeroDivisionError(), sync_batch_partitions='1')
        self.assertIn('Error in the sync round of partition 0', errors[0])
        self.assert_same_objects(1)

    def test_an_error_in_a_message_leads_to_an_exchange(self):
        for batch in '1', '2':
            with self.subTest(batch):
                errors = self.fails(
                    SyncClient, 'ask_shared', ZeroDivisionError(),
                    sync_batch_partitions=batch)
                self.assertIn('Error in a sync message about 1 partitions to ',
                              errors[0])
                self.assertEqual(self.nodes[0].objects(),
                                 self.nodes[1].objects())
            self.doCleanups()
            self.setUp()

    def test_a_partition_that_is_gone_is_no_error(self):
        self.start_full(2)
        job = self.job()
        shutil.rmtree(self.nodes[0].part_path)
        self.daemons[0].update(job)
        self.assertEqual([], self.daemons[0].logger.at('ERROR'))
        self.assertEqual(1, len(self.nodes[1].objects()))

    def test_a_fingerprint_that_is_a_directory_is_no_end(self):
        self.start_full(2)
        os.mkdir(os.path.join(self.nodes[0].part_path, 'changed.pkl'))
        self.nodes[0].put('new')
        self.assertEqual(0, self.run_pass(0).failure)
        self.assertEqual(self.nodes[0].objects(), self.nodes[1].objects())

    def test_writes_during_every_pass_arrive_once_they_end(self):
        self.start_full(3)
        genuine = Fingerprints.get_many
        written = itertools.count(2)

        def overtaken(fingerprints, device, partitions, **options):
            number = next(written)
            self.nodes[number % 3].put('w%d' % (number % 4), stamp=number)
            return genuine(fingerprints, device, partitions, **options)

        with mock.patch.object(Fingerprints, 'get_many', overtaken):
            for number in (0, 1, 2) * 2:
                self.run_pass(number)
        for number in (0, 1, 2) * 2:
            self.run_pass(number)
        self.assert_same_objects(5)
