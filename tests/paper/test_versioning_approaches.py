# SPDX-License-Identifier: Apache-2.0
"""
What the paper on Write-Repair and Read-Repair says in its §3 of versions,
of the latest of them and of what each approach costs, claim by claim.
Requests go to real container servers; what is counted is rounds.
"""

import unittest

from swift_lightsync.versioning.core.keys import (
    ReadRepairKeys,
    WriteRepairKeys,
)
from swift_lightsync.versioning.core.row_data import Entry
from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from swift_lightsync.versioning.core.version import (
    Vector,
    Version,
    frontier,
    latest,
)
from swift_lightsync.versioning.strategies.read_repair import ReadRepair
from swift_lightsync.versioning.strategies.write_repair import WriteRepair
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
        self.assertEqual(four, latest(every))

    def test_vectors_come_before_times(self):
        # "keys are compared using their version vectors"
        first = version('north', 9)
        second = version('south', 1, first)
        self.assertEqual(second, latest([first, second]))

    def test_then_the_most_recent_timestamp(self):
        older, newer = version('north', 1), version('west', 2)
        self.assertEqual(newer, latest([newer, older]))

    def test_then_the_site_preference(self):
        every = [version(site, 5) for site in SITES]
        self.assertEqual('north', latest(every).site)
        self.assertEqual('north', latest(every[::-1]).site)
        self.assertEqual('south', latest(every[1:]).site)


class TestKeys(unittest.TestCase):
    """§3.3: the key schemes."""

    made = version('south', 7)
    inverted = str(made.id.inverted)

    def test_of_write_repair(self):
        keys = WriteRepairKeys
        self.assertEqual('\0v\0foo', keys.history('foo'))
        self.assertEqual('\0V\0foo\0' + self.inverted,
                         keys.version('foo', self.made))
        self.assertTrue(keys.version('foo', self.made).startswith(
            keys.of_object('foo')))

    def test_of_read_repair(self):
        # pre:id:sid:ts
        keys = ReadRepairKeys
        self.assertEqual('\0R\0foo\0south\0' + self.inverted,
                         keys.version('foo', self.made))
        self.assertEqual('\0R\0foo\0south\0', keys.of_site('foo', 'south'))

    def test_a_range_query_gives_the_newest_first(self):
        # "the number of results to 1": the first is the latest of the site
        names = [ReadRepairKeys.version('foo', version('south', ticks))
                 for ticks in range(5)]
        self.assertEqual(names[::-1], sorted(names))


class CostCase(SiteCase):

    def setUp(self):
        super().setUp()
        self.strategy = self.north.strategy(self.kind)
        for _ in range(3):
            self.north.put(self.strategy, 'foo')

    def cost(self, do):
        """:returns: (rounds, {(method, path) of the requests})"""
        with self.north.network.counted() as count:
            do()
        return count.rounds, set(count.sent)

    def put(self):
        self.north.put(self.strategy, 'foo')


class TestWriteRepair(CostCase):
    """§3.2.1"""

    kind = WriteRepair

    def test_an_update_is_two_round_trips(self):
        # "the first one is for retrieving the version history and the
        # second one is for writing back"
        rounds, sent = self.cost(self.put)
        self.assertEqual(2, rounds)
        head = WriteRepairKeys.version('foo', self.north.strategy(
            WriteRepair).latest('foo').version)
        self.assertEqual({
            ('GET', HIDDEN), ('GET', '/a/c'),
            ('PUT', HIDDEN + '/\0v\0foo'), ('PUT', HIDDEN + '/' + head),
            ('PUT', '/a/c/foo')}, sent)

    def test_reading_the_latest_is_one(self):
        # "simply done by querying the known key for that object"
        self.assertEqual((1, {('GET', HIDDEN)}), self.cost(
            lambda: self.strategy.latest('foo')))
        self.assertEqual(1, self.strategy.rows.rounds - 6)

    def test_the_history_and_the_latest_are_two_places(self):
        before = {entry.version.id for entry in
                  self.strategy.history('foo')}
        self.put()
        after = {entry.version.id for entry in self.strategy.history('foo')}
        self.assertEqual(1, len(after - before))
        self.assertEqual(
            max(after), self.north.listed('foo').version.id)

    def test_a_list_reads_one_row_of_each_object(self):
        for name in ('bar', 'baz'):
            self.north.put(self.strategy, name)
        self.assertEqual((1, {('GET', '/a/c')}), self.cost(
            lambda: self.assertEqual(
                ['bar', 'baz', 'foo'], [
                    entry.object for entry in self.strategy.current()])))

    def test_a_delete_marker_costs_what_an_update_costs(self):
        rounds, _ = self.cost(lambda: self.north.put(
            self.strategy, 'foo', deleted=True))
        self.assertEqual(2, rounds)

    def test_a_purge_is_three(self):
        newest = self.strategy.latest('foo').version.id
        rounds, _ = self.cost(lambda: self.strategy.purge('foo', newest))
        self.assertEqual(3, rounds)


