# SPDX-License-Identifier: Apache-2.0
"""The index: its calls, and what is durable."""

import os
from contextlib import closing
from pathlib import Path
from unittest import mock

import plyvel

from swift_losf.format.values import Location
from swift_losf.index import db as index_db
from swift_losf.index import entry_reader, leveldb_log
from swift_losf.index.call_arguments import InvalidArgument
from swift_losf.index.db import Database, VersionError
from swift_losf.index.index import Index, Refused
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    IndexTest,
    location_of,
)


class TestOtherCalls(IndexTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()

    def fill(self, count, suffix=0xabc, partition=PARTITION, names=(NAME,)):
        hashes = [(n << 12 | suffix).to_bytes(16, 'big')
                  for n in range(count)]
        for hash_ in hashes:
            for name in names:
                self.index.register(
                    partition, hash_, name, location_of(
                        name, 4096 * (1 + self.clock)), 4096)
                self.clock += 1
        return hashes

    def test_space_to_be_given_back_is_said_once_it_is_written(self):
        pending = self.index.reclaim.pending
        with self.index.db.change() as change:
            change.reclaim(location_of(NAME))
            self.assertFalse(pending.is_set())
        self.assertTrue(pending.is_set())
        self.assertTrue(self.index.reclaim.has(location_of(NAME)))

    def test_only_a_tombstone_that_follows_a_removal_is_synced(self):
        with mock.patch.object(leveldb_log, 'fsync') as fsync:
            self.fill(1, names=(NAME, TOMBSTONE, '1700000000.00004.ts'))
            hash_ = (0xabc).to_bytes(16, 'big')
            self.index.remove(PARTITION, hash_, [TOMBSTONE])
            self.index.remove(PARTITION, hash_, [NAME])
            self.assertEqual([], fsync.mock_calls)
            self.index.remove(PARTITION, hash_)
            self.assertEqual(self.layout.index, os.path.realpath(
                os.path.dirname(fsync.mock_calls[0].args[0])))

    def test_many_removals_are_not_remembered_without_end(self):
        hashes = self.fill(5)
        with mock.patch.object(index_db, '_MAX_REMOVALS', 3), \
                mock.patch.object(leveldb_log, 'fsync') as fsync:
            for hash_ in hashes[:2]:
                self.index.remove(PARTITION, hash_)
            self.assertEqual([], fsync.mock_calls)
            self.index.remove(PARTITION, hashes[2])
            self.assertTrue(fsync.mock_calls)
            self.assertFalse(self.index.db.has_unsynced_removal(hashes[0]))

    def test_quarantine_and_rename_are_synced(self):
        hashes = self.fill(2)
        for call in (lambda: self.index.rename(PARTITION, hashes[0], NAME,
                                               OTHER),
                     lambda: self.index.quarantine(PARTITION, hashes[1])):
            with mock.patch.object(leveldb_log, 'fsync') as fsync:
                call()
                self.assertTrue(fsync.mock_calls)

    def test_a_sync_covers_all_logs_and_the_directory(self):
        self.fill(1)
        synced = []
        with mock.patch.object(leveldb_log, 'fsync', synced.append):
            self.index.sync()
            self.index.sync()
        logs = [name for name in os.listdir(self.layout.index)
                if name.endswith('.log')]
        self.assertEqual(
            [os.path.join(self.layout.index, name) for name in sorted(logs)]
            + [self.layout.index], list(map(os.path.realpath, synced)))

    def test_the_checkpoint_is_the_watermark_of_the_last_sync(self):
        def register(watermark):
            self.index.register(PARTITION, HASH, NAME, location_of(NAME),
                                watermark)
            return self.index.db.volumes[1]
        self.assertEqual(4096, register(8192).checkpoint)
        self.index.sync()
        self.assertEqual(8192, register(12288).checkpoint)

    def test_a_suffix_is_listed_page_by_page(self):
        hashes = self.fill(10, names=(NAME, OTHER))
        self.fill(3, suffix=0xabb)
        self.fill(3, suffix=0xabd)
        with mock.patch.object(entry_reader, 'PAGE', 4):
            for limit, size in ((0, 4), (3, 3), (100, 4)):
                found, after, more = [], b'', True
                while more:
                    page, more = self.index.reader.list_suffix(
                        PARTITION, 0xabc, after, limit)
                    self.assertLessEqual(len(page), size)
                    found += page
                    after = page[-1][0]
                self.assertEqual(
                    [(each, [NAME, OTHER]) for each in hashes], found)

    def test_suffixes_in_a_row_are_listed_page_by_page(self):
        hashes = [each for suffix in (0xaba, 0xabb, 0xabd)
                  for each in self.fill(3, suffix=suffix)]
        self.fill(2, suffix=0xab9)
        self.fill(2, suffix=0xabe)
        found, after, more = [], b'', True
        while more:
            page, more = self.index.reader.list_suffix(
                PARTITION, 0xaba, after, 4, last_suffix=0xabd)
            found += page
            after = page[-1][0]
        self.assertEqual([(each, [NAME]) for each in hashes], found)
        with self.assertRaisesRegex(InvalidArgument,
                                    '2745: must be from 2746 to 4095'):
            self.index.reader.list_suffix(PARTITION, 0xaba, last_suffix=0xab9)

    def test_a_page_after_a_hash_of_another_suffix_is_refused(self):
        for after, message in ((b'x', "after '78': must be empty or 16"),
                               (bytes(16), 'a hash of suffix abc to abc')):
            with self.assertRaisesRegex(InvalidArgument, message):
                self.index.reader.list_suffix(PARTITION, 0xabc, after)

    def test_a_suffix_out_of_range_is_refused(self):
        with self.assertRaisesRegex(InvalidArgument, 'suffix 4096: must be'):
            self.index.quarantine(PARTITION, suffix=4096)

    def test_partitions_and_suffixes_cost_a_seek_each(self):
        self.fill(200)
        self.fill(200, suffix=1)
        self.fill(200, partition=9)
        scan = self.index.db.scan
        counts = []

        def counting(start, stop):
            entries = scan(start, stop)
            mocked = mock.MagicMock(seek=entries.seek)
            mocked.__iter__.return_value = (
                counts.append(each) or each for each in entries)
            return mocked

        with mock.patch.object(self.index.db, 'scan', counting):
            self.assertEqual([PARTITION, 9],
                             self.index.reader.list_partitions())
            self.assertEqual([1, 0xabc],
                             self.index.reader.list_partition(PARTITION))
        self.assertEqual(4, len(counts))

    def test_no_volume_number_is_given_twice(self):
        numbers = [self.index.new_volume(1 + n % 2) for n in range(3)]
        self.index.skip_volumes(7)
        self.index.skip_volumes(2)
        numbers.append(self.index.new_volume(1))
        self.index.close()
        index = self.open_index()
        numbers.append(index.new_volume(2))
        self.assertEqual([1, 2, 3, 8, 9], numbers)
        with self.assertRaisesRegex(InvalidArgument, 'type 3: must be 1 or'):
            index.new_volume(3)

    def test_the_number_of_a_registered_volume_is_not_given_away(self):
        self.index.register(PARTITION, HASH, NAME,
                            location_of(NAME, volume=5), 4096)
        self.assertEqual(6, self.index.new_volume(1))

    def test_an_index_of_another_version_is_not_touched(self):
        self.index.close()
        with plyvel.DB(self.layout.index) as db:
            db.put(b'sversion', b'\x01')
        with self.assertRaisesRegex(VersionError,
                                    'is 01, allowed are 3 and 4'):
            Index(self.layout.index)

    def test_a_flipped_bit_in_a_table_is_noticed(self):
        self.fill(500)
        self.index.close()
        self.open_index().close()
        table = min(Path(self.layout.index).glob('*.ldb'))
        good = table.read_bytes()
        for at in range(0, len(good) // 2, len(good) // 20):
            table.write_bytes(
                good[:at] + bytes([good[at] ^ 1]) + good[at + 1:])
            with self.assertRaises(plyvel.CorruptionError), \
                    mock.patch.object(Database, 'sync'), \
                    closing(Index(self.layout.index)) as index:
                index.reader.list_suffix(PARTITION, 0xabc)

    def test_what_fails_is_not_counted(self):
        self.fill(1)
        before = self.index.statistics()
        with self.assertRaises(ZeroDivisionError):
            with self.index.db.change() as change:
                change.reclaim(location_of(NAME))
                raise ZeroDivisionError()
        self.assertEqual(before, self.index.statistics())
        self.assertFalse(self.index.reclaim.has(location_of(NAME)))


class TestRegister(IndexTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()

    def register(self, name=NAME, offset=4096, watermark=4096):
        return self.index.register(PARTITION, HASH, name,
                                   location_of(name, offset), watermark)

    def test_a_watermark_never_goes_down(self):
        for watermark, expected in ((4096, 4096), (12288, 12288),
                                    (8192, 12288)):
            self.register(watermark=watermark)
            self.assertEqual(expected, self.index.db.volumes[1].watermark)

    def test_a_late_repetition_does_not_revive_what_was_removed(self):
        self.register()
        self.index.remove(PARTITION, HASH)
        with self.assertRaisesRegex(Refused, 'volume 1, offset 4096'):
            self.register()
        self.assertEqual([], self.index.reader.list_hash(PARTITION, HASH))

    def test_a_late_repetition_does_not_undo_a_rename(self):
        self.register()
        self.index.rename(PARTITION, HASH, NAME, OTHER)
        self.register()
        self.assertEqual([OTHER], self.names(self.index))

    def test_a_late_repetition_does_not_end_a_quarantine(self):
        self.register()
        self.index.quarantine(PARTITION, HASH)
        self.assertEqual([], self.register())

    def test_what_makes_no_sense_is_refused_with_what_is_allowed(self):
        good = location_of(NAME)
        for arguments, message in (
                ((2 ** 32, HASH, NAME, good, 4096), 'partition 4294967296'),
                ((1, b'x', NAME, good, 4096), "hash '78': must be 16 bytes"),
                ((1, HASH, 'a/b', good, 4096), "name 'a/b'"),
                ((1, HASH, NAME, location_of(NAME, 4097), 4096),
                 'offset 4097: must be a multiple of 64'),
                ((1, HASH, NAME, location_of(NAME, 0), 4096),
                 'offset 0: must be from 4096'),
                ((1, HASH, NAME, location_of(NAME, volume=0), 4096),
                 'volume 0: must be from 1'),
                ((1, HASH, NAME, location_of(OTHER + 'x'), 4096),
                 'name_length 22: must be 21'),
                ((1, HASH, NAME, Location(1, 4096, 1, 2 ** 20 + 1, 21),
                  4096), 'metadata_length 1048577'),
                ((1, HASH, NAME, good, 0), 'watermark 0: must be from')):
            with self.assertRaisesRegex(InvalidArgument, message):
                self.index.register(*arguments)
        self.assertEqual([], self.index.reader.list_partitions())
        self.assertEqual({}, self.index.db.volumes)
