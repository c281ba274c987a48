# SPDX-License-Identifier: Apache-2.0
"""What Write-Repair and Read-Repair both do with the versions of an object."""

from dataclasses import replace

from swift_lightsync.versioning.core.life import Life
from swift_lightsync.versioning.core.row_data import Entry, version_name
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.rows import ClockRefused, RowsUnavailable
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
        self.assertEqual(version_name('o', entry.version.id),
                         entry.data_name)

    def test_an_update_costs_one_round_and_a_request_to_each_replica(self):
        for deleted in (False, True):
            with self.north.network.counted() as count:
                self.put(deleted=deleted)
            self.assertEqual((1, 3), (count.rounds, len(count.sent)))

    def test_reading_costs_one_round_and_a_request_to_a_majority(self):
        entry = self.put()
        for read in (lambda: self.strategy.latest('o'),
                     lambda: self.strategy.get('o', entry.version.id),
                     lambda: self.strategy.history('o', limit=5),
                     lambda: self.strategy.siblings('o'),
                     lambda: self.strategy.versions(limit=5),
                     lambda: self.strategy.current(limit=5),
                     self.strategy.is_empty):
            with self.north.network.counted() as count:
                read()
            self.assertEqual((1, 2), (count.rounds, len(count.sent)))

    def test_a_version_has_seen_those_before_it(self):
        first, second = self.put(), self.put()
        self.assertTrue(second.version.descends_from(first.version))

    def test_what_was_the_latest_before_is_told(self):
        first = self.put()
        marker = Entry('o', self.strategy.new_version(deleted=True))
        told = self.strategy.commit(marker)
        self.assertEqual((first, []), (told.before, told.replaced))
        self.assertIsNone(self.strategy.commit(Entry(
            'p', self.strategy.new_version(), 1, 'e')).before)

    def test_a_version_is_not_acknowledged_without_a_majority(self):
        for server in self.north.servers[:2]:
            server.fail(507)
        with self.assertRaises(RowsUnavailable):
            self.put()

    def test_a_wrong_clock_is_refused(self):
        for server in self.north.servers:
            server.app.now = NOW - 100
        with self.assertRaises(ClockRefused):
            self.put()
        self.assertIsNone(self.strategy.latest('o'))

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

    def test_siblings_are_what_no_other_version_has_seen(self):
        first = self.put()
        apart = [Entry('o', Version(stamp, site, Vector({site: stamp})), 1,
                       'e') for site, stamp in (
            ('south', Stamp(first.version.id.ticks + 1, 5)),
            ('west', Stamp(first.version.id.ticks + 2, 5)))]
        for entry in apart:
            self.strategy.apply(entry)
        self.assertEqual([apart[1], apart[0], first],
                         self.strategy.siblings('o'))
        last = self.put()
        self.assertEqual([last], self.strategy.siblings('o'))
        self.assertEqual([], self.strategy.siblings('p'))

    def test_a_container_without_live_versions_is_empty(self):
        self.assertTrue(self.strategy.is_empty())
        entry = self.put(deleted=True)
        self.assertFalse(self.strategy.is_empty())
        self.strategy.purge(entry)
        self.assertTrue(self.strategy.is_empty())

    def test_the_newest_life_record_stays(self):
        self.assertIsNone(self.strategy.life())
        lives = [Life(number % 2 == 0, self.strategy.tick(), 'north')
                 for number in range(3)]
        for life, expected in ((lives[1], lives[1]), (lives[0], lives[1]),
                               (lives[2], lives[2])):
            self.strategy.set_life(life)
            self.assertEqual(expected, self.strategy.life())
        self.assertTrue(self.strategy.is_empty())


@of_each_strategy
class TestNullVersions(StrategyCase):

    def test_a_new_one_overwrites_the_one_before(self):
        first = self.put(null=True)
        kept = self.put()
        told = self.strategy.commit(Entry(
            'o', self.strategy.new_version(), 2, 'f', null=True))
        self.assertEqual(([first.version.id], kept), (
            ids(told.replaced), told.before))
        self.assertEqual([told.entry, kept], self.strategy.history('o'))
        self.assertTrue(self.strategy.latest('o').null)

    def test_of_two_that_arrive_the_newer_stays(self):
        entries = [Entry('o', Version(
            Stamp(int(NOW) * 100000 + ticks, 7), 'south', Vector()), 1, 'e',
            null=True) for ticks in range(2)]
        self.assertEqual([], self.strategy.apply(entries[1]))
        # Its data is not needed.
        self.assertEqual(ids(entries[:1]),
                         ids(self.strategy.apply(entries[0])))
        self.assertEqual(ids(entries[1:]), ids(self.strategy.history('o')))
        self.assertEqual(ids(entries[1:]), ids(self.strategy.apply(replace(
            entries[0], version=replace(entries[0].version, id=Stamp(
                int(NOW) * 100000 + 9, 7))))))
