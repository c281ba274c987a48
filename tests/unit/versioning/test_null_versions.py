# SPDX-License-Identifier: Apache-2.0
"""Objects that were there before versioning, or written without it."""

from swift_lightsync.versioning.core.stamp import Stamp
from tests.unit.versioning.fakes import NOW
from tests.unit.versioning.strategy_case import (
    StrategyCase,
    ids,
    of_each_strategy,
)


@of_each_strategy
class TestNullVersions(StrategyCase):
    """Objects from before versioning, or written while it is suspended."""

    def put_null(self):
        """Return the ``Entry`` of an object from before."""
        self.north.put_plain('o', NOW - 10)
        null, = self.strategy.history('o')
        return null

    def test_it_is_the_oldest_version(self):
        null = self.put_null()
        self.assertEqual(
            (True, 5, 'p' * 32, 'text/plain', Stamp(int(NOW - 10) *
                                                    100000)),
            (null.plain, null.size, null.etag, null.content_type,
             null.version.id))
        entry = self.put()
        self.assertEqual(entry, self.strategy.latest('o'))
        self.assertEqual([entry, null], self.strategy.history('o'))
        self.assertEqual([entry, null], self.strategy.versions())
        self.assertEqual([entry.version.id], ids(self.strategy.current()))
        self.assertEqual(null, self.strategy.get('o', null.version.id))

    def test_only_an_id_that_may_be_of_one_is_looked_for_there(self):
        entry = self.put()
        for stamp, is_asked in ((entry.version.id, False),
                                (Stamp(entry.version.id.ticks), True)):
            with self.north.network.counted() as count:
                self.strategy.get('o', stamp)
            self.assertEqual(is_asked, ('GET', '/a/c') in count.sent)

    def test_it_is_listed_among_others(self):
        for name in ('a', 'm', 'z'):
            self.north.put_plain(name, NOW - 10)
        made = [self.put(name) for name in ('b', 'm', 'y')]
        expected = ['a', 'b', 'm', 'm', 'y', 'z']
        self.assertEqual(expected, [
            entry.object for entry in self.strategy.versions()])
        self.assertEqual(expected[::-1], [
            entry.object for entry in self.strategy.versions(reverse=True)])
        self.assertEqual(
            [False, True], [entry.plain for entry in self.strategy.versions(
                prefix='m')])
        self.assertEqual(
            [('a', True), ('b', False), ('m', False), ('y', False),
             ('z', True)],
            [(entry.object, entry.plain)
             for entry in self.strategy.current()])
        self.assertEqual(ids(made), [
            entry.version.id for entry in self.strategy.current()
            if not entry.plain])

    def test_it_comes_back_when_the_others_are_purged(self):
        null = self.put_null()
        entry = self.put()
        self.strategy.purge('o', entry.version.id)
        self.assertEqual(null, self.strategy.latest('o'))
        self.assertEqual(ids([null]), ids(self.strategy.current()))

    def test_it_can_be_purged(self):
        null = self.put_null()
        entry = self.put()
        self.assertEqual(null, self.strategy.purge('o', null.version.id))
        self.assertEqual([entry], self.strategy.history('o'))
        self.assertEqual(entry, self.strategy.latest('o'))

    def test_it_can_be_purged_before_it_is_versioned(self):
        null = self.put_null()
        self.assertEqual(null, self.strategy.purge('o', null.version.id))
        self.assertEqual([], self.strategy.history('o'))
        self.assertIsNone(self.strategy.latest('o'))
        self.assertEqual([], self.strategy.current())

    def test_adopting_gives_it_a_row(self):
        null = self.put_null()
        self.assertEqual(null, self.strategy.adopt('o'))
        self.assertIsNone(self.strategy.adopt('o'))
        self.assertEqual(null, self.strategy.latest('o'))
        self.assertEqual([null], self.strategy.history('o'))
        self.assertEqual([null], self.strategy.versions())
        self.assertEqual(ids([null]), ids(self.strategy.current()))

    def test_a_suspended_write_replaces_it(self):
        self.north.put_plain('o', NOW - 10)
        first = self.put()
        second = self.put(plain=True)
        self.assertEqual(second, self.strategy.latest('o'))
        third = self.put(plain=True, etag='3' * 32)
        self.assertEqual(third, self.strategy.latest('o'))
        plain = [entry for entry in self.strategy.history('o')
                 if entry.plain]
        self.assertEqual([third], plain)
        self.assertEqual(first, self.strategy.get('o', first.version.id))
        marker = self.put(plain=True, deleted=True)
        self.assertEqual(ids([marker, first]), ids(self.strategy.history('o')))
        self.assertTrue(self.strategy.latest('o').version.deleted)

    def test_its_metadata_may_change_before_it_is_versioned(self):
        self.north.put_plain('o', NOW - 10)
        for server in self.north.servers:
            self.north.ask(
                server, 'PUT', '/a/%s/o' % self.north.container, {
                    'X-Timestamp': '%.5f' % (NOW - 10), 'X-Size': '5',
                    'X-Content-Type': 'text/new', 'X-Etag': 'p' * 32,
                    'X-Content-Type-Timestamp': '%.5f' % (NOW - 5),
                    'X-Meta-Timestamp': '%.5f' % (NOW - 5)})
        null, = self.strategy.history('o')
        self.assertEqual('text/new', null.content_type)
        entry = self.put()
        self.assertEqual([entry, null], self.strategy.history('o'))
