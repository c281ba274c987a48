# SPDX-License-Identifier: Apache-2.0
"""sync_batch: the rounds of all partitions, over real object-servers."""

import contextlib
import os
import shutil
import time
from unittest import mock

from swift.common import storage_policy
from swift.common.storage_policy import StoragePolicy, StoragePolicyCollection
from swift.common.utils import lock_path
from swift.obj.diskfile import get_part_path
from swift.obj.replicator import ObjectReplicator

from swift_lightsync.sync import changed_file, neighbours
from swift_lightsync.sync.core import replica_ring
from swift_lightsync.sync.core.postponed import MOST
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.exchanges import Meddler
from tests.unit.sync.fixtures import CapturingLogger, node, ring_of_parts

PARTS = 64
#: The partitions with an object in them.
FULL = range(0, PARTS, 9)
STATS = ('attempted', 'failure', 'hashmatch', 'remove', 'rsync', 'success',
         'suffix_count', 'suffix_hash', 'suffix_sync')


class BatchTestCase(ClusterTestCase):
    """Three nodes with two devices each, two policies."""

    names = ('sda', 'sdb')
    hosts = 3
    replicas = 3
    # A partition's turn for a full exchange would come at random.
    daemon_options = {'full_exchange_interval': '1e9'}

    def setUp(self):
        super().setUp()
        self.policies = [self.policy, StoragePolicy(1, 'one')]
        self.enterContext(mock.patch.object(
            storage_policy, '_POLICIES',
            StoragePolicyCollection(self.policies)))
        self.start(self.hosts)
        self.spread()

    def spread(self):
        """Devices and partitions, evenly; device i is on node i mod 3."""
        self.disks = []
        for number in range(len(self.names) * self.hosts):
            host = self.ring_nodes[number % self.hosts]
            device = self.names[number // self.hosts]
            self.disks.append(node(
                number, host['replication_port'], device, host['ip']))
            os.makedirs(os.path.join(
                self.nodes[number % self.hosts].devices_dir, device),
                exist_ok=True)
        # Each device has neighbours on all other nodes.
        self.parts = [[(part + row * (1 + part // 6 % (self.hosts - 1)))
                       % len(self.disks) for row in range(self.replicas)]
                      for part in range(PARTS)]
        ring = ring_of_parts(self.root, self.disks, self.parts)
        for policy in self.policies:
            policy.object_ring = ring

    def fill(self, policies=None, rows=None):
        """Make all partitions, with an object in some of them."""
        for policy in policies or self.policies:
            for part in range(PARTS):
                for row in rows or range(self.replicas):
                    os.makedirs(self.path(part, row, policy))
                    if part in FULL:
                        self.put_one('o', part, row, policy)

    def put_one(self, name, part, row, policy=None):
        number = self.parts[part][row]
        self.put(self.nodes[number % self.hosts].disk,
                 self.disks[number]['device'], name, partition=part,
                 policy=policy)

    def path(self, part, row=0, policy=None):
        number = self.parts[part][row]
        return get_part_path(
            os.path.join(self.nodes[number % self.hosts].devices_dir,
                         self.disks[number]['device']),
            policy or self.policy, part)

    def row_of(self, part, host=0):
        return [number % self.hosts for number
                in self.parts[part]].index(host)

    def suffixes(self, part, row):
        return {name for name in os.listdir(self.path(part, row))
                if len(name) == 3}

    def pairs(self, host=0, parts=range(PARTS)):
        """The pairs of a device of a node and its clockwise neighbours."""
        return set(self.first_neighbours(host, parts))

    def held(self, host=0):
        """How many partitions of a policy a node has."""
        return sum(number % self.hosts == host
                   for part in self.parts for number in part)

    def one_pass(self, number=0, daemon=None):
        self.requests()
        daemon = daemon or self.daemons[number]
        self.run_pass(number, daemon)
        total = daemon.total_stats
        return {name: getattr(total, name) for name in STATS}

    @staticmethod
    @contextlib.contextmanager
    def asking(daemon):
        """The roots of each message."""
        found, client = [], daemon.neighbours.client
        with contextlib.ExitStack() as stack:
            for name in ('ask', 'ask_shared'):
                genuine = getattr(client, name)

                def ask(*args, genuine=genuine):
                    found.append(args[-1])
                    return genuine(*args)

                stack.enter_context(mock.patch.object(client, name, ask))
            yield found

    def sent(self, verb='LIGHTSYNC'):
        return sum(counts.get(verb, 0) for counts in self.requests())

    def first_neighbours(self, host=0, parts=range(PARTS)):
        """Give each device of a node with its clockwise neighbours."""
        for part in parts:
            rows = [self.disks[number] for number in self.parts[part]]
            for here in self.parts[part]:
                if here % self.hosts == host:
                    yield here, replica_ring.clockwise(
                        rows, part, here)[0]['id']


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


class TestTrouble(BatchTestCase):

    def setUp(self):
        super().setUp()
        self.fill(policies=[self.policy])

    def errors(self):
        return self.daemons[0].logger.at('ERROR')

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

    def test_a_peer_without_conversations_is_asked_device_by_device(self):
        with Meddler(self.nodes[1], 'shared', reply=400) as met:
            stats = self.one_pass()
        self.assert_stats(stats, attempted=self.held(), hashmatch=self.held(),
                          failure=0)
        self.assertEqual(1, met.calls)
        requests = self.requests()
        self.assertEqual([{'LIGHTSYNC'}] * 2, [set(each)
                                               for each in requests[1:]])
        self.assertGreater(requests[1]['LIGHTSYNC'], 2)

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
        clock = mock.Mock(wraps=time)
        clock.monotonic.side_effect = lambda: time.monotonic() + 2 * MOST
        with mock.patch.object(neighbours, 'time', clock):
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
        clock = mock.Mock(wraps=time)
        clock.monotonic.side_effect = lambda: time.monotonic() + 2 * MOST
        with mock.patch.object(neighbours, 'time', clock):
            self.assertEqual(self.held(), self.one_pass()['hashmatch'])

    def test_who_is_busy_for_long_no_longer_ends_the_rounds(self):
        self.nodes[1].broken['LIGHTSYNC'] = 503
        self.one_pass()
        self.requests()
        clock = mock.Mock(wraps=time)
        clock.monotonic.side_effect = lambda: time.monotonic() + 2 * MOST
        with mock.patch.object(neighbours, 'time', clock):
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
