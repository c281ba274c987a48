# SPDX-License-Identifier: Apache-2.0
"""Which databases are followed, above all those of shards."""

import os
from dataclasses import replace
from unittest import mock

from swift.common.header_key_dict import HeaderKeyDict
from swift.common.utils import Timestamp
from swift.container.backend import ContainerBroker

from swift_lightsync.versioning.core.life import Life, life_row
from swift_lightsync.versioning.core.row_data import (
    Entry,
    Row,
    entry_of,
    hidden_container,
    listing_row,
    purge_record,
    row_of,
)
from swift_lightsync.versioning.core.stamp import TICKS, Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.data.container_headers import (
    enabled_headers,
    mode_headers,
)
from swift_lightsync.versioning.server.row_table import MODE, record_of
from swift_lightsync.versioning.sites import database as database_module
from swift_lightsync.versioning.sites import databases, directories
from swift_lightsync.versioning.sites.databases import Databases
from tests.unit.sync.fixtures import SwiftTestCase

ACCOUNT, SHARDS = 'a', '.shards_a'


class TestDatabases(SwiftTestCase):

    def setUp(self):
        super().setUp()
        #: what the container of shards is, or None if nobody says
        self.metadata = {}
        self.asked = []
        self.databases = Databases(
            self.devices_dir, False, 'rome', self.logger, self.mode_of)

    def mode_of(self, account, container):
        """What ``LocalData`` says."""
        self.asked.append((account, container))
        return self.metadata if self.metadata is None \
            else HeaderKeyDict(self.metadata).get(MODE, '')

    def make(self, account, container, **metadata):
        broker, _ = ContainerBroker.create_broker(
            os.path.join(self.devices_dir, 'sda'), 0, account, container,
            put_timestamp=Timestamp.now().internal, storage_policy_index=0)
        broker.update_metadata({
            name.title(): (value, Timestamp.now().internal)
            for name, value in metadata.items()})

    def make_shard(self, name, root):
        self.make(SHARDS, name, **{
            'X-Container-Sysmeta-Shard-Quoted-Root':
                '%s/%s' % (ACCOUNT, root.replace('\0', '%00'))})

    def followed(self):
        """Return (name, hidden, container, mode) of each database."""
        self.databases.scan()
        return [(each.broker.container, each.hidden, each.container,
                 each.mode) for _, each in self.databases]

    @staticmethod
    def headers_of(enabled, mode):
        return {**enabled_headers(enabled), **mode_headers(mode, 'hidden')}

    def enable(self, mode='read-repair'):
        self.metadata = self.headers_of(True, mode)

    def test_containers_with_versions_are_followed_suspended_ones_too(self):
        hidden = hidden_container('c')
        self.make(ACCOUNT, 'c', **self.headers_of(True, 'read-repair'))
        self.make(ACCOUNT, 'suspended',
                  **self.headers_of(False, 'write-repair'))
        self.make(ACCOUNT, 'plain')
        self.make(ACCOUNT, hidden, **{MODE: 'read-repair'})
        self.assertCountEqual([
            ('c', False, 'c', 'read-repair'),
            ('suspended', False, 'suspended', 'write-repair'),
            (hidden, True, 'c', 'read-repair')], self.followed())
        self.assertEqual([], self.asked)

    def test_new_ones_are_found_without_a_scan(self):
        self.make(ACCOUNT, 'old', **{MODE: 'read-repair'})
        with mock.patch.object(directories, 'SHARE', 0), \
                mock.patch.object(directories, 'MADE', -100):
            self.databases.scan()
            self.databases.look_for_new()
            with mock.patch.object(self.databases, '_look',
                                   side_effect=self.databases._look) as look:
                for name in ('c', 'd'):
                    self.make(ACCOUNT, hidden_container(name),
                              **{MODE: 'read-repair'})
                    for _ in range(3):
                        self.databases.look_for_new()
                self.assertEqual(2, look.call_count)
        self.assertCountEqual(['old', 'c', 'd'], [
            each.container for _, each in self.databases])

    def test_one_without_a_database_yet_is_found_later(self):
        with mock.patch.object(directories, 'SHARE', 0):
            self.databases.scan()
            made = os.path.join(self.devices_dir, 'sda', 'containers', '0',
                                'abc', 'f' * 29 + 'abc')
            os.makedirs(made)
            self.databases.look_for_new()
            ContainerBroker(os.path.join(made, 'f' * 29 + 'abc.db'),
                            account=ACCOUNT, container=hidden_container('c')
                            ).initialize(Timestamp.now().internal, 0)
            self.assertEqual([], list(self.databases))
            self.databases.look_for_new()
            self.assertEqual(1, len(list(self.databases)))

    def test_a_hidden_container_has_the_mode_of_the_user_s(self):
        hidden = hidden_container('c')
        self.make(ACCOUNT, hidden)
        self.metadata = None
        self.assertEqual([(hidden, True, 'c', None)], self.followed())
        self.metadata = {}
        self.assertEqual([(hidden, True, 'c', '')], self.followed())
        self.enable()
        for _once_known in range(2):
            self.assertEqual([(hidden, True, 'c', 'read-repair')],
                             self.followed())
            self.metadata = {}

    def test_shards_of_a_hidden_container_are_followed(self):
        self.make_shard('s', hidden_container('c'))
        self.assertEqual([('s', True, 'c', '')], self.followed())

    def test_shards_are_followed_once_their_container_has_versions(self):
        self.make_shard('s', 'c')
        self.assertEqual([], self.followed())
        self.enable()
        self.assertEqual([('s', False, 'c', 'read-repair')], self.followed())
        self.metadata = {}
        self.assertEqual([], self.followed())

    def test_shards_are_what_they_were_while_nobody_says(self):
        self.make_shard('s', 'c')
        self.metadata = None
        self.assertEqual([], self.followed())
        self.enable()
        before = self.followed()
        self.metadata = None
        self.assertEqual(before, self.followed())

    def test_what_rows_mean(self):
        hidden = hidden_container('c')
        self.make(ACCOUNT, hidden, **{MODE: 'write-repair'})
        self.make(ACCOUNT, 'c', **{MODE: 'write-repair'})
        stamp = Stamp(1700000000 * TICKS, 5)
        kept = Entry('o', Version(stamp, 'rome', Vector({'rome': stamp})), 7,
                     'e' * 32, 'text/plain')
        gone = replace(kept, object='gone', purged=Stamp(stamp.ticks + 1, 5))
        life = Life(True, stamp, 'rome')
        rows = [row_of(kept), listing_row(kept, 'o', stamp), row_of(gone),
                purge_record(gone), life_row(life),
                replace(row_of(kept), name=row_of(kept).name[:-1])]
        self.databases.scan()
        for _, each in self.databases:
            each.broker.merge_items([
                record_of(row, 0) for row in (
                    rows if each.hidden else
                    [Row('old', Stamp(stamp.ticks), 3, 'text/plain', 'f')])])
        (_, database), = self.databases.followed(True)
        self.assertEqual([
            kept, None, None, entry_of(rows[3]), None, None], [
            item and item.entry for _, _, item in database.items(-1)])
        self.assertEqual([life], [
            item.life for _, _, item in database.items(-1)
            if item and item.life])
        (_, database), = self.databases.followed(False)
        (_, made, item), = database.items(-1)
        self.assertEqual(
            (1700000000, 'old', Stamp(stamp.ticks), True, 3), (
                made, item.entry.object, item.entry.version.id,
                item.entry.null, item.entry.size))
        self.assertIn('must be', self.logger.at('WARNING')[-1])

    def followed_one(self):
        """Return a ``Database`` with a row, and a function that adds one."""
        self.make(ACCOUNT, hidden_container('c'), **{MODE: 'write-repair'})
        self.databases.scan()
        (_, database), = self.databases

        def add(number):
            stamp = Stamp((1700000000 + number) * TICKS, 5)
            database.broker.merge_items([record_of(row_of(Entry(
                'o', Version(stamp, 'rome', Vector({'rome': stamp})), 7,
                'e' * 32, 'text/plain')), 0)])
        add(0)
        return database, add

    def test_all_tasks_read_a_page_from_one_look(self):
        database, add = self.followed_one()
        with mock.patch.object(databases, 'TICK', -100):
            self.databases.refresh()
            with mock.patch.object(database_module, 'reading',
                                   side_effect=database_module.reading
                                   ) as look:
                for _ in range(3):
                    self.assertEqual(1, len(database.items(-1)))
                    self.databases.refresh()
                self.assertEqual([], database.items(1))
                self.assertEqual(1, look.call_count)
                add(1)
                self.databases.refresh()
                self.assertEqual([2], [row for row, *_ in database.items(1)])
                self.assertEqual(2, len(database.items(-1)))

    def test_rows_are_read_again_one_by_one_unless_they_have_gone(self):
        database, add = self.followed_one()
        for number in range(1, 6):
            add(number)
        before = {rowid: item for rowid, _, item in database.items(-1)}
        self.assertEqual({2: before[2], 4: before[4]},
                         database.items_at([2, 4, 9]))
        database.forget()
        with mock.patch.object(database_module, '_AT_ONCE', 2):
            self.assertEqual(
                {rowid: before[rowid] for rowid in (1, 2, 5)},
                database.items_at([1, 2, 9, 5]))
        database.items(4)
        self.assertEqual({3: before[3], 5: before[5]},
                         database.items_at([5, 3]))

    def test_what_may_be_written_in_the_same_tick_is_looked_at_again(self):
        database, add = self.followed_one()
        directory, = (each for each, _ in self.databases)
        for tick, state in (100, self.assertIsNone), (
                -100, self.assertIsNotNone):
            with mock.patch.object(databases, 'TICK', tick):
                self.databases.refresh()
                state(self.databases.state(directory))

    def test_points_are_stored_together_and_are_no_news(self):
        database, add = self.followed_one()
        directory, = (each for each, _ in self.databases)
        with mock.patch.object(databases, 'TICK', -100):
            self.databases.refresh()
            database.items(-1)
            before = self.databases.state(directory)
            for task in ('paris', 'oslo', '.repair'):
                database.save_point(task, 1)
            with mock.patch.object(
                    ContainerBroker, 'merge_syncs', autospec=True,
                    side_effect=ContainerBroker.merge_syncs) as merge:
                self.databases.flush(1000)
                self.assertEqual(0, merge.call_count)
                self.databases.flush()
                self.databases.flush()
                self.assertEqual(1, merge.call_count)
            self.databases.refresh()
            self.assertEqual(before, self.databases.state(directory))
            add(1)
            self.databases.refresh()
            self.assertNotEqual(before, self.databases.state(directory))
        again = Databases(self.devices_dir, False, 'rome', self.logger,
                          self.mode_of)
        again.scan()
        (_, stored), = again
        self.assertEqual([1, 1, 1, -1], [
            stored.point(task) for task in ('paris', 'oslo', '.repair', 'x')])

    def test_what_is_written_beside_the_points_is_news(self):
        database, add = self.followed_one()
        directory, = (each for each, _ in self.databases)
        with mock.patch.object(databases, 'TICK', -100):
            self.databases.refresh()
            database.items(-1)
            before = self.databases.state(directory)
            add(1)
            database.save_point('paris', 1)
            self.databases.flush()
            self.databases.refresh()
            self.assertNotEqual(before, self.databases.state(directory))
            self.assertEqual(2, len(database.items(-1)))

    def test_a_directory_is_looked_into_when_it_has_changed(self):
        database, add = self.followed_one()
        with mock.patch.object(databases, 'TICK', -100), mock.patch.object(
                databases, 'state_of', side_effect=databases.state_of
                ) as look:
            for number in range(3):
                for _ in range(3):
                    self.databases.refresh()
                self.assertEqual(number + 1, look.call_count)
                add(number + 1)
            with mock.patch.object(databases, 'QUIET', 0):
                self.databases.refresh()
                self.databases.refresh()
                self.assertEqual(5, look.call_count)

    def test_a_pending_file_is_looked_at_each_time(self):
        database, add = self.followed_one()
        with open(database.broker.pending_file, 'w'):
            pass
        with mock.patch.object(databases, 'TICK', -100), mock.patch.object(
                databases, 'state_of', side_effect=databases.state_of
                ) as look:
            for _ in range(3):
                self.databases.refresh()
            self.assertEqual(3, look.call_count)

    def test_of_all_shards_of_a_container_is_asked_once(self):
        self.enable()
        for name in 's1', 's2':
            self.make_shard(name, 'c')
        self.assertEqual(2, len(self.followed()))
        self.assertEqual([(ACCOUNT, 'c')], self.asked)
