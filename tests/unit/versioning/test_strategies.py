# SPDX-License-Identifier: Apache-2.0
"""What Write-Repair and Read-Repair must both do."""

from dataclasses import replace

from swift_lightsync.versioning.core.keys import purge_name, version_name
from swift_lightsync.versioning.core.life import Life
from swift_lightsync.versioning.core.row_data import (
    Entry,
    purge_record,
    row_of,
)
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Request, WireRow
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.rows.rows import (
    ClockRefused,
    RowsUnavailable,
)
from swift_lightsync.versioning.strategies.strategy import (
    ReadRepair,
    WriteRepair,
)
from tests.unit.versioning.fakes import NOW, no_data
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
class TestAGreaterHead(StrategyCase):
    """A version that exists has a greater id than a new one."""

    def setUp(self):
        super().setUp()
        stamp = Stamp(int(NOW + 30) * 100000, 0xfe00000001)
        self.ahead = Entry('o', Version(stamp, 'south', Vector(
            {'south': stamp})), 1, 'ahead')

    def test_whoever_has_read_it_is_after_it_in_one_round(self):
        self.strategy.apply(self.ahead)
        entry = Entry('o', self.strategy.new_version(after=self.ahead), 7,
                      'e')
        with self.north.network.counted() as count:
            told = self.strategy.commit(entry)
        self.assertEqual(1, count.rounds)
        self.assertEqual(told.entry, self.strategy.latest('o'))

    def test_the_version_is_written_again_after_it(self):
        self.strategy.apply(self.ahead)
        wanted, copied = self.strategy.new_version(), []
        with self.north.network.counted() as count:
            told = self.strategy.commit(
                Entry('o', wanted, 7, 'e'), lambda *entries: copied.append(
                    tuple(ids(entries))))
        self.assertEqual((2, 6), (count.rounds, len(count.sent)))
        entry = told.entry
        self.assertEqual((self.ahead.version.id.ticks + 1, 7), (
            entry.version.id.ticks, entry.size))
        self.assertEqual([(wanted.id, entry.version.id)], copied)
        self.assertEqual([wanted.id], ids(told.replaced))
        self.assertEqual(self.ahead, told.before)
        self.assertTrue(entry.version.descends_from(self.ahead.version))
        self.assertEqual([entry, self.ahead], self.strategy.history('o'))
        self.assertEqual(entry, self.strategy.latest('o'))
        self.assertIsNotNone(self.strategy.get('o', wanted.id).purged)

    def test_other_sites_are_told_that_the_first_one_is_gone(self):
        for peers in (True, False):
            with self.subTest(peers=peers):
                strategy = self.north.strategy(self.kind, peers=peers)
                obj = 'peers' if peers else 'o'
                strategy.apply(replace(self.ahead, object=obj))
                first = strategy.new_version()
                strategy.commit(Entry(obj, first), no_data)
                record = strategy.rows.read(Request(
                    names=(purge_name(obj, first.id),))).rows
                self.assertEqual(peers, bool(record))

    def test_a_delete_marker_is_written_again_too(self):
        self.strategy.apply(self.ahead)
        marker = self.put(deleted=True)
        self.assertEqual(marker.version, self.strategy.latest('o').version)

    def test_a_null_version_does_not_overwrite_itself(self):
        self.strategy.apply(self.ahead)
        old = self.put(null=True)
        told = self.strategy.commit(Entry(
            'o', self.strategy.new_version(after=old), 1, 'e', null=True))
        self.assertEqual([old.data_name],
                         [each.data_name for each in told.replaced])
        self.assertEqual([told.entry, self.ahead],
                         self.strategy.history('o'))

    def test_who_is_behind_again_was_overtaken_and_is_there(self):
        """Another writer is ahead, whatever happens."""
        write = self.strategy.rows.write

        def ahead(request):
            stamp = self.strategy.tick(self.ahead.version.id)
            self.ahead = replace(self.ahead, version=Version(
                stamp, 'south', Vector({'south': stamp})))
            write(Request('o', (WireRow.of(row_of(self.ahead)),),
                          listed=self.kind.listed))
            return write(request)
        self.strategy.rows.write = ahead
        entry = self.put()
        self.assertIn(entry.version.id, ids(self.strategy.history('o')))
        self.assertEqual(3, len(self.strategy.history('o')))

    def test_one_object_s_stamps_say_nothing_to_another(self):
        self.strategy.apply(self.ahead)
        self.assertEqual(self.ahead, self.strategy.latest('o'))
        self.assertLess(self.put('p').version.id, self.ahead.version.id)


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


