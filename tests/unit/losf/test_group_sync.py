# SPDX-License-Identifier: Apache-2.0
"""A conversion into files: how it makes them durable, and when it stops."""

import threading
import unittest
from unittest import mock

from swift_losf.convert import group_sync, sides
from swift_losf.convert.files import Files
from swift_losf.convert.group_sync import GroupSync
from tests import waiting


class TestGroupSync(unittest.TestCase):
    """Threads that write at the same time share syncs of the disk."""

    def setUp(self):
        self.syncs = self.enterContext(mock.patch.object(
            group_sync, 'syncfs', side_effect=lambda fd: None))
        self.group = GroupSync('/')
        self.addCleanup(self.group.close)

    def sync_all(self, count=9):
        """Let many come while one syncs; return what each was told."""
        first, rest = threading.Event(), threading.Event()
        told = []

        def slow(fd):
            first.set()
            rest.wait(60)

        def sync():
            try:
                told.append(self.group.sync())
            except OSError as err:
                told.append(err.errno)
        self.syncs.side_effect, after = slow, self.syncs.side_effect
        threads = [threading.Thread(target=sync) for _ in range(count)]
        threads[0].start()
        first.wait(60)
        self.syncs.side_effect = after
        for each in threads[1:]:
            each.start()
        waiting.wait_for(lambda: len(self.group._changed._waiters)
                         == count - 1, 'all wait', 60)
        rest.set()
        for each in threads:
            each.join()
        return told

    def test_those_who_come_while_one_runs_share_the_next(self):
        self.assertEqual([None] * 9, self.sync_all())
        self.assertEqual(2, self.syncs.call_count)

    def test_all_who_share_one_that_fails_are_told(self):
        self.syncs.side_effect = OSError(5, 'EIO')
        self.assertEqual([None] + [5] * 8, self.sync_all())

    def test_what_is_kept_for_deletes_is_left_alone(self):
        layout = mock.Mock(device_path='/', ballasts=['/ballast'])
        side = Files(layout)
        with mock.patch.object(sides, 'is_given_up', return_value=True):
            with self.assertRaisesRegex(OSError, 'No space left'):
                side.require_room()
        side.require_room()
