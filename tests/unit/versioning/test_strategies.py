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
        self.assertIsNone(self.strategy.latest('o'))
        self.assertIsNone(self.strategy.get('o', Stamp(1)))
        self.assertEqual(
            [[]] * 3, [self.strategy.history('o'), self.strategy.versions(),
                       self.strategy.current()])

    def test_each_update_is_a_version_and_the_last_is_the_latest(self):
        made = [self.put(etag='%032d' % number, size=number,
                         content_type='text/x%d' % number)
                if number != 2 else self.put(deleted=True)
                for number in range(4)]
        self.assertEqual(ids(made[::-1]), ids(self.strategy.history('o')))
        self.assertEqual(made[3], self.strategy.latest('o'))
        for entry in (made[0], made[1], made[3]):
            self.assertEqual(entry, self.strategy.get('o', entry.version.id))
        self.assertTrue(
            self.strategy.get('o', made[2].version.id).version.deleted)

    def test_a_delete_marker_is_the_latest(self):
        self.put()
        marker = self.put(deleted=True)
        found = self.strategy.latest('o')
        self.assertEqual((marker.version.id, True), (
            found.version.id, found.version.deleted))
        back = self.put()
        self.assertEqual(back, self.strategy.latest('o'))

    def test_history_is_in_pages(self):
        made = ids([self.put() for _ in range(5)])[::-1]
        self.assertEqual(made[:2], ids(self.strategy.history('o', limit=2)))
        self.assertEqual(made[2:4], ids(
            self.strategy.history('o', made[1], 2)))
        self.assertEqual([], self.strategy.history('o', made[4]))

    def test_objects_whose_names_are_alike_stay_apart(self):
        names = ['o', 'o/', 'o1', 'oo', 'p/ü?', 'o\x01']
        made = {name: self.put(name) for name in names}
        for name in names:
            self.assertEqual(made[name], self.strategy.latest(name))
            self.assertEqual([made[name]], self.strategy.history(name))
        self.assertEqual(sorted(names), [
            entry.object for entry in self.strategy.current()])

    def test_data_lies_under_a_name_that_the_id_tells(self):
        entry = self.put()
        self.assertEqual(self.strategy.data_name(entry),
                         self.strategy.name_of('o', entry.version.id))
        self.assertTrue(self.strategy.data_name(entry).startswith('\0'))

    def test_a_version_is_not_acknowledged_without_a_majority(self):
        basis = self.strategy.begin('o')
        entry = Entry('o', self.strategy.new_version(basis), 1, 'e')
        for server in self.north.servers[:2]:
            server.fail(507, ('PUT',))
        with self.assertRaises(RowsUnavailable):
            self.strategy.commit(basis, entry)
        for server in self.north.servers:
            server.recover()

    def test_any_two_replicas_know_what_was_acknowledged(self):
        for down in self.north.servers * 2:
            down.refuse()
            entry = self.put()
            down.recover()
            for other in self.north.servers:
                other.refuse()
                self.assertEqual(entry, self.strategy.latest('o'))
                self.assertEqual(entry, self.strategy.history('o')[0])
                other.recover()

    def test_who_has_seen_a_version_is_later_though_his_clock_is_not(self):
        first = self.put()
        behind = self.north.strategy(
            type(self.strategy), self.north.new_clock(2),
            lookup=self.strategy.lookup)
        behind.now = lambda: NOW - 3600
        self.assertEqual(first, behind.latest('o'))
        second = self.put(strategy=behind)
        self.assertLess(first.version.id, second.version.id)
        self.assertEqual(second, self.strategy.latest('o'))


