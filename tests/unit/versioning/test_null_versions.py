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

    def test_it_is_the_oldest_version(self):
        strategy = self.strategy
        self.north.put_plain('o', NOW - 10)
        null, = strategy.history('o')
        self.assertEqual(
            (True, 5, 'p' * 32, 'text/plain', Stamp(int(NOW - 10) *
                                                    100000)),
            (null.plain, null.size, null.etag, null.content_type,
             null.version.id))
        entry = self.put(strategy)
        self.assertEqual(entry, strategy.latest('o'))
        self.assertEqual([entry, null], strategy.history('o'))
        self.assertEqual([entry, null], strategy.versions())
        self.assertEqual([entry.version.id], ids(strategy.current()))
        self.assertEqual(null, strategy.get('o', null.version.id))

    def test_only_an_id_that_may_be_of_one_is_looked_for_there(self):
        entry = self.put(self.strategy)
        for stamp, is_asked in ((entry.version.id, False),
                                (Stamp(entry.version.id.ticks), True)):
            with self.north.network.counted() as count:
                self.strategy.get('o', stamp)
            self.assertEqual(is_asked, ('GET', '/a/c') in count.sent)

    def test_it_is_listed_among_others(self):
        strategy = self.strategy
        for name in ('a', 'm', 'z'):
            self.north.put_plain(name, NOW - 10)
        made = [self.put(strategy, name) for name in ('b', 'm', 'y')]
        expected = ['a', 'b', 'm', 'm', 'y', 'z']
        self.assertEqual(expected, [
            entry.object for entry in strategy.versions()])
        self.assertEqual(expected[::-1], [
            entry.object for entry in strategy.versions(reverse=True)])
        self.assertEqual(
            [False, True], [entry.plain for entry in strategy.versions(
                prefix='m')])
        self.assertEqual(
            [('a', True), ('b', False), ('m', False), ('y', False),
             ('z', True)],
            [(entry.object, entry.plain)
             for entry in strategy.current()])
        self.assertEqual(ids(made), [
            entry.version.id for entry in strategy.current()
            if not entry.plain])

    def test_it_comes_back_when_the_others_are_purged(self):
        strategy = self.strategy
        self.north.put_plain('o', NOW - 10)
        null, = strategy.history('o')
        entry = self.put(strategy)
        strategy.purge('o', entry.version.id)
        self.assertEqual(null, strategy.latest('o'))
        self.assertEqual(ids([null]), ids(strategy.current()))

    def test_it_can_be_purged(self):
        strategy = self.strategy
        self.north.put_plain('o', NOW - 10)
        null, = strategy.history('o')
        entry = self.put(strategy)
        self.assertEqual(null, strategy.purge('o', null.version.id))
        self.assertEqual([entry], strategy.history('o'))
        self.assertEqual(entry, strategy.latest('o'))

    def test_it_can_be_purged_before_it_is_versioned(self):
        strategy = self.strategy
        self.north.put_plain('o', NOW - 10)
        null, = strategy.history('o')
        self.assertEqual(null, strategy.purge('o', null.version.id))
        self.assertEqual([], strategy.history('o'))
        self.assertIsNone(strategy.latest('o'))
        self.assertEqual([], strategy.current())

    def test_adopting_gives_it_a_row(self):
        strategy = self.strategy
        self.north.put_plain('o', NOW - 10)
        null, = strategy.history('o')
        self.assertEqual(null, strategy.adopt('o'))
        self.assertIsNone(strategy.adopt('o'))
        self.assertEqual(null, strategy.latest('o'))
        self.assertEqual([null], strategy.history('o'))
        self.assertEqual([null], strategy.versions())
        self.assertEqual(ids([null]), ids(strategy.current()))

    def test_a_suspended_write_replaces_it(self):
        strategy = self.strategy
        self.north.put_plain('o', NOW - 10)
        first = self.put(strategy)
        second = self.put(strategy, plain=True)
        self.assertEqual(second, strategy.latest('o'))
        third = self.put(strategy, plain=True, etag='3' * 32)
        self.assertEqual(third, strategy.latest('o'))
        plain = [entry for entry in strategy.history('o')
                 if entry.plain]
        self.assertEqual([third], plain)
        self.assertEqual(first, strategy.get('o', first.version.id))
        marker = self.put(strategy, plain=True, deleted=True)
        self.assertEqual(ids([marker, first]), ids(strategy.history('o')))
        self.assertTrue(strategy.latest('o').version.deleted)

    def test_its_metadata_may_change_before_it_is_versioned(self):
        strategy = self.strategy
        self.north.put_plain('o', NOW - 10)
        for server in self.north.servers:
            self.north.ask(
                server, 'PUT', '/a/%s/o' % self.north.container, {
                    'X-Timestamp': '%.5f' % (NOW - 10), 'X-Size': '5',
                    'X-Content-Type': 'text/new', 'X-Etag': 'p' * 32,
                    'X-Content-Type-Timestamp': '%.5f' % (NOW - 5),
                    'X-Meta-Timestamp': '%.5f' % (NOW - 5)})
        null, = strategy.history('o')
        self.assertEqual('text/new', null.content_type)
        entry = self.put(strategy)
        self.assertEqual([entry, null], strategy.history('o'))
