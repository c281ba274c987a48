# SPDX-License-Identifier: Apache-2.0
"""What the paper on Write-Repair and Read-Repair says in its §3 of versions,
of the latest of them and of what each approach costs, claim by claim. Requests
go to real container servers; what is counted is rounds.
"""

import unittest

from swift_lightsync.versioning.core.row_data import (
    Entry,
    listing_name,
    parse_version,
    version_name,
    versions_of,
)
from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from swift_lightsync.versioning.core.version import Vector, Version, frontier
from swift_lightsync.versioning.strategies.strategy import (
    ReadRepair,
    WriteRepair,
)
from tests.unit.sync.fixtures import wait_for
from tests.unit.versioning.fakes import NOW, SITES, SiteCase

HIDDEN = '/a/\0site-versions\0c'


def version(site, ticks, *seen):
    stamp = Stamp(int(NOW) * 100000 + ticks,
                  offset_of(SITES.index(site), 1))
    return Version.after(seen, stamp, site)


class TestTheLatest(unittest.TestCase):
    """§3.1, Fig. 2; §3.3, the last item."""

    def test_figure_2(self):
        # 1 -> 2 -> {3, 4, 5}: three latest versions, one is selected
        one = version('north', 1)
        two = version('south', 2, one)
        three, five = version('north', 3, two), version('west', 3, two)
        four = version('south', 4, two)
        every = [one, two, three, four, five]
        self.assertEqual([four, three, five], frontier(every))
        self.assertEqual(four, frontier(every)[0])

    def test_vectors_come_before_times(self):
        """"keys are compared using their version vectors": a version that has
        seen another is given the greater id, so ids alone say the same.
        """
        case = SiteCase('setUp')
        case.setUp()
        self.addCleanup(case.doCleanups)
        strategy = case.north.strategy(WriteRepair)
        first = Entry('foo', version('south', 10 ** 6), 1, 'e')
        strategy.apply(first)
        second = case.north.put(strategy, 'foo')
        self.assertGreater(second.version.id, first.version.id)
        self.assertEqual([second.version],
                         frontier([first.version, second.version]))

    def test_then_the_most_recent_timestamp(self):
        older, newer = version('north', 1), version('west', 2)
        self.assertEqual(newer, frontier([newer, older])[0])

    def test_then_the_site_preference(self):
        every = [version(site, 5) for site in SITES]
        self.assertEqual('north', frontier(every)[0].site)
        self.assertEqual('north', frontier(every[::-1])[0].site)
        self.assertEqual('south', frontier(every[1:])[0].site)


class TestKeys(unittest.TestCase):
    """§3.3: the key schemes."""

    made = version('south', 7)

    def test_of_versions(self):
        # V:foo:v4, pre:id:sid:ts: the stamp tells the site, too
        name = version_name('foo', self.made.id)
        self.assertEqual('\0V\0foo\0' + str(self.made.id.inverted), name)
        self.assertTrue(name.startswith(versions_of('foo')))
        self.assertEqual(SITES.index('south'), parse_version(name).id.rank)

    def test_of_the_latest_in_listings(self):
        # A:foo
        self.assertEqual('\0A\0foo', listing_name('foo'))

    def test_a_range_query_gives_the_newest_first(self):
        # "the number of results to 1": the first is the latest
        names = [version_name('foo', version('south', ticks).id)
                 for ticks in range(5)]
        self.assertEqual(names[::-1], sorted(names))


class CostCase(SiteCase):

    def setUp(self):
        super().setUp()
        self.strategy = self.north.strategy(self.kind)
        for _ in range(3):
            self.put()

    def cost(self, do):
        """:returns: (rounds, requests); all go to the hidden container"""
        network = self.north.network
        with network.counted() as count:
            do()
        wait_for(lambda: not network.under_way, 'all is answered')
        self.assertEqual({('VERSION', HIDDEN)}, set(count.sent))
        return count.rounds, len(count.sent)

    def put(self, **fields):
        return self.north.put(self.strategy, 'foo', **fields)

    def names(self):
        """The names of the rows that are there."""
        broker = self.north.servers[0].app._get_container_broker(
            'sda', '0', 'a', '\0site-versions\0c')
        return {item['name'] for item in broker.get_objects(
            include_deleted=False)}


