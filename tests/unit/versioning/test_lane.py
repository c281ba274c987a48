# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#    http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or
# implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""A lane takes its task through all databases, and each has its turn."""

import unittest
from types import SimpleNamespace

from swift_lightsync.versioning.lane import TURN, Lane
from swift_lightsync.versioning.propagator_options import PropagatorOptions
from tests.unit.versioning.fakes import NOW

BATCH = 10


class Database:
    """It has so many rows, and each is a version."""

    hidden = True

    def __init__(self, id, rows):
        self.id = id
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

    def __iter__(self):
        return iter(self.items())

    def state(self, directory):
        return self[directory].rows


class Task:
    """:param work: a function of (database, items); what it returns is done"""

    name = 'task'
    delay = 0
    of_hidden = True

    def __init__(self, work):
        self.work = work
        self.seen = []

    def wants(self, item):
        return True

    def is_ready(self, now):
        return True

    def run(self, database, items):
        self.seen.append((database.id, [item.rowid for item in items]))
        for rowid in self.work(database, [item.rowid for item in items]):
            yield rowid, True


class TestLane(unittest.TestCase):

    def lane(self, work, **rows):
        self.databases = Databases(
            (name, Database(name, count)) for name, count in rows.items())
        self.task = Task(work)
        return Lane(self.task, self.databases, lambda database: (0, 1),
                    PropagatorOptions(batch_size=BATCH), None, lambda: NOW)

    def test_all_rows_are_done_and_then_left_alone(self):
        lane = self.lane(lambda database, rows: rows, a=BATCH + 1, b=1)
        lane.run_pass()
        self.assertEqual([('a', list(range(1, BATCH + 1))), ('a', [BATCH + 1]),
                          ('b', [1])], self.task.seen)
        self.assertEqual(BATCH + 1, self.databases['a'].saved)
        lane.run_pass()
        self.assertEqual(3, len(self.task.seen))

    def test_a_database_that_is_always_written_to_holds_no_other_up(self):
        def work(database, rows):
            if database.id == 'hot' and database.rows < 3 * TURN * BATCH:
                database.rows += len(rows)
            return rows
        lane = self.lane(work, hot=BATCH, other=1)
        lane.run_pass()
        self.assertEqual(['hot'] * TURN + ['other'],
                         [name for name, _ in self.task.seen])

    def test_what_a_turn_has_left_is_done_in_the_next(self):
        lane = self.lane(lambda database, rows: rows, a=BATCH * TURN * 2 + 1)
        for turn, more in ((1, True), (2, True), (3, False)):
            self.assertEqual(more, lane.run_pass())
            self.assertEqual(min(BATCH * TURN * turn, BATCH * TURN * 2 + 1),
                             self.databases['a'].saved)

    def test_all_that_is_due_is_done_at_once_if_wanted(self):
        lane = self.lane(lambda database, rows: rows, a=BATCH * TURN * 2 + 1)
        lane.run_all()
        self.assertEqual(BATCH * TURN * 2 + 1, self.databases['a'].saved)

    def test_who_is_away_is_not_waited_for(self):
        lane = self.lane(lambda database, rows: (), a=BATCH * TURN * 2)
        self.task.is_ready = lambda now: len(self.task.seen) < 2
        self.assertFalse(lane.run_pass())
        self.assertEqual(2, len(self.task.seen))


if __name__ == '__main__':
    unittest.main()
