# SPDX-License-Identifier: Apache-2.0
"""
Sites that have taken in the same versions agree on the latest and on the
history, whatever came when, how often and by which clock.
"""

import unittest
from dataclasses import replace
from unittest import mock

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from swift_lightsync.versioning.core import pointer
from swift_lightsync.versioning.core.clock import HybridClock
from swift_lightsync.versioning.core.row_data import Entry, Pointer
from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from swift_lightsync.versioning.core.version import Version
from swift_lightsync.versioning.strategies import write_repair
from swift_lightsync.versioning.strategies.basis import latest_entry
from swift_lightsync.versioning.strategies.read_repair import ReadRepair
from swift_lightsync.versioning.strategies.write_repair import WriteRepair
from tests.unit.versioning.fakes import NOW, SITES, MemoryRows

OBJECT = 'o'
MODES = ((WriteRepair, 'full'), (ReadRepair, 'full'),
         (ReadRepair, 'by-site'))


class DeafClock(HybridClock):
    """It does not follow what it sees: a wall clock."""

    def follow(self, *stamps):
        pass


class ModelSite:
    """
    :param mode: of MODES
    :param skew: of its clock, in steps of 10 ms
    """

    def __init__(self, name, mode, skew, clock):
        self.time = NOW + skew / 100
        kind, lookup = mode
        self.strategy = kind(
            MemoryRows(), clock(offset_of(SITES.index(name), 1), 60), name,
            SITES, now=lambda: self.time, lookup=lookup)
        #: each Entry that it made, purges too
        self.made = []

    def put(self, deleted=False):
        basis = self.strategy.begin(OBJECT)
        entry = Entry(OBJECT, self.strategy.new_version(basis, deleted),
                      etag='e%d' % len(self.made))
        self.strategy.commit(basis, entry)
        self.made.append(entry)

    def purge(self, number):
        history = self.strategy.history(OBJECT)
        if history:
            victim = history[number % len(history)]
            self.strategy.purge(OBJECT, victim.version.id)
            self.made.append(self.strategy.get(OBJECT, victim.version.id))

    def take(self, entry):
        self.strategy.apply(entry)

    def says(self):
        latest = self.strategy.latest(OBJECT)
        return (latest and (latest.version, latest.etag), [
            (entry.version, entry.etag)
            for entry in self.strategy.history(OBJECT)])


