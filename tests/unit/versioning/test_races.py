# SPDX-License-Identifier: Apache-2.0
"""Writers of one object at one site, in every order of their steps: each
request to container servers is a step, and what it reads, decides and writes
there is one transaction.
"""

import unittest

from swift.common.concurrency import Queue, spawn

from swift_lightsync.versioning.core.row_data import (
    Entry,
    listed_of,
    listing_name,
)
from swift_lightsync.versioning.core.stamp import SiteClock, Stamp, offset_of
from swift_lightsync.versioning.core.verb import Request
from swift_lightsync.versioning.core.version import Vector, Version
from swift_lightsync.versioning.strategies.strategy import WriteRepair
from tests.unit.versioning.fakes import NOW, SITES, no_data
from tests.unit.versioning.memory import MemoryRows

OBJECT = 'o'


class Race:
    """Some writers, each a proxy with a clock of its own.

    :param skews: of their clocks, seconds
    """

    def __init__(self, skews):
        self.rows = MemoryRows()
        self.time = NOW
        self.turns = [Queue() for _ in skews]
        self.stopped = Queue()
        self.writers = [self.strategy(
            self.rows.seen_by(self.gate(number)), number, skew)
            for number, skew in enumerate(skews)]
        self.judge = self.strategy(self.rows, 9, 0)

    def strategy(self, rows, nonce, skew):
        return WriteRepair(rows, SiteClock(0, 60, lambda: nonce), SITES[0],
                           now=lambda: self.now() + skew)

    def now(self):
        self.time += 0.001
        return self.time

    def gate(self, number):
        def wait():
            self.stopped.put(True)
            self.turns[number].get()
        return wait

    def run(self, jobs, choices=(), dice=None):
        """:param jobs: a function of a strategy for each writer
        :param choices: which writer takes the next step, by the index among
            those that are not done; then the first does, or who the dice say
        :returns: how many could be chosen at each step
        """
        alive, counts = list(range(len(jobs))), []
        threads = []
        for number, job in enumerate(jobs):
            threads.append(spawn(self._work, job, number))
            self.stopped.get()
        while alive:
            index = len(counts)
            chosen = choices[index] if index < len(choices) else \
                dice.randrange(len(alive)) if dice else 0
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


def put(strategy, null=False):
    return strategy.commit(Entry(
        OBJECT, strategy.new_version(), null=null), no_data)


def put_at_once(strategy, null=False):
    """Its clock is read before others write, as in a PUT with much data."""
    version = strategy.new_version()
    strategy.rows.gate()
    return strategy.commit(Entry(OBJECT, version, null=null), no_data)


def orders(prepare, jobs, skews):
    """:param prepare: a function of a strategy: what is there before
    :param jobs: functions of a strategy and of what prepare returned
    :returns: (an iterator) a ``Race`` for each order of their steps
    """
    choices = []
    while choices is not None:
        race = Race(skews)
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

    #: seconds that the clocks of the writers are wrong
    skews = ((0, 0, 0), (5, -5, 0), (-5, 5, -20))

    def races(self, jobs, prepare=lambda judge: [
            put(judge).entry for _ in range(3)]):
        count = 0
        for skews in self.skews:
            for race in orders(prepare, jobs, skews[:len(jobs)]):
                count += 1
                yield race
        self.assertGreater(count, 5)

    def assert_right(self, race, versions):
        """The head, the listing row and the history say the same."""
        history = race.judge.history(OBJECT)
        self.assertEqual(versions, len(history))
        self.assertEqual(history[0], race.judge.latest(OBJECT))
        self.assertEqual(history[:1], race.judge.current())
        name = listing_name(OBJECT)
        row = race.rows.read(Request(names=(name,))).rows[name]
        self.assertEqual(history[0].version.id, listed_of(row.etag).id)


