# SPDX-License-Identifier: Apache-2.0
"""The calls of the index's client, and what it makes of the answers."""

import json
import subprocess
import sys
from unittest import mock

from swift.common.concurrency import GreenPile, Timeout, tpool

from swift_losf.errors import IndexUnavailable
from swift_losf.format.values import Location
from swift_losf.index import channel as index_channel
from swift_losf.index import grpc_reply, grpc_unary, index_pb2
from swift_losf.index.channel import MAX_CONNECTIONS
from swift_losf.index.index_client import IndexClient, Statistics, Volume
from tests.unit.losf.clients import (
    DEADLINE,
    HASH,
    PLACE,
    TIMEOUT,
    StubTestCase,
)
from tests.unit.losf.index_stub import LARGE, MALFORMED


class TestCalls(StubTestCase):

    def setUp(self):
        super().setUp()
        for partition in self.client.list_partitions():
            for suffix in self.client.list_partition(partition):
                self.client.quarantine(partition, suffix=suffix)

    def test_what_is_registered_is_listed_by_name(self):
        other = Location(2, 8192, 1, 2, 3)
        self.assertEqual([('b', PLACE)],
                         self.client.register(1, HASH, 'b', PLACE, 4096))
        self.assertEqual([('a', other), ('b', PLACE)],
                         self.client.register(1, HASH, 'a', other, 9))
        self.assertEqual([('a', other), ('b', PLACE)],
                         self.client.list_hash(1, HASH))
        self.assertEqual([], self.client.list_hash(2, HASH))

    def test_the_largest_values_arrive(self):
        place = Location(2 ** 63 - 1, 512 * (2 ** 54 - 1), 2 ** 63 - 1,
                         2 ** 20, 255)
        self.assertEqual([('n' * 255, place)], self.client.register(
            2 ** 32 - 1, b'\xff' * 16, 'n' * 255, place, 2 ** 63))

    def test_names_are_removed(self):
        for name in ('a', 'b', 'c'):
            self.client.register(1, HASH, name, PLACE, 0)
        self.assertEqual((['b'], 2), self.client.remove(1, HASH, ['b', 'x']))
        self.assertEqual((['a', 'c'], 0), self.client.remove(1, HASH))

    def test_a_hash_or_a_suffix_is_put_into_quarantine(self):
        before = len(list(self.client.list_quarantine()))
        for number in range(3):
            self.client.register(
                1, b'%014d\x00\x01' % number, 'a', PLACE, 0)
        self.assertEqual(1, self.client.quarantine(1, b'%014d\x00\x01' % 1))
        self.assertEqual(2, self.client.quarantine(1, suffix=0x001))
        quarantined = list(self.client.list_quarantine())[before:]
        self.assertEqual([(1, b'%014d\x00\x01' % number, 'a', PLACE)
                          for number in (1, 0, 2)], quarantined)

    def test_quarantine_takes_a_hash_or_a_suffix(self):
        for values in ({}, {'object_hash': HASH, 'suffix': 1}):
            with self.assertRaisesRegex(ValueError, 'a hash or a suffix'):
                self.client.quarantine(1, **values)

    def test_a_file_gets_another_name(self):
        self.client.register(1, HASH, 'a', PLACE, 0)
        self.assertEqual([('b', PLACE)],
                         self.client.rename(1, HASH, 'a', 'b'))

    def test_suffixes_are_listed_over_all_pages(self):
        hashes = [b'%014d\x61\x23' % number for number in range(7)]
        for each in hashes:
            self.client.register(1, each, 'x', PLACE, 0)
        for limit in (0, 3, 7, 100):
            self.assertEqual(
                [(each, ['x']) for each in hashes],
                list(self.client.list_suffix(1, 0x123, limit)))
        self.assertEqual([0x123], self.client.list_partition(1))
        self.assertEqual([1], self.client.list_partitions())
        self.assertEqual([], list(self.client.list_suffix(1, 0x124)))

    def test_suffixes_are_listed_from_one_on(self):
        hashes = [b'%014d' % (9 - number) + bytes([0x60 + number, 0x23])
                  for number in range(9)]
        for each in hashes:
            self.client.register(1, each, 'x', PLACE, 0)
        expected = [(each, ['x']) for each in hashes]
        self.assertEqual((expected, False), self.client.list_onward(1, 0, 9))
        self.assertEqual((expected[2:5], True),
                         self.client.list_onward(1, 0x223, 3))
        self.assertEqual(([], False), self.client.list_onward(1, 0x824))

    def test_hashes_are_listed_over_all_pages(self):
        hashes = [(1, b'%016d' % number, {
            'a': Location(1, 4096 + 512 * number, 1, 2, 3),
            'b': Location(1, 65536 + 512 * number, 4, 5, 6)})
            for number in range(5)]
        for partition, hash_, files in hashes:
            for name, location in files.items():
                self.client.register(partition, hash_, name, location, 0)
        found, pages, after, more = [], 0, b'', True
        while more:
            page, after = self.client.list_files((0, 0), (2 ** 62, 0), after)
            found += page
            pages += 1
            more = bool(after)
        self.assertEqual(hashes, found)
        self.assertEqual(3, pages)

    def malformed(self, message, files, after=b'', **reply):
        listing = index_pb2.FileListing(files=files, **reply)
        with mock.patch.object(self.client, '_call', return_value=listing), \
                self.assertRaisesRegex(IndexUnavailable, message):
            self.client.list_files((2, 4096), (3, 0), after)

    def file(self, hash_=HASH, **place):
        return index_pb2.File(partition=1, hash=hash_, name='x',
                              location=index_pb2.Location(**place))

    def test_malformed_pages_are_said(self):
        for volume, offset in ((1, 8192), (2, 0), (3, 0), (3, 4096)):
            self.malformed('x stands elsewhere', [self.file(
                volume=volume, offset=offset)])
        self.malformed('a hash that is not of 16 bytes', [self.file(
            b'x', volume=2, offset=4096)])
        self.malformed('without a location', [index_pb2.File(
            partition=1, hash=HASH, name='x')])
        self.malformed('pages out of order', [], b'b', next=b'b')

    def test_volumes_are_reserved_and_listed(self):
        number = self.client.new_volume(2)
        self.assertIn(Volume(number, 2, 4096, 0, 0, 0),
                      self.client.list_volumes())

    def test_statistics_are_had(self):
        self.client.register(1, HASH, 'a', PLACE, 0)
        self.assertEqual(Statistics(1, 0, 0, 0, 0, 7, 0),
                         self.client.statistics())

    def test_what_the_server_refuses_is_said_with_its_reason(self):
        error = self.assert_unavailable(
            '%s: INTERNAL: no … luck$' % self.server.path,
            self.client.register, 1, HASH, 'INTERNAL', PLACE, 0)
        self.assertEqual(507, error.status_int)

    def test_a_server_that_is_not_ready_yet_is_a_503(self):
        error = self.assert_unavailable(
            'UNAVAILABLE', self.client.register, 1, HASH, 'UNAVAILABLE',
            PLACE, 0)
        self.assertEqual(503, error.status_int)

    def test_a_method_that_the_server_lacks_is_said(self):
        channel = index_channel.Channel(
            self.server.path, TIMEOUT * 10, 1, lambda text: None)
        self.assert_unavailable(
            'UNIMPLEMENTED', channel.call, b'/losf.Index/Rot13', b'')

    def test_a_connection_serves_on_after_a_refusal(self):
        made = self.count_connections()
        for _ in range(3):
            self.assert_unavailable('NOT_FOUND', self.client.register, 1,
                                    HASH, 'NOT_FOUND', PLACE, 0)
        self.assertEqual(1, len(made))

    def test_malformed_replies_are_said(self):
        for name, reason in (
                ('no-protobuf', 'malformed reply to Register: '),
                ('other-hash', 'files of another hash'),
                ('no-location', 'x without a location'),
                ('no-name', 'without a name')):
            self.assertIn(name, MALFORMED)
            self.assert_unavailable(reason, self.client.register, 1, HASH,
                                    name, PLACE, 0)

    def test_a_large_reply_arrives_and_one_too_large_is_refused(self):
        limit = 3 * 2 ** 20
        with mock.patch.object(grpc_reply, 'MAX_REPLY', limit):
            self.assert_unavailable(
                'malformed reply to Register: ', self.client.register, 1,
                HASH, LARGE, Location(1, 0, limit - 5, 1, 1), 0)
            self.assert_unavailable(
                'longer than %d bytes' % limit, self.client.register, 1,
                HASH, LARGE, Location(1, 0, limit, 1, 1), 0)
        self.client.statistics()

    def test_a_large_request_arrives(self):
        names = ['%05d' % number + 'x' * 200 for number in range(3000)]
        self.client.register(1, HASH, names[-1], PLACE, 0)
        self.assertEqual((names[-1:], 0),
                         self.client.remove(1, HASH, names))

    def count_connections(self):
        """A list of the connections that a new client makes."""
        self.client = IndexClient(self.server.path, TIMEOUT * 10)
        made = []
        real = index_channel.UnaryConnection

        def counted(sock):
            made.append(real(sock))
            return made[-1]
        patcher = mock.patch.object(
            index_channel, 'UnaryConnection', counted)
        patcher.start()
        self.addCleanup(patcher.stop)
        return made

    def test_calls_one_after_the_other_share_a_connection(self):
        made = self.count_connections()
        for _ in range(20):
            self.client.statistics()
        self.assertEqual(1, len(made))

    def test_a_process_has_no_more_connections_than_the_limit(self):
        made = self.count_connections()
        pile = GreenPile(2 * MAX_CONNECTIONS)
        for _ in range(4 * MAX_CONNECTIONS):
            pile.spawn(self.client.statistics)
        self.assertEqual(4 * MAX_CONNECTIONS, len(list(pile)))
        self.assertLessEqual(len(made), MAX_CONNECTIONS)

    def test_a_connection_that_has_served_its_time_is_replaced(self):
        made = self.count_connections()
        with mock.patch.object(grpc_unary, '_MAX_STREAM', 5):
            for _ in range(6):
                self.client.statistics()
        self.assertEqual(2, len(made))

    def test_a_killed_call_leaves_no_connection_that_is_used_again(self):
        made = self.count_connections()
        for _ in range(20):
            with Timeout(0.0001, False):
                self.client.register(1, HASH, 'x', PLACE, 0)
            self.assertEqual(
                [('y', PLACE)],
                self.client.register(2, HASH, 'y', PLACE, 0))
        for connection in made:
            self.assertEqual(connection.usable,
                             connection._sock.fileno() != -1)

    def test_native_threads_and_greenlets_do_not_share_connections(self):
        made = self.count_connections()
        self.client.statistics()
        tpool.execute(self.client.statistics)
        self.client.statistics()
        tpool.execute(self.client.statistics)
        self.assertEqual(2, len(made))
        self.assertEqual(2, len({type(each._sock) for each in made}))

    def traffic(self, *args):
        run = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'tests.unit.losf.traffic',
             self.server.path] + [str(each) for each in args],
            capture_output=True, text=True, timeout=2 * DEADLINE)
        self.assertEqual((0, ''), (run.returncode, run.stderr))
        return json.loads(run.stdout)

    def test_64_greenlets_threads_and_a_fork_all_get_their_answers(self):
        seen = self.traffic(64, 8, 20)
        self.assertEqual([], seen['failures'])
