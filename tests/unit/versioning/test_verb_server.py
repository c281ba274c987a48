# SPDX-License-Identifier: Apache-2.0
"""The verb VERSION on a real container server with a real database."""

import json
import logging
import os
import shutil
import sqlite3
import tempfile
import time
from dataclasses import replace
from functools import partial
from glob import glob
from random import getrandbits
from unittest import mock
from urllib.parse import quote

from swift.common.swob import Request
from swift.common.utils import ShardRange, Timestamp

from swift_lightsync.container_server import ContainerController
from swift_lightsync.versioning.core import verb
from swift_lightsync.versioning.core.heads import purge_rows
from swift_lightsync.versioning.core.row_data import (
    DELETE_MARKER,
    UNUSED,
    VERSIONS,
    Entry,
    Row,
    entry_of,
    hidden_container,
    listed_of,
    listing_name,
    row_of,
    versions_of,
)
from swift_lightsync.versioning.core.stamp import SiteClock, Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.server import counts, row_table
from tests.unit.sync.fixtures import SwiftTestCase

NOW = 1700000000.0
HIDDEN = hidden_container('c')


class VerbCase(SwiftTestCase):

    def setUp(self):
        super().setUp()
        self.devices = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.devices)
        os.makedirs(os.path.join(self.devices, 'sda'))
        self.server = ContainerController({
            'devices': self.devices, 'mount_check': 'false',
            'fallocate_reserve': '0'}, logger=self.logger)
        self.clock = SiteClock(0, 60, partial(getrandbits, 32))
        self.seconds = NOW
        self.ask('PUT', HIDDEN)


    def ask(self, method, container, body=None, **headers):
        return Request.blank(
            quote('/sda/0/a/' + container), method=method, body=body,
            headers={'X-Timestamp': '%.5f' % NOW,
                     'X-Backend-Allow-Reserved-Names': 'true',
                     'X-Backend-Storage-Policy-Index': '0',
                     **headers}).get_response(self.server)

    def version(self, obj='', rows=(), listed=True, **fields):
        response = self.ask('VERSION', HIDDEN, verb.encoded(verb.Request(
            obj, tuple(map(verb.WireRow.of, rows)), listed=listed,
            **fields)))
        self.assertEqual(200, response.status_int, response.body)
        return verb.Answer.parse(response.body, verb.MAX_ANSWER)

    def entry(self, obj='foo', site='rome', deleted=False, stamp=None,
              vector=Vector(), **fields):
        self.seconds += 1
        stamp = stamp or self.clock.tick(self.seconds)
        return Entry(obj, Version(stamp, site, vector, deleted), 7,
                     'e' * 32, DELETE_MARKER if deleted else 'text/plain',
                     **fields)

    def put(self, entry, **fields):
        return self.version(entry.object, [row_of(entry)], **fields)

    def listing(self, obj='foo'):
        """The listing row, as (id or None, deleted)."""
        row, = self.version(names=(listing_name(obj),)).rows or (None,)
        found = row and listed_of(row.etag)
        return row and (found and found.id, row.deleted)

    def head(self, obj='foo'):
        head = self.version(obj).head
        return head and entry_of(head.row).version.id

    def count(self):
        found = self.ask('HEAD', HIDDEN).headers
        return (int(found['X-Container-Object-Count']),
                int(found['X-Container-Bytes-Used']))