class TestWriteRepair(CostCase):
    """§3.2.1"""

    kind = WriteRepair

    def test_an_update_is_one_round_trip_of_the_two(self):
        # "the first one is for retrieving the version history and the
        # second one is for writing back": the container servers do both
        self.assertEqual((1, 3), self.cost(self.put))

    def test_reading_the_latest_is_one(self):
        # "simply done by querying the known key for that object"
        self.assertEqual((1, 2), self.cost(
            lambda: self.strategy.latest('foo')))

    def test_the_history_and_the_latest_are_two_places(self):
        before = self.names()
        made = self.put()
        wait_for(lambda: made.data_name in self.names(), 'all have it')
        self.assertEqual({made.data_name}, self.names() - before)
        self.assertIn(listing_name('foo'), before)
        self.assertEqual(made.version.id, self.north.listed('foo').id)

    def test_a_list_has_one_row_of_each_object(self):
        for name in ('bar', 'baz'):
            self.north.put(self.strategy, name)
        self.assertEqual(['bar', 'baz', 'foo'], self.north.shown())

    def test_a_delete_marker_costs_what_an_update_costs(self):
        self.assertEqual((1, 3), self.cost(lambda: self.put(deleted=True)))

    def test_a_purge_is_one(self):
        newest = self.strategy.latest('foo')
        self.assertEqual((1, 3), self.cost(
            lambda: self.strategy.purge(newest)))


class TestReadRepair(CostCase):
    """§3.2.2"""

    kind = ReadRepair

    def test_an_update_is_one_round_trip(self):
        # "This approach ensures [...] single-roundtrip writes"
        self.assertEqual((1, 3), self.cost(self.put))

    def test_an_update_leaves_one_row(self):
        before = self.names()
        made = self.put()
        wait_for(lambda: made.data_name in self.names(), 'all have it')
        self.assertEqual({made.data_name}, self.names() - before)
        self.assertEqual(4, len(self.names()))

    def test_an_update_is_blocked_by_no_other(self):
        # "without being blocked by any other concurrent writes"
        entries = [Entry('foo', self.strategy.new_version(), 1, 'e')
                   for _ in range(5)]
        for entry in entries:
            told = self.strategy.commit(entry)
            self.assertEqual(entry.version.id, told.entry.version.id)
        self.assertEqual(
            [entry.version.id for entry in entries[::-1]],
            [entry.version.id for entry in self.strategy.history('foo')[:5]])

    def test_metadata_is_immutable(self):
        old = self.strategy.history('foo')
        self.put()
        self.assertEqual(old, self.strategy.history('foo')[1:])

    def test_reading_is_one(self):
        self.assertEqual((1, 2), self.cost(
            lambda: self.strategy.latest('foo')))

    def test_a_list_looks_for_the_latest_of_each_object(self):
        for name in ('bar', 'baz'):
            self.north.put(self.strategy, name)
        self.assertEqual((1, 2), self.cost(
            lambda: self.assertEqual(['bar', 'baz', 'foo'], [
                entry.object for entry in self.strategy.current()])))


class TestVectors(SiteCase):
    """A version claims what its container servers held, and no more."""

    def test_it_claims_the_frontier(self):
        strategy = self.north.strategy(ReadRepair)
        first, second = version('west', 1), version('south', 2)
        self.assertEqual(Vector({'west': first.id}), first.vector)
        for each in (first, second):
            strategy.apply(Entry('foo', each, 1, 'e'))
        third = self.north.put(strategy, 'foo').version
        self.assertEqual(['north', 'south', 'west'],
                         [site for site, _ in third.vector])
        self.assertEqual([third], frontier([first, second, third]))
