# SPDX-License-Identifier: Apache-2.0
"""Bytes of volumes that no record has: found, and given back."""

import os
from unittest import mock

from swift_losf.index.index import Index
from swift_losf.upkeep import reclaim_check
from swift_losf.upkeep.recovery import recover
from swift_losf.upkeep.sweeper import Sweeper
from swift_losf.volumes.volume import mark_quarantined
from tests.unit.losf.index_world import (
    HASH,
    NAME,
    OTHER,
    PARTITION,
    IndexTest,
    RecoveryTest,
)

FRAGMENT = '1700000000.00001#2.data'


class TestRecovery(RecoveryTest):

    def garbage(self, size=102400):
        """Bytes as a killed PUT leaves them: (start, end)."""
        volume = self.volume(1)
        start, end = volume.end + 512, volume.end + size
        volume.write_at([b'x' * (end - start)], start)
        volume.end = volume.align(end)
        return volume.end - volume.align(size), end

    def dead(self, index):
        return [(offset, offset + length)
                for offset, length in index.reclaim.of_volume(1)]

    def sweep(self, index):
        self.assertEqual(0, Sweeper(self.layout, index, 1, None).sweep())
        self.assertEqual([], self.dead(index))

    def test_what_a_killed_put_left_is_given_back(self):
        index = self.open_index()
        self.put(index)
        gap = self.garbage()
        kept = self.put(index, OTHER)
        last = self.garbage()
        before = self.bytes_at(kept)
        self.crash(index)
        self.release(1)
        index = self.recover()
        self.assertEqual([gap, last], self.dead(index))
        self.sweep(index)
        self.assertEqual(before, self.bytes_at(kept))
        self.assertLess(os.stat(self.layout.volume(1)).st_blocks * 512,
                        20000)
        self.crash(index)
        self.assertEqual([], self.dead(self.recover()))

    def test_a_volume_in_use_has_none(self):
        self.write()
        self.garbage()
        self.assertEqual([], self.dead(self.recover()))

    def test_a_crash_before_the_sync_has_them_found_again(self):
        gap = self.garbage()
        self.release(1)
        index = self.recover()
        with mock.patch.object(Index, 'sync', side_effect=KeyboardInterrupt):
            self.lose_index(index)
            self.assertRaises(KeyboardInterrupt, recover, self.layout)
        self.assertEqual([gap], self.dead(self.recover()))

    def test_what_is_removed_or_gone_or_in_quarantine_is_no_gap(self):
        index = self.open_index()
        removed, gone = self.put(index), self.put(index, OTHER)
        quarantined = self.put(index, FRAGMENT)
        index.remove(PARTITION, HASH, [OTHER])
        Sweeper(self.layout, index, 1, None).sweep()
        index.remove(PARTITION, HASH, [NAME])
        mark_quarantined(self.layout, quarantined)
        index.quarantine(PARTITION, HASH)
        self.crash(index)
        self.release(1)
        index = self.recover()
        self.assertEqual(
            [(removed.offset, removed.offset + removed.length)],
            self.dead(index))
        self.assertFalse(any(self.bytes_at(gone)))

    def test_a_damaged_file_is_no_gap(self):
        index = self.open_index()
        damaged = self.put(index, data=b'x' * 10000)
        gap = self.garbage()
        path = self.layout.volume(1)
        for offset in (damaged.offset, damaged.data_offset,
                       damaged.footer_offset):
            with open(path, 'r+b') as volume:
                volume.seek(offset)
                byte = volume.read(1)
                volume.seek(offset)
                volume.write(bytes([byte[0] ^ 1]))
            self.crash(index)
            self.release(1)
            index = self.recover()
            self.assertEqual([gap], self.dead(index))
            self.assertEqual([(NAME, damaged)],
                             index.reader.list_hash(PARTITION, HASH))


class TestSweeper(IndexTest):

    def setUp(self):
        super().setUp()
        self.index = self.open_index()
        self.sweeper = Sweeper(self.layout, self.index, 1, None)

    def bury(self, start, end):
        with self.index.db.change() as change:
            change.reclaim_range(1, start, end - start)

    def test_a_gap_is_given_back(self):
        first = self.put(self.index)
        volume = self.volumes[1]
        start, end = volume.end, volume.end + 300000
        volume.write_at([os.urandom(end - start)], start)
        volume.end = volume.align(end)
        last = self.put(self.index, OTHER)
        self.bury(start, end)
        before = self.bytes_at(first), self.bytes_at(last)
        self.assertEqual(0, self.sweeper.sweep())
        with open(self.layout.volume(1), 'rb') as file:
            file.seek(start)
            self.assertFalse(any(file.read(end - start)))
        self.assertEqual(before, (self.bytes_at(first), self.bytes_at(last)))
        self.assertEqual(0, self.index.statistics().dead_bytes)

    def test_a_gap_in_which_there_is_a_record_is_never_punched(self):
        for registered in (True, False):
            volume = self.volume(1)
            start = volume.end
            volume.write_at([b'x' * 1000], start)
            volume.end += 1024
            location = (self.put(self.index) if registered
                        else self.write(OTHER))
            self.bury(start, volume.end)
            before = self.bytes_at(location)
            with self.assertLogs(reclaim_check.logger, 'ERROR') as logs:
                self.sweeper.sweep()
            self.assertIn('has a file there', logs.output[0])
            self.assertEqual(before, self.bytes_at(location))

    def test_a_gap_that_a_damaged_file_has_is_never_punched(self):
        kept = self.put(self.index, data=b'x' * 10000)
        path = self.layout.volume(1)
        with open(path, 'r+b') as file:
            file.seek(kept.offset)
            file.write(b'y')
        self.bury(kept.offset + 512, kept.offset + 1024)
        before = self.bytes_at(kept)
        with self.assertLogs(reclaim_check.logger, 'ERROR'):
            self.sweeper.sweep()
        self.assertEqual(before, self.bytes_at(kept))
