# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck: when it runs, and whether all is sound."""

import contextlib
import io
import os
import shutil
from array import array

from swift.common.ring import RingData

from swift_losf.format import keys
from swift_losf.format.header import HEADER_LENGTH
from swift_losf.fsck import cli as fsck
from swift_losf.index.index_lock import locked
from swift_losf.upkeep import lost_index
from swift_losf.upkeep.lost_index import DAMAGED
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from tests.unit.losf.fsck_world import (
    HASH,
    HASHES,
    NAME,
    OTHER,
    PARTITION,
    FsckTest,
)

FRAGMENT = '1700000000.00001#2.data'
DURABLE = '1700000000.00001#2#d.data'


class TestSound(FsckTest):

    def test_a_sound_device_is_said_to_be_sound(self):
        before = self.content()
        for args in (['check'], ['check', '--data'], ['repair'],
                     ['repair', '--dry-run']):
            status, lines = self.run_fsck(*args)
            self.assertEqual((0, []), (status, self.kinds(lines)), args)
            summary = lines[-1]['summary']
            self.assertEqual((7, 2, 8), (
                summary['files'], summary['volumes'], summary['records']))
        self.assertEqual(before, self.content())

    def test_a_renamed_fragment_is_sound(self):
        with self.index() as index:
            location = self.put(index, FRAGMENT, number=3)
            mark_durable(self.layout, location)
            index.rename(PARTITION, HASH, FRAGMENT, DURABLE)
        self.release(3)
        self.assertEqual(0, self.run_fsck('check')[0])

    def test_a_damaged_file_in_quarantine_is_as_it_has_to_be(self):
        location = self.files[HASHES[0]]
        mark_quarantined(self.layout, location)
        with self.index() as index:
            index.quarantine(PARTITION, HASHES[0])
        self.overwrite(1, location.footer_offset, b'x' * 20)
        status, lines = self.run_fsck('check', '--data')
        self.assertEqual((0, 1), (
            status, lines[-1]['summary']['damaged_in_quarantine']))

    def test_a_long_put_under_way_is_nothing_wrong(self):
        volume = self.volume(3)
        volume.write_at([b'some bytes'], volume.end + HEADER_LENGTH)
        status, lines = self.run_fsck('check')
        self.assertEqual((0, [3]), (status, lines[-1]['summary']['in_use']))

    def test_the_text_says_whether_data_was_read_and_what_in_use_means(self):
        self.volume(3)
        for args, data in (([], 'not read: .* --data verifies all'),
                           (['--data'], 'read and verified')):
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(0, fsck.main([
                    'check', self.device, '--no-mount-check', *args]))
            self.assertRegex(out.getvalue(), '(?m)^data: %s$' % data)
            self.assertRegex(out.getvalue(),
                             r'(?m)^volumes in use \(locked .*\): 3$')
            _, lines = self.run_fsck('check', *args)
            self.assertIs(bool(args), lines[-1]['summary']['data_read'])


class TestIndex(FsckTest):

    def test_a_lost_index_is_found_and_rebuilt(self):
        expected = self.listed()
        shutil.rmtree(self.layout.index)
        status, lines = self.run_fsck('check')
        self.assertEqual((1, ['no-index']), (status, self.kinds(lines)))
        self.assertRegex(lines[0]['what'], 'cannot be read')
        self.assertRegex(lines[0]['mend'], 'rebuild it')
        self.assertFalse(os.path.exists(self.layout.index))
        self.assertEqual(2, self.run_fsck('repair')[0])
        self.assertIn('--index-path', self.stderr.getvalue())
        self.assertFalse(os.path.exists(self.layout.index))
        status, lines = self.run_fsck('rebuild')
        self.assertEqual((0, None, 8), (status, lines[0]['before'],
                                        lines[0]['files']))
        listed = self.listed()
        self.assertEqual(self.removed, listed.pop((HASH, OTHER)))
        self.assertEqual(expected, listed)

    def test_a_rotten_index_is_made_anew_by_repair(self):
        expected = self.listed()
        self.break_index()
        self.assertEqual(1, self.run_fsck('check')[0])
        self.assertEqual(1, self.run_fsck('repair', '--dry-run')[0])
        self.assertEqual([], [name for name in os.listdir(self.layout.root)
                              if 'broken' in name])
        self.assertEqual(0, self.run_fsck('repair')[0])
        self.assertLess(expected.items(), self.listed().items())
        self.assertEqual(0, self.run_fsck('check')[0])

    def test_rebuild_keeps_the_index_before_aside(self):
        mark_quarantined(self.layout, self.files[HASHES[0]])
        before = self.content()
        status, lines = self.run_fsck('rebuild', '--dry-run')
        self.assertEqual((0, 8, 1), (status, lines[0]['records'],
                                     lines[0]['quarantined']))
        self.assertEqual(before, self.content())
        status, lines = self.run_fsck('rebuild')
        self.assertEqual((0, 7, 1), (status, lines[0]['files'],
                                     lines[0]['quarantined']))
        self.assertTrue(os.path.exists(os.path.join(
            self.layout.root, lines[0]['before'], 'CURRENT')))
        self.assertNotIn((HASHES[0], NAME), self.listed())
        self.assertEqual(0, self.run_fsck('check')[0])

    def test_rebuild_tells_which_index_was_there_beside_a_damaged_one(self):
        # as when a server was killed that began to copy it
        shutil.copytree(self.layout.index, self.layout.index + DAMAGED)
        number = os.stat(self.layout.index).st_ino
        with self.assertLogs(lost_index.logger) as logs:
            status, lines = self.run_fsck('rebuild')
        aside = os.path.join(self.layout.root, lines[0]['before'])
        self.assertEqual((0, number), (status, os.stat(aside).st_ino))
        self.assertEqual(
            ['WARNING:%s:%s is set aside as %s: it is made anew from the '
             'volumes, as it was asked for' % (
                 lost_index.logger.name, self.layout.index, aside)],
            logs.output)

    def test_an_interrupted_rebuild_is_ended_by_the_next(self):
        expected = self.listed()
        os.rename(self.layout.index, self.layout.index + '.away')
        self.assertEqual(0, self.run_fsck('rebuild')[0])
        self.assertEqual(0, self.run_fsck('rebuild')[0])
        self.assertLess(expected.items(), self.listed().items())

    def test_an_index_elsewhere_is_found_there(self):
        elsewhere = os.path.join(self.device, 'fast')
        path = os.path.join(elsewhere, os.path.basename(self.device), 'losf')
        os.makedirs(os.path.dirname(path))
        os.rename(self.layout.index, path)
        self.assertEqual(1, self.run_fsck('check')[0])
        self.assertEqual(0, self.run_fsck(
            'check', '--index-path', elsewhere)[0])


