# SPDX-License-Identifier: Apache-2.0
"""The reconstructor: what is equal costs a message a node, and no more."""

import os
import time
from dataclasses import replace
from unittest import mock

from swift.common import storage_policy, utils
from swift.common.storage_policy import (
    ECStoragePolicy,
    StoragePolicyCollection,
)
from swift.common.utils import Timestamp, load_recon_cache
from swift.obj import reconstructor as stock
from swift.obj.diskfile import DiskFileRouter

from swift_lightsync.common.options import OptionError
from swift_lightsync.sync import device_watch, reconstructor, standing_trees
from swift_lightsync.sync.changed_file import load, store
from swift_lightsync.sync.fingerprints import Fingerprints
from swift_lightsync.sync.reconstructor import (
    RECON_KEY,
    LightSyncReconstructor,
)
from tests.unit.sync.cluster import ClusterTestCase
from tests.unit.sync.fixtures import PARTITION, CapturingLogger

ASKED = {'LIGHTSYNC': 1}
STOCK = {'REPLICATE': 1}


class ReconstructorTestCase(ClusterTestCase):
    """Four nodes with a fragment each; the first one's reconstructor."""

    def setUp(self):
        super().setUp()
        self.policy = ECStoragePolicy(
            0, 'ec', is_default=True, ec_type='liberasurecode_rs_vand',
            ec_ndata=2, ec_nparity=2)
        self.enterContext(mock.patch.object(
            storage_policy, '_POLICIES',
            StoragePolicyCollection([self.policy])))
        #: What is pushed: the node's number, and the suffixes.
        self.pushed = []
        self.enterContext(mock.patch.object(stock, 'ssync_sender',
                                            self.push))

    def push(self, daemon, node, job, suffixes, **options):
        self.pushed.append((node['id'], sorted(suffixes)))
        return mock.Mock(return_value=(True, {}),
                         limited_by_max_objects=False)

    def manager(self, devices_dir=None):
        conf = dict(self.conf, devices=devices_dir or self.devices_dir)
        return DiskFileRouter(conf, self.logger)[self.policy]

    def start(self, stock=()):
        super().start(4, stock=stock)
        self.daemon = self.daemons[0]

    def replicator(self, number, **conf):
        with self.at_home(number):
            return LightSyncReconstructor({
                **self.nodes[number].conf, 'ring_ip': self.nodes[number].ip,
                'bind_port': str(self.ring_nodes[number]['replication_port']),
                **conf}, logger=CapturingLogger())

    def at_home(self, number):
        return mock.patch.object(stock, 'whataremyips',
                                 return_value=[self.nodes[number].ip])

    def run_pass(self, **kwargs):
        """Run a pass of many; return what the other nodes were asked."""
        self.pushed.clear()
        self.requests()
        with self.at_home(0):
            self.daemon.reconstruct(**kwargs)
        return self.requests()[1:]

    def put_fragment(self, number, name='o', index=None, stamp=1):
        """Write a fragment as an object-server does; return its suffix."""
        diskfile = self.nodes[number].disk.get_diskfile(
            'sda', PARTITION, 'a', 'c', name, self.policy)
        with diskfile.create() as writer:
            writer.write(b'x')
            writer.put({
                'X-Timestamp': Timestamp(stamp).internal, 'name': '/a/c/o',
                'Content-Type': 'text/plain', 'Content-Length': '1',
                'ETag': utils.md5(b'x', usedforsecurity=False).hexdigest(),
                'X-Object-Sysmeta-Ec-Frag-Index': str(
                    number if index is None else index)})
            writer.commit(Timestamp(stamp))
        return utils.hash_path('a', 'c', name)[-3:]

    def start_full(self, **options):
        self.start(**options)
        self.put_all()

    def put_all(self, names=('o', 'p'), numbers=range(4)):
        for number in numbers:
            for name in names:
                self.put_fragment(number, name)