class World:

    def __init__(self, modes, skews, clock=HybridClock):
        self.sites = [ModelSite(name, mode, skew, clock) for name, mode, skew
                      in zip(SITES, modes, skews)]

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
                site.take(made[number % len(made)])

    def deliver_all(self, rng):
        """Every site gets everything, in an order of its own, some twice."""
        every = [entry for site in self.sites for entry in site.made]
        for site in self.sites:
            mail = every + rng.sample(every, len(every) // 2)
            rng.shuffle(mail)
            for entry in mail:
                site.take(entry)

    def expected(self):
        every = [entry for site in self.sites for entry in site.made]
        purged = {entry.version.id for entry in every if entry.purged}
        kept = [entry for entry in every if entry.version.id not in purged]
        latest = latest_entry(kept)
        return (latest and (latest.version, latest.etag), [
            (entry.version, entry.etag) for entry in sorted(
                kept, key=lambda entry: entry.version.id, reverse=True)])


#: what to do, or the number of the site that sends; at which site; a number
actions = st.lists(st.tuples(
    st.sampled_from(['put', 'delete', 'purge', 'purge', 'wait', 0, 1, 2]),
    st.integers(0, 2), st.integers(0, 30)), min_size=8, max_size=30)
skews = st.lists(st.sampled_from([-500, -499, -1, 0, 0, 0, 1, 500]),
                 min_size=3, max_size=3)
checked = settings(max_examples=150, deadline=None, derandomize=True,
                   suppress_health_check=list(HealthCheck))


def run(modes, skews, steps, rng, clock=HybridClock):
    world = World(modes, skews, clock)
    for step in steps:
        world.do(*step)
    world.deliver_all(rng)
    return world


def without_purges(steps):
    """Who purges must have followed what he purges."""
    return [step for step in steps if step[0] != 'purge']


class TestAgreement(unittest.TestCase):

    def check(self, world):
        expected = world.expected()
        for site in world.sites:
            self.assertEqual(expected, site.says())
            self.assertFalse(site.strategy.repair(OBJECT))

    @checked
    @given(st.sampled_from(MODES), skews, actions, st.randoms())
    def test_of_sites_of_one_mode(self, mode, skews, steps, rng):
        self.check(run([mode] * 3, skews, steps, rng))

    @checked
    @given(st.permutations(MODES), skews, actions, st.randoms())
    def test_of_sites_of_all_modes(self, modes, skews, steps, rng):
        self.check(run(modes, skews, steps, rng))

    @checked
    @given(skews, actions, st.randoms())
    def test_of_clocks_that_do_not_follow(self, skews, steps, rng):
        # Descendants may have lesser ids than what they descend from.
        self.check(run([MODES[0]] * 3, skews, without_purges(steps), rng,
                       DeafClock))

    @checked
    @given(skews, actions, st.randoms())
    def test_of_two_modes_of_lookup(self, skews, steps, rng):
        world = run([MODES[1]] * 3, skews, steps, rng)
        for site in world.sites:
            full = site.says()
            site.strategy.lookup = 'by-site'
            self.assertEqual(full, site.says())


def pairwise(read, entries, tick, listed_at=None):
    """Only the pointer's version and the new one are compared."""
    new = entries[-1]
    old = read and read.latest
    if old and not new.version.descends_from(old.version) and (
            old.version.descends_from(new.version) or
            old.version.id > new.version.id):
        new = old
    return Pointer(read.stamp.revised(tick()) if read else tick(), new,
                   (new.version,))


def version(site, ticks, *seen):
    stamp = Stamp(int(NOW) * 100000 + ticks,
                  offset_of(SITES.index(site), 1))
    return Version.after(seen, stamp, site)


class TestComparingWithThePointerOnly(unittest.TestCase):
    """What the properties above must catch."""

    def setUp(self):
        # b has seen a, by a clock that is behind; c has seen nothing
        a = version('north', 30)
        self.entries = [Entry(OBJECT, each) for each in (
            a, version('south', 10, a), version('west', 20))]

    def latest_after(self, order):
        site = ModelSite('north', MODES[0], 0, DeafClock)
        for number in order:
            site.take(self.entries[number])
        return self.entries.index(site.strategy.latest(OBJECT))

    def test_three_concurrent_puts_make_sites_differ(self):
        with mock.patch.object(write_repair, 'pointer_after', pairwise):
            self.assertEqual([2, 1], [self.latest_after(order) for order in (
                (0, 1, 2), (0, 2, 1))])

    def test_the_frontier_does_not(self):
        self.assertEqual([2, 2], [self.latest_after(order) for order in (
            (0, 1, 2), (0, 2, 1))])

    def test_the_model_finds_it(self):
        # one that is ahead, one that is behind and has seen it, one between
        start = [('put', 0, 0), (0, 1, 0), ('put', 1, 0), ('put', 2, 0)]

        @settings(checked, database=None, phases=[Phase.generate])
        @given(actions, st.randoms())
        def agree(steps, rng):
            world = run([MODES[0]] * 3, [500, -500, 0],
                        start + without_purges(steps), rng, DeafClock)
            self.assertEqual(1, len({
                str(site.says()[0]) for site in world.sites}))
        with mock.patch.object(write_repair, 'pointer_after', pairwise):
            with self.assertRaises(AssertionError):
                agree()
        agree()


class TestPointer(unittest.TestCase):

    def entry(self, *args):
        return Entry(OBJECT, version(*args))

    def after(self, read, *entries, listed_at=None):
        return pointer.pointer_after(
            read, entries, lambda: Stamp(9 * 10 ** 14, 7), listed_at)

    def test_it_has_the_id_of_a_latest_that_is_newer(self):
        first = self.after(None, self.entry('south', 1))
        newer = self.entry('north', 2)
        for read in (None, first):
            self.assertEqual(newer.version.id, self.after(read, newer).stamp)

    def test_an_older_arrival_moves_it_less_than_a_write_under_way(self):
        read = self.after(None, self.entry('south', 5))
        moved = self.after(read, self.entry('north', 4))
        self.assertEqual(read.latest, moved.latest)
        self.assertEqual(2, len(moved.frontier))
        self.assertLess(read.stamp, moved.stamp)
        self.assertLess(moved.stamp, version('west', 6).id)

    def test_revisions_that_read_the_same_differ(self):
        read = self.after(None, self.entry('south', 5)).stamp
        ticks = [Stamp(10 ** 14 + number, 1) for number in range(3)]
        self.assertEqual(3, len({read.revised(tick) for tick in ticks}))
        again = read.revised(ticks[0]).revised(ticks[0])
        self.assertLess(max(read.revised(tick) for tick in ticks), again)

    def test_it_is_newer_than_a_row_of_others(self):
        listed = Stamp(int(NOW) * 100000 + 8)
        self.assertGreater(self.after(
            None, self.entry('south', 1), listed_at=listed).stamp, listed)

    def test_purged_versions_are_not_in_it(self):
        one, two = self.entry('south', 1), self.entry('south', 2)
        read = self.after(None, one, two)
        gone = replace(two, purged=Stamp(9 * 10 ** 13))
        moved = self.after(read, one, gone)
        self.assertEqual((one, (one.version,)),
                         (moved.latest, moved.frontier))
        self.assertIsNone(self.after(
            moved, gone, replace(one, purged=gone.purged)).latest)

    def test_a_latest_of_which_only_the_frontier_tells_is_an_error(self):
        a = version('north', 30)
        b, c = version('south', 10, a), version('west', 20)
        read = self.after(None, Entry(OBJECT, a), Entry(OBJECT, c))
        with self.assertRaises(KeyError):
            self.after(read, Entry(OBJECT, b))
