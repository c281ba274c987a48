# SPDX-License-Identifier: Apache-2.0
"""Rows while Swift's sharder shards their container."""

from urllib.parse import quote

from swift.common.utils import ShardRange, Timestamp

from swift_lightsync.versioning.core.verb import Page, Request, WireRow
from tests.unit.versioning.fakes import NOW
from tests.unit.versioning.test_sharded_rows import SHARDS, ShardedCase, row

NAMES = ['\0X\0' + letter for letter in 'abcdef']


class TestShardingRows(ShardedCase):
    """All rows up to c are the first shard's, all others the second's."""

    def prepare(self, servers, states):
        """The shards are there, and are known."""
        ranges = [ShardRange(each.name, each.timestamp, each.lower,
                             each.upper, state=state)
                  for each, state in zip(self.ranges(['\0X\0c']), states)]
        for each in ranges:
            for server in self.north.servers:
                self.north.ask(server, 'PUT', '/' + each.name, {
                    'X-Container-Sysmeta-Shard-Quoted-Root': quote(
                        'a/' + self.container)})
        for server in servers:
            broker = self.broker(server)
            broker.merge_shard_ranges(ranges)
            broker.update_metadata({'X-Container-Sysmeta-Sharding': (
                'True', Timestamp(NOW + 1).internal)})

    def start(self, servers):
        """The databases are replaced by new ones, as the sharder does."""
        for server in servers:
            broker = self.broker(server)
            broker.enable_sharding(Timestamp(NOW + 2))
            assert broker.set_sharding_state()

    def write(self, *names, **fields):
        self.rows.write(Request(rows=tuple(
            WireRow.of(row(name, **fields)) for name in names)))
        self.settle()

    def assert_read(self, expected, **options):
        """Whichever replicas are asked."""
        for down in self.north.servers:
            down.refuse()
            found = self.rows.read(Request(page=Page(**options))).page
            self.assertEqual(expected, [each.name for each in found])
            down.recover()

    def test_rows_of_a_shard_that_has_no_older_ones_yet_are_read(self):
        self.write(*NAMES[:5])
        self.prepare(self.north.servers, (
            ShardRange.CREATED, ShardRange.CREATED))
        self.start(self.north.servers)
        self.write(NAMES[5])
        self.write(NAMES[0], ticks=1)
        self.assertIn([NAMES[5]], self.held('%s-1' % self.container))
        self.assert_read(NAMES)
        self.assert_read(NAMES[:2], limit=2)
        self.assert_read(NAMES[::-1], reverse=True)
        self.assert_read(NAMES[5:], prefix=NAMES[5])
        found = self.rows.read(Request(names=(NAMES[0], NAMES[5]))).rows
        self.assertEqual([row(NAMES[0], 1).stamp, row(NAMES[5]).stamp],
                         [found[name].stamp for name in sorted(found)])

    def test_rows_that_are_deleted_in_a_shard_are_not_there(self):
        """The root still has them; their shard does not have older ones."""
        self.write(*NAMES)
        self.prepare(self.north.servers, (
            ShardRange.CREATED, ShardRange.CREATED))
        self.start(self.north.servers)
        self.write(*NAMES[:4], ticks=1, deleted=True)
        self.assert_read(NAMES[4:])
        self.assert_read(NAMES[4:5], limit=1)
        self.assert_read(NAMES[:3:-1], reverse=True)

    def test_rows_are_read_where_one_shard_has_all_of_its(self):
        self.write(*NAMES[:5])
        self.prepare(self.north.servers, (
            ShardRange.CLEAVED, ShardRange.CREATED))
        for server in self.north.servers:
            self.broker(server, SHARDS, self.container + '-0').merge_items([
                dict(item) for item in self.broker(server).get_objects()
                if item['name'] <= '\0X\0c'])
        self.start(self.north.servers)
        self.write(NAMES[5])
        self.assert_read(NAMES)
        self.assert_read(NAMES[3:], marker=NAMES[2])

    def test_replicas_that_have_heard_of_shards_and_not_begun_are_read(self):
        self.write(*NAMES[:5])
        self.prepare(self.north.servers, (
            ShardRange.CREATED, ShardRange.CREATED))
        self.write(NAMES[5])
        self.assertNotIn(NAMES[5], [
            item['name'] for item in self.broker(
                self.north.servers[0]).get_objects()])
        self.assert_read(NAMES)
        self.start(self.north.servers[:1])
        self.assert_read(NAMES)
