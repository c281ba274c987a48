# SPDX-License-Identifier: Apache-2.0
"""What was acknowledged keeps its row and its data, whatever other writers do
at the same time: those of null versions above all, which purge each other.

A writer here does what a proxy does: it stores its data, commits the version,
then deletes the data of what it has replaced. Each request, to container
servers or about data, is a step; the steps are taken in every order, or in
orders by dice.
"""

import random
from dataclasses import replace

from swift_lightsync.versioning.core.row_data import (
    Entry,
    purge_name,
    version_name,
)
from swift_lightsync.versioning.core.stamp import SiteClock
from swift_lightsync.versioning.core.verb import Request
from swift_lightsync.versioning.rows.rows import RowsUnavailable
from swift_lightsync.versioning.strategies.strategy import WriteRepair
from tests.unit.versioning.fakes import NOW, SITES
from tests.unit.versioning.memory import (
    MemoryReplica,
    MemoryReplicas,
    MemoryRows,
)
from tests.unit.versioning.test_races import OBJECT, Race, RaceCase, put

#: Orders of the steps that are tried where there are too many.
ORDERS = 300


class DataMissing(Exception):
    """The data of a version is not there."""


class Proxy:
    """A writer that stores data.

    :param strategy: with a gate before each of its requests
    :param data: the names of all data that is stored
    """

    def __init__(self, strategy, data):
        self.strategy = strategy
        self.data = data

    def step(self):
        self.strategy.rows.gate()

    def put(self, null=False, looks=False):
        """Return the ``Entry`` that is acknowledged, or None: it fails."""
        latest = self.strategy.latest(OBJECT) if looks else None
        entry = Entry(OBJECT, self.strategy.new_version(after=latest),
                      null=null)
        self.data.add(entry.data_name)
        self.step()
        try:
            told = self.strategy.commit(
                entry, None if looks else self.copy)
        except DataMissing:
            return None
        self.delete(told.replaced)
        return told.entry

    def copy(self, old, new):
        self.step()
        if old.data_name not in self.data:
            raise DataMissing
        self.data.add(new.data_name)

    def delete(self, entries):
        for entry in entries:
            self.step()
            self.data.discard(entry.data_name)

    def purge_oldest(self):
        """As a client, or the lifecycle, that has listed the versions."""
        entry = self.strategy.history(OBJECT)[-1]
        self.strategy.purge(entry)
        self.delete([entry])


class DataCase(RaceCase):

    #: of the version that is there before: seconds ahead of all writers
    ahead = 30

    def prepare(self, judge):
        """A version whose id is ahead of the clocks of all writers."""
        self.data = set()
        late = self.strategy_ahead(judge)
        entry = put(late).entry
        self.data.add(entry.data_name)
        return entry

    def strategy_ahead(self, judge):
        return WriteRepair(
            judge.rows, SiteClock(0, 60, lambda: 8), SITES[0],
            now=lambda: judge.now() + self.ahead)

    def proxy(self, strategy):
        return Proxy(strategy, self.data)

    def assert_nothing_lost(self, race, there):
        history = race.judge.history(OBJECT)
        acknowledged = [each for each in race.results if each]
        for entry in history:
            self.assertIn(entry.data_name, self.data, history)
        ids = [entry.version.id for entry in history]
        nulls = [entry for entry in history if entry.null]
        self.assertLessEqual(len(nulls), 1)
        for entry in [there, *acknowledged]:
            if not entry.null:
                self.assertIn(entry.version.id, ids)
        if any(entry.null for entry in acknowledged):
            self.assertGreaterEqual(nulls[0].version.id, max(
                entry.version.id for entry in acknowledged if entry.null))
        # Who was acknowledged is later than what was there before.
        if acknowledged:
            self.assertIn(history[0].version.id, {
                entry.version.id for entry in acknowledged})


