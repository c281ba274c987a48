# SPDX-License-Identifier: Apache-2.0
"""The calls of the index's client, and what it makes of the answers."""

import subprocess
import sys
from unittest import mock

from swift.common.concurrency import GreenPile, Timeout, tpool

from swift_losf.errors import IndexUnavailable
from swift_losf.format.values import Location
from swift_losf.index import channel as index_channel
from swift_losf.index import entry_reader, grpc_unary
from swift_losf.index import index_pb2 as pb
from swift_losf.index.channel import MAX_CONNECTIONS, Channel
from swift_losf.index.index_client import IndexClient, Statistics, Volume
from tests.unit.losf.index_world import HASH, IndexTest, location_of
from tests.unit.losf.kv_world import DEADLINE, serve_index

PLACE = location_of('x')


class TestCalls(IndexTest):

    def setUp(self):
        super().setUp()
        self.enterContext(Timeout(2 * DEADLINE))
        self.index = self.open_index()
        serve_index(self, self.layout.socket, self.index)
        self.client = IndexClient(self.layout.socket)

    def enter(self, name='x', hash_=HASH, partition=1):
        return self.client.register(partition, hash_, name, PLACE, 4096)

    def assert_unavailable(self, reason, function, *args):
        with self.assertRaisesRegex(IndexUnavailable, reason):
            function(*args)

    def test_what_is_registered_is_listed_by_name(self):
        other = Location(2, 8192, 1, 2, 1)
        self.assertEqual([('x', PLACE)], self.enter())
        files = [('a', other), ('x', PLACE)]
        self.assertEqual(files,
                         self.client.register(1, HASH, 'a', other, 4096))
        self.assertEqual(files, self.client.list_hash(1, HASH))
        self.assertEqual([], self.client.list_hash(2, HASH))

    def test_the_largest_values_arrive(self):
        place = Location(2 ** 63 - 1, 512 * (2 ** 54 - 1), 2 ** 63 - 1,
                         2 ** 20, 255)
        self.assertEqual([('n' * 255, place)], self.client.register(
            2 ** 32 - 1, b'\xff' * 16, 'n' * 255, place, 2 ** 63 - 1))

    def test_names_are_removed(self):
        for number, name in enumerate('abc', 8):
            self.client.register(1, HASH, name,
                                 location_of(name, 512 * number), 4096)
        self.assertEqual((['b'], 2), self.client.remove(1, HASH, ['b', 'x']))
        self.assertEqual((['a', 'c'], 0), self.client.remove(1, HASH))

    def test_a_hash_or_a_suffix_is_put_into_quarantine(self):
        hashes = [b'%014d\x00\x01' % number for number in range(3)]
        for each in hashes:
            self.enter(hash_=each)
        self.assertEqual(1, self.client.quarantine(1, hashes[1]))
        self.assertEqual(2, self.client.quarantine(1, suffix=0x001))
        with mock.patch.object(entry_reader, 'PAGE', 2):
            self.assertEqual([(1, each, 'x', PLACE) for each in hashes],
                             list(self.client.list_quarantine()))
        for values in ({}, {'object_hash': HASH, 'suffix': 1}):
            with self.assertRaisesRegex(ValueError, 'a hash or a suffix'):
                self.client.quarantine(1, **values)

    def test_a_file_gets_another_name(self):
        self.enter()
        self.assertEqual([('b', PLACE)],
                         self.client.rename(1, HASH, 'x', 'b'))

    def test_suffixes_are_listed_over_all_pages(self):
        hashes = [b'%014d\x61\x23' % number for number in range(7)]
        for each in hashes:
            self.enter(hash_=each)
        for size in (3, 4, 7, 100):
            with mock.patch.object(entry_reader, 'PAGE', size):
                self.assertEqual([(each, ['x']) for each in hashes],
                                 list(self.client.list_suffix(1, 0x123)))
        for expected, *suffixes in (
                (True,), (True, 0x123, 0x123), (True, 0, 0x123),
                (False, 0, 0x122), (False, 0, 0), (False, 0x124)):
            self.assertIs(expected, self.client.has_files(1, *suffixes))
        self.assertIs(False, self.client.has_files(2))
        self.assertEqual([0x123], self.client.list_partition(1))
        self.assertEqual([1], self.client.list_partitions())
        self.assertEqual([], list(self.client.list_suffix(1, 0x124)))

    def test_suffixes_are_listed_from_one_on(self):
        hashes = [b'%014d' % (9 - number) + bytes([0x60 + number, 0x23])
                  for number in range(9)]
        for each in hashes:
            self.enter(hash_=each)
        expected = [(each, ['x']) for each in hashes]
        self.assertEqual((expected, False), self.client.list_onward(1, 0, 9))
        self.assertEqual((expected[2:5], True),
                         self.client.list_onward(1, 0x223, 3))
        self.assertEqual(([], False), self.client.list_onward(1, 0x824))

    def test_hashes_are_listed_over_all_pages(self):
        hashes = [(1, b'%016d' % number, {
            'a': Location(1, 4096 + 512 * number, 1, 2, 1),
            'bcd': Location(1, 65536 + 512 * number, 4, 5, 3)})
            for number in range(5)]
        for partition, hash_, files in hashes:
            for name, location in files.items():
                self.client.register(partition, hash_, name, location, 4096)
        found, pages, after, more = [], 0, b'', True
        with mock.patch.object(entry_reader, 'SEARCHED', 4):
            while more:
                page, after = self.client.list_files(
                    (0, 0), (2 ** 62, 0), after)
                found += page
                pages += 1
                more = bool(after)
        self.assertEqual(hashes, found)
        self.assertEqual(3, pages)

    def assert_malformed(self, message, reply, function, *args):
        if not isinstance(reply, bytes):
            reply = reply.SerializeToString()
        with mock.patch.object(Channel, 'call', return_value=reply):
            self.assert_unavailable(message, function, *args)

    def file(self, hash_=HASH, name='x', **place):
        return pb.File(partition=1, hash=hash_, name=name,
                       location=pb.Location(**place) if place else None)

    def test_malformed_pages_are_said(self):
        for message, file in (
                *(('x stands elsewhere', self.file(volume=volume,
                                                   offset=offset))
                  for volume, offset in (
                      (1, 8192), (2, 0), (3, 0), (3, 4096))),
                ('a hash that is not of 16 bytes',
                 self.file(b'x', volume=2, offset=4096)),
                ('without a location', self.file())):
            self.assert_malformed(message, pb.FileListing(files=[file]),
                                  self.client.list_files, (2, 4096), (3, 0))
        self.assert_malformed(
            'pages out of order', pb.FileListing(next=b'b'),
            self.client.list_files, (2, 4096), (3, 0), b'b')

    def test_malformed_replies_are_said(self):
        for reason, reply in (
                ('malformed reply to Register: ', b'\xff\xff\xff'),
                ('files of another hash', self.file(b'o' * 16, volume=1)),
                ('x without a location', self.file()),
                ('without a name', self.file(name='', volume=1))):
            if not isinstance(reply, bytes):
                reply = pb.Listing(files=[reply])
            self.assert_malformed(reason, reply, self.enter)

    def test_volumes_are_reserved_and_listed(self):
        self.enter()
        self.assertEqual(2, self.client.new_volume(2))
        self.assertEqual([Volume(1, 1, 4096, 1, PLACE.length, 0, 0, 0),
                          Volume(2, 2, 4096, 0, 0, 0, 0, 0)],
                         self.client.list_volumes())

    def test_statistics_are_had(self):
        for hash_ in (HASH, b'q' * 16):
            self.enter(hash_=hash_)
        self.client.quarantine(1, b'q' * 16)
        self.index.adopter.recovered = 7
        self.assertEqual(Statistics(
            1, PLACE.length, 0, 1, 1, 7, 0, 0, 0, 0, 0, 0),
                         self.client.statistics())

    def test_a_connection_serves_on_after_a_refusal(self):
        made = self.count_connections()
        for _ in range(3):
            self.assert_unavailable('NOT_FOUND', self.client.rename, 1, HASH,
                                    'a', 'b')
        self.assertEqual(1, len(made))

    def test_a_large_request_arrives(self):
        names = ['%05d' % number + 'x' * 200 for number in range(3000)]
        self.client.register(1, HASH, names[-1], location_of(names[-1]),
                             4096)
        self.assertEqual((names[-1:], 0),
                         self.client.remove(1, HASH, names))

    def count_connections(self):
        """Return a list that the connections of the client are added to."""
        made = []
        real = index_channel.UnaryConnection

        def counted(sock):
            made.append(real(sock))
            return made[-1]
        self.enterContext(mock.patch.object(
            index_channel, 'UnaryConnection', counted))
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
                self.enter()
            self.assertEqual([('y', PLACE)], self.enter('y', partition=2))
        for connection in made:
            self.assertEqual(connection.usable,
                             connection._sock.fileno() != -1)

    def test_native_threads_and_greenlets_do_not_share_connections(self):
        made = self.count_connections()
        for _ in range(2):
            self.client.statistics()
            tpool.execute(self.client.statistics)
        self.assertEqual(2, len(made))
        self.assertEqual(2, len({type(each._sock) for each in made}))

    def test_64_greenlets_threads_and_a_fork_all_get_their_answers(self):
        run = subprocess.run(
            [sys.executable, '-W', 'ignore', '-m', 'tests.unit.losf.traffic',
             self.layout.socket, '64', '8', '10'],
            capture_output=True, text=True, timeout=2 * DEADLINE)
        self.assertEqual((0, '', '[]'),
                         (run.returncode, run.stderr, run.stdout))
