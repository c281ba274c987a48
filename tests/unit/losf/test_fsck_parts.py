# SPDX-License-Identifier: Apache-2.0
"""The parts of swift-losf-fsck by themselves."""

import io
import os
import random
import unittest

from swift_losf.format.header import VolumeHeader, VolumeType
from swift_losf.fsck.entry_order import EntryOrder
from swift_losf.fsck.progress import LOG_INTERVAL, Progress
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


class Terminal(io.StringIO):

    def isatty(self):
        return True


class TestProgress(unittest.TestCase):

    def setUp(self):
        self.now = 100

    def run_for(self, stream, seconds, total=10 ** 6):
        progress = Progress(stream, lambda: self.now)
        progress.begin('checking', total)
        for _ in range(seconds):
            self.now += 1
            progress.step(1000)
        return progress

    def test_a_log_gets_a_line_each_ten_seconds(self):
        stream = io.StringIO()
        self.run_for(stream, 35)
        expected = ['checking: %d records, 1000/s, %d%%, %s left' % line
                    for line in ((10000, 1, '0:16:30'), (20000, 2, '0:16:20'),
                                 (30000, 3, '0:16:10'))]
        self.assertEqual(expected, stream.getvalue().splitlines())
        self.assertEqual(10, LOG_INTERVAL)

    def test_a_terminal_has_one_line_which_is_cleared_in_the_end(self):
        stream = Terminal()
        progress = self.run_for(stream, 3)
        self.assertNotIn('\n', stream.getvalue())
        self.assertEqual('checking: 3000 records, 1000/s, 0%, 0:16:37 left',
                         stream.getvalue().split('\r')[-1])
        progress.clear()
        self.assertRegex(stream.getvalue(), '\r +\r$')

    def test_without_a_total_there_is_no_percentage(self):
        stream = io.StringIO()
        self.run_for(stream, 10, 0)
        self.assertEqual('checking: 10000 records, 1000/s\n',
                         stream.getvalue())


if __name__ == '__main__':
    unittest.main()
