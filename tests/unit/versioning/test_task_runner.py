# SPDX-License-Identifier: Apache-2.0
"""A task goes through all databases, and each has its turn."""

import math
import unittest
from types import SimpleNamespace
from unittest import mock
from zlib import crc32

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.versioning.core.sync_point import TURN, turn
from swift_lightsync.versioning.sites.propagator_options import (
    PropagatorOptions,
)
from swift_lightsync.versioning.sites.task_runner import TaskRunner
from tests.unit.versioning.fakes import NOW

BATCH = 10


class Database:
    """It has so many rows, and each is a version."""

    hidden = True

    def __init__(self, id, rows, place):
        self.id = id
        self.place = place
        self.rows = rows
        self.saved = -1

    def items(self, after, limit=1000):
        return [(row, NOW, SimpleNamespace(
            rowid=row, database=self.id, row=SimpleNamespace(name=str(row))))
            for row in range(max(1, after + 1), self.rows + 1)][:limit]

    def point(self, task):
        return self.saved

    def save_point(self, task, point):
        self.saved = point


class Databases(dict):

    def followed(self, hidden):
        return list(self.items())

    def state(self, directory):
        return self[directory].rows


class Task:
    """:param work: a function of (database, items); what it returns is done"""

    name = 'task'
    delay = 0
    of_hidden = True
    wants = None
    by_object = False

    def __init__(self, work):
        self.backoff = Backoff(1, 1)
        self.work = work
        self.seen = []

    def run(self, database, items):
        self.seen.append((database.id, [item.rowid for item in items]))
        return [(rowid, True) for rowid in self.work(
            database, [item.rowid for item in items])]


class TestTaskRunner(unittest.TestCase):

    def runner(self, work, place=(0, 1), **rows):
        self.databases = Databases(
            (name, Database(name, count, place))
            for name, count in rows.items())
        self.task = Task(work)
        options = PropagatorOptions(batch_size=BATCH, handover_delay=10)
        self.now = NOW
        return TaskRunner(self.task, self.databases, options, None,
                          lambda: self.now)

    def test_all_rows_are_done_and_then_left_alone(self):
        runner = self.runner(lambda database, rows: rows, a=BATCH + 1, b=1)
        runner.run_pass()
        self.assertEqual([('a', list(range(1, BATCH + 1))), ('a', [BATCH + 1]),
                          ('b', [1])], self.task.seen)
        self.assertEqual(BATCH + 1, self.databases['a'].saved)
        runner.run_pass()
        self.assertEqual(3, len(self.task.seen))

    def test_a_database_that_is_always_written_to_holds_no_other_up(self):
        def work(database, rows):
            if database.id == 'hot' and database.rows < 3 * TURN * BATCH:
                database.rows += len(rows)
            return rows
        runner = self.runner(work, hot=BATCH, other=1)
        runner.run_pass()
        self.assertEqual(['hot'] * TURN + ['other'],
                         [name for name, _ in self.task.seen])

    def test_what_a_turn_has_left_is_done_in_the_next(self):
        runner = self.runner(lambda database, rows: rows,
                             a=BATCH * TURN * 2 + 1)
        for number, more in ((1, True), (2, True), (3, False)):
            self.assertEqual(more, runner.run_pass())
            self.assertEqual(min(BATCH * TURN * number, BATCH * TURN * 2 + 1),
                             self.databases['a'].saved)

    def test_all_that_is_due_is_done_at_once_if_wanted(self):
        runner = self.runner(lambda database, rows: rows,
                             a=BATCH * TURN * 2 + 1)
        runner.run_all()
        self.assertEqual(BATCH * TURN * 2 + 1, self.databases['a'].saved)

    def share(self, which, place, count):
        """Return the rows on which a replica acts in that turn."""
        return [row for row in range(1, count + 1) if turn(
            crc32(str(row).encode()), *place) == which]

    def test_its_own_share_comes_first_however_late_it_is(self):
        count, place = 3 * BATCH, (1, 3)
        runner = self.runner(lambda database, rows: (), place, a=count)
        runner.run_pass()
        own = self.share(0, place, count)
        self.assertEqual(own, sum((rows for _, rows in self.task.seen), []))
        self.task.seen.clear()
        self.now += 100
        runner.run_pass()
        self.assertEqual(
            own + self.share(1, place, count) + self.share(2, place, count),
            sum((rows for _, rows in self.task.seen), []))

    def test_a_replica_at_no_place_takes_over_last(self):
        runner = self.runner(lambda database, rows: rows, (None, 3), a=BATCH)
        runner.run_pass()
        self.assertEqual([], self.task.seen)
        self.now += 30
        runner.run_pass()
        self.assertEqual([('a', list(range(1, BATCH + 1)))], self.task.seen)

    def test_what_who_is_away_may_lack_is_known(self):
        runner = self.runner(lambda database, rows: rows, a=BATCH, b=2 * BATCH)
        self.task.backoff.until = math.inf
        runner.run_pass()
        self.assertEqual(3 * BATCH, runner.lag().rows)
        self.databases['a'].rows += 1
        runner.run_pass()
        self.assertEqual(3 * BATCH + 1, runner.lag().rows)
        with mock.patch.object(Database, 'items') as items:
            runner.run_pass()
        items.assert_not_called()
        self.task.backoff.until = 0
        runner.run_all()
        self.assertEqual(0, runner.lag().rows)
        self.assertEqual(3 * BATCH + 1, sum(
            len(rows) for _, rows in self.task.seen))

    def test_who_is_away_is_not_waited_for(self):
        def work(database, rows):
            if len(self.task.seen) == 2:
                self.task.backoff.until = math.inf
            return ()
        runner = self.runner(work, a=BATCH * TURN * 2)
        self.assertFalse(runner.run_pass())
        self.assertEqual(2, len(self.task.seen))
