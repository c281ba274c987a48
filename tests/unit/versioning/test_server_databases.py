# SPDX-License-Identifier: Apache-2.0
"""How requests of the verb VERSION get at databases of containers."""

import os
import shutil
import tempfile
import time
import unittest
from glob import glob
from unittest import mock

from swift.common.concurrency import sleep, spawn
from swift.common.exceptions import LockTimeout
from swift.common.utils import lock_parent_directory

from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.core.row_data import entry_of, row_of
from swift_lightsync.versioning.server import databases, replica, row_table
from tests.unit.versioning.test_verb_server import HIDDEN, VerbCase


class TestKeptDatabases(VerbCase):

    def setUp(self):
        super().setUp()
        self.kept = self.server._databases
        self.path, = glob(self.devices + '/sda/containers/0/*/*/*.db')
        opener = mock.patch.object(
            databases, 'get_db_connection',
            side_effect=databases.get_db_connection)
        self.opened = opener.start()
        self.addCleanup(opener.stop)

    def status(self):
        return self.ask('VERSION', HIDDEN, verb.encoded(
            verb.Request('foo'))).status_int

    def test_one_is_opened_for_many_requests(self):
        for _ in range(3):
            entry = self.entry()
            self.put(entry)
            self.assertEqual(entry.version.id, self.head())
        self.assertEqual((1, 1), (self.opened.call_count, len(self.kept)))

    def test_what_others_write_is_read(self):
        first, second = self.entry(), self.entry()
        self.put(first)
        self.assertEqual(first.version.id, self.head())
        broker = self.server._get_container_broker('sda', '0', 'a', HIDDEN)
        row = row_of(second)
        broker.put_object(row.name, str(row.stamp), 7, 'text/plain',
                          row.etag, 0, 0)
        self.assertEqual(second.version.id, self.head())
        self.assertEqual(1, self.opened.call_count)

    def test_a_database_that_is_replaced_is_not_used(self):
        first, second = self.entry(), self.entry()
        self.put(first)
        shutil.copy(self.path, self.path + '.old')
        self.put(second)
        os.rename(self.path + '.old', self.path)
        self.assertEqual(first.version.id, self.head())
        answer = self.put(second)
        self.assertEqual(first.version.id,
                         entry_of(answer.before.row).version.id)

    def test_a_database_that_is_away_is_not_used(self):
        self.put(self.entry())
        os.rename(os.path.dirname(self.path), self.devices + '/away')
        self.assertEqual(404, self.status())
        self.assertEqual([], glob(self.devices + '/sda/containers/0/*/*'))
        os.rename(self.devices + '/away', os.path.dirname(self.path))
        self.assertEqual(200, self.status())

    def test_a_database_that_is_replaced_while_it_is_open_is_not_kept(self):
        self.put(self.entry())
        broker = self.server._get_container_broker('sda', '0', 'a', HIDDEN)
        with self.kept.lent(broker):
            shutil.copy(self.path, self.path + '.new')
            os.rename(self.path + '.new', self.path)
        count = self.opened.call_count
        self.assertEqual(200, self.status())
        self.assertEqual(count + 1, self.opened.call_count)

    def test_a_malformed_database_is_quarantined(self):
        self.assertEqual(200, self.status())
        with open(self.path, 'wb') as database:
            database.write(b'x' * 8192)
        self.assertEqual(500, self.status())
        self.assertEqual(1, len(glob(
            self.devices + '/sda/quarantined/containers/*')))
        self.assertEqual(404, self.status())
        self.assertEqual(0, len(self.kept))

    def test_a_deleted_container_has_no_versions(self):
        self.assertEqual(200, self.status())
        self.ask('DELETE', HIDDEN, **{'X-Timestamp': '%.5f' % (
            self.seconds + 9)})
        self.assertEqual(404, self.status())

    def test_two_requests_have_one_each(self):
        self.assertEqual(200, self.status())
        brokers = [self.server._get_container_broker('sda', '0', 'a', HIDDEN)
                   for _ in range(2)]
        with self.kept.lent(brokers[0]), self.kept.lent(brokers[1]):
            self.assertIsNot(brokers[0].conn, brokers[1].conn)
        self.assertEqual(2, len(self.kept))

    def test_writers_that_wait_have_none(self):
        with lock_parent_directory(self.path + '.pending'):
            writers = [spawn(self.put, self.entry()) for _ in range(5)]
        for writer in writers:
            writer.wait()
        self.assertEqual(1, self.opened.call_count)

    def test_only_some_are_kept(self):
        with mock.patch.object(databases, 'MOST', 2):
            for number in range(4):
                container = '%s%d' % (HIDDEN, number)
                self.ask('PUT', container)
                self.ask('VERSION', container, b'{}')
        self.assertEqual(2, len(self.kept))

    def test_those_that_nobody_uses_are_closed(self):
        self.assertEqual(200, self.status())
        self.kept.close_unused()
        self.assertEqual(1, len(self.kept))
        now = time.monotonic()
        with mock.patch.object(time, 'monotonic', lambda:
                               now + databases.SECONDS):
            self.kept.close_unused()
        self.assertEqual(0, len(self.kept))
        self.assertEqual(200, self.status())


