# SPDX-License-Identifier: Apache-2.0
"""Sites that have taken in the same versions agree on the latest and on the
history, whatever came when, how often and by which clock; and replicas of a
site answer as one, whatever each of them has missed.
"""

import unittest
from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from swift_lightsync.versioning.core.row_data import (
    Entry,
    listed_of,
    listing_name,
)
from swift_lightsync.versioning.core.stamp import SiteClock
from swift_lightsync.versioning.core.verb import Request
from swift_lightsync.versioning.rows.replies import RowsUnavailable
from swift_lightsync.versioning.rows.row_reader import RowReader
from swift_lightsync.versioning.strategies.strategy import (
    ReadRepair,
    WriteRepair,
)
from tests.unit.versioning.fakes import NOW, SITES, no_data
from tests.unit.versioning.memory import (
    MemoryReplica,
    MemoryReplicas,
    MemoryRows,
)

OBJECT = 'o'
MODES = (WriteRepair, ReadRepair)


class ModelSite:
    """:param kind: of its strategy
    :param skew: of its clock, in steps of 10 ms
    """

    def __init__(self, name, kind, skew):
        self.time = NOW + skew / 100
        self.strategy = kind(
            MemoryRows(), SiteClock(SITES.index(name), 60, self.nonce), name,
            now=lambda: self.time)
        self.nonces = 0
        #: each Entry that it made, purges too
        self.made = []

    def nonce(self):
        self.nonces += 1
        return self.nonces

    def put(self, deleted=False):
        told = self.strategy.commit(Entry(
            OBJECT, self.strategy.new_version(deleted),
            etag='e%d' % len(self.made)), no_data)
        self.made.append(told.entry)

    def purge(self, number):
        history = self.strategy.history(OBJECT)
        if history:
            victim = history[number % len(history)]
            self.strategy.purge(victim)
            self.made.append(self.strategy.get(OBJECT, victim.version.id))

    def says(self):
        latest = self.strategy.latest(OBJECT)
        return (latest and (latest.version, latest.etag), [
            (entry.version, entry.etag)
            for entry in self.strategy.history(OBJECT)])

    def listed(self):
        """The id in the listing row, or None."""
        row = self.strategy.rows.read(Request(
            names=(listing_name(OBJECT),))).rows.get(listing_name(OBJECT))
        found = row and not row.deleted and listed_of(row.etag)
        return found.id if found else None