class TestPasses(ReconstructorTestCase):

    def test_a_stable_pass_costs_a_message_a_node(self):
        self.start_full()
        for _ in range(2):
            self.assertEqual([ASKED] * 3, self.run_pass())
        self.assertEqual((1, 1, 0), (
            self.daemon.part_count, self.daemon.reconstruction_part_count,
            self.daemon.reconstruction_count))
        self.assertRegex(self.daemon.logger.at('INFO')[-2],
                         r'and 3 messages: 1 of 1 partitions were equal')
        self.daemon.final_recon_dump(1)
        record = load_recon_cache(self.daemon.rcache)[RECON_KEY]['sda']
        self.assertEqual((1, 1), (record['partitions'], record['equal']))

    def test_a_stable_pass_of_a_running_daemon_writes_nothing(self):
        self.start_full()
        self.run_pass()
        before = os.stat(self.nodes[0].part_path + '/hashes.pkl')
        self.run_pass()
        self.assertEqual(before, os.stat(
            self.nodes[0].part_path + '/hashes.pkl'))

    def test_what_a_partner_lacks_goes_to_it_alone_as_by_stock_swift(self):
        self.start_full()
        self.run_pass()
        suffix = self.put_fragment(0, 'q')
        for number in (1, 3):
            self.put_fragment(number, 'q')
        self.assertEqual([ASKED, {**ASKED, **STOCK}, ASKED],
                         self.run_pass())
        self.assertEqual([(2, [suffix])], self.pushed)

    def test_a_partition_that_a_partner_lost_is_found(self):
        self.start()
        self.put_all(numbers=(0, 1, 2))
        self.assertEqual([ASKED, ASKED, {**ASKED, **STOCK}],
                         self.run_pass())
        self.assertEqual([3], [number for number, _ in self.pushed])

    def test_servers_keep_no_trees_that_no_journal_would_renew(self):
        self.start_full()
        with mock.patch.object(standing_trees, 'SMALLEST', 1), \
                mock.patch.object(device_watch, 'TICK', 0):
            for _ in range(3):
                self.assertEqual([ASKED] * 3, self.run_pass())
            # As an ssync, or an auditor, of another process.
            self.put_fragment(1, 'q')
            self.assertEqual([{**ASKED, **STOCK}, ASKED, ASKED],
                             self.run_pass())

    def test_tombstones_that_differ_are_found(self):
        self.start_full()
        self.nodes[0].disk.get_diskfile(
            'sda', PARTITION, 'a', 'c', 'o', self.policy).delete(
                Timestamp(time.time()))
        self.run_pass()
        self.assertEqual([1, 2, 3], sorted(
            number for number, _ in self.pushed))

    def test_a_partition_of_tombstones_alone_is_compared(self):
        self.start()
        for each in self.nodes:
            each.disk.get_diskfile('sda', PARTITION, 'a', 'c', 'o',
                                   self.policy).delete(
                                       Timestamp(time.time()))
        # Each has a time of its own.
        self.run_pass()
        self.assertEqual(3, len(self.pushed))
        stamp = Timestamp(time.time() + 1)
        for each in self.nodes:
            each.disk.get_diskfile('sda', PARTITION, 'a', 'c', 'o',
                                   self.policy).delete(stamp)
        self.assertEqual([ASKED] * 3, self.run_pass())

    def test_fragments_for_others_are_reverted_as_by_stock_swift(self):
        self.start_full()
        self.put_fragment(0, 'o', index=2)
        self.assertEqual([STOCK] * 3, self.run_pass())
        self.assertEqual([2], [number for number, _ in self.pushed])

    def test_a_partition_without_a_row_here_is_left_to_stock_swift(self):
        self.start()
        self.set_ring([3, 1, 2, 3])
        self.put_fragment(0)
        self.assertEqual([{}] * 3, self.run_pass())
        self.assertEqual(1, len(self.pushed))

    def test_the_row_of_another_ring_differs(self):
        self.start_full()
        self.set_ring([0, 2, 1, 3])
        asked = self.run_pass()
        self.assertEqual([{**ASKED, **STOCK}] * 2 + [ASKED], asked)
        self.assertEqual([1, 2], sorted(
            number for number, _ in self.pushed))