class TestRemembered(VerbCase):
    """What is read again while nobody has written."""

    def setUp(self):
        super().setUp()
        reader = mock.patch.object(replica, '_answered',
                                   side_effect=replica._answered)
        self.read = reader.start()
        self.addCleanup(reader.stop)

    def head(self, obj='foo'):
        head = self.version(obj, listed=False).head
        return head and entry_of(head.row).version.id

    def reads(self, *objects):
        """Ask for heads; return them and how many of them were read."""
        before = self.read.call_count
        found = [self.head(obj) for obj in objects]
        return found, self.read.call_count - before

    def test_the_same_is_read_once(self):
        entry = self.entry()
        self.put(entry)
        self.assertEqual(([entry.version.id] * 3 + [None], 2),
                         self.reads('foo', 'foo', 'foo', 'bar'))

    def test_what_this_process_writes_is_read(self):
        for _ in range(3):
            entry = self.entry()
            self.put(entry)
            self.assertEqual(([entry.version.id] * 2, 1),
                             self.reads('foo', 'foo'))

    def test_what_others_write_is_read(self):
        self.put(self.entry())
        self.head()
        for merge in (True, False):
            entry = self.entry()
            row = row_of(entry)
            broker = self.server._get_container_broker('sda', '0', 'a',
                                                       HIDDEN)
            if merge:
                broker.merge_items([row_table.record_of(row, 0)])
            else:
                broker.put_object(row.name, str(row.stamp), 7, 'text/plain',
                                  row.etag, 0, 0)
            self.assertEqual(([entry.version.id] * 2, 1),
                             self.reads('foo', 'foo'))

    def test_what_is_read_while_another_writes_is_not_kept(self):
        first, second = self.entry(), self.entry()
        self.put(first)
        broker = self.server._get_container_broker('sda', '0', 'a', HIDDEN)
        original = self.read.side_effect

        def read_before_a_write(*args):
            found = original(*args)
            broker.merge_items([row_table.record_of(row_of(second), 0)])
            return found
        self.read.side_effect = read_before_a_write
        self.assertEqual(first.version.id, self.head())
        self.read.side_effect = original
        self.assertEqual(second.version.id, self.head())

    def test_only_some_are_remembered(self):
        self.put(self.entry())
        with mock.patch.object(databases, 'ANSWERS', 2):
            self.reads('foo', 'a', 'b')
            self.assertEqual(1, self.reads('foo')[1])
            self.assertEqual(0, self.reads('b')[1])


class TestLocked(unittest.TestCase):
    """What ``locked`` gives, and to whom first."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, 'hash.db.pending')

    def test_those_who_ask_first_get_it_first(self):
        order = []

        def write(number):
            with databases.locked(self.path, 10):
                sleep(0)
                order.append(number)

        for thread in [spawn(write, number) for number in range(20)]:
            thread.wait()
        self.assertEqual(order, list(range(20)))

    def test_one_of_a_process_asks_for_the_file(self):
        asking = most = 0

        class Lock:
            def __enter__(self):
                nonlocal asking, most
                asking += 1
                most = max(most, asking)
                sleep(0)

            def __exit__(self, *_error):
                nonlocal asking
                asking -= 1

        def write():
            with databases.locked(self.path, 10):
                sleep(0)

        with mock.patch.object(databases, 'lock_parent_directory',
                               lambda *_: Lock()):
            for thread in [spawn(write) for _ in range(5)]:
                thread.wait()
        self.assertEqual(most, 1)

    def test_who_waits_in_vain_is_told(self):
        with databases.locked(self.path, 10):
            with self.assertRaises(LockTimeout):
                with databases.locked(self.path, 0.01):
                    self.fail('both have it')
        with databases.locked(self.path, 10):
            pass

    def test_other_processes_are_kept_out(self):
        with databases.locked(self.path, 10):
            with self.assertRaises(LockTimeout):
                with lock_parent_directory(self.path, 0.01):
                    self.fail('both have it')

    def test_nothing_is_kept_of_paths_that_nobody_locks(self):
        with databases.locked(self.path, 10):
            self.assertIn(self.path, databases._semaphores)
        self.assertNotIn(self.path, databases._semaphores)