class TestMerging(VerbCase):

    def test_the_answer_has_the_heads_before_and_after(self):
        first, second = self.entry(), self.entry()
        answer = self.put(first)
        self.assertIsNone(answer.before)
        self.assertEqual(first.version.id,
                         entry_of(answer.head.row).version.id)
        answer = self.put(second)
        self.assertEqual(first.version.id,
                         entry_of(answer.before.row).version.id)
        self.assertEqual(second.version.id,
                         entry_of(answer.head.row).version.id)

    def test_an_older_version_that_comes_late_is_not_the_head(self):
        first, second = self.entry(), self.entry()
        self.put(second)
        answer = self.put(first)
        self.assertEqual(second.version.id,
                         entry_of(answer.head.row).version.id)
        self.assertEqual((second.version.id, False), self.listing())

    def test_a_purge_brings_back_the_version_before(self):
        first, second = self.entry(), self.entry()
        self.put(first)
        self.put(second)
        self.version('foo', purge_rows(second, self.clock.tick(NOW + 9),
                                       True), stamp=Stamp(1))
        self.assertEqual(first.version.id, self.head())
        self.assertEqual((first.version.id, False), self.listing())

    def test_what_is_purged_does_not_come_back(self):
        entry = self.entry()
        self.put(entry)
        self.version('foo', purge_rows(entry, self.clock.tick(NOW + 9),
                                       True))
        self.put(entry)
        self.assertIsNone(self.head())
        self.assertEqual((None, True), self.listing())

    def test_a_purge_record_keeps_a_version_away_without_its_row(self):
        entry = self.entry()
        rows = purge_rows(entry, self.clock.tick(NOW + 9), True)
        self.version('foo', rows[1:])
        self.put(entry)
        self.assertIsNone(self.head())

    def test_a_delete_marker_takes_the_object_out_of_listings(self):
        self.put(self.entry())
        marker = self.entry(deleted=True)
        self.put(marker)
        self.assertEqual(marker.version.id, self.head())
        self.assertEqual((marker.version.id, True), self.listing())

    def test_after_a_purge_a_newer_write_wins_the_listing(self):
        first, second = self.entry(), self.entry()
        self.put(first)
        self.put(second)
        self.version('foo', purge_rows(second, self.clock.tick(NOW + 9),
                                       False), stamp=self.clock.tick(NOW))
        third = self.entry()
        self.put(third)
        self.assertEqual((third.version.id, False), self.listing())

    def test_read_repair_has_no_listing_row(self):
        self.put(self.entry(), listed=False)
        self.assertIsNone(self.listing())

    def test_a_version_has_seen_all_that_the_replica_holds(self):
        rome = self.entry()
        paris = self.entry(site='paris')
        self.put(rome)
        self.put(replace_vector(paris, {'paris': paris.version.id}))
        third = self.entry()
        head = entry_of(self.put(third).head.row)
        self.assertEqual(Vector({'rome': third.version.id,
                                 'paris': paris.version.id}),
                         head.version.vector)

    def test_the_null_versions_of_an_object_are_found(self):
        entries = [self.entry(null=number != 1) for number in range(3)]
        for each in entries:
            self.put(each)
        for reverse in (False, True):
            page = self.version(page=verb.Page(
                versions_of('foo'), nulls=True, reverse=reverse)).page
            self.assertEqual(
                [entries[0].version.id, entries[2].version.id][
                    ::1 if reverse else -1],
                [entry_of(row.row).version.id for row in page])

    def test_no_container_is_deleted_with_versions_below_a_marker(self):
        first, marker = self.entry(), self.entry(deleted=True)
        later = {'X-Timestamp': '%.5f' % (NOW + 50)}
        for entry in first, marker:
            self.put(entry)
        self.assertEqual(0, self.count()[0])
        self.assertEqual(409, self.ask('DELETE', HIDDEN, **later).status_int)
        self.assertEqual(marker.version.id, self.head())
        for entry in first, marker:
            self.version('foo', purge_rows(
                entry, self.clock.tick(NOW + 30), True))
        # What is left are records of purges.
        self.assertEqual(409, self.ask('DELETE', HIDDEN, **later, **{
            UNUSED: 'true'}).status_int)
        self.assertEqual(204, self.ask('DELETE', HIDDEN, **later).status_int)

    def test_one_without_rows_is_deleted_as_unused(self):
        self.assertEqual(204, self.ask('DELETE', HIDDEN, **{
            'X-Timestamp': '%.5f' % (NOW + 50), UNUSED: 'true'}).status_int)


def replace_vector(entry, stamps):
    return replace(entry, version=replace(entry.version,
                                          vector=Vector(stamps)))