class TestRaces(RaceCase):

    def test_of_puts_leave_all_versions_and_the_latest(self):
        for race in self.races([
                lambda strategy, _: put(strategy),
                lambda strategy, _: put_at_once(strategy),
                lambda strategy, _: put_at_once(strategy)]):
            self.assert_right(race, 6)
            found = {entry.version.id: entry
                     for entry in race.judge.history(OBJECT)}
            for told in race.results:
                self.assertIn(told.entry.version.id, found)

    def test_who_begins_after_an_acknowledgement_is_later(self):
        for race in self.races([
                lambda strategy, _: (put(strategy), put(strategy)),
                lambda strategy, _: put_at_once(strategy)]):
            self.assert_right(race, 6)
            first, second = race.results[0]
            self.assertLess(first.entry.version.id, second.entry.version.id)
            found = race.judge.get(OBJECT, second.entry.version.id)
            self.assertTrue(found.version.descends_from(first.entry.version))

    def test_of_null_versions_leave_the_newest_of_these(self):
        def put_null(strategy, _):
            return put_at_once(strategy, null=True)
        for race in self.races([put_null, put_null],
                               lambda judge: [put(judge, null=True),
                                              put(judge)]):
            self.assert_right(race, 2)
            history = race.judge.history(OBJECT)
            self.assertTrue(history[0].null)
            self.assertFalse(history[1].null)
            # The data of all others is deleted, and of no other.
            gone = {each.data_name for told in race.results
                    for each in told.replaced}
            self.assertNotIn(history[0].data_name, gone)
            self.assertNotIn(history[1].data_name, gone)

    def test_of_a_null_version_with_others_keeps_its_data(self):
        for race in self.races([
                lambda strategy, _: put_at_once(strategy, null=True),
                lambda strategy, _: put_at_once(strategy)]):
            self.assert_right(race, 5)
            # Only what was written once more is replaced.
            self.assertFalse({
                each.data_name for each in race.results[0].replaced} & {
                    each.data_name for each in race.judge.history(OBJECT)})

    def test_a_late_arrival_does_not_beat_a_write(self):
        late = Entry(OBJECT, Version(Stamp(
            int(NOW - 9) * 100000, offset_of(1, 1)), SITES[1], Vector()))
        for race in self.races([
                lambda strategy, _: put_at_once(strategy),
                lambda strategy, _: strategy.apply(late)]):
            self.assert_right(race, 5)
            self.assertEqual(race.results[0].entry,
                             race.judge.latest(OBJECT))

    def test_a_write_and_a_purge_of_what_was_the_latest(self):
        for race in self.races([
                lambda strategy, _: put_at_once(strategy),
                lambda strategy, before: strategy.purge(before[-1])]):
            self.assert_right(race, 3)
            self.assertEqual(race.results[0].entry,
                             race.judge.latest(OBJECT))

    def test_two_purges(self):
        for race in self.races([
                lambda strategy, before: (
                    strategy.get(OBJECT, before[-1].version.id),
                    strategy.purge(before[-1])),
                lambda strategy, before: (
                    strategy.get(OBJECT, before[-2].version.id),
                    strategy.purge(before[-2]))]):
            self.assert_right(race, 1)

    def test_a_change_of_metadata_and_a_purge(self):
        for race in self.races([
                lambda strategy, before: strategy.amend(
                    before[-1], 'text/new'),
                lambda strategy, before: strategy.purge(before[-1])]):
            self.assert_right(race, 2)

    def test_two_changes_of_metadata_leave_the_later(self):
        for race in self.races([
                lambda strategy, before: strategy.amend(
                    before[-1], 'text/a'),
                lambda strategy, before: strategy.amend(
                    before[-1], 'text/b')]):
            self.assert_right(race, 3)
            self.assertIn(race.judge.latest(OBJECT).content_type,
                          ('text/a', 'text/b'))

    def test_a_purge_of_what_a_writer_has_just_put_before_another(self):
        """The write that lost its place is not left without a head."""
        for race in self.races([
                lambda strategy, _: strategy.purge(put(strategy).entry),
                lambda strategy, _: put_at_once(strategy)]):
            self.assert_right(race, 4)
            self.assertEqual(race.results[1].entry.version.id,
                             race.judge.latest(OBJECT).version.id)
