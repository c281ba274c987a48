# SPDX-License-Identifier: Apache-2.0
"""What both strategies do where a version has a greater id than a new one."""

from dataclasses import replace

from swift_lightsync.versioning.core.row_data import Entry, purge_name, row_of
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Request, WireRow
from swift_lightsync.versioning.core.version import Vector, Version
from tests.unit.versioning.fakes import NOW, no_data
from tests.unit.versioning.strategy_case import (
    StrategyCase,
    ids,
    of_each_strategy,
)


@of_each_strategy
class TestAGreaterHead(StrategyCase):

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
