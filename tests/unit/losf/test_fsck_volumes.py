# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck brings damaged volumes back, however often interrupted.

It has space given back, and no record with it.
"""

import errno
import io
import os
import shutil
from unittest import mock

from swift_lightsync.common.progress import Progress
from swift_losf.format.header import VolumeType
from swift_losf.format.values import Location, VolumeState
from swift_losf.fsck import volume_check as fsck_volume
from swift_losf.fsck.entry_order import EntryOrder
from swift_losf.fsck.repair import Repair
from tests.unit.losf.fsck_world import (
    HASH,
    HASHES,
    NAME,
    OTHER,
    TOMBSTONE,
    FsckTest,
    MendTest,
)


class TestBrokenVolumes(MendTest):

    def test_a_damaged_header_is_made_anew(self):
        expected = self.listed()
        for number in (1, 2):
            self.overwrite(number, 40, b'xxxxxxxx')
        self.assert_mended('volume-header', 'volume-header')
        self.assertEqual(expected, self.listed())
        self.remake_index()
        self.assertEqual(expected, self.listed())
        self.assertEqual(['v0000000001', 'v0000000002'],
                         sorted(os.listdir(self.layout.volumes)))

    def test_records_are_found_behind_a_damaged_header(self):
        expected = self.listed()
        with self.changed() as change:
            change.remove_file(self.key(HASHES[1]), self.files[HASHES[1]])
        self.overwrite(1, 4096, bytes(4096))
        self.assert_mended('volume-header', 'missing')
        self.assertEqual(expected, self.listed())

    def test_a_volume_that_was_set_aside_comes_back(self):
        expected = self.listed()
        self.overwrite(1, 0, b'x')
        os.rename(self.layout.volume(1), self.layout.volume(1) + '.broken')
        self.assert_mended('volume-header')
        self.assertEqual(expected, self.listed())
        self.assertEqual(['v0000000001', 'v0000000002'],
                         sorted(os.listdir(self.layout.volumes)))

    def test_a_sound_volume_that_was_set_aside_comes_back(self):
        expected = self.listed()
        os.rename(self.layout.volume(1), self.layout.volume(1) + '.broken')
        self.run_fsck('rebuild')
        self.assertEqual({(HASH, TOMBSTONE)}, set(self.listed()))
        self.assertEqual(0, self.run_fsck('repair')[0])
        self.assertLess(expected.items(), self.listed().items())
        self.assertEqual(0, self.run_fsck('check')[0])

    def test_what_cannot_be_read_cannot_be_repaired(self):
        for hash_ in HASHES[1:3]:
            with self.changed() as change:
                change.remove_file(self.key(hash_), self.files[hash_])
        before = self.content()
        with mock.patch.object(fsck_volume, 'iter_records', side_effect=(
                OSError(errno.EIO, 'the disk is broken'))):
            for command in 'check', 'repair':
                status, lines = self.run_fsck(command)
                self.assertEqual((1, ['read-error']), (
                    status, self.kinds(lines)))
                self.assertIn('the disk is broken', lines[0]['detail'])
        self.assertEqual(before, self.content())

    def test_a_volume_without_anything_valid_is_set_aside(self):
        size = os.path.getsize(self.layout.volume(2))
        self.overwrite(2, 0, b'x' * size)
        status, lines = self.run_fsck('repair')
        self.assertEqual((0, ['lost-volume', 'no-volume']),
                         (status, sorted(self.kinds(lines))))
        self.assertEqual(['v0000000001', 'v0000000002.broken'],
                         sorted(os.listdir(self.layout.volumes)))
        self.assertNotIn((HASH, TOMBSTONE), self.listed())
        status, lines = self.run_fsck('check')
        self.assertEqual((1, ['set-aside'], ['v0000000002.broken']), (
            status, self.kinds(lines), lines[-1]['summary']['set_aside']))
        self.assertEqual((1, ['set-aside']), (
            *self.run_fsck('repair')[:1], self.kinds(lines)))
        os.unlink(self.layout.volume(2) + '.broken')
        self.assertEqual(0, self.run_fsck('check')[0])

    def test_headers_that_are_lost_with_the_index_are_put_right(self):
        expected = self.listed()
        for number in (1, 2):
            self.overwrite(number, 0, bytes(4096))
            os.rename(self.layout.volume(number),
                      self.layout.volume(number) + '.broken')
        shutil.rmtree(self.layout.index)
        self.run_fsck('rebuild')
        status, lines = self.run_fsck('repair')
        self.assertEqual(0, status)
        self.assertEqual(2, self.kinds(lines).count('volume-header'))
        self.assertEqual((0, []), (
            self.run_fsck('check')[0], [name for name in os.listdir(
                self.layout.volumes) if name.endswith('.broken')]))
        self.assertLess(expected.items(), self.listed().items())

    def test_a_volume_under_the_name_of_another_is_no_volume(self):
        self.volume(4, VolumeType.DATA)
        self.release(4)
        os.rename(self.layout.volume(4), self.layout.volume(2))
        status, lines = self.run_fsck('repair')
        self.assertEqual((0, ['lost-volume', 'no-volume']),
                         (status, sorted(self.kinds(lines))))
        self.assertEqual(0, self.run_fsck('check')[0])


class Killed(BaseException):
    """Stands for kill -9."""


class TestInterruption(MendTest):

    def damage(self):
        for hash_ in HASHES[:2]:
            with self.changed() as change:
                change.remove_file(self.key(hash_), self.files[hash_])
        self.overwrite(1, self.files[HASHES[2]].offset,
                       bytes(self.files[HASHES[2]].length))
        self.overwrite(1, self.files[HASHES[3]].offset + 20, b'xxx')
        size = os.path.getsize(self.layout.volume(2))
        self.overwrite(2, size, b'x' * 5000)
        self.overwrite(2, 0, b'x')
        with self.changed() as change:
            change.put_volume(1, VolumeState(1, 4096, 4096))

    def test_a_repair_may_be_interrupted_after_each_step(self):
        expected = self.listed()
        for hash_ in HASHES[2:4]:
            del expected[hash_, NAME]
        self.damage()
        kinds = ['damaged', 'missing', 'missing', 'no-record',
                 'statistics', 'volume-header']
        self.assertEqual(kinds, sorted(self.kinds(
            self.run_fsck('check')[1])))
        for _ in kinds:
            self.assert_killed()
        status, lines = self.run_fsck('repair')
        self.assertEqual((0, ['missing', 'missing']), (
            status, self.kinds(lines)))
        self.assertEqual(expected, self.listed())
        self.assert_sound()

    def assert_killed(self):
        """Kill a repair after the first step that is not merely noted."""
        fix = Repair.fix

        def kill(repair, finding):
            done = fix(repair, finding)
            if finding.kind.label != 'missing':
                raise Killed()
            return done
        with mock.patch.object(Repair, 'fix', kill), \
                mock.patch.object(Repair, 'finish', side_effect=Killed()):
            with self.assertRaises(Killed):
                self.run_fsck('repair')


class TestSpace(MendTest):
    """Garbage, and space that is to be given back."""

    def test_garbage_is_nothing_wrong(self):
        start = -(-os.path.getsize(self.layout.volume(1)) // 64) * 64
        self.overwrite(1, start, b'y' * 20000 + self.bytes_at(self.last)[:70])
        self.assert_sound()

    def test_the_space_of_a_forgotten_dead_record_is_given_back(self):
        # Its record is valid: to drop it would lose a file for ever.
        with self.changed() as change:
            change.reclaimed(*self.removed.spot, self.removed.length)
        self.assert_mended('missing')
        self.assertIn((HASH, OTHER), self.listed())

    def test_dead_space_with_a_wrong_length_is_corrected(self):
        with self.changed() as change:
            change.reclaimed(*self.removed.spot, self.removed.length)
            change.reclaim(Location(1, self.removed.offset, 2, 2, 2))
        self.assert_mended('dead-entry')
        self.assertEqual(bytes(64), self.bytes_at(self.removed)[:64])

    def test_dead_space_may_hold_anything_but_a_record(self):
        self.overwrite(1, self.removed.offset + 20, b'xxx')
        self.assert_sound()


class TestPlaces(FsckTest):

    def test_entries_come_by_volume_and_offset(self):
        with self.index() as index, EntryOrder.temporary(self.device) as order:
            self.assertEqual([], list(order.fill(
                index.db, Progress(io.StringIO()))))
            seen = [(offset, [each.letter for each in entries])
                    for offset, entries in order.volume(1)]
            self.assertEqual(sorted(
                [(each.offset, [b'o']) for each in self.files.values()]
                + [(self.removed.offset, [b'd']),
                   (self.last.offset, [b'o'])]), seen)
            for number, state in index.list_volumes():
                count = order.counts[number]
                self.assertEqual(
                    (state.files, state.bytes, state.dead_bytes),
                    (count.files, count.bytes, count.dead_bytes))
            self.assertEqual(8, order.entries)
            self.assertEqual(1, len([name for name in os.listdir(self.device)
                                     if 'fsck' in name]))
        self.assertEqual(['losf'], os.listdir(self.device))
