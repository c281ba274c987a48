# SPDX-License-Identifier: Apache-2.0
"""What other sites made, and what POSTs change."""

from dataclasses import replace

from swift_lightsync.versioning.core.row_data import PURGES, Entry, purge_name
from swift_lightsync.versioning.core.stamp import Stamp
from swift_lightsync.versioning.core.verb import Page
from swift_lightsync.versioning.core.verb import Request as Asked
from swift_lightsync.versioning.core.version import Vector, Version
from tests.unit.versioning.fakes import NOW, SITES
from tests.unit.versioning.strategy_case import (
    StrategyCase,
    ids,
    of_each_strategy,
)


@of_each_strategy
class TestAmend(StrategyCase):

    def test_the_rows_say_the_new_content_type(self):
        old, new = self.put(), self.put()
        for entry in (new, old):
            self.assertTrue(self.strategy.amend(entry, 'text/new'))
        for entry in self.strategy.history('o') + self.strategy.current() + [
                self.strategy.latest('o')]:
            self.assertEqual('text/new', entry.content_type)
        self.assertEqual(ids([new, old]), ids(self.strategy.history('o')))
        self.assertEqual(new.version, self.strategy.latest('o').version)

    def test_the_last_change_wins_and_says_when_it_was(self):
        entry = self.put()
        ticks = entry.version.id.ticks
        for change, name in ((Stamp(ticks + 900, 5), 'text/b'),
                             (Stamp(ticks + 800, 9), 'text/a')):
            self.strategy.amend(entry, name, change)
            found = self.strategy.get('o', entry.version.id)
            self.assertEqual(('text/b', Stamp(ticks + 900)), (
                found.content_type, found.changed))

    def test_a_purge_stays_a_purge(self):
        first, entry = self.put(), self.put()
        self.strategy.purge(entry)
        self.assertFalse(self.strategy.amend(
            entry, 'text/new', Stamp(entry.version.id.ticks + 10 ** 9)))
        self.assertEqual(first, self.strategy.latest('o'))
        self.assertEqual([first], self.strategy.history('o'))

    def test_what_it_leaves_alone_stays(self):
        self.strategy.apply(Entry('o', Version(
            Stamp(int(NOW + 9) * 100000, 5), 'south', Vector()), 1, 'e'))
        entry = self.put(null=True)
        self.strategy.amend(replace(entry, null=False, version=replace(
            entry.version, vector=Vector())), 'text/new')
        found = self.strategy.get('o', entry.version.id)
        self.assertEqual(replace(entry, content_type='text/new',
                                 changed=found.changed), found)

    def test_nothing_becomes_of_a_version_that_is_not_there(self):
        entry = replace(self.put(), object='p')
        self.assertFalse(self.strategy.amend(entry, 'text/new'))
        self.assertEqual([], self.strategy.history('p'))


@of_each_strategy
class TestApply(StrategyCase):
    """What another site made, here of the site south."""

    def made(self, number, *seen, **fields):
        stamp = Stamp(int(NOW) * 100000 + number, 0xfe00000001)
        version = Version.after([entry.version for entry in seen], stamp,
                                'south', fields.pop('deleted', False))
        return Entry('o', version, 1, 'e%d' % number, **fields)

    def test_a_newer_one_is_the_latest_an_older_one_is_not(self):
        entries = [self.made(number) for number in range(3)]
        for entry in (entries[1], entries[2], entries[0]):
            self.strategy.apply(entry)
        self.assertEqual(entries[2], self.strategy.latest('o'))
        self.assertEqual(entries[::-1], self.strategy.history('o'))

    def test_again_is_as_once(self):
        here = self.put()
        entry = self.made(5)
        for _ in range(3):
            self.strategy.apply(entry)
            self.strategy.apply(here)
        self.assertEqual({here.version.id, entry.version.id},
                         set(ids(self.strategy.history('o'))))

    def test_a_purge_may_come_before_its_version(self):
        first, second = self.made(1), self.made(2)
        self.strategy.apply(first)
        self.strategy.apply(replace(second, purged=Stamp(
            second.version.id.ticks + 5, 0xfe00000001)))
        self.strategy.apply(second)
        self.assertEqual(first, self.strategy.latest('o'))
        self.assertEqual([first], self.strategy.history('o'))

    def test_a_null_version_that_is_late_is_purged_at_all_sites(self):
        late, newer = (self.made(number, null=True) for number in (1, 2))
        for entry in newer, late:
            self.strategy.apply(entry)
        self.assertEqual(ids([newer]), ids(self.strategy.history('o')))
        records = self.north.rows().read(Asked(page=Page(PURGES))).page
        self.assertEqual([purge_name('o', late.version.id)],
                         [row.name for row in records])

    def test_an_own_write_comes_after_it(self):
        ahead = self.made(30 * 100000)
        self.strategy.apply(ahead)
        entry = self.put()
        self.assertLess(ahead.version.id, entry.version.id)
        self.assertEqual(entry, self.strategy.latest('o'))

    def test_equal_times_are_decided_by_the_preference(self):
        ticks = int(NOW) * 100000
        for order in (0, 1):
            entries = [Entry('o%d' % order, Version.after(
                (), Stamp(ticks, (255 - rank << 32) + 7), site), 1, site)
                for rank, site in enumerate(SITES)]
            for entry in entries[::-1] if order else entries:
                self.strategy.apply(entry)
            self.assertEqual(entries[0],
                             self.strategy.latest('o%d' % order))
