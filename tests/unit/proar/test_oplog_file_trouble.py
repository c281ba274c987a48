# SPDX-License-Identifier: Apache-2.0
"""oplog_file: full disks and broken ones."""

import os
from unittest import mock

from swift_lightsync.proar.core.oplog import CHUNK
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
