# SPDX-License-Identifier: Apache-2.0
"""swift-losf-fsck has space given back, and no record with it."""

import io
import os

from swift_lightsync.common.progress import Progress
from swift_losf.format.values import Location
from swift_losf.fsck.entry_order import EntryOrder
from tests.unit.losf.fsck_world import (
    HASH,
    OTHER,
    FsckTest,
    MendTest,
)


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
