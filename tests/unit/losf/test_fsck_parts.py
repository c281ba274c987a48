# SPDX-License-Identifier: Apache-2.0
"""The parts of swift-losf-fsck by themselves."""

import io
import os
import random
import unittest

from swift_lightsync.common.progress import Progress
from swift_losf.format.header import VolumeHeader, VolumeType
from swift_losf.fsck.entry_order import EntryOrder
from swift_losf.volumes.header_repair import find_salt
from tests.unit.losf.fsck_world import FsckTest


class TestSalt(unittest.TestCase):

    def test_the_salt_that_is_found_gives_all_records_their_tags(self):
        rng = random.Random(7)
        for _ in range(20):
            header = VolumeHeader(3, VolumeType.DATA, 0, 0,
                                  rng.randbytes(8))
            at = 512 * rng.randrange(2 ** 40)
            found = VolumeHeader(3, VolumeType.DATA, 0, 0, find_salt(
                header.tag(at), at))
            for _ in range(20):
                offset = rng.randrange(2 ** 50)
                self.assertEqual(header.tag(offset), found.tag(offset))


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
