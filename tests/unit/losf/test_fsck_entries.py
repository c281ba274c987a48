# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck puts entries right that do not fit their records."""

import os
from dataclasses import replace

from swift_losf.format import keys
from swift_losf.format.header import HEADER_LENGTH
from swift_losf.format.name_code import durable_name
from swift_losf.format.values import Location, VolumeState
from swift_losf.volumes.volume import mark_durable, mark_quarantined
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.fsck_world import (
    HASH,
    HASHES,
    NAME,
    PARTITION,
    TOMBSTONE,
    MendTest,
)


class TestEntries(MendTest):

    def test_a_record_without_entry_is_entered(self):
        before = self.listed()
        for hash_ in HASHES[1:3]:
            with self.changed() as change:
                change.remove_file(self.key(hash_), self.files[hash_])
        self.assertEqual(
            [self.files[hash_].length for hash_ in HASHES[1:3]],
            [line['length'] for line in self.run_fsck('check')[1][:-1]])
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
            change.reclaim(Location(2, 8192, 10, 10, 10))
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
        self.remake_index()
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
            change.add_file(self.key(b'x' * 16), inside)
            change.add_quarantined(keys.quarantine_key(
                PARTITION, b'y' * 16, NAME, inside), inside)
            change.reclaim(inside)
        self.assert_mended('inside', 'inside', 'inside')
        self.assertEqual(expected, self.listed())
        self.assertEqual(before, self.bytes_at(self.files[HASHES[1]]))

    def test_what_does_not_carry_the_tag_of_its_place_is_no_record(self):
        expected = self.listed()
        volume = self.volumes[1] = WritableVolume.take(self.layout.volume(1))
        volume.header = replace(volume.header, salt=b'12345678')
        forged = self.write(hash_=b'x' * 16)
        self.release(1)
        with self.changed() as change:
            change.add_file(self.key(b'x' * 16), forged)
        self.assert_mended('damaged')
        self.assertEqual(expected, self.listed())
        self.assertEqual(b'\0', self.bytes_at(forged)[10:11])

    def test_what_contradicts_a_record_is_put_right(self):
        key, other = self.key(HASHES[1]), self.key(b'x' * 16)
        place = self.files[HASHES[1]]
        for what, steps, kinds in (
                ('into the midst of a record without entry', [
                    ('remove_file', key, place),
                    ('add_file', other, Location(
                        1, place.offset + 512, 10, 20, 21))],
                 ['missing', 'inside']),
                ('a wrong length', [
                    ('remove_file', key, place),
                    ('add_file', key, Location(
                        1, place.offset, place.data_length - 1,
                        place.metadata_length, place.name_length))],
                 ['other-record', 'missing']),
                ('of another record', [('add_file', other, place)],
                 ['other-record']),
                ('another hash', [('remove_file', key, place),
                                  ('add_file', other, place)],
                 ['other-record', 'missing']),
                ('to be given back, too', [('reclaim', place)], ['twice'])):
            with self.subTest(what):
                expected = self.listed()
                with self.changed() as change:
                    for name, *args in steps:
                        getattr(change, name)(*args)
                self.assert_mended(*kinds)
                self.assertEqual(expected, self.listed())

    def test_a_record_under_two_partitions_stays_in_its_own(self):
        expected = self.listed()
        place = self.files[HASHES[1]]
        with self.changed() as change:
            change.add_file(keys.file_key(9, HASHES[1], NAME), place)
        self.assert_mended('twice')
        self.assertEqual(expected, self.listed())
        with self.index() as index:
            self.assertEqual([PARTITION], index.reader.list_partitions())

    def assert_only_in_quarantine(self, place):
        self.assertNotIn((HASHES[1], NAME), self.listed())
        self.assertEqual([(HASHES[1], NAME, place)], self.in_quarantine())

    def test_what_is_marked_as_in_quarantine_is_only_there(self):
        place = self.files[HASHES[1]]
        mark_quarantined(self.layout, place)
        self.assert_mended('not-quarantined')
        self.assert_only_in_quarantine(place)
        with self.changed() as change:
            change.remove_quarantined(keys.quarantine_key(
                PARTITION, HASHES[1], NAME, place), place)
        self.assert_mended('missing')
        self.assert_only_in_quarantine(place)
        with self.changed() as change:
            change.add_file(self.key(HASHES[1]), place)
        self.assert_mended('twice')
        self.assert_only_in_quarantine(place)

    def test_a_file_in_quarantine_is_marked(self):
        with self.index() as index:
            index.quarantine(PARTITION, HASHES[1])
        self.assert_mended('not-marked')
        self.remake_index()
        self.assertNotIn((HASHES[1], NAME), self.listed())

    def test_a_fragment_is_as_durable_as_its_record(self):
        name = '1700000000.00009#3.data'
        with self.index() as index:
            location = self.put(index, name, number=3)
        self.release(3)
        mark_durable(self.layout, location)
        self.assert_mended('not-durable')
        self.assertIn((HASH, durable_name(name)), self.listed())

    def test_wrong_statistics_are_corrected(self):
        with self.index() as index:
            expected = index.list_volumes()
        with self.changed() as change:
            change.put_volume(1, VolumeState(2, 2 ** 40, 2 ** 40))
            change.put_volume(2, VolumeState(2, 4096, 4096, 9, 9, 9))
        self.assert_mended('statistics', 'statistics')
        with self.index() as index:
            for (number, old), (_, new) in zip(expected,
                                               index.list_volumes()):
                self.assertEqual((old.type, old.files, old.bytes),
                                 (new.type, new.files, new.bytes))
                self.assertLessEqual(new.watermark, -64 * (
                    -os.path.getsize(self.layout.volume(number)) // 64))

    def test_a_wrong_count_does_not_hinder_other_repairs(self):
        gone = self.files[HASHES[2]]
        self.overwrite(1, gone.offset, bytes(gone.length))
        with self.changed() as change:
            change.put_volume(1, VolumeState(1, 4096, 4096))
        self.assert_mended('statistics', 'no-record')

    def test_an_entry_that_cannot_be_read_is_dropped(self):
        expected = self.listed()
        with self.changed() as change:
            change.put(self.key(HASHES[1]), b'\xff')
        with self.assertRaises(Exception):
            self.listed()
        self.assert_mended('bad-entry', 'statistics', 'missing')
        self.assertEqual(expected, self.listed())
