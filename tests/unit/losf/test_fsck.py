# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""swift-losf-fsck finds what is wrong, and puts it right."""

import contextlib
import errno
import io
import os
import shutil
from dataclasses import replace
from unittest import mock

from swift_losf import fsck, fsck_volume, keys
from swift_losf.fsck_repair import Repair
from swift_losf.header import HEADER_LENGTH, VolumeType
from swift_losf.index_server import locked
from swift_losf.keys import Location
from swift_losf.recovery import recover
from swift_losf.sweeper import Sweeper
from swift_losf.volume import mark_durable, mark_quarantined
from swift_losf.writable import WritableVolume
from tests.unit.losf.fsck_world import HASH, HASHES, NAME, OTHER, \
    PARTITION, TOMBSTONE, FsckTest

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

    def test_it_is_sound_after_space_was_given_back(self):
        with self.index() as index:
            Sweeper(self.layout, index, 1, None).sweep()
        self.assertEqual(0, self.run_fsck('check', '--data')[0])

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

    def test_a_long_put_under_way_is_no_gap(self):
        volume = self.volume(3)
        volume.write_at([b'some bytes'], volume.end + HEADER_LENGTH)
        status, lines = self.run_fsck('check')
        self.assertEqual((0, [3]), (status, lines[-1]['summary']['in_use']))


class MendTest(FsckTest):
    """Each damage is found, only found by a dry run, and put right."""

    def assert_mended(self, *kinds, args=()):
        before = self.content()
        for command in (['check'], ['repair', '--dry-run']):
            status, lines = self.run_fsck(*command, *args)
            self.assertEqual((1, sorted(kinds)),
                             (status, sorted(self.kinds(lines))), lines)
        self.assertEqual(before, self.content())
        status, lines = self.run_fsck('repair', *args)
        self.assertEqual((0, sorted(kinds)),
                         (status, sorted(self.kinds(lines))), lines)
        self.assertTrue(all(line['mended'] for line in lines[:-1]), lines)
        self.assert_sound(*args)
        return lines[-1]['summary']

    def assert_sound(self, *args):
        after = self.content()
        for command in ('check', 'repair'):
            status, lines = self.run_fsck(command, *args)
            self.assertEqual((0, []), (status, self.kinds(lines)), lines)
        self.assertEqual(after, self.content())
        with self.index() as index:
            Sweeper(self.layout, index, 1, None).sweep()
            self.assertEqual(0, index.statistics().dead_bytes)
            self.assert_counted(index)
        status, lines = self.run_fsck('check', '--data')
        self.assertEqual((0, []), (status, self.kinds(lines)), lines)

    def key(self, hash_, name=NAME):
        return keys.file_key(PARTITION, hash_, name)