class TestRacesOfData(DataCase):

    def test_two_puts_of_the_null_version_after_a_greater_head(self):
        def null(strategy, _):
            return self.proxy(strategy).put(null=True, looks=True)
        for race, there in self.prepared([null, null]):
            self.assert_nothing_lost(race, there)
            self.assertNotIn(None, race.results)

    def test_three_puts_of_the_null_version(self):
        def null(strategy, _):
            return self.proxy(strategy).put(null=True, looks=True)
        for race, there in self.diced([null] * 3):
            self.assert_nothing_lost(race, there)
            self.assertNotIn(None, race.results)

    def test_null_versions_that_are_written_once_more(self):
        """These may fail, as nobody has read the head first."""
        def null(strategy, _):
            return self.proxy(strategy).put(null=True)
        for race, there in self.diced([null] * 3):
            self.assert_nothing_lost(race, there)

    def test_null_versions_and_others(self):
        jobs = [lambda strategy, _: self.proxy(strategy).put(
                    null=True, looks=True),
                lambda strategy, _: self.proxy(strategy).put(),
                lambda strategy, _: self.proxy(strategy).put(looks=True)]
        for race, there in self.diced(jobs):
            self.assert_nothing_lost(race, there)

    def test_a_purge_of_what_is_about_to_be_written_once_more(self):
        """Somebody lists the version before it has its last id."""
        jobs = [lambda strategy, _: self.proxy(strategy).put(),
                lambda strategy, _: self.proxy(strategy).purge_oldest()]
        for race, _ in self.prepared(jobs):
            for entry in race.judge.history(OBJECT):
                self.assertIn(entry.data_name, self.data)
            told = race.results[0]
            if told:
                self.assertEqual(told, race.judge.latest(OBJECT))

    def prepared(self, jobs):
        there = []

        def prepare(judge):
            there[:] = [self.prepare(judge)]
        for race in self.races(jobs, prepare):
            yield race, there[0]

    def diced(self, jobs):
        for seed in range(ORDERS):
            dice = random.Random(seed)
            with self.subTest(seed):
                race = Race(dice.choice(self.skews)[:len(jobs)])
                there = self.prepare(race.judge)
                race.time += 1
                race.run([lambda strategy, job=job: job(strategy, there)
                          for job in jobs], dice=dice)
                yield race, there


class TestReplicasThatAreLost(DataCase):
    """A write that reached one replica only, whose disk then breaks."""

    def rows(self, gate=lambda number: True, replicas=None):
        rows = MemoryRows(replicas=replicas or [
            MemoryReplica() for _ in range(3)])
        rows._replicas = MemoryReplicas(rows.replicas, gate)
        rows._reader._replicas = rows._replicas
        return rows

    def strategy(self, rows, nonce=1, skew=0):
        return WriteRepair(rows, SiteClock(0, 60, lambda: nonce), SITES[0],
                           now=lambda: NOW + skew)

    def test_an_acknowledged_null_version_outlives_one_that_failed(self):
        for reads in ('names', 'history', 'latest'):
            with self.subTest(reads=reads):
                rows = self.rows()
                first = put(self.strategy(rows), null=True).entry
                failing = self.strategy(self.rows(
                    lambda number: number == 0, rows.replicas), 2, 1)
                with self.assertRaises(RowsUnavailable):
                    put(failing, null=True)
                # Somebody reads, who asks two replicas.
                reader = self.strategy(self.rows(
                    lambda number: number != 2, rows.replicas))
                self.read(reader, reads, first)
                rows.replicas[0].held.clear()
                history = self.strategy(rows).history(OBJECT)
                self.assertTrue(history)
                self.assertGreaterEqual(history[0].version.id,
                                        first.version.id)

    @staticmethod
    def read(strategy, reads, entry):
        stamp = entry.version.id
        if reads == 'names':
            strategy.rows.read(Request(names=(
                version_name(OBJECT, stamp), purge_name(OBJECT, stamp))))
        else:
            getattr(strategy, reads)(OBJECT)

    def test_the_next_writer_replaces_what_a_dead_one_has_left(self):
        rows = self.rows()
        strategy = self.strategy(rows)
        entries = [Entry(OBJECT, replace(
            strategy.new_version(), id=strategy.clock.tick(NOW + number)),
            null=True) for number in range(3)]
        strategy._overwritten = lambda entry: []
        for entry in entries[:2]:
            strategy.commit(entry)
        del strategy._overwritten
        self.assertEqual(2, len(strategy.nulls(OBJECT)[1]))
        told = strategy.commit(entries[2])
        self.assertEqual([entries[1].version.id, entries[0].version.id],
                         [each.version.id for each in told.replaced])
        self.assertEqual([entries[2].version.id], [
            each.version.id for each in strategy.history(OBJECT)])
