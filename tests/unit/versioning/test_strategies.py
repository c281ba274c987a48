# SPDX-License-Identifier: Apache-2.0
"""What Write-Repair and Read-Repair must both do."""

from swift_lightsync.versioning.core.keys import hidden_container
from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.fakes import NOW
from tests.unit.versioning.strategy_case import (
    StrategyCase,
    ids,
    of_each_strategy,
)


@of_each_strategy
class TestVersions(StrategyCase):

    def test_nothing_is_there_at_first(self):
        strategy = self.strategy
        self.assertIsNone(strategy.latest('o'))
        self.assertIsNone(strategy.get('o', Stamp(1)))
        self.assertEqual(
            [[]] * 3, [strategy.history('o'), strategy.versions(),
                       strategy.current()])

    def test_each_update_is_a_version_and_the_last_is_the_latest(self):
        strategy = self.strategy
        made = [self.put(strategy, etag='%032d' % number, size=number,
                         content_type='text/x%d' % number)
                if number != 2 else self.put(strategy, deleted=True)
                for number in range(4)]
        self.assertEqual(ids(made[::-1]), ids(strategy.history('o')))
        self.assertEqual(made[3], strategy.latest('o'))
        for entry in (made[0], made[1], made[3]):
            self.assertEqual(entry, strategy.get('o', entry.version.id))
        self.assertTrue(
            strategy.get('o', made[2].version.id).version.deleted)

    def test_a_delete_marker_is_the_latest(self):
        strategy = self.strategy
        self.put(strategy)
        marker = self.put(strategy, deleted=True)
        found = strategy.latest('o')
        self.assertEqual((marker.version.id, True), (
            found.version.id, found.version.deleted))
        back = self.put(strategy)
        self.assertEqual(back, strategy.latest('o'))

    def test_history_is_in_pages(self):
        strategy = self.strategy
        made = ids([self.put(strategy) for _ in range(5)])[::-1]
        self.assertEqual(made[:2], ids(strategy.history('o', limit=2)))
        self.assertEqual(made[2:4], ids(
            strategy.history('o', made[1], 2)))
        self.assertEqual([], strategy.history('o', made[4]))

    def test_objects_whose_names_are_alike_stay_apart(self):
        names = ['o', 'o/', 'o1', 'oo', 'p/ü?', 'o\x01']
        strategy = self.strategy
        made = {name: self.put(strategy, name) for name in names}
        for name in names:
            self.assertEqual(made[name], strategy.latest(name))
            self.assertEqual([made[name]], strategy.history(name))
        self.assertEqual(sorted(names), [
            entry.object for entry in strategy.current()])

    def test_data_lies_under_a_name_that_the_id_tells(self):
        strategy = self.strategy
        entry = self.put(strategy)
        self.assertEqual(strategy.data_name(entry),
                         strategy.name_of('o', entry.version.id))
        self.assertTrue(strategy.data_name(entry).startswith('\0'))

    def test_a_version_is_not_acknowledged_without_a_majority(self):
        strategy = self.strategy
        basis = strategy.begin('o')
        entry = Entry('o', strategy.new_version(basis), 1, 'e')
        for server in self.north.servers[:2]:
            server.fail(507, ('PUT',))
        with self.assertRaises(RowsUnavailable):
            strategy.commit(basis, entry)
        for server in self.north.servers:
            server.recover()

    def test_any_two_replicas_know_what_was_acknowledged(self):
        strategy = self.strategy
        for down in self.north.servers * 2:
            down.refuse()
            entry = self.put(strategy)
            down.recover()
            for other in self.north.servers:
                other.refuse()
                self.assertEqual(entry, strategy.latest('o'))
                self.assertEqual(entry, strategy.history('o')[0])
                other.recover()

    def test_who_has_seen_a_version_is_later_though_his_clock_is_not(self):
        strategy = self.strategy
        first = self.put(strategy)
        behind = self.north.strategy(
            type(strategy), self.north.new_clock(2),
            lookup=strategy.lookup)
        behind.now = lambda: NOW - 3600
        self.assertEqual(first, behind.latest('o'))
        second = self.put(behind)
        self.assertLess(first.version.id, second.version.id)
        self.assertEqual(second, strategy.latest('o'))


