# SPDX-License-Identifier: Apache-2.0
"""failure_store: one failure table for the processes of a node."""

import fcntl
import json
import math
import os
import stat
import tempfile
import threading
import unittest
from unittest import mock

from swift_lightsync.sync import failure_store
from swift_lightsync.sync.failure_store import FailureStore
from tests.unit.sync import documented
from tests.unit.sync.fixtures import CapturingLogger

NODE = ('10.0.0.1', 6200)
DEVICE = NODE + ('sda',)
REPORTER = ('10.0.0.9', 6200)


class StoreTestCase(unittest.TestCase):

    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory())
        self.logger = CapturingLogger()
        self.enterContext(mock.patch.object(failure_store, 'REFRESH', 0))

    def store(self, **conf):
        """The table as another process has it."""
        return FailureStore(dict(recon_cache_path=self.root, **conf),
                            self.logger)

    @property
    def path(self):
        return self.store().path


class TestShared(StoreTestCase):

    def test_what_one_process_records_another_knows(self):
        one, other = self.store(), self.store()
        self.assertFalse(other.has_failed(NODE))
        self.assertTrue(one.record(NODE, 10))
        self.assertTrue(other.has_failed(NODE))
        self.assertFalse(other.has_failed(DEVICE))
        other.contact(NODE)
        self.assertFalse(one.has_failed(NODE))
        self.assertEqual({NODE}, set(one.rejoined()))

    def test_their_exceptions_add_up(self):
        stores = [self.store(), self.store()]
        found = [stores[turn % 2].record(NODE, 1) for turn in range(10)]
        self.assertEqual([False] * 9 + [True], found)

    def test_it_outlives_a_restart(self):
        self.store().record(DEVICE, 10)
        self.store().report(REPORTER, NODE)
        later = self.store()
        self.assertTrue(later.has_failed(DEVICE))
        self.assertTrue(later.is_reported(REPORTER, NODE))
        self.assertFalse(later.is_reported(REPORTER, DEVICE))

    def test_a_hint_of_one_decides_with_a_time_out_of_another(self):
        self.store().hint(NODE)
        self.assertFalse(self.store().has_failed(NODE))
        self.assertTrue(self.store().record(NODE, 2))

    def test_who_refused_one_process_is_known_to_another(self):
        for key, weight in ((NODE, 1), (DEVICE, 2)):
            for _ in range(10):
                self.store().record(key, weight)
        self.assertEqual({NODE}, self.store().refusing())

    def test_what_another_thread_is_reading_is_not_taken_for_read(self):
        self.store().record(NODE, 10)
        store, found, read = self.store(), [], failure_store._from_json

        def ask(*args):
            with mock.patch.object(failure_store, '_from_json', read):
                found.append(store.has_failed(NODE))
            read(*args)
        with mock.patch.object(failure_store, '_from_json', ask), \
                mock.patch.object(failure_store, 'REFRESH', 60):
            store.has_failed(NODE)
        self.assertEqual([True], found)

    def test_records_of_many_at_once_are_all_counted(self):
        def record():
            each = self.store(error_suppression_limit='1000')
            for _ in range(10):
                each.record(NODE, 1)

        threads = [threading.Thread(target=record) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = self.store(error_suppression_limit='1000')
        found.has_failed(NODE)
        self.assertEqual(40, found.table.rows[NODE].n_exception)

    def test_a_report_that_is_known_writes_nothing(self):
        store = self.store()
        store.report(REPORTER, NODE)
        before = self.written()
        store.report(REPORTER, NODE)
        self.store().report(REPORTER, NODE)
        self.assertEqual(before, self.written())

    def written(self):
        """Return which file it is, and when it was written.

        To read it may change when it was read.
        """
        found = os.stat(self.path)
        return found.st_ino, found.st_mtime_ns, found.st_ctime_ns

    def test_an_answer_of_who_did_not_fail_writes_nothing(self):
        self.store().contact(NODE)
        self.assertFalse(os.path.exists(self.path))

    def test_others_than_its_user_cannot_write_it(self):
        self.store().record(NODE, 1)
        self.assertFalse(stat.S_IMODE(os.stat(self.path).st_mode) & 0o022)

    def test_only_the_file_and_its_lock_are_left(self):
        for _ in range(5):
            self.store().record(NODE, 1)
        self.assertLessEqual(len(os.listdir(self.root)), 2)

    def test_it_is_looked_at_no_oftener_than_documented(self):
        self.assertIn('read again at most every half second',
                      ' '.join(documented.protocol().split()))
        with mock.patch.object(failure_store, 'REFRESH', 0.5), \
                mock.patch.object(failure_store.time, 'monotonic') as clock:
            clock.return_value = 100
            one = self.store()
            self.assertFalse(one.has_failed(NODE))
            self.store().record(NODE, 10)
            clock.return_value = 100.4
            self.assertFalse(one.has_failed(NODE))
            clock.return_value = 100.5
            self.assertTrue(one.has_failed(NODE))


class TestDamage(StoreTestCase):

    def write(self, data):
        with open(self.path, 'wb') as state:
            state.write(data)

    def sound(self):
        self.store().record(NODE, 3)
        self.store().report(REPORTER, DEVICE)
        with open(self.path, 'rb') as state:
            return state.read()

    def assert_counts_for_nothing(self, data):
        self.write(data)
        self.logger.lines.clear()
        each = self.store()
        self.assertFalse(each.has_failed(NODE))
        self.assertIn(self.path, self.logger.at('WARNING')[0])
        self.assertTrue(each.record(NODE, 10))
        self.assertTrue(self.store().has_failed(NODE))

    def test_a_file_truncated_at_any_byte_counts_for_nothing(self):
        data = self.sound()
        for length in range(0, len(data), 37):
            self.assert_counts_for_nothing(data[:length])
        self.assert_counts_for_nothing(b'[]')

    def test_a_field_of_another_type_counts_for_nothing(self):
        sound = json.loads(self.sound())
        rows = sound['rows'][0]
        for field, values in {
                'version': (None, 2, '1'),
                'rows': (None, [5], [rows[:3]], [[['a'], 1, 1.0, True]],
                         [[rows[0], -1, 1.0, True]],
                         [[rows[0], 1, 1e11 + 1e5, True]],
                         [[rows[0], 1, 1.0, 1]]),
                'hints': (None, [[5, 1.0]], [[rows[0], math.nan]]),
                'rejoined': (None, [[5, 1.0]], [[rows[0], math.nan]]),
                'reports': (None, [[rows[0], 1.0]], [[5, rows[0], 1.0]],
                            [[rows[0], rows[0], -1]])}.items():
            for value in values:
                with self.subTest(field=field, value=value):
                    self.assert_counts_for_nothing(json.dumps(
                        dict(sound, **{field: value})).encode())

    def test_a_directory_that_cannot_be_written_to_is_no_end(self):
        each = FailureStore({'recon_cache_path': os.path.join(
            self.root, 'nowhere')}, self.logger)
        self.assertTrue(each.record(NODE, 10))
        self.assertTrue(each.has_failed(NODE))
        self.assertIn('nowhere', self.logger.at('WARNING')[0])

    def test_a_holder_of_its_lock_that_is_stopped_stops_nobody(self):
        store = self.store()
        with open(store.path + '.lock', 'a') as held, \
                mock.patch.object(failure_store, 'LOCK_TIMEOUT', 0.05):
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assertTrue(store.record(NODE, 10))
        self.assertTrue(store.has_failed(NODE))
        self.assertFalse(self.store().has_failed(NODE))
        self.assertIn('Unable to write', self.logger.at('WARNING')[0])
