# SPDX-License-Identifier: Apache-2.0
"""
Writers of one object at one site, in every order of their steps: each time
that they read rows and each row that they write is a step.
"""

import unittest
from dataclasses import replace

from swift.common.concurrency import Queue, spawn

from swift_lightsync.versioning.core.clock import HybridClock
from swift_lightsync.versioning.core.row_data import Entry, Row
from swift_lightsync.versioning.core.stamp import Stamp, offset_of
from swift_lightsync.versioning.core.version import Version
from swift_lightsync.versioning.strategies.basis import latest_entry
from swift_lightsync.versioning.strategies.write_repair import WriteRepair
from tests.unit.versioning.fakes import NOW, SITES, MemoryRows

OBJECT = 'o'


class Race:
    """
    Some writers, each a proxy with a clock of its own.

    :param skews: of their clocks, seconds
    :param whole: rows that are written at once are one step
    """

    def __init__(self, skews, whole=False):
        self.rows = MemoryRows()
        self.time = NOW
        self.turns = [Queue() for _ in skews]
        self.stopped = Queue()
        self.writers = [self.strategy(
            self.rows.seen_by(self.gate(number), whole), number, skew)
            for number, skew in enumerate(skews)]
        self.judge = self.strategy(self.rows, 9, 0)

    def strategy(self, rows, nonce, skew):
        return WriteRepair(
            rows, HybridClock(offset_of(0, nonce), 60), SITES[0], SITES,
            now=lambda: self.now() + skew)

    def now(self):
        self.time += 0.001
        return self.time

    def gate(self, number):
        def wait():
            self.stopped.put(True)
            self.turns[number].get()
        return wait

    def run(self, jobs, choices):
        """
        :param jobs: a function of a strategy for each writer
        :param choices: which writer takes the next step, by the index among
            those that are not done; then the first does
        :returns: how many could be chosen at each step
        """
        alive, counts = list(range(len(jobs))), []
        threads = []
        for number, job in enumerate(jobs):
            threads.append(spawn(self._work, job, number))
            self.stopped.get()
        while alive:
            index = len(counts)
            chosen = choices[index] if index < len(choices) else 0
            counts.append(len(alive))
            number = alive[chosen]
            self.turns[number].put(True)
            if not self.stopped.get():
                alive.remove(number)
        self.results = [thread.wait() for thread in threads]
        return counts

    def _work(self, job, number):
        try:
            return job(self.writers[number])
        finally:
            self.stopped.put(False)


def put(strategy):
    basis = strategy.begin(OBJECT)
    entry = Entry(OBJECT, strategy.new_version(basis))
    strategy.commit(basis, entry)
    return entry


def orders(prepare, jobs, skews, whole):
    """
    :param prepare: a function of a strategy: what is there before
    :param jobs: functions of a strategy and of what prepare returned
    :returns: (an iterator) a ``Race`` for each order of their steps
    """
    choices = []
    while choices is not None:
        race = Race(skews, whole)
        before = prepare(race.judge)
        # who starts now knows the time
        race.time += 1
        counts = race.run([
            lambda strategy, job=job: job(strategy, before)
            for job in jobs], choices)
        yield race
        choices += [0] * (len(counts) - len(choices))
        while choices and choices[-1] + 1 >= counts[len(choices) - 1]:
            choices.pop()
        if choices:
            choices[-1] += 1
        else:
            choices = None


class RaceCase(unittest.TestCase):

    #: (ours, other's) seconds
    skews = ((0, 0), (5, -5), (-5, 5))

    def races(self, jobs, prepare=lambda judge: [put(judge), put(judge)],
              whole=False):
        count = 0
        for skews in self.skews:
            for race in orders(prepare, jobs, skews, whole):
                count += 1
                yield race
        self.assertGreater(count, 50)

    def assert_right(self, race):
        history = race.judge.history(OBJECT)
        self.assertEqual(latest_entry(history), race.judge.latest(OBJECT))
        self.assertEqual(
            [latest_entry(history).version.id],
            [entry.version.id for entry in race.judge.current()])


class TestRaces(RaceCase):

    def test_two_writers_leave_the_right_pointer_and_both_versions(self):
        for race in self.races([lambda strategy, _: put(strategy)] * 2):
            self.assert_right(race)
            self.assertEqual(4, len(race.judge.history(OBJECT)))

    def test_of_a_null_version_too(self):
        def prepare(judge):
            judge.rows.user[OBJECT] = Row(
                OBJECT, Stamp(int(NOW - 9) * 100000), 5, etag='p')
        for race in self.races([lambda strategy, _: put(strategy)] * 2,
                               prepare):
            self.assert_right(race)
            self.assertEqual([False, False, True], [
                entry.plain for entry in race.judge.history(OBJECT)])

    def test_a_late_arrival_does_not_beat_a_write(self):
        late = Entry(OBJECT, Version.after((), Stamp(
            int(NOW - 9) * 100000, offset_of(1, 1)), SITES[1]))
        for race in self.races([lambda strategy, _: put(strategy),
                                lambda strategy, _: strategy.apply(late)]):
            self.assert_right(race)
            self.assertEqual(race.results[0], race.judge.latest(OBJECT))

    def test_a_write_that_races_with_a_purge_of_what_was_the_latest(self):
        for race in self.races([
                lambda strategy, _: put(strategy),
                lambda strategy, before: strategy.purge(
                    OBJECT, before[-1].version.id)]):
            self.assert_right(race)
            self.assertEqual(2, len(race.judge.history(OBJECT)))

    def test_two_purges(self):
        for race in self.races([
                lambda strategy, before: strategy.purge(
                    OBJECT, before[-1].version.id),
                lambda strategy, before: strategy.purge(
                    OBJECT, before[-2].version.id)],
                lambda judge: [put(judge) for _ in range(3)], whole=True):
            self.assert_right(race)
            self.assertEqual(1, len(race.judge.history(OBJECT)))


class TestThePurgeThatWins(unittest.TestCase):
    """The race that is left: a write, a write that beats it, its purge."""

    def test_repair_mends_it(self):
        race = Race([])
        old = put(race.judge)
        slow, fast = (race.strategy(race.rows, number, 0)
                      for number in (1, 2))
        basis = slow.begin(OBJECT)
        entry = Entry(OBJECT, slow.new_version(basis))
        fast.purge(OBJECT, put(fast).version.id)
        slow.commit(basis, entry)
        self.assertEqual(old, race.judge.latest(OBJECT))
        self.assertTrue(race.judge.repair(OBJECT))
        self.assertEqual(entry, race.judge.latest(OBJECT))
        self.assertFalse(race.judge.repair(OBJECT))

    def test_a_purger_that_died_is_mended(self):
        race = Race([])
        old, new = put(race.judge), put(race.judge)
        marker = replace(new, purged=race.judge.tick())
        race.rows.write(hidden_rows=[race.judge._row(marker)])
        self.assertEqual(new, race.judge.latest(OBJECT))
        self.assertTrue(race.judge.repair(OBJECT))
        self.assertEqual(old, race.judge.latest(OBJECT))

    def test_a_writer_that_died_is_mended_by_the_next_one(self):
        race = Race([])
        put(race.judge)
        basis = race.judge.begin(OBJECT)
        dead = Entry(OBJECT, race.judge.new_version(basis))
        race.rows.write(hidden_rows=[race.judge._row(dead)])
        entry = put(race.judge)
        self.assertTrue(entry.version.descends_from(dead.version))
        self.assertEqual(entry, race.judge.latest(OBJECT))