class TestCannotRun(FsckTest):

    def assert_refused(self, reason, *args, device=None):
        with contextlib.redirect_stderr(io.StringIO()) as text:
            self.assertEqual(2, fsck.main(
                [args[0], device or self.device, *args[1:]]))
        self.assertRegex(text.getvalue(), reason)

    def test_the_index_server_must_not_run(self):
        before = self.content()
        with locked(self.layout):
            for command in ('check', 'repair', 'rebuild'):
                self.assert_refused('swift-init object-losf stop', command,
                                    '--no-mount-check')
        self.assertEqual(before, self.content())

    def test_the_device_must_be_mounted(self):
        self.assert_refused('nothing is mounted', 'check')
        with open(os.path.join(self.device, '.ismount'), 'w'):
            pass
        self.assertEqual(0, self.run_fsck('check')[0])

    def test_the_device_must_exist(self):
        self.assert_refused('is no directory', 'check', '--no-mount-check',
                            device=self.device + '/nowhere')

    def test_the_device_must_have_the_policy(self):
        self.assert_refused('of policy 0, not of policy 3', 'check',
                            '--no-mount-check', '--policy', '3')
        self.assertEqual(['losf'], os.listdir(self.device))

    def test_of_several_policies_one_must_be_chosen(self):
        self.assertEqual(0, self.run_fsck('check')[0])
        os.mkdir(os.path.join(self.device, 'losf-12'))
        os.mkdir(os.path.join(self.device, 'losf-x'))
        self.assert_refused('of policy 0 and 12', 'check', '--no-mount-check')
        self.assertEqual(0, self.run_fsck('check', '--policy', '0')[0])

    def test_a_device_without_volumes_has_nothing_to_check(self):
        os.rename(os.path.join(self.device, 'losf'),
                  os.path.join(self.device, 'other'))
        self.assert_refused('no volumes of any policy', 'check',
                            '--no-mount-check')

    def test_the_index_must_be_of_this_release(self):
        with self.changed() as change:
            change.put(b'sversion', b'\x09')
        self.assert_refused('version', 'check', '--no-mount-check')


class TestPartPower(FsckTest):
    """What is entered has the partition of its hash, not of its record."""

    def partitions(self):
        with self.index() as index:
            return index.reader.list_partitions()

    def save_ring(self, power):
        RingData([array('H', 2 ** power * [0])], [], 32 - power).save(
            os.path.join(self.device, 'object.ring.gz'))

    def test_of_an_index_that_is_rebuilt(self):
        self.assertEqual([PARTITION], self.partitions())
        self.run_fsck('rebuild')
        self.assertEqual([PARTITION], self.partitions())
        self.run_fsck('rebuild', '--part-power', '8')
        self.assertEqual([0, 1, 2, 3, 4, 5], self.partitions())
        self.save_ring(4)
        self.run_fsck('rebuild')
        self.assertEqual([0], self.partitions())

    def test_of_what_is_missing(self):
        self.save_ring(8)
        index = self.open_index()
        with index.db.change() as change:
            change.remove_file(keys.file_key(
                PARTITION, HASHES[4], NAME), self.files[HASHES[4]])
        index.close()
        self.run_fsck('repair')
        self.assertIn(5, self.partitions())
