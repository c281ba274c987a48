# SPDX-License-Identifier: Apache-2.0
"""oplog_file and intent: how operations end; full and broken disks."""

import os
from unittest import mock

from swift_lightsync.proar.core.oplog import CHUNK, STATE_OFFSET, place_of
from tests.unit.proar.logs import BROKEN, FULL, LogTestCase


class TestNoSpaceAndBrokenDisks(LogTestCase):

    def assert_fails(self, error):
        with self.assertRaises(OSError) as raised:
            self.append()
        self.assertEqual(error.errno, raised.exception.errno)

    def test_a_log_that_cannot_be_made_is_made_later(self):
        for name in ('pwrite', 'fsync'):
            with mock.patch('os.' + name, side_effect=FULL):
                self.assert_fails(FULL)
            self.assertEqual([], self.eversions())
        self.fill(1)
        self.assertEqual([1], self.eversions())

    def test_a_log_that_cannot_grow_grows_later(self):
        self.fill(255)
        for name in ('pwrite', 'fsync'):
            with mock.patch('os.' + name, side_effect=FULL):
                self.assert_fails(FULL)
            self.assertEqual(CHUNK, os.path.getsize(self.path))
        self.fill(1)
        self.assertEqual([255, 256], self.eversions(254))

    def test_half_a_chunk_is_no_chunk(self):
        write = os.pwrite
        with mock.patch('os.pwrite', lambda fd, data, place: write(
                fd, data[:100], place)):
            self.assert_fails(FULL)
        self.assertEqual(0, os.path.getsize(self.path))

    def test_an_intent_that_is_not_synced_is_aborted(self):
        with mock.patch('os.fdatasync', side_effect=BROKEN):
            self.assert_fails(BROKEN)
        self.fill(1)
        self.assertEqual([(1, 'ABORTED'), (2, 'COMMITTED')], self.states())
        self.assertFalse(self.oplog.in_progress(1))

    def test_no_failure_leaves_a_file_open_or_locked(self):
        self.fill(255)
        before = os.listdir('/proc/self/fd')
        for name in ('fsync', 'pwrite', 'fdatasync'):
            with mock.patch('os.' + name, side_effect=BROKEN):
                self.assert_fails(BROKEN)
        self.assertEqual(len(before), len(os.listdir('/proc/self/fd')))
        self.fill(1)
        self.assertTrue(self.oplog.compact(0))


class TestIntent(LogTestCase):

    def test_each_end_writes_its_state_and_lets_go_of_the_lock(self):
        for eversion, (end, state) in enumerate(
                (('committed', 2), ('aborted', 3), ('undecided', 1)), 1):
            intent = self.append()
            self.assertTrue(self.oplog.in_progress(eversion))
            getattr(intent, end)()
            with open(self.path, 'rb') as file:
                file.seek(place_of(eversion, 1) + STATE_OFFSET)
                self.assertEqual(bytes([state]), file.read(1))
            self.assertFalse(self.oplog.in_progress(eversion))
        self.assertEqual([(1, 'COMMITTED'), (2, 'ABORTED'), (3, 'INTENT')],
                         self.states())

    def test_the_state_is_written_before_the_lock_is_let_go_of(self):
        intent = self.append()
        write = os.pwrite
        seen = []

        def write_and_look(*args):
            write(*args)
            seen.append((self.oplog.in_progress(1), self.states()))

        with mock.patch('os.pwrite', write_and_look):
            intent.committed()
        self.assertEqual([(True, [(1, 'COMMITTED')])], seen)

    def test_a_state_that_cannot_be_written_is_for_the_disk_to_tell(self):
        intent = self.append()
        with mock.patch('os.pwrite', side_effect=OSError):
            intent.committed()
        self.assertEqual([(1, 'INTENT')], self.states())
        self.assertFalse(self.oplog.in_progress(1))