class TestPages(VerbCase):

    def test_pages_go_by_name_both_ways(self):
        entries = [self.entry(obj) for obj in ('a', 'b', 'c')]
        for entry in entries:
            self.put(entry)
        names = [row_of(entry).name for entry in entries]

        def page(**fields):
            return [row.name for row in self.version(
                page=verb.Page(VERSIONS, **fields)).page]
        self.assertEqual(names, page())
        self.assertEqual(names[::-1], page(reverse=True))
        self.assertEqual(names[1:2], page(marker=names[0], limit=1))
        self.assertEqual(names[:1], page(end_marker=names[1]))
        self.assertEqual(names[1:2], page(marker=names[2], reverse=True,
                                          limit=1))

    def test_a_page_of_heads_has_the_newest_of_each_object(self):
        newest = {}
        for obj in ('a', 'b', 'a', 'c', 'b', 'b\x01'):
            newest[obj] = self.entry(obj)
            self.put(newest[obj])
        wanted = [row_of(newest[obj]).name
                  for obj in ('a', 'b', 'b\x01', 'c')]

        def heads(**fields):
            return [row.name for row in self.version(page=verb.Page(
                VERSIONS, heads=True, **fields)).page]
        self.assertEqual(wanted, heads())
        self.assertEqual(wanted[::-1], heads(reverse=True))
        self.assertEqual(wanted[:2], heads(limit=2))
        self.assertEqual(wanted[1:2], heads(
            marker=versions_of('b\x01'), reverse=True, limit=1))


class TestCounts(VerbCase):

    def test_listings_count_and_versions_have_the_bytes(self):
        first, second = self.entry(), self.entry()
        self.put(first)
        self.put(second)
        self.put(self.entry('bar'))
        self.assertEqual((2, 21), self.count())
        self.version('foo', purge_rows(second, self.clock.tick(NOW + 9),
                                       True))
        self.assertEqual((2, 14), self.count())
        self.put(self.entry(deleted=True))
        self.assertEqual(1, self.count()[0])

    def test_read_repair_counts_versions(self):
        for _ in range(3):
            self.put(self.entry(), listed=False)
        self.assertEqual(3, self.count()[0])

    def test_what_counts_is_what_the_mode_of_the_container_says(self):
        for _ in range(2):
            self.put(self.entry())
        for mode, count in ('write-repair', 1), ('read-repair', 2):
            self.seconds += 1
            self.ask('POST', HIDDEN, **{
                row_table.MODE: mode, 'X-Timestamp': '%.5f' % self.seconds})
            # As daemons and readers do, who write no listing row.
            self.version(rows=[Row('\0P\0foo\0%s' % mode, Stamp(5))],
                         listed=False)
            self.assertEqual(count, self.count()[0])

    def test_a_large_database_counts_rows_for_the_sharder(self):
        with mock.patch.object(counts, 'MOST', 3):
            for _ in range(4):
                self.put(self.entry())
            self.assertEqual(5, self.count()[0])

    def test_the_hash_of_the_rows_is_swifts(self):
        self.put(self.entry())
        path, = glob(self.devices + '/sda/containers/0/*/*/*.db')
        connection = sqlite3.connect(path)
        self.addCleanup(connection.close)
        sql, = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name = "
            "'object_insert_policy_stat'").fetchone()
        self.assertIn('chexor(hash, new.name, new.created_at)', sql)


class TestRefusals(VerbCase):

    def test_the_verb_is_one_more_than_swifts(self):
        self.assertEqual(
            set('OPTIONS GET POST PUT DELETE HEAD REPLICATE UPDATE VERSION'
                .split()), set(self.server.allowed_methods))

    def refused(self, status, body, container=HIDDEN):
        response = self.ask('VERSION', container, body)
        self.assertEqual(status, response.status_int)
        return response.body

    def test_a_wrong_clock_is_refused_and_told(self):
        for ahead, said in (100, 's ahead'), (-100, 's behind'):
            body = json.loads(self.refused(409, verb.encoded(verb.Request(
                clock=time.time() + ahead))))
            self.assertLess(abs(body['clock'] - time.time()), 50)
            self.assertIn(said, body['error'])
        self.version(clock=time.time())

    def test_nonsense_is_refused(self):
        for body in (b'', b'{', b'[]', b'{"rows": 1}', b'{"page": {}, '
                     b'"names": [1]}', json.dumps({'rows': [{
                         'name': VERSIONS + 'foo', 'stamp': '1.00000',
                         'size': 1, 'type': '', 'etag': '',
                         'deleted': False}]}).encode('ascii')):
            with self.subTest(body):
                self.refused(400, body)

    def test_only_hidden_containers_have_versions(self):
        self.ask('PUT', 'c')
        self.refused(404, b'{}', 'c')
        self.refused(404, b'{}', hidden_container('other'))

    def test_a_full_disk_takes_no_rows_and_tells_the_head(self):
        entry = self.entry()
        self.put(entry)
        with mock.patch.object(self.server, 'check_free_space',
                               return_value=False):
            self.refused(507, verb.encoded(verb.Request(
                'foo', (verb.WireRow.of(row_of(self.entry())),))))
            self.assertEqual(entry.version.id, self.head())


