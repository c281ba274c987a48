# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck has space given back, and no record with it."""

import io
import os

from swift_lightsync.common.progress import Progress
from swift_losf.format.header import HEADER_LENGTH
from swift_losf.format.values import Location
from swift_losf.fsck.entry_order import EntryOrder
from swift_losf.upkeep.recovery import recover
from swift_losf.volumes.writable import WritableVolume
from tests.unit.losf.fsck_world import (
    HASH,
    HASHES,
    NAME,
    OTHER,
    FsckTest,
    MendTest,
)


class TestSpace(MendTest):
    """Gaps, and space that is to be given back."""

    def used(self, number=1):
        return os.stat(self.layout.volume(number)).st_blocks * 512

    def append(self, data, number=1):
        """
        Leave something at the end of a volume.

        :returns: where it begins and ends
        """
        start = -(-os.path.getsize(self.layout.volume(number)) // 64) * 64
        self.overwrite(number, start, data)
        return start, start + len(data)

    def test_an_aborted_long_upload_is_given_back(self):
        before = self.used()
        start, end = self.append(bytes(HEADER_LENGTH) + b'x' * 300000)
        self.assertGreater(self.used(), before + 290000)
        _, lines = self.run_fsck('check')
        self.assertEqual((1, start, end - start), (
            lines[0]['volume'], lines[0]['offset'], lines[0]['length']))
        self.assertEqual(end - start, lines[-1]['summary']['gap_bytes'])
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

    def test_a_gap_below_the_checkpoint_is_found_by_nobody_else(self):
        start, end = self.append(b'x' * 100000)
        with self.index() as index:
            self.volumes[1] = WritableVolume.take(self.layout.volume(1))
            self.put(index, hash_=b'b' * 16)
            last = self.put(index, hash_=b'c' * 16)
            self.release(1)
            index.sync()
            self.assertEqual(last.offset, dict(
                index.list_volumes())[1].checkpoint)
        self.sweep()
        recover(self.layout).close()
        with self.index() as index:
            self.assertEqual(0, index.statistics().dead_bytes)
        before = self.used()
        status, lines = self.run_fsck('check')
        self.assertEqual((1, ['gap']), (status, self.kinds(lines)))
        # Up to the next record.
        length = -(-end // 64) * 64 - start
        self.assertEqual((start, length, length), (
            lines[0]['offset'], lines[0]['length'],
            lines[-1]['summary']['gap_bytes']))
        self.assertEqual(length, self.assert_mended('gap')['dead_bytes'])
        self.assertLess(self.used(), before - 100000 + 8192)
        self.assertEqual(0, self.run_fsck('check')[1][-1]['summary'][
            'gap_bytes'])

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
            change.reclaimed(*self.removed.spot, self.removed.length)
        self.assert_mended('missing')
        self.assertIn((HASH, OTHER), self.listed())

    def test_dead_space_with_a_wrong_length_is_corrected(self):
        with self.changed() as change:
            change.reclaimed(*self.removed.spot, self.removed.length)
            change.reclaim(Location(1, self.removed.offset, 2, 2, 2))
        self.assert_mended('dead-entry')
        self.assertEqual(bytes(self.removed.length),
                         self.bytes_at(self.removed))

    def test_dead_space_never_reaches_into_a_record(self):
        expected = self.listed()
        last = self.bytes_at(self.last)
        self.sweep()
        with self.changed() as change:
            change.reclaim(Location(1, self.removed.offset, 2 ** 20, 2, 2))
        self.assert_mended('dead-overlap')
        self.assertEqual(expected, self.listed())
        self.assertEqual(last, self.bytes_at(self.last))

    def test_dead_space_that_reaches_into_records_is_found_once(self):
        first = self.files[HASHES[0]]
        self.overwrite(1, first.offset, bytes(first.length))
        with self.changed() as change:
            change.remove_file(self.key(HASHES[0]), first)
            change.reclaim(Location(1, first.offset, 2 ** 20, 2, 2))
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
            change.reclaim(Location(1, self.removed.offset, 2 ** 20, 2, 2))
            change.remove_file(self.key(bytes(16)), self.last)
        self.assert_mended('dead-overlap', 'missing')
        self.assertEqual(expected, self.listed())


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