class TestListing(ReconstructorTestCase):

    def lose_note(self):
        """Have all nodes but this know of an object."""
        self.start_full()
        self.run_pass()
        hashes, invalid = (
            os.path.join(self.nodes[0].part_path, name)
            for name in ('hashes.pkl', 'hashes.invalid'))
        with open(hashes, 'rb') as file:
            kept = file.read()
        before = os.stat(hashes)
        self.put_fragment(0, 'q')
        with open(hashes, 'r+b') as file:
            file.write(kept)
            file.truncate()
        os.utime(hashes, ns=(before.st_atime_ns, before.st_mtime_ns))
        open(invalid, 'w').close()

    def test_what_no_invalidation_told_of_is_found_in_an_interval(self):
        self.lose_note()
        self.assertEqual([ASKED] * 3, self.run_pass())
        self.daemon._listed -= self.daemon.full_exchange_interval
        self.assertEqual([{**ASKED, **STOCK}] * 3, self.run_pass())
        self.assertEqual(3, len(self.pushed))

    def test_a_wrong_fingerprint_is_replaced_in_an_interval(self):
        self.start_full()
        self.run_pass()
        path = self.nodes[0].part_path
        sound = load(path)
        for listed, asked in ((None, ASKED),
                              (time.time(), {**ASKED, **STOCK})):
            store(path, self.root, replace(sound, root='ab' * 16))
            self.daemon = self.replicator(0)
            self.daemon._listed = listed
            self.assertEqual([asked] * 3, self.run_pass())

    def test_a_pass_of_once_lists_all(self):
        self.lose_note()
        with self.at_home(0):
            self.daemon.run_once()
        self.assertEqual(3, len(self.pushed))

    def test_a_process_that_begins_lists_all_whatever_the_interval(self):
        self.lose_note()
        self.daemon = self.replicator(0, full_exchange_interval='1e10')
        self.run_pass()
        self.assertEqual(3, len(self.pushed))

    def test_a_partition_that_cannot_be_listed_is_left_to_stock_swift(self):
        self.start_full()
        with mock.patch.object(Fingerprints, 'relist',
                               side_effect=OSError(5, 'broken')):
            self.assertEqual([STOCK] * 3, self.run_pass())


class TestPeers(ReconstructorTestCase):

    def test_stock_peers_are_asked_as_by_stock_swift(self):
        self.start_full(stock=(1, 2))
        for _ in range(2):
            self.assertEqual(
                [{**ASKED, **STOCK}, {**ASKED, **STOCK}, ASKED],
                self.run_pass())
        self.assertEqual([], self.pushed)

    def test_a_node_that_puts_us_off_is_asked_as_by_stock_swift(self):
        self.start_full()
        for status in (503, 507, 500):
            self.nodes[1].broken['LIGHTSYNC'] = status
            self.assertEqual([{**ASKED, **STOCK}, ASKED, ASKED],
                             self.run_pass())
        del self.nodes[1].broken['LIGHTSYNC']
        self.assertEqual([ASKED] * 3, self.run_pass())

    def test_a_node_that_is_gone_holds_nothing_up(self):
        self.start_full()
        self.servers[2].close()
        self.assertEqual([ASKED, {}, ASKED], self.run_pass())
        self.assertIn('No comparison', ''.join(
            self.daemon.logger.at('WARNING')))

    def test_partitions_are_compared_so_many_at_a_time(self):
        self.start_full()
        other = self.nodes[0].disk.get_diskfile(
            'sda', 1, 'a', 'c', 'o', self.policy)
        other.delete(Timestamp(time.time()))
        with mock.patch.object(reconstructor, 'TOGETHER', 1):
            asked = self.run_pass()
        # Of the second partition, which the others lack, each is pushed.
        self.assertEqual([{'LIGHTSYNC': 2, **STOCK}] * 3, asked)

    def test_a_node_that_does_not_answer_is_asked_once_a_pass(self):
        self.start_full()
        self.nodes[0].disk.get_diskfile(
            'sda', 1, 'a', 'c', 'o', self.policy).delete(
                Timestamp(time.time()))
        self.nodes[1].broken['LIGHTSYNC'] = 503
        with mock.patch.object(reconstructor, 'TOGETHER', 1):
            self.assertEqual({**ASKED, 'REPLICATE': 2}, self.run_pass()[0])

    def test_an_error_leaves_all_to_stock_swift(self):
        self.start_full()
        with mock.patch.object(self.daemon.partners, 'equal',
                               side_effect=ValueError('broken')):
            self.assertEqual([STOCK] * 3, self.run_pass())
        self.assertIn('1 partitions with partners', ''.join(
            self.daemon.logger.at('ERROR')))


class TestOptions(ReconstructorTestCase):

    def test_a_value_that_is_not_allowed_is_refused(self):
        self.start()
        for name in ('full_exchange_interval', 'http_timeout'):
            with self.assertRaisesRegex(OptionError, name):
                self.replicator(0, **{name: '-1'})