class TestEntries(MendTest):

    def test_a_record_without_entry_is_entered(self):
        before = self.listed()
        for hash_ in HASHES[1:3]:
            with self.changed() as change:
                change.leave(self.key(hash_), self.files[hash_])
        self.assert_mended('missing', 'missing')
        self.assertEqual(before, self.listed())
        self.assertIn('%03x' % keys.suffix_of(HASHES[1]), self.invalidated())

    def test_an_entry_without_record_is_dropped(self):
        gone = self.files[HASHES[2]]
        self.overwrite(1, gone.offset, bytes(gone.length))
        expected = self.listed()
        del expected[HASHES[2], NAME]
        self.assert_mended('no-record')
        self.assertEqual(expected, self.listed())
        self.assertEqual(['%03x' % keys.suffix_of(HASHES[2])],
                         self.invalidated())

    def test_an_entry_in_quarantine_without_record_is_dropped(self):
        gone = self.files[HASHES[2]]
        with self.index() as index:
            index.quarantine(PARTITION, HASHES[2])
        self.overwrite(1, gone.offset, bytes(gone.length))
        self.assertEqual(0, self.assert_mended('no-record')['quarantined'])
        self.assertEqual([], self.in_quarantine())

    def test_entries_of_a_volume_that_is_gone_are_dropped(self):
        with self.changed() as change:
            change.bury(Location(2, 8192, 10, 10, 10))
        os.unlink(self.layout.volume(2))
        expected = self.listed()
        del expected[HASH, TOMBSTONE]
        self.assert_mended('no-volume')
        self.assertEqual(expected, self.listed())

    def assert_damage_is_quarantined(self, offset, marked, args=()):
        hash_ = HASHES[1]
        damaged = self.files[hash_]
        data = self.bytes_at(damaged)
        self.overwrite(1, damaged.offset + offset,
                       bytes([data[offset] ^ 1]))
        expected = self.listed()
        del expected[hash_, NAME]
        self.assert_mended('damaged', args=args)
        self.assertEqual(expected, self.listed())
        self.assertEqual([(hash_, NAME, damaged)], self.in_quarantine())
        self.assertEqual(['%03x' % keys.suffix_of(hash_)],
                         self.invalidated())
        self.assertEqual(b'\xff' if marked else b'\0',
                         self.bytes_at(damaged)[10:11])
        shutil.rmtree(self.layout.index)
        recover(self.layout).close()
        self.assertNotIn((hash_, NAME), self.listed())

    def test_a_file_with_a_damaged_header_is_quarantined(self):
        self.assert_damage_is_quarantined(20, False)

    def test_a_file_with_a_damaged_footer_is_quarantined_and_marked(self):
        self.assert_damage_is_quarantined(-1 + self.files[
            HASHES[1]].length, True)

    def test_a_file_with_damaged_data_is_found_if_data_is_read(self):
        location = self.files[HASHES[1]]
        self.overwrite(1, location.data_offset + 5, b'\0')
        self.assertEqual(0, self.run_fsck('check')[0])
        self.overwrite(1, location.data_offset + 5, b'\1')
        self.assert_damage_is_quarantined(HEADER_LENGTH + 5, True,
                                          ['--data'])

    def test_an_entry_into_the_midst_of_a_record_is_dropped(self):
        expected = self.listed()
        before = self.bytes_at(self.files[HASHES[1]])
        inside = Location(1, self.files[HASHES[1]].offset + 512, 10, 20, 21)
        with self.changed() as change:
            change.enter(self.key(b'x' * 16), inside)
            change.quarantine(keys.quarantine_key(
                PARTITION, b'y' * 16, NAME, inside), inside)
            change.bury(inside)
        self.assert_mended('inside', 'inside', 'inside')
        self.assertEqual(expected, self.listed())
        self.assertEqual(before, self.bytes_at(self.files[HASHES[1]]))

    def test_an_entry_into_the_midst_of_a_record_without_entry(self):
        expected = self.listed()
        place = self.files[HASHES[1]]
        with self.changed() as change:
            change.leave(self.key(HASHES[1]), place)
            change.enter(self.key(b'x' * 16), Location(
                1, place.offset + 512, 10, 20, 21))
        self.assert_mended('missing', 'inside')
        self.assertEqual(expected, self.listed())

    def test_an_entry_with_a_wrong_length_is_made_anew(self):
        expected = self.listed()
        place = self.files[HASHES[1]]
        with self.changed() as change:
            change.leave(self.key(HASHES[1]), place)
            change.enter(self.key(HASHES[1]), Location(
                1, place.offset, place.data_length - 1,
                place.metadata_length, place.name_length))
        self.assert_mended('other-record', 'missing')
        self.assertEqual(expected, self.listed())

    def test_what_does_not_carry_the_tag_of_its_place_is_no_record(self):
        expected = self.listed()
        volume = self.volumes[1] = WritableVolume.take(self.layout.volume(1))
        volume.header = replace(volume.header, salt=b'12345678')
        forged = self.write(hash_=b'x' * 16)
        self.release(1)
        with self.changed() as change:
            change.enter(self.key(b'x' * 16), forged)
        self.assert_mended('damaged')
        self.assertEqual(expected, self.listed())
        self.assertEqual(b'\0', self.bytes_at(forged)[10:11])

    def test_an_entry_of_another_record_is_dropped(self):
        expected = self.listed()
        place = self.files[HASHES[1]]
        with self.changed() as change:
            change.enter(self.key(b'x' * 16), place)
        self.assert_mended('other-record')
        self.assertEqual(expected, self.listed())

    def test_a_record_whose_entry_has_another_hash_gets_its_own(self):
        expected = self.listed()
        place = self.files[HASHES[1]]
        with self.changed() as change:
            change.leave(self.key(HASHES[1]), place)
            change.enter(self.key(b'x' * 16), place)
        self.assert_mended('other-record', 'missing')
        self.assertEqual(expected, self.listed())

    def test_a_file_that_is_dead_too_stays(self):
        expected = self.listed()
        with self.changed() as change:
            change.bury(self.files[HASHES[1]])
        self.assert_mended('twice')
        self.assertEqual(expected, self.listed())

    def test_a_record_under_two_partitions_stays_in_its_own(self):
        expected = self.listed()
        place = self.files[HASHES[1]]
        with self.changed() as change:
            change.enter(keys.file_key(9, HASHES[1], NAME), place)
        self.assert_mended('twice')
        self.assertEqual(expected, self.listed())
        with self.index() as index:
            self.assertEqual([PARTITION], index.list_partitions())

    def test_a_file_that_is_in_quarantine_too_stays_there(self):
        place = self.files[HASHES[1]]
        mark_quarantined(self.layout, place)
        with self.changed() as change:
            change.quarantine(keys.quarantine_key(
                PARTITION, HASHES[1], NAME, place), place)
        self.assert_mended('twice')
        self.assertNotIn((HASHES[1], NAME), self.listed())
        self.assertEqual([(HASHES[1], NAME, place)], self.in_quarantine())

    def test_what_is_marked_as_in_quarantine_is_no_file(self):
        place = self.files[HASHES[1]]
        mark_quarantined(self.layout, place)
        self.assert_mended('not-quarantined')
        self.assertNotIn((HASHES[1], NAME), self.listed())
        self.assertEqual([(HASHES[1], NAME, place)], self.in_quarantine())

    def test_a_marked_record_without_entry_is_entered_in_quarantine(self):
        place = self.files[HASHES[1]]
        mark_quarantined(self.layout, place)
        with self.changed() as change:
            change.leave(self.key(HASHES[1]), place)
        self.assert_mended('missing')
        self.assertNotIn((HASHES[1], NAME), self.listed())
        self.assertEqual([(HASHES[1], NAME, place)], self.in_quarantine())

    def test_a_file_in_quarantine_is_marked(self):
        with self.index() as index:
            index.quarantine(PARTITION, HASHES[1])
        self.assert_mended('not-marked')
        shutil.rmtree(self.layout.index)
        recover(self.layout).close()
        self.assertNotIn((HASHES[1], NAME), self.listed())

    def test_wrong_statistics_are_corrected(self):
        with self.index() as index:
            expected = index.list_volumes()
        with self.changed() as change:
            change.put_volume(1, keys.VolumeState(2, 2 ** 40, 2 ** 40))
            change.put_volume(2, keys.VolumeState(2, 4096, 4096, 9, 9, 9))
        self.assert_mended('statistics', 'statistics')
        with self.index() as index:
            for (number, old), (_, new) in zip(expected,
                                               index.list_volumes()):
                self.assertEqual((old.type, old.files, old.bytes),
                                 (new.type, new.files, new.bytes))
                self.assertLessEqual(new.watermark, -512 * (
                    -os.path.getsize(self.layout.volume(number)) // 512))

    def test_a_wrong_count_does_not_hinder_other_repairs(self):
        gone = self.files[HASHES[2]]
        self.overwrite(1, gone.offset, bytes(gone.length))
        with self.changed() as change:
            change.put_volume(1, keys.VolumeState(1, 4096, 4096))
        self.assert_mended('statistics', 'no-record')

    def test_an_entry_that_cannot_be_read_is_dropped(self):
        expected = self.listed()
        with self.changed() as change:
            change.put(self.key(HASHES[1]), b'\xff')
        with self.assertRaises(Exception):
            self.listed()
        self.assert_mended('bad-entry', 'statistics', 'missing')
        self.assertEqual(expected, self.listed())


class TestSpace(MendTest):
    """Gaps, and space that is to be given back."""

    def used(self, number=1):
        return os.stat(self.layout.volume(number)).st_blocks * 512

    def sweep(self):
        with self.index() as index:
            Sweeper(self.layout, index, 1, None).sweep()

    def append(self, data, number=1):
        """
        Leave something at the end of a volume.

        :returns: where it begins and ends
        """
        start = -(-os.path.getsize(self.layout.volume(number)) // 512) * 512
        self.overwrite(number, start, data)
        return start, start + len(data)

    def test_an_aborted_long_upload_is_given_back(self):
        before = self.used()
        start, end = self.append(bytes(HEADER_LENGTH) + b'x' * 300000)
        self.assertGreater(self.used(), before + 290000)
        _, lines = self.run_fsck('check')
        self.assertEqual((1, start, end - start), (
            lines[0]['volume'], lines[0]['offset'], lines[0]['length']))
        self.assert_mended('gap')
        self.assertLessEqual(self.used(), before + 4096)

    def test_a_gap_between_records_is_given_back(self):
        self.append(b'x' * 100000)
        with self.index() as index:
            location = self.put(index, OTHER, number=3)
        self.release(3)
        self.assertEqual(['gap'], self.kinds(self.run_fsck('check')[1]))
        with self.index() as index:
            volume = WritableVolume.take(self.layout.volume(1))
            self.volumes[1] = volume
            behind = self.put(index, hash_=b'b' * 16)
        self.release(1)
        self.assert_mended('gap')
        listed = self.listed()
        self.assertEqual((location, behind), (listed[HASH, OTHER],
                                              listed[b'b' * 16, NAME]))

    def test_garbage_and_torn_records_are_given_back(self):
        before = self.used()
        torn = self.bytes_at(self.last)
        self.append(b'y' * 20000 + torn[:70])
        self.assert_mended('gap')
        self.assertLessEqual(self.used(), before + 8192)

    def test_garbage_between_tombstones_is_given_back(self):
        self.append(b'y' * 700, number=2)
        self.assert_mended('gap')

    def test_the_space_of_a_forgotten_dead_record_is_given_back(self):
        # Its record is valid: to drop it would lose a file for ever.
        with self.changed() as change:
            change.forget(*self.removed.spot, self.removed.length)
        self.assert_mended('missing')
        self.assertIn((HASH, OTHER), self.listed())

    def test_dead_space_with_a_wrong_length_is_corrected(self):
        with self.changed() as change:
            change.forget(*self.removed.spot, self.removed.length)
            change.bury(Location(1, self.removed.offset, 2, 2, 2))
        self.assert_mended('dead-entry')
        self.assertEqual(bytes(self.removed.length),
                         self.bytes_at(self.removed))

    def test_dead_space_never_reaches_into_a_record(self):
        expected = self.listed()
        last = self.bytes_at(self.last)
        self.sweep()
        with self.changed() as change:
            change.bury(Location(1, self.removed.offset, 2 ** 20, 2, 2))
        self.assert_mended('dead-overlap')
        self.assertEqual(expected, self.listed())
        self.assertEqual(last, self.bytes_at(self.last))

    def test_dead_space_that_reaches_into_records_is_found_once(self):
        first = self.files[HASHES[0]]
        self.overwrite(1, first.offset, bytes(first.length))
        with self.changed() as change:
            change.leave(self.key(HASHES[0]), first)
            change.bury(Location(1, first.offset, 2 ** 20, 2, 2))
        expected = self.listed()
        self.assert_mended('dead-overlap')
        self.assertEqual(expected, self.listed())

    def test_dead_space_may_hold_anything_but_a_record(self):
        self.overwrite(1, self.removed.offset + 20, b'xxx')
        self.assert_sound()
        self.assertEqual(bytes(self.removed.length),
                         self.bytes_at(self.removed))

    def test_dead_space_never_reaches_into_a_record_without_entry(self):
        expected = self.listed()
        self.sweep()
        with self.changed() as change:
            change.bury(Location(1, self.removed.offset, 2 ** 20, 2, 2))
            change.leave(self.key(bytes(16)), self.last)
        self.assert_mended('dead-overlap', 'missing')
        self.assertEqual(expected, self.listed())


class TestBrokenVolumes(MendTest):

    def test_a_damaged_header_is_made_anew(self):
        expected = self.listed()
        for number in (1, 2):
            self.overwrite(number, 40, b'xxxxxxxx')
        self.assert_mended('volume-header', 'volume-header')
        self.assertEqual(expected, self.listed())
        shutil.rmtree(self.layout.index)
        recover(self.layout).close()
        self.assertEqual(expected, self.listed())
        self.assertEqual(['v0000000001', 'v0000000002'],
                         sorted(os.listdir(self.layout.volumes)))

    def test_records_are_found_behind_a_damaged_header(self):
        expected = self.listed()
        with self.changed() as change:
            change.leave(self.key(HASHES[1]), self.files[HASHES[1]])
        self.overwrite(1, 0, bytes(4096))
        self.assert_mended('volume-header', 'missing')
        self.assertEqual(expected, self.listed())

    def test_a_volume_that_was_set_aside_comes_back(self):
        expected = self.listed()
        self.overwrite(1, 0, b'x')
        recover(self.layout).close()
        self.assertFalse(os.path.exists(self.layout.volume(1)))
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
                change.leave(self.key(hash_), self.files[hash_])
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
        self.assertEqual((0, ['damaged', 'lost-volume']),
                         (status, sorted(self.kinds(lines))))
        self.assertEqual(['v0000000001', 'v0000000002.broken'],
                         sorted(os.listdir(self.layout.volumes)))
        self.assertNotIn((HASH, TOMBSTONE), self.listed())
        status, lines = self.run_fsck('check')
        self.assertEqual((0, ['v0000000002.broken']), (
            status, lines[-1]['summary']['set_aside']))

    def test_a_volume_under_the_name_of_another_is_no_volume(self):
        self.volume(4, VolumeType.DATA)
        self.release(4)
        os.rename(self.layout.volume(4), self.layout.volume(2))
        status, lines = self.run_fsck('repair')
        self.assertEqual((0, ['lost-volume', 'no-record']),
                         (status, sorted(self.kinds(lines))))
        self.assertEqual(0, self.run_fsck('check')[0])


class Killed(BaseException):
    """Stands for kill -9."""


class TestInterruption(MendTest):

    def damage(self):
        for hash_ in HASHES[:2]:
            with self.changed() as change:
                change.leave(self.key(hash_), self.files[hash_])
        self.overwrite(1, self.files[HASHES[2]].offset,
                       bytes(self.files[HASHES[2]].length))
        self.overwrite(1, self.files[HASHES[3]].offset + 20, b'xxx')
        size = os.path.getsize(self.layout.volume(2))
        self.overwrite(2, size, b'x' * 5000)
        self.overwrite(2, 0, b'x')
        with self.changed() as change:
            change.put_volume(1, keys.VolumeState(1, 4096, 4096))

    def test_a_repair_may_be_interrupted_after_each_step(self):
        expected = self.listed()
        for hash_ in HASHES[2:4]:
            del expected[hash_, NAME]
        self.damage()
        kinds = ['damaged', 'gap', 'missing', 'missing', 'no-record',
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
        mend = Repair.mend

        def kill(repair, finding):
            done = mend(repair, finding)
            if finding.kind.label != 'missing':
                raise Killed()
            return done
        with mock.patch.object(Repair, 'mend', kill), \
                mock.patch.object(Repair, 'finish', side_effect=Killed()):
            with self.assertRaises(Killed):
                self.run_fsck('repair')


class TestIndex(FsckTest):

    def test_a_lost_index_is_found_and_rebuilt(self):
        expected = self.listed()
        shutil.rmtree(self.layout.index)
        status, lines = self.run_fsck('check')
        self.assertEqual((1, ['no-index']), (status, self.kinds(lines)))
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
        with open(os.path.join(self.layout.index, 'CURRENT'), 'w') as file:
            file.write('nonsense')
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

    def test_an_unsynced_tail_of_the_index_is_repaired(self):
        location = self.write(OTHER, hash_=HASHES[0], number=3)
        self.release(3)
        status, lines = self.run_fsck('check')
        self.assertEqual((1, ['missing']), (status, self.kinds(lines)))
        self.assertEqual(0, self.run_fsck('repair')[0])
        self.assertEqual(location, self.listed()[HASHES[0], OTHER])


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