@of_each_strategy
class TestListings(StrategyCase):

    def fill(self, strategy):
        made = {name: [self.put(strategy, name) for _ in range(3)][::-1]
                for name in ('a', 'b', 'ba', 'c')}
        return made, [entry for name in sorted(made) for entry in made[name]]

    def test_versions_are_by_name_then_newest_first(self):
        strategy = self.strategy
        _, every = self.fill(strategy)
        self.assertEqual(every, strategy.versions())
        self.assertEqual(every[::-1], strategy.versions(reverse=True))
        self.assertEqual(every[:4], strategy.versions(limit=4))

    def test_versions_of_a_range_of_names(self):
        strategy = self.strategy
        made, _ = self.fill(strategy)
        for options, names in (
                ({'prefix': 'b'}, ['b', 'ba']),
                ({'marker': 'b'}, ['ba', 'c']),
                ({'end_marker': 'ba'}, ['a', 'b']),
                ({'marker': 'a', 'end_marker': 'c'}, ['b', 'ba'])):
            self.assertEqual(
                [entry for name in names for entry in made[name]],
                strategy.versions(**options))
        self.assertEqual(
            (made['ba'] + made['c'])[::-1],
            strategy.versions(reverse=True, end_marker='b'))
        self.assertEqual(
            (made['a'] + made['b'])[::-1],
            strategy.versions(reverse=True, marker='ba'))

    def test_versions_in_pages_miss_nothing_and_repeat_nothing(self):
        strategy = self.strategy
        _, every = self.fill(strategy)
        for reverse in (False, True):
            for limit in (1, 2, 5):
                found, marker = [], {}
                while True:
                    page = strategy.versions(
                        limit=limit, reverse=reverse, **marker)
                    if not page:
                        break
                    found += page
                    marker = {'marker': page[-1].object,
                              'version_marker': page[-1].version.id}
                self.assertEqual(
                    every[::-1] if reverse else every, found)

    def test_current_lists_the_latest_of_each_object(self):
        strategy = self.strategy
        made, _ = self.fill(strategy)
        gone = self.put(strategy, 'b', deleted=True).version.id
        found = strategy.current()
        there = [entry for entry in found if not entry.version.deleted]
        self.assertEqual(
            ids(made[name][0] for name in ('a', 'ba', 'c')), ids(there))
        self.assertLessEqual(set(ids(found)) - set(ids(there)), {gone})
        self.assertEqual([(7, 'e' * 32)] * 3, [
            (entry.size, entry.etag) for entry in there])
        self.assertEqual(
            ['c'], [entry.object for entry in strategy.current(
                marker='ba')])
        self.assertEqual(
            ['c', 'ba'], [entry.object for entry in strategy.current(
                limit=2, reverse=True)])


@of_each_strategy
class TestPurge(StrategyCase):

    def test_the_version_before_comes_back(self):
        strategy = self.strategy
        made = [self.put(strategy) for _ in range(3)]
        self.assertEqual(made[2], strategy.purge(
            'o', made[2].version.id))
        self.assertEqual(made[1], strategy.latest('o'))
        self.assertEqual(made[1::-1], strategy.history('o'))
        self.assertEqual(ids([made[1]]), ids(strategy.current()))
        self.assertIsNotNone(
            strategy.get('o', made[2].version.id).purged)

    def test_a_version_in_between_leaves_the_latest(self):
        strategy = self.strategy
        made = [self.put(strategy) for _ in range(3)]
        strategy.purge('o', made[1].version.id)
        self.assertEqual(made[2], strategy.latest('o'))
        self.assertEqual([made[2], made[0]], strategy.history('o'))

    def test_what_was_never_there_or_is_purged_is_not_purged(self):
        strategy = self.strategy
        entry = self.put(strategy)
        self.assertIsNone(strategy.purge('o', Stamp(5)))
        self.assertIsNone(strategy.purge('x', entry.version.id))
        self.assertIsNotNone(strategy.purge('o', entry.version.id))
        self.assertIsNone(strategy.purge('o', entry.version.id))

    def test_nothing_is_left_after_all(self):
        strategy = self.strategy
        made = [self.put(strategy) for _ in range(3)]
        for entry in made:
            strategy.purge('o', entry.version.id)
        self.assertIsNone(strategy.latest('o'))
        self.assertEqual([[]] * 3, [
            strategy.history('o'), strategy.versions(),
            strategy.current()])
        again = self.put(strategy)
        self.assertEqual(again, strategy.latest('o'))

    def test_a_replica_that_missed_it_does_not_bring_it_back(self):
        strategy = self.strategy
        made = [self.put(strategy) for _ in range(2)]
        self.settle()
        for down in self.north.servers:
            victim = self.put(strategy)
            self.settle()
            down.refuse()
            strategy.purge('o', victim.version.id)
            down.recover()
            for other in self.north.servers:
                if other is not down:
                    other.refuse()
                    self.assertEqual(made[1], strategy.latest('o'))
                    self.assertEqual(made[::-1], strategy.history('o'))
                    other.recover()

    def settle(self):
        def alike():
            listings = {self.north.ask(
                server, 'GET', '/a/' + hidden_container(
                    self.north.container)).body
                for server in self.north.servers}
            return len(listings) == 1
        wait_for(alike, 'replicas that are alike')

    def test_a_container_is_cleared_only_without_versions(self):
        strategy = self.strategy
        entry = self.put(strategy)
        self.assertFalse(strategy.clear())
        self.assertEqual(entry, strategy.latest('o'))
        strategy.purge('o', entry.version.id)
        self.assertTrue(strategy.clear())
        self.settle()
        for server in self.north.servers:
            self.assertEqual(204, self.north.ask(
                server, 'DELETE',
                '/a/' + hidden_container(self.north.container),
                {'X-Timestamp': '%.5f' % (NOW + 9999)}).status_int)
