# SPDX-License-Identifier: Apache-2.0
"""hand_offs: partitions that belong to others are brought home together."""

import os
import shutil
from unittest import mock

from swift.obj.diskfile import get_part_path

from swift_lightsync.sync import hand_offs
from swift_lightsync.sync.hand_offs import HandOffs
from swift_lightsync.sync.recon_records import read
from tests.unit.sync.batches import FULL, BatchTestCase
from tests.unit.sync.exchanges import PARTS, RsyncTestCase


class TestHandOffs(BatchTestCase):

    def setUp(self):
        super().setUp()
        self.fill(policies=[self.policy])
        # What the second device of the first node should hold, its first has.
        self.moved = [part for part, row in enumerate(self.parts)
                      if len(self.disks) // 2 in row
                      and self.disk_of(part) == 'sdb']
        for part in self.moved:
            os.rename(self.on('sdb', part), self.on('sda', part))
        self.assertGreater(len(set(self.moved) & set(FULL)), 2)

    def disk_of(self, part):
        number = self.parts[part][self.row_of(part)]
        return self.disks[number]['device']

    def on(self, device, part):
        return get_part_path(os.path.join(
            self.nodes[0].devices_dir, device), self.policy, part)

    def left(self):
        return [part for part in self.moved
                if os.path.exists(self.on('sda', part))]

    def assert_home(self):
        self.assertEqual([], self.left())
        for part in set(self.moved) & set(FULL):
            self.assertEqual(
                {name for name in os.listdir(self.on('sdb', part))
                 if len(name) == 3}, self.suffixes(part, self.row_of(part, 1)))

    def ssyncs(self):
        return sum(each.get('SSYNC', 0) for each in self.requests())

    def test_only_what_is_lacking_is_pushed_and_few_are_asked(self):
        self.one_pass()
        requests = self.requests()
        self.assert_home()
        # To the device that they belong to; the other nodes have them.
        self.assertEqual(
            [len(set(self.moved) & set(FULL)), 0, 0],
            [each.get('SSYNC', 0) for each in requests])
        self.assertLess(requests[1]['LIGHTSYNC'], 8)
        self.assertIn('hand-offs', str(self.daemons[0].logger.lines))

    def test_many_are_brought_home_in_turns(self):
        with mock.patch.object(hand_offs, 'CHUNK', 2):
            self.one_pass()
        self.assert_home()

    def test_handoffs_first_and_handoff_delete_are_stock_swifts(self):
        daemon = self.replicator(0, handoffs_first='yes', handoff_delete='2')
        self.nodes[1].broken.update(LIGHTSYNC=500, SSYNC=500)
        self.one_pass(0, daemon)
        self.assert_home()

    def test_a_device_that_lacks_something_keeps_the_hand_off(self):
        self.nodes[1].broken.update(LIGHTSYNC=500, SSYNC=500)
        self.one_pass()
        # Those without an object are empty, and removed at once.
        self.assertEqual(sorted(set(self.moved) & set(FULL)), self.left())
        self.assertEqual(len(self.left()), self.daemons[0].hand_offs.left[
            'sda'])

    def test_what_is_put_into_a_hand_off_meanwhile_is_pushed_as_well(self):
        part = min(set(self.moved) & set(FULL))
        genuine = HandOffs._bring_home

        def bring_home(found, jobs):
            genuine(found, jobs)
            self.put(self.nodes[0].disk, 'sda', 'late', partition=part)

        with mock.patch.object(HandOffs, '_bring_home', bring_home):
            self.one_pass()
        self.assertEqual([], self.left())
        for row in range(self.replicas):
            self.assertEqual(self.suffixes(part, 0),
                             self.suffixes(part, row))
        self.assertEqual(2, len(self.suffixes(part, 0)))

    def test_what_nobody_noted_in_a_hand_off_is_pushed_as_well(self):
        part = min(set(self.moved) & set(FULL))
        self.one_pass(1)
        with mock.patch.object(self.nodes[0].disk, 'invalidate_hash'):
            self.put(self.nodes[0].disk, 'sda', 'unnoted', partition=part)
        self.one_pass()
        self.assertEqual([], self.left())
        self.assertEqual(2, len(self.suffixes(part, self.row_of(part, 1))))

    def test_what_a_device_has_lost_unnoticed_is_pushed_as_well(self):
        part = min(set(self.moved) & set(FULL))
        row = self.row_of(part, 1)
        self.one_pass(1)
        lost = self.suffixes(part, row)
        for suffix in lost:
            shutil.rmtree(os.path.join(self.path(part, row), suffix))
        self.one_pass()
        self.assertEqual([], self.left())
        self.assertEqual(lost, self.suffixes(part, row))

    def test_who_has_another_ring_is_pushed_to_as_by_stock_swift(self):
        # To the servers, all of it belongs elsewhere.
        policies = self.enterContext(mock.patch(
            'swift_lightsync.sync.ownership.POLICIES'))
        ring = policies.get_object_ring.return_value
        ring.get_part_nodes.return_value = []
        self.one_pass()
        self.assertEqual(3 * len(set(self.moved) & set(FULL)), self.ssyncs())
        self.assert_home()

    def test_an_error_leaves_them_to_stock_swift(self):
        with mock.patch.object(HandOffs, '_bring_home',
                               side_effect=KeyError('nobody expects it')):
            self.one_pass()
        self.assert_home()
        self.assertIn('one by one', self.daemons[0].logger.at('ERROR')[0])

    def test_by_messages_about_one_partition_they_are_stock_swifts(self):
        daemon = self.replicator(0, sync_batch_partitions='1')
        with mock.patch.object(HandOffs, '_bring_home',
                               side_effect=KeyError):
            self.one_pass(0, daemon)
        self.assert_home()
        self.assertEqual([], daemon.logger.at('ERROR'))


class TestByRsync(RsyncTestCase):
    """The first of three nodes has what belongs to the others."""

    hosts = 3

    def set_ring(self, rows=None):
        super().set_ring(rows or [1, 2])

    def test_one_rsync_brings_many_home_and_none_goes_to_who_has_them(self):
        self.put_all(numbers=[0, 1])
        with self.rsyncs() as commands:
            stats = self.run_pass(0)
        (_, paths), = commands
        self.assertEqual(PARTS, len(paths))
        self.assert_stats(stats, attempted=PARTS, remove=PARTS, failure=0)
        self.assertEqual({}, self.tree(0))
        self.assertEqual(PARTS, len(self.tree(1)))
        self.assertEqual(self.tree(1), self.tree(2))
        pairs, (device,) = (list(each.values()) for each in read(
            self.daemons[0].recon.path))
        self.assertEqual([(0, PARTS), (0, PARTS)], [
            (each.differing, each.partitions) for each in pairs])
        self.assertEqual((0, 0.0), (device.hand_offs,
                                    device.hand_offs_seconds))

    def test_what_is_newer_at_home_stays(self):
        self.put_all(numbers=[0])
        self.put_all(stamp=2, numbers=[1, 2])
        with self.rsyncs() as commands:
            self.run_pass(0)
        self.assertEqual([], commands)
        self.assertEqual({}, self.tree(0))
        for number in (1, 2):
            self.assertEqual(PARTS, len(self.tree(number)))

    def test_a_push_that_fails_keeps_them(self):
        self.put_all(numbers=[0, 1])
        self.rsyncd.stop()
        stats = self.run_pass(0)
        self.assertEqual(0, stats.remove)
        self.assertEqual(PARTS, len(self.tree(0)))
