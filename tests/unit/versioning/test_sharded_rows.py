# SPDX-License-Identifier: Apache-2.0
"""Rows of containers that are sharded, and rows by way of real sockets."""

from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import quote

from swift.common.utils import ShardRange, Timestamp

from swift_lightsync.versioning.core.row_data import (
    Entry,
    Row,
    hidden_container,
    listing_name,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Page, Request, WireRow
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.rows import Rows, RowsUnavailable
from swift_lightsync.versioning.strategies.strategy import (
    ReadRepair,
    WriteRepair,
)
from tests.unit.sync.fixtures import served, wait_for
from tests.unit.versioning.fakes import NOW, PATIENCE, Ring, SiteCase

T = int(NOW) * 100000
SHARDS = '.shards_a'


def row(name, ticks=0, **fields):
    return Row(name, Stamp(T + ticks, 0xfe00000001), 3,
               etag='abc; sv_site=north', **fields)


class ShardedCase(SiteCase):

    container = hidden_container('c')
    account = 'a'

    def setUp(self):
        super().setUp()
        self.rows = self.north.rows()

    def settle(self):
        """Wait until what a majority was enough for is everywhere."""
        wait_for(lambda: not self.north.network.under_way, 'all is answered')

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
        ranges = self.ranges(bounds, state=ShardRange.CREATED if
                             until == 'created' else ShardRange.ACTIVE)
        servers = self.north.servers if servers is None else servers
        for each in ranges:
            for server in servers:
                self.north.ask(server, 'PUT', '/' + each.name, {
                    'X-Container-Sysmeta-Shard-Quoted-Root': quote(
                        'a/' + hidden_container(self.north.container))})
        for server in servers:
            broker = self.broker(server)
            rows = broker.get_objects(include_deleted=None)
            broker.merge_shard_ranges(ranges)
            if until == 'created':
                continue
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

    names = ['\0X\0' + letter for letter in 'abcdefgh']

    def write(self, *names, ticks=0):
        self.rows.write(Request(rows=tuple(
            WireRow.of(row(name, ticks)) for name in names)))

    def read(self, **options):
        return [each.name for each in self.rows.read(
            Request(page=Page(**options))).page]

    def test_rows_are_written_to_the_shard_of_their_name(self):
        self.shard(self.names[2], self.names[5])
        self.write(*self.names)
        shards = [self.held('%s-%d' % (self.container, number))[0]
                  for number in range(3)]
        self.assertEqual([self.names[:3], self.names[3:6], self.names[6:]],
                         shards)

    def test_what_was_written_before_and_after_is_read(self):
        self.write(*self.names[::2])
        self.shard(self.names[2], self.names[5])
        self.write(*self.names[1::2])
        names = self.names
        for options, expected in (
                ({}, names), ({'limit': 4}, names[:4]),
                ({'reverse': True}, names[::-1]),
                ({'reverse': True, 'limit': 3}, names[:4:-1]),
                ({'marker': names[1], 'limit': 5}, names[2:7]),
                ({'end_marker': names[6]}, names[:6]),
                ({'prefix': '\0X\0f'}, names[5:6]),
                ({'prefix': '\0X\0', 'limit': 8}, names)):
            with self.subTest(**options):
                self.assertEqual(expected, self.read(**options))
        told = self.rows.read(Request(names=tuple(names) + ('\0X\0x',)))
        self.assertEqual({name: row(name) for name in names}, told.rows)

    def test_a_read_goes_to_the_shards_that_may_have_it(self):
        self.write(*self.names)
        self.shard(self.names[2], self.names[5])
        for request in (Request(names=(self.names[3],)),
                        Request(page=Page(self.names[3]))):
            with self.north.network.counted() as count:
                self.rows.read(request)
            self.assertEqual({
                '/a/' + self.container, '/%s/%s-1' % (
                    SHARDS, self.container)},
                {path for _, path in count.sent})

    def test_each_shard_needs_its_majority(self):
        self.shard(self.names[2])

        def spoil(req):
            if SHARDS in req.path_info:
                raise ConnectionRefusedError()
        for server in self.north.servers[:2]:
            server.spoil = spoil
        with self.assertRaises(RowsUnavailable) as caught:
            self.write(self.names[3])
        self.assertEqual('/%s/%s-1' % (SHARDS, self.container),
                         caught.exception.container)
        with self.assertRaises(RowsUnavailable):
            self.read()

    def test_a_replica_that_does_not_know_yet_is_read_too(self):
        # it has taken a row that no shard has
        self.write(*self.names[:4])
        self.settle()
        self.shard(self.names[2], servers=self.north.servers[:1])
        for server in self.north.servers[1:]:
            for number in range(2):
                self.north.ask(server, 'PUT', '/%s/%s-%d' % (
                    SHARDS, self.container, number))
        self.write(self.names[4])
        for down in self.north.servers[1:]:
            down.refuse()
            self.assertEqual(self.names[:5], self.read())
            down.recover()

    def test_a_container_that_is_being_sharded_is_read_whole(self):
        self.write(*self.names[:4])
        self.settle()
        self.shard(self.names[2], until='sharding')
        self.write(*self.names[4:])
        self.assertEqual(self.names, self.read())
        self.assertEqual(self.names[::-1], self.read(reverse=True))

    def test_shards_of_shards(self):
        self.shard(self.names[3])
        self.account, self.container = SHARDS, self.container + '-0'
        self.shard(self.names[1])
        self.write(*self.names)
        self.assertEqual(self.names, self.read())
        self.assertEqual({name: row(name) for name in self.names},
                         self.rows.read(Request(
                             names=tuple(self.names))).rows)


class TestShardedVersions(ShardedCase):

    def each_kind(self):
        """Yield a strategy of each kind, with a container of its own."""
        for kind in (WriteRepair, ReadRepair):
            with self.subTest(kind.__name__):
                self.north.container = kind.__name__
                self.container = hidden_container(kind.__name__)
                for name in (kind.__name__, self.container):
                    self.north.make_container(name)
                self.rows = self.north.rows()
                yield self.north.strategy(kind)

    def shown(self, strategy):
        return self.north.shown() if strategy.listed else [
            entry.object for entry in strategy.current()
            if not entry.version.deleted]

    def test_objects_go_on(self):
        for strategy in self.each_kind():
            made = [self.north.put(strategy, name) for name in 'abab']
            self.settle()
            self.shard('\0A\0a', '\0V\0a', '\0V\0b')
            self.assertEqual(made[2], strategy.latest('a'))
            made += [self.north.put(strategy, name) for name in 'ab']
            self.assertEqual(made[::2][::-1], strategy.history('a'))
            self.assertEqual(made[1::2][::-1], strategy.history('b'))
            self.assertEqual(made[3], strategy.purge(made[5]))
            self.assertEqual(made[3], strategy.latest('b'))
            self.assertIsNotNone(
                strategy.get('b', made[5].version.id).purged)
            self.assertEqual(made[1], strategy.purge(made[3]))
            self.assertIsNone(strategy.purge(made[1]))
            self.assertEqual(['a'], self.shown(strategy))
            self.assertEqual([made[4]], strategy.current())
            strategy.apply(replace(made[0], object='c'))
            self.assertEqual(['a', 'c'], self.shown(strategy))

    def test_listing_rows_are_in_the_shard_of_their_name_only(self):
        self.shard('\0B')
        strategy = self.north.strategy(WriteRepair)
        entry = self.north.put(strategy, 'o')
        self.settle()
        self.assertEqual([[listing_name('o')]] * 3,
                         self.held(self.container + '-0'))
        self.assertEqual([[entry.data_name]] * 3,
                         self.held(self.container + '-1'))
        self.assertEqual(entry.version.id, self.north.listed('o').id)
        self.north.put(strategy, 'o', deleted=True)
        self.assertEqual([], self.north.shown())

    def test_a_head_that_is_greater_is_followed(self):
        for strategy in self.each_kind():
            self.shard('\0V\0a')
            stamp = Stamp(T + 10 ** 6, 7)
            ahead = Entry('o', Version(stamp, 'south',
                                       Vector({'south': stamp})))
            strategy.apply(ahead)
            entry = self.north.put(strategy, 'o')
            self.assertGreater(entry.version.id, stamp)
            self.assertEqual([entry, ahead], strategy.history('o'))

    def test_versions_of_an_object_in_two_shards(self):
        for strategy in self.each_kind():
            made = [self.north.put(strategy, 'o') for _ in range(6)]
            others = [self.north.put(strategy, name) for name in 'np']
            self.settle()
            self.shard(made[3].data_name)
            made.append(self.north.put(strategy, 'o'))
            self.assertEqual(made[::-1], strategy.history('o'))
            for reverse in (False, True):
                heads = [others[0], made[-1], others[1]]
                for limit in (1, 2, 3, None):
                    self.assertEqual(
                        heads[::-1 if reverse else 1][:limit],
                        strategy.current(limit=limit, reverse=reverse))
            for entry in made[:2:-1]:
                strategy.purge(entry)
            self.assertEqual(made[2], strategy.latest('o'))
            self.assertEqual([made[2]], strategy.current(prefix='o'))

    def test_null_versions_in_two_shards_leave_one(self):
        for strategy in self.each_kind():
            old = self.north.put(strategy, 'o', null=True)
            made = [self.north.put(strategy, 'o') for _ in range(2)]
            self.settle()
            self.shard(made[0].data_name)
            told = strategy.commit(Entry(
                'o', strategy.new_version(), 1, 'e', null=True))
            self.assertEqual([old.version.id], [
                each.version.id for each in told.replaced])
            self.assertEqual([told.entry, *made[::-1]],
                             strategy.history('o'))
            self.assertIsNotNone(strategy.get('o', old.version.id).purged)

    def test_a_purge_while_the_container_is_being_sharded(self):
        """The root still has, and the shard has not yet, what is purged."""
        for strategy in self.each_kind():
            made = [self.north.put(strategy, name) for name in 'ababab']
            self.settle()
            self.shard('\0V\0a', until='created')
            self.assertEqual(made[3], strategy.purge(made[5]))
            self.assertEqual(made[3], strategy.latest('b'))
            self.assertEqual(made[3:0:-2], strategy.history('b'))
            for reverse in (False, True):
                for limit in (1, 2, 3):
                    self.assertEqual(
                        [made[4], made[3]][::-1 if reverse else 1][:limit],
                        strategy.current(limit=limit, reverse=reverse))
            self.assertEqual(made[4::-2] + made[3:0:-2],
                             strategy.versions())
            for entry in made[4::-2]:
                strategy.purge(entry)
            self.assertIsNone(strategy.latest('a'))
            self.assertEqual([made[3]], strategy.current(limit=1))


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
            written = [row('\0X\0ü/ %2F?&=+\0x', content_type='a/b;c="ü"'),
                       row('\0X\0ü/ %2F?&=+\0y')]
            wires = tuple(map(WireRow.of, written))
            self.assertEqual([], rows.write(Request(rows=wires)).page)
            found = rows.read(Request(
                names=(written[1].name,), page=Page('\0X\0ü/ %2F?&=+\0')))
            self.assertEqual((written, written[1:]), (
                found.page, list(found.rows.values())))

    def test_a_server_that_is_not_there_is_no_answer(self):
        with served(self.north.servers[0].app) as port:
            pass
        rows = self.rows_of(port)
        with self.assertRaises(RowsUnavailable) as caught:
            rows.read(Request(page=Page()))
        self.assertEqual([0], caught.exception.statuses)
        self.assertIn('refused', ' '.join(self.logger.at('WARNING')).lower())
