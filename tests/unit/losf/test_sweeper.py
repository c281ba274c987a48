# SPDX-License-Identifier: Apache-2.0
"""Giving space back."""

import os
from dataclasses import replace
from unittest import mock

from swift_losf.format.header import FormatError
from swift_losf.upkeep import reclaim_check
from swift_losf.upkeep import sweeper as sweeper_module
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.volume import lock_range
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

    def assert_punched(self, *locations):
        for location in locations:
            self.assertFalse(any(self.bytes_at(location)), location)
            self.assertFalse(self.index.reclaim.has(location))

    def assert_kept(self, *locations):
        for location in locations:
            self.assertEqual(b'\xc3LOSFobj', self.bytes_at(location)[:8])

    def test_the_space_of_removed_files_comes_back(self):
        kept = self.put(self.index, OTHER, data=bytes(100000))
        gone = self.removed(data=b'x' * 1000000)
        also = self.removed(TOMBSTONE)
        path = self.layout.volume(1)
        before = os.stat(path).st_blocks * 512
        self.assertEqual(0, self.sweeper.sweep())
        self.assert_punched(gone, also)
        self.assert_kept(kept)
        self.assertLessEqual(os.stat(path).st_blocks * 512,
                             before - 1000000 + 2 * 4096)
        found = self.index.statistics()
        self.assertEqual((0, gone.length + also.length),
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

    def test_records_side_by_side_become_one_hole(self):
        names = ['17000000%02d.00001.data' % n for n in range(9)]
        at = [self.put(self.index, name).offset for name in names]
        self.index.remove(PARTITION, HASH, names[1:4] + names[6:8])
        self.assertEqual([(at[1], at[4]), (at[6], at[8])], self.punched())

    def test_a_hole_grows_to_blocks_that_are_zeros(self):
        size = os.statvfs(self.device).f_bsize
        self.put(self.index, data=b'x' * size)
        second = self.put(self.index, OTHER, data=b'x' * 2 * size)
        end = self.volumes[1].end
        self.index.remove(PARTITION, HASH, [NAME])
        self.assertEqual([(4096, second.offset)], self.punched())
        self.release(1)
        self.index.remove(PARTITION, HASH, [OTHER])
        self.assertEqual([(second.offset // size * size,
                           -(-end // size) * size)], self.punched())

    def test_a_hole_in_a_locked_volume_does_not_grow_past_the_watermark(self):
        size = os.statvfs(self.device).f_bsize
        gone = self.put(self.index, data=b'x' * size)
        end = self.volumes[1].end
        self.index.register(PARTITION, HASH, NAME, gone, end)
        self.index.remove(PARTITION, HASH, [NAME])
        self.assertNotEqual(0, end % size)
        self.assertEqual([(4096, end)], self.punched())

    def test_a_volume_of_another_alignment_keeps_it(self):
        volume = self.volume(1)
        volume.header = replace(volume.header, alignment=4096)
        volume.write_at([volume.header.pack()], 0)
        gone, kept = self.put(self.index), self.put(self.index, OTHER)
        self.assertEqual((4096, 8192), (gone.offset, kept.offset))
        before = self.bytes_at(kept)
        self.index.remove(PARTITION, HASH, [NAME])
        self.assertEqual([(4096, 8192)], self.punched())
        self.assertEqual(before, self.bytes_at(kept))

    def test_the_next_record_is_left_alone_whatever_the_length(self):
        for size in (0, 1, 4096 - 64, 4096, 5000, 70000):
            gone = self.removed(data=b'x' * size)
            kept = self.put(self.index, OTHER, data=b'y' * size)
            before = self.bytes_at(kept)
            self.sweeper.sweep()
            self.assert_punched(gone)
            self.assertEqual(before, self.bytes_at(kept))

    def test_what_is_being_read_is_given_back_later(self):
        gone = self.removed()
        with open(self.layout.volume(1), 'rb') as reader:
            self.assertTrue(lock_range(reader.fileno(), gone.offset,
                                       gone.length, shared=True))
            self.assertEqual(1, self.sweeper.sweep())
            self.assert_kept(gone)
        self.assertEqual(0, self.sweeper.sweep())
        self.assert_punched(gone)

    def test_a_tombstone_outlasts_what_it_has_deleted(self):
        gone, tombstone = self.removed(), self.removed(TOMBSTONE)
        with open(self.layout.volume(1), 'rb') as reader:
            lock_range(reader.fileno(), gone.offset, gone.length, shared=True)
            self.assertEqual(1, self.sweeper.sweep())
            self.assert_kept(gone, tombstone)
        self.sweeper.sweep()
        self.assert_punched(gone, tombstone)

    def test_a_tombstone_of_during_a_round_waits_for_the_next(self):
        self.removed()
        late = self.put(self.index, OTHER)
        tombstone = self.put(self.index, TOMBSTONE)
        punch_hole = sweeper_module.punch_hole

        def remove_more(*args):
            self.index.remove(PARTITION, HASH)
            punch_hole(*args)

        with mock.patch.object(sweeper_module, 'punch_hole', remove_more):
            self.sweeper.sweep()
        self.assert_kept(late, tombstone)
        self.assertTrue(self.index.reclaim.pending.is_set())
        self.sweeper.sweep()
        self.assert_punched(late, tombstone)

    def test_the_order_is_sync_punch_fsync_unqueue(self):
        gone, tombstone = self.removed(), self.removed(TOMBSTONE)
        steps = []

        def step(name, real):
            def call(*args):
                steps.append((name, self.index.reclaim.has(gone),
                              self.index.reclaim.has(tombstone)))
                return real(*args)
            return call

        self.index.sync = step('sync', self.index.sync)
        with mock.patch.object(sweeper_module, 'punch_hole', step(
                'punch', sweeper_module.punch_hole)), \
                mock.patch.object(sweeper_module.os, 'fsync',
                                  step('fsync', os.fsync)):
            self.sweeper.sweep()
        self.assertEqual([
            ('sync', True, True),
            ('punch', True, True), ('fsync', True, True),
            ('punch', False, True), ('fsync', False, True)], steps)

    def test_an_interrupted_round_is_done_again(self):
        gone = self.removed(data=b'x' * 10000)
        with mock.patch.object(self.index.reclaim, 'given_back',
                               side_effect=ZeroDivisionError):
            with self.assertRaises(ZeroDivisionError):
                self.sweeper.sweep()
        self.assertTrue(self.index.reclaim.has(gone))
        self.assertEqual(0, self.sweeper.sweep())
        self.assert_punched(gone)
        self.assertEqual(0, self.index.statistics().dead_bytes)

    def test_what_is_not_just_a_record_without_entry_is_never_punched(self):
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
            with self.assertLogs(reclaim_check.logger, 'ERROR') as logs:
                self.sweeper.sweep()
            self.assertRegex(logs.output[-1], 'offset %d: .* has a file there'
                             % (kept.offset + offset))
            self.assertEqual(before, self.bytes_at(kept))

    def test_what_was_in_a_volume_that_is_gone_is_forgotten(self):
        gone = self.removed()
        os.unlink(self.layout.volume(1))
        self.assertEqual(0, self.sweeper.sweep())
        self.assertFalse(self.index.reclaim.has(gone))

    def test_a_volume_whose_header_is_damaged_is_left_to_recovery(self):
        gone = self.removed()
        self.overwrite(1, 0, b'x')
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
        self.assert_punched(*gone)

    def test_the_thread_sweeps_when_there_is_something_and_stops(self):
        swept = mock.Mock(wraps=self.sweeper.sweep)
        self.sweeper.sweep = swept
        self.sweeper.start()
        gone = self.removed()
        self.wait_for(lambda: not self.index.reclaim.has(gone))
        self.sweeper.stop()
        self.assertFalse(self.sweeper.is_alive())
        self.assert_punched(gone)
        self.assertEqual([], self.failures)

    def test_a_thread_that_fails_says_so(self):
        self.sweeper.sweep = mock.Mock(side_effect=OSError('disk'))
        self.sweeper.start()
        self.wait_for(lambda: self.failures)
        self.sweeper.stop()
        self.assertEqual('disk', str(self.failures[0]))
