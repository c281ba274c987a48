# SPDX-License-Identifier: Apache-2.0
"""What both strategies list of a container."""

from swift_lightsync.versioning.strategies.strategy import (
    ReadRepair,
    WriteRepair,
)
from tests.unit.versioning.strategy_case import (
    StrategyCase,
    ids,
    of_each_strategy,
)


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

    def test_objects_that_turn_out_purged_do_not_end_a_list(self):
        made, _ = self.fill()
        self.settle()
        self.north.servers[0].refuse()
        for name in ('a', 'b'):
            for entry in made[name]:
                self.strategy.purge(entry)
        self.north.servers[0].recover()
        self.north.servers[1].refuse()
        for limit in (1, 2):
            self.assertEqual(['ba', 'c'][:limit], [
                entry.object for entry in self.strategy.current(
                    limit=limit)])
        self.assertEqual(made['ba'][:1], self.strategy.versions(limit=1))


class TestListingRows(StrategyCase):
    """Of Write-Repair, as Swift's listings show them."""

    kind = WriteRepair

    def test_they_follow_the_latest(self):
        first, second = self.put(), self.put(size=9)
        found = self.north.listed('o')
        self.assertEqual((second.version.id, 9), (found.id, found.size))
        self.strategy.purge(second)
        self.assertEqual(first.version.id, self.north.listed('o').id)
        self.put(deleted=True)
        self.assertEqual([], self.north.shown())
        last = self.put()
        self.assertEqual((last.version.id, ['o']), (
            self.north.listed('o').id, self.north.shown()))

    def test_read_repair_has_none(self):
        self.put(strategy=self.north.strategy(ReadRepair))
        self.assertEqual([], self.north.shown())
