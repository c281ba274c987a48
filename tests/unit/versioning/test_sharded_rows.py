# SPDX-License-Identifier: Apache-2.0
"""Rows of containers that are sharded, and rows by way of real sockets."""

from types import SimpleNamespace

from swift.common.utils import ShardRange, Timestamp

from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.core.row_data import Row
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.rows.rows import (
    Query,
    Rows,
    RowsUnavailable,
)
from swift_lightsync.versioning.strategies.read_repair import ReadRepair
from swift_lightsync.versioning.strategies.write_repair import WriteRepair
from tests.unit.sync.fixtures import served
from tests.unit.versioning.fakes import NOW, PATIENCE, Ring, SiteCase

T = int(NOW) * 100000
SHARDS = '.shards_a'


def row(name, ticks=0, **fields):
    return Row(name, Stamp(T + ticks, 0xfe00000001), 3, etag='abc', **fields)


class ShardedCase(SiteCase):

    container = hidden_container('c')
    account = 'a'

    def setUp(self):
        super().setUp()
        self.rows = self.north.rows()

    def broker(self, server, account=None, container=None):
        return server.app._get_container_broker(
            'sda', '0', account or self.account, container or self.container)

    def ranges(self, bounds, root=None, state=ShardRange.ACTIVE):
        ends = [''] + list(bounds) + ['']
        return [ShardRange(
            '%s/%s-%d' % (SHARDS, root or self.container, number),
            Timestamp(NOW + 1), lower, upper, state=state)
            for number, (lower, upper) in enumerate(zip(ends, ends[1:]))]

    def shard(self, *bounds, servers=None, until='sharded'):
        """As the sharder does, after it has moved the rows."""
        ranges = self.ranges(bounds)
        servers = self.north.servers if servers is None else servers
        for each in ranges:
            for server in servers:
                self.north.ask(server, 'PUT', '/' + each.name)
        for server in servers:
            broker = self.broker(server)
            rows = broker.get_objects(include_deleted=None)
            broker.merge_shard_ranges(ranges)
            broker.enable_sharding(Timestamp(NOW + 2))
            assert broker.set_sharding_state()
            for each in ranges:
                self.broker(server, SHARDS, each.container).merge_items(
                    [dict(item) for item in rows if item['name'] in each])
            if until == 'sharded':
                assert broker.set_sharded_state()

    def held(self, container, account=SHARDS):
        """The names that replicas of a container hold, one list for each."""
        return [[item['name'] for item in self.broker(
            server, account, container).get_objects(include_deleted=False)]
            for server in self.north.servers]