class TestReadRepair(CostCase):
    """§3.2.2"""

    kind = ReadRepair

    def test_an_update_is_one_round_trip(self):
        # "This approach ensures [...] single-roundtrip writes"
        rounds, sent = self.cost(self.put)
        self.assertEqual((1, 1), (rounds, len(sent)))
        (method, path), = sent
        self.assertEqual('PUT', method)
        self.assertTrue(path.startswith(HIDDEN + '/\0R\0foo\0north\0'))

    def test_an_update_is_blocked_by_no_other(self):
        # "without being blocked by any other concurrent writes"
        bases = [self.strategy.begin('foo') for _ in range(5)]
        entries = [Entry('foo', self.strategy.new_version(basis), 1, 'e')
                   for basis in bases]
        for basis, entry in reversed(list(zip(bases, entries))):
            self.strategy.commit(basis, entry)
        self.assertEqual(entries[::-1], self.strategy.history('foo')[:5])

    def test_metadata_is_immutable(self):
        old = self.strategy.history('foo')
        self.put()
        self.assertEqual(old, self.strategy.history('foo')[1:])

    def test_reading_by_a_full_range_query_is_one(self):
        rounds, sent = self.cost(lambda: self.strategy.latest('foo'))
        self.assertEqual((1, {('GET', HIDDEN), ('GET', '/a/c')}),
                         (rounds, sent))

    def test_light_queries_are_one_for_each_site_and_give_the_same(self):
        # "we must issue locally as many range queries as the number of
        # sites"; they are sent at once
        light = self.north.strategy(ReadRepair, lookup='by-site')
        with self.north.network.counted() as count:
            found = light.latest('foo')
        queries = [path for _, path in count.sent if path == HIDDEN]
        # A majority of the replicas is asked.
        self.assertEqual((1, len(SITES) * (self.replicas // 2 + 1)),
                         (count.rounds, len(queries)))
        self.assertEqual(self.strategy.latest('foo'), found)

    def test_a_light_query_is_of_the_latest_of_a_site_only(self):
        seen = []
        client = self.strategy.rows.client
        ask = client.request

        def request(node, part, method, path, headers, parameters=None):
            if path == HIDDEN:
                seen.append((parameters['prefix'], parameters['limit']))
            return ask(node, part, method, path, headers, parameters)
        client.request = request
        self.strategy.lookup = 'by-site'
        self.strategy.latest('foo')
        self.assertEqual({
            ('\0R\0foo\0%s\0' % site, '1') for site in SITES}, set(seen))

    def test_a_list_scans_all_versions_of_all_objects(self):
        read = []
        entry = self.strategy.entry
        self.strategy.entry = lambda row: read.append(row) or entry(row)
        self.assertEqual(['foo'], [
            entry.object for entry in self.strategy.current()])
        self.assertEqual(3, len(read))


class TestVectorsOfEachApproach(unittest.TestCase):
    """Who writes may claim only what he has read."""

    def test_read_repair_claims_itself_alone(self):
        made = version('north', 1)
        self.assertEqual(Vector({'north': made.id}), made.vector)

    def test_write_repair_claims_the_frontier(self):
        first, second = version('north', 1), version('south', 2)
        third = version('west', 3, first, second)
        self.assertEqual(['north', 'south', 'west'],
                         [site for site, _ in third.vector])
        self.assertEqual([third], frontier([first, second, third]))
