# SPDX-License-Identifier: Apache-2.0
"""Databases that stay open between requests of the verb VERSION."""

import os
import shutil
from glob import glob
from unittest import mock

from swift.common.concurrency import spawn
from swift.common.utils import lock_parent_directory

from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.core.row_data import entry_of, row_of
from swift_lightsync.versioning.server import kept_databases
from tests.unit.versioning.test_verb_server import HIDDEN, VerbCase


class TestKeptDatabases(VerbCase):

    def setUp(self):
        super().setUp()
        self.kept = self.server._databases
        self.path, = glob(self.devices + '/sda/containers/0/*/*/*.db')
        opener = mock.patch.object(
            kept_databases, 'get_db_connection',
            side_effect=kept_databases.get_db_connection)
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
        with mock.patch.object(kept_databases, 'MOST', 2):
            for number in range(4):
                container = '%s%d' % (HIDDEN, number)
                self.ask('PUT', container)
                self.ask('VERSION', container, b'{}')
        self.assertEqual(2, len(self.kept))

    def test_those_that_nobody_uses_are_closed(self):
        self.assertEqual(200, self.status())
        self.kept.close_unused()
        self.assertEqual(1, len(self.kept))
        now = self.kept._now()
        with mock.patch.object(self.kept, '_now', lambda:
                               now + kept_databases.SECONDS):
            self.kept.close_unused()
        self.assertEqual(0, len(self.kept))
        self.assertEqual(200, self.status())
