# SPDX-License-Identifier: Apache-2.0
"""sync_batch: the rounds of all partitions, over real object-servers."""

import os
import shutil
from unittest import mock

from swift.obj.replicator import ObjectReplicator

from tests.unit.sync.batches import FULL, PARTS, BatchTestCase
from tests.unit.sync.fixtures import CapturingLogger


class TestStable(BatchTestCase):

    def test_a_pass_costs_a_message_a_node(self):
        self.fill()
        # The first pass tells the sets to the peers.
        self.one_pass()
        for _ in range(2):
            stats = self.one_pass()
            self.assertEqual([{}, *[{'LIGHTSYNC': 1}] * (self.hosts - 1)],
                             self.requests())
            self.assertEqual(2 * self.held(), stats['hashmatch'])
        self.assertGreaterEqual(len(self.pairs()), 6)

    def test_each_partition_counts_as_if_it_had_been_asked_alone(self):
        self.fill(policies=[self.policy])
        alone = self.replicator(0, sync_batch_partitions='1')
        self.one_pass(0, alone)
        together = self.one_pass(0)
        self.assertEqual(self.one_pass(0, alone), together)
        self.assertEqual(alone.job_count, self.daemons[0].job_count)
        self.assertEqual(len(alone.partition_times),
                         len(self.daemons[0].partition_times))
        self.assertEqual(
            {name: count // 2 for name, count
             in alone.logger.counters.items() if count
             and not name.startswith('suffix')},
            {name: count for name, count
             in self.daemons[0].logger.counters.items() if count
             and not name.startswith('suffix')})

    def test_the_limit_is_kept_and_no_partition_asked_about_twice(self):
        self.fill(policies=[self.policy])
        for limit in (1, 2, 5, PARTS):
            daemon = self.replicator(0, sync_batch_partitions=str(limit))
            self.one_pass(0, daemon)
            with self.asking(daemon) as messages, \
                    mock.patch.object(daemon.neighbours, 'note',
                                      wraps=daemon.neighbours.note) as note:
                stats = self.one_pass(0, daemon)
            sizes = [len(roots) for roots in messages]
            asked = {(call.args[0], call.args[2], part)
                     for call in note.call_args_list for part in call.args[3]}
            self.assertEqual((self.held(), self.held()),
                             (sum(sizes), len(asked)))
            self.assertLessEqual(max(sizes), limit)
            if limit == PARTS:
                self.assertEqual(self.hosts - 1, len(sizes))
            self.assertEqual(self.held(), stats['hashmatch'])

    def test_nothing_of_a_pass_is_left_for_the_next(self):
        self.fill(policies=[self.policy])
        daemon = self.daemons[0]
        self.one_pass()
        self.put_one('new', 0, self.row_of(0))
        self.one_pass()
        shutil.rmtree(self.nodes[0].devices_dir)
        for name in self.names:
            os.makedirs(os.path.join(self.nodes[0].devices_dir, name))
        self.assertEqual(0, self.one_pass()['attempted'])
        self.assertEqual(0, daemon.job_count)

    def test_the_lines_of_statistics_are_those_of_stock_swift(self):
        self.fill()
        self.one_pass()
        lines = self.daemons[0].logger.at('INFO')
        total = 2 * self.held()
        self.assertTrue(any(line.startswith(
            '%d/%d (100.00%%) partitions replicated' % (total, total))
            for line in lines), lines)
        self.assertIn('%d successes, 0 failures' % total, lines)
        self.assertTrue(any(line.startswith('Partition times: max ')
                            for line in lines))
        for _ in range(2):
            self.daemons[0].stats_line()


class TestAsStock(BatchTestCase):
    """With one other replica each there is one neighbour for both."""

    hosts = replicas = 2

    def test_a_stable_pass_has_the_statistics_of_stock_swift(self):
        self.fill()
        for number in range(2):
            self.one_pass(number)
        ours = self.one_pass()
        stock = ObjectReplicator(
            dict(self.conf, devices=self.nodes[0].devices_dir,
                 sync_method='ssync', ring_ip=self.nodes[0].ip,
                 bind_port=str(self.ring_nodes[0]['replication_port'])),
            logger=CapturingLogger())
        self.assertEqual(self.one_pass(0, stock), ours)
        daemon = self.daemons[0]
        self.assertEqual(stock.job_count, daemon.job_count)
        self.assertEqual(len(stock.partition_times),
                         len(daemon.partition_times))
        for device in self.names:
            self.assertEqual(stock.stats_for_dev[device].to_recon(),
                             daemon.stats_for_dev[device].to_recon())


class TestDifferences(BatchTestCase):

    def test_what_differs_is_exchanged_and_only_that(self):
        self.fill(policies=[self.policy])
        for number in range(self.hosts):
            self.one_pass(number)
        changed = (6, 13, 40)
        for part in changed:
            self.put_one('new', part, self.row_of(part))
        stats = self.one_pass()
        self.assertEqual(self.held(), stats['attempted'])
        # A round that has pushed goes on to the next device.
        self.assert_stats(stats, rsync=2 * len(changed), failure=0)
        exchanged = self.requests()
        self.assertEqual(2 * len(changed), sum(
            counts.get('SSYNC', 0) for counts in exchanged))
        for _ in range(2):
            for number in range(self.hosts):
                self.one_pass(number)
        self.assertEqual(0, self.one_pass()['rsync'])
        self.assertEqual(self.hosts - 1, self.sent())

    def test_a_new_device_gets_all(self):
        self.fill(policies=[self.policy], rows=[0, 1])
        for number in range(self.hosts):
            self.assertEqual(0, self.one_pass(number)['failure'])
        for part in FULL:
            self.assertEqual(self.suffixes(part, 0), self.suffixes(part, 2))
            self.assertEqual(1, len(self.suffixes(part, 2)))

    def test_a_full_comparison_goes_into_the_messages_of_the_pass(self):
        self.fill(policies=[self.policy])
        self.one_pass()
        for part in range(PARTS):
            for device in self.names:
                self.daemons[0].fingerprints(self.policy).note_exchange(
                    device, part, 1.0)
        self.asked()
        stats = self.one_pass()
        # One for the first of the two others, and one for the second.
        self.assertEqual([{}] + [{'LIGHTSYNC': 2}] * 2, self.requests())
        self.assertEqual([[]] * 3, self.asked())
        self.assertEqual(2 * self.held(), stats['hashmatch'])
