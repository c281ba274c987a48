# SPDX-License-Identifier: Apache-2.0
"""A task goes through all databases, and each has its turn."""

import math
import unittest
from types import SimpleNamespace
from unittest import mock
from zlib import crc32

from swift.common.concurrency import sleep, spawn

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.versioning.core.progress import turn
from swift_lightsync.versioning.core.sync_point import QUEUE
from swift_lightsync.versioning.sites.options import PropagatorOptions
from swift_lightsync.versioning.sites.task_runner import TaskRunner
from tests.unit.sync.fixtures import CapturingLogger
from tests.unit.versioning import streaming_case
from tests.unit.versioning.fakes import NOW


class Database(streaming_case.Database):
    """It has so many rows, and each is a version."""

    def __init__(self, id, rows, place):
        super().__init__((), id)
        self.id = id
        self.place = place
        self.rows = rows

    def items(self, after, limit=1000):
        return [(row, NOW, SimpleNamespace(
            rowid=row, database=self.id, row=SimpleNamespace(name=str(row)),
            entry=SimpleNamespace(size=1)))
            for row in range(max(1, after + 1), self.rows + 1)][:limit]


class Databases(dict):

    def refresh(self, age=0):
        """It is always up to date."""

    def followed(self, hidden):
        return list(self.items())

    def state(self, directory):
        return self[directory].rows


class Task:
    """
    :param work: a function of (database, ROWIDs); what it returns is done, the
        rest fails
    """

    name = 'task'
    delay = 0
    of_hidden = True
    wants = None
    room = 10 ** 9
    site = None

    def __init__(self, work):
        self.backoff = Backoff(1, 1)
        self.work = work
        self.seen = []

    def run(self, works):
        found = {}
        for work in works:
            found.setdefault(work.item.database, []).append(work)
        for name, some in found.items():
            rows = [work.item.rowid for work in some]
            self.seen.append((name, rows))
            done = self.work(some[0].database, rows)
            for work in some:
                (work.done if work.item.rowid in done else work.failed)()

    def rows(self):
        """All rows that were seen, in order."""
        return sum((rows for _, rows in self.seen), [])


