# SPDX-License-Identifier: Apache-2.0
"""What both strategies do when a version is purged."""

from dataclasses import replace

from swift_lightsync.versioning.core.row_data import purge_name, purge_record
from swift_lightsync.versioning.core.verb import Request, WireRow
from tests.unit.versioning.strategy_case import StrategyCase, of_each_strategy


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