class TestLog(VerbCase):
    """What of the verb is in the log of a container server."""

    def logged(self, container, debug=False):
        before = len(self.logger.lines)
        with mock.patch.object(self.logger, 'isEnabledFor',
                               lambda level: debug or level > logging.DEBUG):
            self.ask('VERSION', container, b'{}')
        return [line for _, line in self.logger.lines[before:]
                if '"VERSION /sda/0/a/' in line]

    def test_what_succeeds_is_logged_for_debugging(self):
        self.assertEqual([], self.logged(HIDDEN))
        self.assertIn(' 200 ', self.logged(HIDDEN, debug=True)[0])

    def test_what_is_refused_is_logged(self):
        self.assertIn(' 404 ', self.logged('c')[0])

    def test_what_is_wrong_with_the_server_is_logged(self):
        with mock.patch.object(self.server, '_asked', side_effect=OSError):
            self.assertIn(' 500 ', self.logged(HIDDEN)[0])

    def test_names_that_are_no_text_are_refused(self):
        self.assertEqual(412, Request.blank(
            '/sda/0/a/%ff', method='VERSION', body=b'{}').get_response(
                self.server).status_int)


class TestShards(VerbCase):

    def shard(self, lower='', upper=''):
        now = Timestamp(NOW + 5)
        broker = self.server._get_container_broker('sda', '0', 'a', HIDDEN)
        broker.merge_shard_ranges([ShardRange(
            '.shards_a/s', now, lower, upper, state=ShardRange.CREATED)])
        return broker

    def test_rows_of_a_shard_are_left_to_it(self):
        old = self.entry()
        self.put(old)
        self.shard()
        new = self.entry()
        answer = self.put(new)
        self.assertEqual((row_of(new).name,), answer.left)
        self.assertEqual(['.shards_a/s'],
                         [each.name for each in answer.shards])
        self.assertEqual(old.version.id,
                         entry_of(answer.head.row).version.id)

    def test_shards_count_rows_for_the_sharder(self):
        self.ask('PUT', 'shard', **{
            'X-Container-Sysmeta-Shard-Quoted-Root': quote('a/' + HIDDEN)})
        entry = self.entry()
        self.assertEqual(200, self.ask('VERSION', 'shard', verb.encoded(
            verb.Request('foo', (verb.WireRow.of(row_of(entry)),),
                         listed=True))).status_int)
        broker = self.server._get_container_broker('sda', '0', 'a', 'shard')
        self.assertEqual(1, broker.get_info()['object_count'])

    def test_only_shards_that_have_the_names_are_named(self):
        self.shard(upper='\0A')
        self.assertEqual((), self.version('foo').shards)

    def test_while_it_is_sharded_both_databases_are_read(self):
        old = self.entry()
        self.put(old)
        broker = self.shard()
        broker.merge_shard_ranges([ShardRange(
            'a/' + HIDDEN, Timestamp(NOW + 5), state=ShardRange.ACTIVE)])
        broker.enable_sharding(Timestamp(NOW + 6))
        self.assertTrue(broker.set_sharding_state())
        self.assertEqual(old.version.id, self.head())
        self.put(Entry('bar', self.entry().version))
        self.assertFalse(self.version('foo').only_shards)


def test_rows_keep_what_they_say():
    row = Row('n', Stamp(5, 7), 3, 'text/plain', 'e', True)
    assert verb.WireRow.of(row).row == row
