# SPDX-License-Identifier: Apache-2.0
"""Giving space back."""

import errno
import os
from dataclasses import replace
from unittest import mock

import plyvel

from swift_losf.format.header import FormatError
from swift_losf.upkeep import sweeper as sweeper_module
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.ranges import lock_range
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    TOMBSTONE,
    IndexTest,
)


class TestSweeper(IndexTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()
        self.failures = []
        self.sweeper = Sweeper(self.layout, self.index, 0.01,
                               self.failures.append)

    def removed(self, name=NAME, **kwargs):
        """:returns: the Location of a file that was removed"""
        location = self.put(self.index, name, **kwargs)
        self.index.remove(PARTITION, HASH, [name])
        return location

    def assert_buried(self, *locations):
        """Nobody finds the records any more."""
        for location in locations:
            self.assertFalse(any(self.bytes_at(location)[:64]), location)
            self.assertFalse(self.index.reclaim.has(location))

    def assert_kept(self, *locations):
        for location in locations:
            self.assertEqual(b'\xc3LOSFobj', self.bytes_at(location)[:8])

    def test_the_space_of_large_files_comes_back(self):
        kept = self.put(self.index, OTHER, data=bytes(100000))
        gone = self.removed(data=b'x' * 2000000)
        also = self.removed(TOMBSTONE)
        path = self.layout.volume(1)
        before = os.stat(path).st_blocks * 512
        self.assertEqual(0, self.sweeper.sweep())
        self.assert_buried(gone, also)
        self.assert_kept(kept)
        self.assertLessEqual(os.stat(path).st_blocks * 512,
                             before - 2000000 + 2 * 4096)
        found = self.index.statistics()
        self.assertEqual((0, gone.length + 63 & -64),
                         (found.dead_bytes, found.punched_bytes))

    def punched(self):
        """:returns: the holes of a round, as (start, end)"""
        holes = []
        punch_hole = sweeper_module.punch_hole

        def punch(fd, offset, length):
            holes.append((offset, offset + length))
            punch_hole(fd, offset, length)

        with mock.patch.object(sweeper_module, 'punch_hole', punch):
            self.sweeper.sweep()
        return holes

    def test_only_large_holes_are_made_and_records_side_by_side_are_one(self):
        names = ['17000000%02d.00001.data' % n for n in range(9)]
        at = [self.put(self.index, name, data=b'x' * 400000).offset
              for name in names]
        self.index.remove(PARTITION, HASH, names[1:4] + names[6:8])
        self.assertEqual([(at[1], at[4])], self.punched())

    def test_on_a_disk_that_is_nearly_full_all_is_made_holes(self):
        gone = self.removed(data=b'x' * 10000)
        kept = self.put(self.index, OTHER)
        self.removed(hash_=HASH, data=b'x' * 5000)
        self.sweeper = Sweeper(self.layout, self.index, 0.01, self.fail,
                               room=2 ** 60)
        with mock.patch.object(sweeper_module, 'MAX_EXTENTS', 0):
            holes = self.punched()
        self.assertEqual((gone.offset, kept.offset), holes[0])
        self.assertEqual(2, len(holes))
        self.assert_kept(kept)

    def test_no_more_holes_are_made_than_a_volume_may_have(self):
        for number in range(4):
            self.removed(data=b'x' * 2000000)
            self.put(self.index, OTHER, bytes([number]) * 16)
        most = sweeper_module.MAX_EXTENTS
        with mock.patch.object(sweeper_module, 'count_extents',
                               side_effect=[most - 2, most - 1, most, most]):
            self.assertEqual(2, len(self.punched()))

    def test_a_volume_of_another_alignment_keeps_it(self):
        volume = self.volume(1)
        volume.header = replace(volume.header, alignment=4096)
        volume.write_at([volume.header.pack()], 0)
        gone = self.put(self.index, data=b'x' * 2 ** 20)
        kept = self.put(self.index, OTHER)
        before = self.bytes_at(kept)
        self.index.remove(PARTITION, HASH, [NAME])
        self.assertEqual([(gone.offset, kept.offset)], self.punched())
        self.assertEqual(before, self.bytes_at(kept))

    def test_the_next_record_is_left_alone_whatever_the_length(self):
        for size in (0, 1, 4096 - 64, 4096, 5000, 70000,
                     2 ** 20, 3 * 2 ** 20 + 1):
            gone = self.removed(data=b'x' * size)
            kept = self.put(self.index, OTHER, data=b'y' * size)
            before = self.bytes_at(kept)
            self.sweeper.sweep()
            self.assert_buried(gone)
            self.assertEqual(before, self.bytes_at(kept))

    def test_what_is_being_read_is_given_back_later(self):
        gone = self.removed()
        with open(self.layout.volume(1), 'rb') as reader:
            self.assertTrue(lock_range(reader.fileno(), gone.offset,
                                       gone.length, shared=True))
            self.assertEqual(1, self.sweeper.sweep())
            self.assert_kept(gone)
        self.assertEqual(0, self.sweeper.sweep())
        self.assert_buried(gone)

    def test_a_tombstone_outlasts_what_it_has_deleted(self):
        gone, tombstone = self.removed(), self.removed(TOMBSTONE)
        with open(self.layout.volume(1), 'rb') as reader:
            lock_range(reader.fileno(), gone.offset, gone.length, shared=True)
            self.assertEqual(1, self.sweeper.sweep())
            self.assert_kept(gone, tombstone)
        self.sweeper.sweep()
        self.assert_buried(gone, tombstone)

    def test_a_tombstone_of_during_a_round_waits_for_the_next(self):
        self.removed()
        late = self.put(self.index, OTHER)
        tombstone = self.put(self.index, TOMBSTONE)
        real = self.index.reclaim.given_back

        def remove_more(*args):
            self.index.remove(PARTITION, HASH)
            real(*args)

        with mock.patch.object(self.index.reclaim, 'given_back', remove_more):
            self.sweeper.sweep()
        self.assert_kept(late, tombstone)
        self.assertTrue(self.index.reclaim.pending.is_set())
        self.sweeper.sweep()
        self.assert_buried(late, tombstone)

    def test_the_order_is_sync_write_fsync_unqueue(self):
        gone, tombstone = self.removed(), self.removed(TOMBSTONE)
        self.index.sync()
        steps = []

        def step(name, real):
            def call(*args):
                steps.append((name, self.index.reclaim.has(gone),
                              self.index.reclaim.has(tombstone)))
                return real(*args)
            return call

        self.index.sync = step('sync', self.index.sync)
        with mock.patch.object(sweeper_module.os, 'pwrite',
                               step('write', os.pwrite)), \
                mock.patch.object(sweeper_module.os, 'fsync',
                                  step('fsync', os.fsync)):
            self.sweeper.sweep()
        self.assertEqual([
            ('sync', True, True),
            ('write', True, True), ('fsync', True, True),
            ('write', False, True), ('fsync', False, True)], steps)

    def test_an_interrupted_round_is_done_again(self):
        gone = self.removed(data=b'x' * 10000)
        with mock.patch.object(self.index.reclaim, 'given_back',
                               side_effect=ZeroDivisionError):
            with self.assertRaises(ZeroDivisionError):
                self.sweeper.sweep()
        self.assertTrue(self.index.reclaim.has(gone))
        self.assertEqual(0, self.sweeper.sweep())
        self.assert_buried(gone)
        self.assertEqual(0, self.index.statistics().dead_bytes)

    def test_what_is_not_just_a_record_without_entry_is_left_alone(self):
        for registered, offset, length in (
                (True, 0, 10000),  # it has an entry
                (True, 4096, 10),  # it does not begin with a record
                (False, 0, 20000)):  # the record has another length
            kept = self.write(data=b'x' * 10000)
            if registered:
                self.index.register(PARTITION, HASH, NAME, kept, kept.offset)
            with self.index.db.change() as change:
                change.reclaim(replace(kept, offset=kept.offset + offset,
                                       data_length=length))
            before = self.bytes_at(kept)
            with self.assertLogs(sweeper_module.logger, 'ERROR') as logs:
                self.sweeper.sweep()
            self.assertRegex(logs.output[-1], 'offset %d: .*not given back'
                             % (kept.offset + offset))
            self.assertEqual(before, self.bytes_at(kept))

    def test_a_length_is_not_believed_where_there_is_no_record(self):
        gone = self.removed()
        kept = self.put(self.index, OTHER)
        before = self.bytes_at(kept)
        self.overwrite(1, gone.offset, bytes(64))
        with self.index.db.change() as change:
            change.reclaim(replace(gone, data_length=2 ** 21))
        self.assertEqual(0, self.sweeper.sweep())
        self.assertEqual(before, self.bytes_at(kept))
        self.assertFalse(self.index.reclaim.has(gone))

    def test_what_was_in_a_volume_that_is_gone_is_forgotten(self):
        gone = self.removed()
        os.unlink(self.layout.volume(1))
        self.assertEqual(0, self.sweeper.sweep())
        self.assertFalse(self.index.reclaim.has(gone))

    def test_a_volume_whose_header_is_damaged_is_left_to_recovery(self):
        gone = self.removed()
        self.overwrite(1, 0, bytes(8192))
        with self.assertRaisesRegex(OSError, 'magic.*v0000000001') as raised:
            self.sweeper.sweep()
        self.assertNotIsInstance(raised.exception, FormatError)
        self.assert_kept(gone)

    def test_many_are_given_back_in_batches(self):
        gone = [self.removed() for _ in range(10)]
        with mock.patch.object(sweeper_module, 'BATCH', 4), \
                mock.patch.object(
                    self.index.reclaim, 'given_back',
                    wraps=self.index.reclaim.given_back) as given_back:
            self.sweeper.sweep()
        self.assertEqual([4, 4, 2], [len(call.args[1])
                                     for call in given_back.mock_calls])
        self.assert_buried(*gone)

    def test_the_thread_sweeps_when_there_is_something_and_stops(self):
        swept = mock.Mock(wraps=self.sweeper.sweep)
        self.sweeper.sweep = swept
        self.sweeper.start()
        gone = self.removed()
        self.wait_for(lambda: not self.index.reclaim.has(gone))
        self.sweeper.stop()
        self.assertFalse(self.sweeper.is_alive())
        self.assert_buried(gone)
        self.assertEqual([], self.failures)

    def test_a_thread_that_fails_says_so(self):
        self.sweeper.sweep = mock.Mock(side_effect=plyvel.IOError('index'))
        self.sweeper.start()
        self.wait_for(lambda: self.failures)
        self.sweeper.stop()
        self.assertEqual('index', str(self.failures[0]))

    def test_a_disk_that_cannot_be_written_ends_nothing(self):
        for number in (errno.EROFS, errno.EIO, errno.ENOSPC):
            with self.subTest(number), mock.patch.object(
                    sweeper_module.os, 'pwrite',
                    side_effect=OSError(number, 'disk')) as failed:
                sweeper = Sweeper(self.layout, self.index, 0.01, self.fail)
                gone = self.removed()
                with self.assertLogs(sweeper_module.logger, 'ERROR'):
                    sweeper.start()
                    self.wait_for(lambda: failed.call_count > 1)
                    sweeper.stop()
                self.assertTrue(self.index.reclaim.has(gone))
        self.assertEqual(0, self.sweeper.sweep())
        self.assert_buried(gone)