class TestShardedRows(ShardedCase):

    names = ['\0V\0' + letter for letter in 'abcdefgh']

    def write(self, *names, ticks=0):
        self.rows.write(hidden_rows=[row(name, ticks) for name in names])

    def test_rows_are_written_to_the_shard_of_their_name(self):
        self.shard('\0V\0c', '\0V\0f')
        self.write(*self.names)
        shards = [self.held('%s-%d' % (self.container, number))[0]
                  for number in range(3)]
        self.assertEqual([self.names[:3], self.names[3:6], self.names[6:]],
                         shards)

    def test_what_was_written_before_and_after_is_read(self):
        self.write(*self.names[::2])
        self.shard('\0V\0c', '\0V\0f')
        self.write(*self.names[1::2])
        for options, expected in (
                ({}, self.names), ({'limit': 4}, self.names[:4]),
                ({'reverse': True}, self.names[::-1]),
                ({'reverse': True, 'limit': 3}, self.names[:4:-1]),
                ({'marker': '\0V\0b', 'limit': 5}, self.names[2:7]),
                ({'end_marker': '\0V\0g'}, self.names[:6]),
                ({'prefix': '\0V\0f'}, ['\0V\0f']),
                ({'prefix': '\0V\0f', 'exact': True}, ['\0V\0f']),
                ({'prefix': '\0V\0', 'exact': True}, [])):
            with self.subTest(**options):
                found, = self.rows.read(Query(True, **options))
                self.assertEqual(expected, [each.name for each in found])

    def test_a_query_goes_to_the_shards_that_may_have_it(self):
        self.write(*self.names)
        self.shard('\0V\0c', '\0V\0f')
        with self.north.network.counted() as count:
            self.rows.read(Query(True, '\0V\0d', exact=True))
        self.assertEqual({
            '/a/' + self.container, '/%s/%s-1' % (SHARDS, self.container)},
            {path for _, path in count.sent})

    def test_each_shard_needs_its_majority(self):
        self.shard('\0V\0c')

        def spoil(req):
            if SHARDS in req.path_info:
                raise ConnectionRefusedError()
        for server in self.north.servers[:2]:
            server.spoil = spoil
        with self.assertRaises(RowsUnavailable) as caught:
            self.write('\0V\0d')
        self.assertEqual('/%s/%s-1' % (SHARDS, self.container),
                         caught.exception.container)
        with self.assertRaises(RowsUnavailable):
            self.rows.read(Query(True))

    def test_a_replica_that_does_not_know_yet_is_read_too(self):
        # it has taken a row that no shard has
        self.write(*self.names[:4])
        self.shard('\0V\0c', servers=self.north.servers[:1])
        for server in self.north.servers[1:]:
            for number in range(2):
                self.north.ask(server, 'PUT', '/%s/%s-%d' % (
                    SHARDS, self.container, number))
        self.write('\0V\0e')
        for down in self.north.servers[1:]:
            down.refuse()
            found, = self.rows.read(Query(True))
            self.assertEqual(self.names[:5], [each.name for each in found])
            down.recover()

    def test_a_container_that_is_being_sharded_is_read_whole(self):
        self.write(*self.names[:4])
        self.shard('\0V\0c', until='sharding')
        self.write(*self.names[4:])
        found, = self.rows.read(Query(True))
        self.assertEqual(self.names, [each.name for each in found])

    def test_shards_of_shards(self):
        self.shard('\0V\0d')
        self.account, self.container = SHARDS, self.container + '-0'
        self.shard('\0V\0b')
        self.write(*self.names)
        found, = self.rows.read(Query(True))
        self.assertEqual(self.names, [each.name for each in found])


class TestShardedVersions(ShardedCase):

    def test_objects_go_on(self):
        for kind, letter in ((WriteRepair, 'V'), (ReadRepair, 'R')):
            with self.subTest(letter):
                self.north.container = letter
                self.container = hidden_container(letter)
                for name in (letter, self.container):
                    self.north.make_container(name)
                strategy = self.north.strategy(kind)
                made = [self.north.put(strategy, name) for name in 'abab']
                self.shard('\0%s\0a' % letter, '\0%s\0b' % letter)
                self.assertEqual(made[2], strategy.latest('a'))
                made += [self.north.put(strategy, name) for name in 'ab']
                self.assertEqual(made[::2][::-1], strategy.history('a'))
                self.assertEqual(made[1::2][::-1], strategy.history('b'))
                strategy.purge('b', made[5].version.id)
                self.assertEqual(made[3], strategy.latest('b'))


class TestSockets(SiteCase):
    """The connection that is no fake."""

    def rows_of(self, port):
        nodes = [{'id': 0, 'ip': '127.0.0.1', 'port': port, 'device': 'sda'}]
        return Rows(SimpleNamespace(
            container_ring=Ring(nodes), conn_timeout=PATIENCE,
            node_timeout=PATIENCE), self.logger, 'a', 'c')

    def test_rows_go_out_and_come_back(self):
        with served(self.north.servers[0].app) as port:
            rows = self.rows_of(port)
            written = [row('\0V\0ü/ %2F?&=+\0x', content_type='a/b;c="ü"'),
                       row('\0V\0ü/ %2F?&=+\0y')]
            rows.write([row('ü?')], written)
            found = rows.read(
                Query(True, '\0V\0ü/ %2F?&=+\0'),
                Query(True, written[1].name, exact=True),
                Query(True, marker=written[0].name), Query(False))
            self.assertEqual(
                [written, written[1:], written[1:], [row('ü?')]], found)
            rows.write([row('ü?', 1, deleted=True)])
            self.assertEqual([[]], rows.read(Query(False)))

    def test_a_server_that_is_not_there_is_no_answer(self):
        with served(self.north.servers[0].app) as port:
            pass
        rows = self.rows_of(port)
        with self.assertRaises(RowsUnavailable) as caught:
            rows.read(Query(True))
        self.assertEqual([0], caught.exception.statuses)
        self.assertIn('refused', ' '.join(self.logger.at('WARNING')).lower())