@of_each_strategy
class TestListings(StrategyCase):

    def fill(self):
        made = {name: [self.put(name) for _ in range(3)][::-1]
                for name in ('a', 'b', 'ba', 'c')}
        return made, [entry for name in sorted(made) for entry in made[name]]

    def test_versions_are_by_name_then_newest_first(self):
        _, every = self.fill()
        self.assertEqual(every, self.strategy.versions())
        self.assertEqual(every[::-1], self.strategy.versions(reverse=True))
        self.assertEqual(every[:4], self.strategy.versions(limit=4))

    def test_versions_of_a_range_of_names(self):
        made, _ = self.fill()
        for options, names in (
                ({'prefix': 'b'}, ['b', 'ba']),
                ({'marker': 'b'}, ['ba', 'c']),
                ({'end_marker': 'ba'}, ['a', 'b']),
                ({'marker': 'a', 'end_marker': 'c'}, ['b', 'ba'])):
            self.assertEqual(
                [entry for name in names for entry in made[name]],
                self.strategy.versions(**options))
        self.assertEqual(
            (made['ba'] + made['c'])[::-1],
            self.strategy.versions(reverse=True, end_marker='b'))
        self.assertEqual(
            (made['a'] + made['b'])[::-1],
            self.strategy.versions(reverse=True, marker='ba'))

    def test_versions_in_pages_miss_nothing_and_repeat_nothing(self):
        _, every = self.fill()
        for reverse in (False, True):
            for limit in (1, 2, 5):
                found, marker = [], {}
                while True:
                    page = self.strategy.versions(
                        limit=limit, reverse=reverse, **marker)
                    if not page:
                        break
                    found += page
                    marker = {'marker': page[-1].object,
                              'version_marker': page[-1].version.id}
                self.assertEqual(
                    every[::-1] if reverse else every, found)

    def test_current_lists_the_latest_of_each_object(self):
        made, _ = self.fill()
        gone = self.put('b', deleted=True).version.id
        found = self.strategy.current()
        there = [entry for entry in found if not entry.version.deleted]
        self.assertEqual(
            ids(made[name][0] for name in ('a', 'ba', 'c')), ids(there))
        self.assertLessEqual(set(ids(found)) - set(ids(there)), {gone})
        self.assertEqual([(7, 'e' * 32)] * 3, [
            (entry.size, entry.etag) for entry in there])
        self.assertEqual(
            ['c'], [entry.object for entry in self.strategy.current(
                marker='ba')])
        self.assertEqual(
            ['c', 'ba'], [entry.object for entry in self.strategy.current(
                limit=2, reverse=True)])


@of_each_strategy
class TestPurge(StrategyCase):

    def test_the_version_before_comes_back(self):
        made = [self.put() for _ in range(3)]
        self.assertEqual(made[2], self.strategy.purge(
            'o', made[2].version.id))
        self.assertEqual(made[1], self.strategy.latest('o'))
        self.assertEqual(made[1::-1], self.strategy.history('o'))
        self.assertEqual(ids([made[1]]), ids(self.strategy.current()))
        self.assertIsNotNone(
            self.strategy.get('o', made[2].version.id).purged)

    def test_a_version_in_between_leaves_the_latest(self):
        made = [self.put() for _ in range(3)]
        self.strategy.purge('o', made[1].version.id)
        self.assertEqual(made[2], self.strategy.latest('o'))
        self.assertEqual([made[2], made[0]], self.strategy.history('o'))

    def test_what_was_never_there_or_is_purged_is_not_purged(self):
        entry = self.put()
        self.assertIsNone(self.strategy.purge('o', Stamp(5)))
        self.assertIsNone(self.strategy.purge('x', entry.version.id))
        self.assertIsNotNone(self.strategy.purge('o', entry.version.id))
        self.assertIsNone(self.strategy.purge('o', entry.version.id))

    def test_nothing_is_left_after_all(self):
        made = [self.put() for _ in range(3)]
        for entry in made:
            self.strategy.purge('o', entry.version.id)
        self.assertIsNone(self.strategy.latest('o'))
        self.assertEqual([[]] * 3, [
            self.strategy.history('o'), self.strategy.versions(),
            self.strategy.current()])
        again = self.put()
        self.assertEqual(again, self.strategy.latest('o'))

    def test_a_replica_that_missed_it_does_not_bring_it_back(self):
        made = [self.put() for _ in range(2)]
        self.settle()
        for down in self.north.servers:
            victim = self.put()
            self.settle()
            down.refuse()
            self.strategy.purge('o', victim.version.id)
            down.recover()
            for other in self.north.servers:
                if other is not down:
                    other.refuse()
                    self.assertEqual(made[1], self.strategy.latest('o'))
                    self.assertEqual(made[::-1], self.strategy.history('o'))
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
        entry = self.put()
        self.assertFalse(self.strategy.clear())
        self.assertEqual(entry, self.strategy.latest('o'))
        self.strategy.purge('o', entry.version.id)
        self.assertTrue(self.strategy.clear())
        self.settle()
        for server in self.north.servers:
            self.assertEqual(204, self.north.ask(
                server, 'DELETE',
                '/a/' + hidden_container(self.north.container),
                {'X-Timestamp': '%.5f' % (NOW + 9999)}).status_int)