class TestTaskRunner(unittest.TestCase):

    def runner(self, work, place=(0, 1), **rows):
        self.databases = Databases(
            (name, Database(name, count, place))
            for name, count in rows.items())
        self.task = Task(work)
        options = PropagatorOptions(handover_delay=10)
        self.now = NOW
        self.logger = CapturingLogger()
        return TaskRunner(self.task, self.databases, options, self.logger,
                          lambda: self.now)

    def test_all_rows_are_done_and_then_left_alone(self):
        runner = self.runner(lambda database, rows: rows, a=QUEUE + 1, b=1)
        runner.run_all()
        self.assertEqual(QUEUE + 2, len(self.task.rows()))
        self.assertEqual(QUEUE + 1, self.databases['a'].saved)
        seen = len(self.task.seen)
        runner.run_all()
        self.assertEqual(seen, len(self.task.seen))

    def test_items_of_all_databases_are_given_at_once(self):
        calls = []
        runner = self.runner(lambda database, rows: rows,
                             **{'d%d' % number: 1 for number in range(100)})
        run = self.task.run
        self.task.run = lambda works: calls.append(len(works)) or run(works)
        runner.run_all()
        self.assertEqual([100], calls)

    def test_a_database_that_is_always_written_to_holds_no_other_up(self):
        def work(database, rows):
            if database.id == 'hot':
                database.rows += len(rows)
            return rows
        runner = self.runner(work, hot=QUEUE, other=1)
        runner.run_pass()
        self.assertEqual({'hot', 'other'},
                         {name for name, _ in self.task.seen})

    def test_what_a_pass_has_left_is_done_in_the_next(self):
        runner = self.runner(lambda database, rows: rows, a=QUEUE * 2 + 1)
        for number, more in ((1, True), (2, True), (3, False)):
            self.assertEqual(more, runner.run_pass())
            self.assertEqual(min(QUEUE * number, QUEUE * 2 + 1),
                             self.databases['a'].saved)

    def test_what_fails_is_tried_once_and_later_again(self):
        runner = self.runner(lambda database, rows: [1, 3], a=3)
        runner.run_all()
        self.assertEqual([1, 2, 3], self.task.rows())
        self.assertEqual((1, 1), (self.databases['a'].saved,
                                  runner.lag().rows))
        self.now += 1
        runner.run_all()
        self.assertEqual([1, 2, 3, 2], self.task.rows())

    def test_a_task_that_breaks_loses_nothing(self):
        def work(database, rows):
            raise KeyError('broken')
        runner = self.runner(work, a=2)
        runner.run_all()
        self.assertEqual((2, 0), (runner.lag().rows, runner.under_way))
        self.assertTrue(self.logger.at('ERROR'))
        self.task.work = lambda database, rows: rows
        self.now += 100
        runner.run_all()
        self.assertEqual(0, runner.lag().rows)

    def test_a_database_that_breaks_holds_no_other_up(self):
        runner = self.runner(lambda database, rows: rows, a=1, b=1, c=1)
        self.databases['b'].items = mock.Mock(side_effect=OSError('gone'))
        runner.run_all()
        self.assertEqual({'a', 'c'}, {name for name, _ in self.task.seen})
        self.assertIn('gone', self.logger.at('WARNING')[0])

    def test_what_is_under_way_is_waited_for(self):
        runner = self.runner(None, a=3, b=3)
        under_way = []

        def run(works):
            under_way.extend(works)
            for work in works:
                spawn(end, work)

        def end(work):
            sleep(0)
            work.done()
        self.task.run = run
        runner.run_all()
        self.assertEqual(6, len(under_way))
        self.assertEqual([3, 3], [each.saved
                                  for each in self.databases.values()])

    def share(self, which, place, count):
        """Return the rows on which a replica acts in that turn."""
        return [row for row in range(1, count + 1) if turn(
            crc32(str(row).encode()), *place) == which]

    def test_its_own_share_comes_first_however_late_it_is(self):
        count, place = 30, (1, 3)
        runner = self.runner(lambda database, rows: (), place, a=count)
        runner.run_pass()
        own = self.share(0, place, count)
        self.assertEqual(own, self.task.rows())
        self.task.seen.clear()
        self.now += 100
        runner.run_pass()
        self.assertEqual(
            own + self.share(1, place, count) + self.share(2, place, count),
            self.task.rows())

    def test_a_replica_at_no_place_takes_over_last(self):
        runner = self.runner(lambda database, rows: rows, (None, 3), a=10)
        runner.run_pass()
        self.assertEqual([], self.task.seen)
        self.now += 30
        runner.run_pass()
        self.assertEqual(list(range(1, 11)), self.task.rows())

    def test_what_who_is_away_may_lack_is_known(self):
        runner = self.runner(lambda database, rows: rows, a=10, b=20)
        self.task.backoff.until = math.inf
        runner.run_pass()
        self.assertEqual(30, runner.lag().rows)
        self.databases['a'].rows += 1
        runner.run_pass()
        self.assertEqual(31, runner.lag().rows)
        with mock.patch.object(Database, 'items') as items:
            runner.run_pass()
        items.assert_not_called()
        self.task.backoff.until = 0
        runner.run_all()
        self.assertEqual(0, runner.lag().rows)
        self.assertEqual(31, len(self.task.rows()))

    def test_who_is_away_is_not_waited_for(self):
        def work(database, rows):
            self.task.backoff.until = math.inf
            return ()
        runner = self.runner(work, a=QUEUE * 3)
        runner.run_all()
        self.assertEqual(QUEUE, len(self.task.rows()))
        self.assertEqual(QUEUE * 3, runner.lag().rows)