class World:

    def __init__(self, kinds, skews):
        self.sites = [ModelSite(name, kind, skew) for name, kind, skew
                      in zip(SITES, kinds, skews)]

    def do(self, action, site, number):
        site = self.sites[site]
        if action == 'put':
            site.put()
        elif action == 'delete':
            site.put(deleted=True)
        elif action == 'purge':
            site.purge(number)
        elif action == 'wait':
            site.time += number / 100
        else:
            made = self.sites[action].made
            if made:
                site.strategy.apply(made[number % len(made)])

    def deliver_all(self, rng):
        """Every site gets everything, in an order of its own, some twice."""
        every = [entry for site in self.sites for entry in site.made]
        for site in self.sites:
            mail = every + rng.sample(every, len(every) // 2)
            rng.shuffle(mail)
            for entry in mail:
                site.strategy.apply(entry)

    def expected(self):
        every = [entry for site in self.sites for entry in site.made]
        purged = {entry.version.id for entry in every if entry.purged}
        kept = [(entry.version, entry.etag) for entry in sorted(
            (entry for entry in every
             if entry.version.id not in purged),
            key=lambda entry: entry.version.id, reverse=True)]
        return kept[0] if kept else None, kept


#: what to do, or the number of the site that sends; at which site; a number
actions = st.lists(st.tuples(
    st.sampled_from(['put', 'delete', 'purge', 'purge', 'wait', 0, 1, 2]),
    st.integers(0, 2), st.integers(0, 30)), min_size=8, max_size=30)
skews = st.lists(st.sampled_from([-500, -499, -1, 0, 0, 0, 1, 500]),
                 min_size=3, max_size=3)
checked = settings(max_examples=100,
                   suppress_health_check=list(HealthCheck))


class TestAgreement(unittest.TestCase):

    @checked
    @given(st.lists(st.sampled_from(MODES), min_size=3, max_size=3), skews,
           actions, st.randoms())
    def test_of_sites_of_any_modes_and_clocks(self, kinds, skews, steps,
                                              rng):
        world = World(kinds, skews)
        for step in steps:
            world.do(*step)
        world.deliver_all(rng)
        latest, kept = expected = world.expected()
        for site in world.sites:
            self.assertEqual(expected, site.says())
            if site.strategy.listed:
                self.assertEqual(
                    latest and not latest[0].deleted and latest[0].id or
                    None, site.listed())

    @checked
    @given(skews, actions)
    def test_who_writes_after_what_he_has_read_is_later(self, skews, steps):
        world = World([WriteRepair] * 3, skews)
        for step in steps:
            site = world.sites[step[1]]
            seen = site.strategy.latest(OBJECT)
            world.do(*step)
            if step[0] in ('put', 'delete'):
                made = site.made[-1]
                self.assertEqual(made.version,
                                 site.strategy.latest(OBJECT).version)
                self.assertTrue(seen is None or made.version.descends_from(
                    seen.version))


class Lossy:
    """A strategy whose requests do not reach all of three replicas.

    :param rng: says which
    """

    def __init__(self, kind, rng):
        self.rng = rng
        self.replicas = [MemoryReplica() for _ in range(3)]
        self.rows = MemoryRows(replicas=self.replicas)
        self.rows._replicas = self
        self.rows._reader = RowReader(self)
        self.time = NOW
        nonces = iter(range(1, 10 ** 6))
        self.strategy = kind(self.rows, SiteClock(0, 60, lambda: next(
            nonces)), SITES[0], now=self.now)

    def now(self):
        self.time += 0.001
        return self.time

    def _reached(self, number):
        kept = self.rng.sample(range(3), number)
        return MemoryReplicas(self.replicas, kept.__contains__)

    def begin(self, place, request, first=()):
        return self._reached(2).begin(place, request)

    def tell(self, place, request, again):
        return self._reached(self.rng.choice([1, 2, 2, 2, 3])).tell(
            place, request, again)


class TestReplicasThatMissRequests(unittest.TestCase):
    """One client: each answer follows from what was acknowledged."""

    @checked
    @given(st.sampled_from(MODES), st.randoms(), st.lists(
        st.tuples(st.sampled_from([
            'put', 'put', 'delete', 'purge', 'purge', 'null', 'amend']),
            st.integers(0, 9)), min_size=5, max_size=25))
    def test_what_is_acknowledged_is_read_and_stays(self, kind, rng, steps):
        world = Lossy(kind, rng)
        strategy = world.strategy
        # by id; of those in doubt nobody knows whether they are there
        live, gone, doubt = {}, set(), set()
        for action, number in steps:
            victim = sorted(live)[number % len(live)] if live else None
            if action in ('put', 'delete', 'null'):
                entry = Entry('o', strategy.new_version(action == 'delete'),
                              null=action == 'null')
                try:
                    told = strategy.commit(entry, no_data)
                except RowsUnavailable:
                    # Older null versions stay.
                    doubt.add(entry.version.id)
                else:
                    replaced = {each.version.id for each in told.replaced}
                    for old in [each for each in live if told.entry.null and
                                live[each].null]:
                        del live[old]
                        # Too few replicas may have taken its purge.
                        (gone if old in replaced else doubt).add(old)
                    live[told.entry.version.id] = told.entry
            elif victim and action == 'purge':
                try:
                    strategy.purge(live[victim])
                except RowsUnavailable:
                    doubt.add(victim)
                else:
                    gone.add(victim)
                    del live[victim]
            elif victim and not live[victim].version.deleted:
                try:
                    strategy.amend(live[victim], 't%d' % number)
                except RowsUnavailable:
                    pass
            self.check(strategy, live, gone, doubt)

    def check(self, strategy, live, gone, doubt):
        found = {entry.version.id for entry in strategy.history('o')}
        self.assertLessEqual(set(live) - doubt, found)
        self.assertFalse((gone - doubt) & found)
        self.assertLessEqual(found, set(live) | doubt)
        # What is in doubt may come and go with each majority that is read.
        sure = found - doubt
        for heads in ([strategy.latest('o')], strategy.current()):
            told = {entry.version.id for entry in heads if entry}
            self.assertLessEqual(told, found | doubt)
            if sure:
                self.assertGreaterEqual(max(told), max(sure))
        for stamp in gone - doubt:
            self.assertIsNotNone(strategy.get('o', stamp).purged)


def site_of(kind):
    return ModelSite('north', kind, 0)


class TestOrders(unittest.TestCase):
    """Cases that the properties above have to cover."""

    def test_a_purge_that_comes_first_is_no_head(self):
        for kind in MODES:
            site = site_of(kind)
            site.put()
            first = site.made[0]
            gone = replace(first, purged=site.strategy.tick(
                first.version.id))
            other = site_of(kind)
            for entry in (gone, first, gone):
                other.strategy.apply(entry)
                self.assertEqual((None, []), other.says())