@of_each_strategy
class TestPurge(StrategyCase):

    def test_the_version_before_comes_back(self):
        made = [self.put() for _ in range(3)]
        self.settle()
        with self.north.network.counted() as count:
            self.assertEqual(made[1], self.strategy.purge(made[2]))
        self.assertEqual((1, 3), (count.rounds, len(count.sent)))
        self.assertEqual(made[1], self.strategy.latest('o'))
        self.assertEqual(made[1::-1], self.strategy.history('o'))
        self.assertEqual([made[1]], self.strategy.current())
        self.assertIsNotNone(
            self.strategy.get('o', made[2].version.id).purged)

    def test_a_version_in_between_leaves_the_latest(self):
        made = [self.put() for _ in range(3)]
        self.assertEqual(made[2], self.strategy.purge(made[1]))
        self.assertEqual(made[2], self.strategy.latest('o'))
        self.assertEqual([made[2], made[0]], self.strategy.history('o'))

    def test_again_is_as_once(self):
        made = [self.put() for _ in range(2)]
        for _ in range(3):
            self.assertEqual(made[0], self.strategy.purge(made[1]))
        self.assertEqual([made[0]], self.strategy.history('o'))

    def test_nothing_is_left_after_all(self):
        made = [self.put() for _ in range(3)]
        for entry in made:
            last = self.strategy.purge(entry)
        self.assertIsNone(last)
        self.assertIsNone(self.strategy.latest('o'))
        self.assertEqual([[]] * 3, [
            self.strategy.history('o'), self.strategy.versions(),
            self.strategy.current()])
        again = self.put()
        self.assertEqual(again, self.strategy.latest('o'))

    def test_other_sites_are_told_where_there_are_some(self):
        for peers in (True, False):
            strategy = self.north.strategy(self.kind, peers=peers)
            entry = self.put()
            strategy.purge(entry)
            self.assertEqual(peers, bool(strategy.rows.read(Request(
                names=(purge_name('o', entry.version.id),))).rows))
            self.assertIsNotNone(
                strategy.get('o', entry.version.id).purged)

    def test_a_version_whose_record_is_all_that_is_left_is_purged(self):
        gone = replace(self.put(), purged=self.strategy.tick())
        self.strategy.rows.write(Request(
            rows=(WireRow.of(purge_record(replace(gone, object='p'))),),
            listed=self.kind.listed))
        self.assertEqual(gone.purged, self.strategy.get(
            'p', gone.version.id).purged)

    def test_a_replica_that_missed_it_does_not_bring_it_back(self):
        made = [self.put() for _ in range(2)]
        self.settle()
        for down in self.north.servers:
            victim = self.put()
            self.settle()
            down.refuse()
            self.strategy.purge(victim)
            down.recover()
            for other in self.north.servers:
                if other is not down:
                    other.refuse()
                    self.assertEqual(made[1], self.strategy.latest('o'))
                    self.assertEqual(made[::-1], self.strategy.history('o'))
                    other.recover()

    def test_a_replica_that_missed_a_version_is_told_of_its_purge(self):
        """It never had it: nothing is there that could be purged."""
        made = self.put()
        self.settle()
        for down in self.north.servers:
            down.refuse()
            victim = self.put()
            down.recover()
            self.assertEqual(made, self.strategy.purge(victim))
            for other in self.north.servers:
                other.refuse()
                self.assertEqual([made], self.strategy.history('o'))
                other.recover()


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
