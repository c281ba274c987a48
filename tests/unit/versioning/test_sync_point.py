# SPDX-License-Identifier: Apache-2.0
"""sync_point.py: which rows of a database are due, and whose turn it is."""

import math
import unittest
from bisect import bisect
from collections import Counter
from types import SimpleNamespace

from swift_lightsync.common.backoff import Backoff
from swift_lightsync.versioning.core.sync_point import (
    MAX_WEIGHT,
    PAGE,
    QUEUE,
    WEIGHED,
    WEIGHT,
    WINDOW,
    Follower,
    fair,
)

NOW = 1700000000.0


class Database:
    """:param rows: (ROWID, size) of each version, which was made just now"""

    place = (0, 1)

    def __init__(self, rows, account='a', container='c', made=NOW):
        self.rows = list(rows)
        self.account = account
        self.container = container
        self.made = made
        self.saved = []

    def items(self, after, limit):
        first = bisect(self.rows, (after, math.inf))
        return [(row, self.made, self.item(row, size))
                for row, size in self.rows[first:first + limit]]

    def items_at(self, rowids):
        wanted = set(rowids)
        return {row: self.item(row, size) for row, size in self.rows
                if row in wanted}

    @staticmethod
    def item(row, size):
        return SimpleNamespace(
            rowid=row, row=SimpleNamespace(name=str(row)),
            entry=SimpleNamespace(size=size, object=str(row)))

    def point(self, task):
        return self.saved[-1] if self.saved else 0

    def save_point(self, task, point):
        self.saved.append(point)


def versions(count, size=1):
    return [(row, size) for row in range(1, count + 1)]


class FollowerCase(unittest.TestCase):

    def setUp(self):
        self.task = SimpleNamespace(name='task', delay=0, wants=None,
                                    site=None, backoff=Backoff(1, 1))
        self.options = SimpleNamespace(handover_delay=10, retry_delay=1,
                                       max_retry_delay=4)

    def follower(self, database, state=1, now=NOW):
        self.now = now
        follower = Follower(self.task, database, self.options,
                            lambda: self.now)
        follower.look(state, now)
        return follower

    def taken(self, follower):
        works = []
        while follower.is_ready:
            works.append(follower.take())
        return works


class TestFollower(FollowerCase):

    def test_what_is_done_is_saved_once(self):
        database = Database(versions(3))
        follower = self.follower(database)
        follower.save()
        works = self.taken(follower)
        for work in works[:2]:
            work.done()
        follower.save()
        follower.save()
        self.assertEqual([2], database.saved)
        works[2].done()
        follower.save()
        self.assertEqual([2, 3], database.saved)

    def test_a_point_that_was_not_saved_is_saved_later(self):
        database = Database(versions(1))
        follower = self.follower(database)
        follower.take().done()
        save, calls = database.save_point, []

        def fails(*args):
            calls.append(args)
            raise OSError('locked')
        database.save_point = fails
        self.assertRaises(OSError, follower.save)
        database.save_point = save
        follower.save()
        self.assertEqual([1], database.saved)

    def test_what_was_put_back_is_due_again_and_as_fresh_as_it_is_young(self):
        database = Database(versions(1))
        follower = self.follower(database)
        work = follower.take()
        self.assertTrue(work.fresh)
        work.put_back()
        work.done()
        follower.look(1, NOW)
        self.assertTrue(follower.is_ready)
        again = follower.take()
        self.assertTrue(again.fresh)
        self.now += 100
        again.put_back()
        follower.look(1, NOW)
        again = follower.take()
        self.assertFalse(again.fresh)
        again.put_back(NOW + 5)
        follower.look(1, NOW + 4)
        self.assertFalse(follower.is_ready)
        follower.look(1, NOW + 5)
        self.assertTrue(follower.is_ready)

    def test_what_failed_is_due_later(self):
        follower = self.follower(Database(versions(1)))
        follower.take().failed()
        follower.look(1, NOW + 0.5)
        self.assertFalse(follower.is_ready)
        follower.look(1, NOW + 1)
        self.assertFalse(follower.take().fresh)

    def test_old_rows_and_those_of_others_are_not_fresh(self):
        old = Database(versions(1), made=NOW - 10)
        self.assertFalse(self.follower(old).take().fresh)
        other = Database(versions(1))
        other.place = (None, 3)
        follower = self.follower(other)
        self.assertFalse(follower.is_ready)
        follower.look(2, NOW + 30)
        self.assertFalse(follower.take().fresh)

    def test_the_site_that_made_it_has_the_first_turn(self):
        self.task.site = 'rome'
        database = Database(versions(2))
        database.item = lambda row, size: SimpleNamespace(
            rowid=row, row=SimpleNamespace(name=str(row)),
            entry=SimpleNamespace(
                size=1, purged=None, changed=None, version=SimpleNamespace(
                    site=('oslo', 'rome')[row - 1])))
        follower = self.follower(database)
        mine, = self.taken(follower)
        self.assertEqual((2, True), (mine.item.rowid, mine.fresh))
        follower.look(2, NOW + 9)
        self.assertFalse(follower.is_ready)
        follower.look(2, NOW + 10)
        theirs, = self.taken(follower)
        self.assertEqual((1, False), (theirs.item.rowid, theirs.fresh))

    def test_a_database_has_only_so_much_under_way(self):
        for size, weight in ((1, 1), (20 * WEIGHED, 21),
                             (1 << 40, MAX_WEIGHT)):
            follower = self.follower(Database(versions(2000, size)))
            works = self.taken(follower)
            self.assertEqual(-(-WEIGHT // weight), len(works))
            self.assertTrue(follower.has_more)
            works[0].done()
            follower.look(1, NOW)
            self.assertEqual(1, len(self.taken(follower)))

    def test_no_row_is_left_out_however_many_there_are(self):
        count = 2 * QUEUE + 10
        database = Database(versions(count))
        follower, found = self.follower(database), []
        while follower.has_more:
            works = self.taken(follower)
            found += [work.item.rowid for work in works]
            for work in works:
                work.done()
            follower.look(1, NOW)
        self.assertEqual(list(range(1, count + 1)), found)

    def test_what_has_not_changed_is_not_read_again(self):
        database = Database(versions(2))
        follower = self.follower(database)
        for work in self.taken(follower):
            work.done()
        database.items = None
        follower.look(1, NOW + 100)
        self.assertFalse(follower.has_more)

    def test_rows_are_read_once_and_again_when_they_are_due(self):
        """A purge record waits for weeks, while others come each second."""
        self.task.wants = lambda item: item.rowid % 2
        database, read = Database(versions(2 * PAGE)), []
        items, items_at = database.items, database.items_at
        database.items = lambda after, limit: read.append(after) or items(
            after, limit)
        database.items_at = lambda rows: read.append(rows) or items_at(rows)
        self.task.delay = 100
        follower = self.follower(database)
        read.clear()
        for number in range(3):
            database.rows.append((2 * PAGE + number + 1, 1))
            follower.look(2 + number, NOW + number)
        self.assertEqual([2 * PAGE, 2 * PAGE + 1, 2 * PAGE + 2], read)
        self.assertFalse(follower.is_ready)
        follower.save()
        self.assertEqual([], database.saved)
        follower.look(4, NOW + 100)
        self.assertEqual(list(range(1, 2 * PAGE, 2)), [
            work.item.rowid for work in self.taken(follower)])

    def test_what_has_gone_meanwhile_is_done(self):
        self.task.delay = 100
        database = Database(versions(3))
        follower = self.follower(database)
        database.rows = [(2, 1), (4, 1)]
        follower.look(1, NOW + 100)
        work, = self.taken(follower)
        self.assertEqual(2, work.item.rowid)
        work.done()
        follower.save()
        self.assertEqual([3], database.saved)

    def test_a_window_full_of_rows_that_are_not_wanted_ends(self):
        self.task.wants = lambda item: item.rowid > WINDOW
        follower = self.follower(Database(versions(WINDOW + 5)))
        self.assertEqual(5, len(self.taken(follower)))

    def test_a_window_full_of_rows_that_wait_is_not_read_again_and_again(self):
        self.task.delay = 100
        database = Database(versions(WINDOW + 5))
        follower = self.follower(database)
        self.assertFalse(follower.has_more)
        self.assertFalse(follower.is_idle)
        found = 0
        follower.look(1, NOW + 100)
        while follower.has_more:
            works = self.taken(follower)
            found += len(works)
            for work in works:
                work.done()
            follower.look(1, NOW + 100)
        self.assertEqual(WINDOW, found)
        follower.look(1, NOW + 200)
        self.assertEqual(5, len(self.taken(follower)))

    def test_one_that_is_held_keeps_none_waiting_that_are_wanted(self):
        self.task.wants = lambda item: item.rowid in (1, WINDOW + 5)
        follower = self.follower(Database(versions(WINDOW + 5)))
        for work in self.taken(follower)[:1]:
            work.failed()
        follower.look(1, NOW + 1)
        self.assertEqual(2, follower.progress.waiting)

    def test_what_was_only_noted_is_scheduled_when_the_peer_is_back(self):
        self.task.backoff.failed(NOW)
        database = Database(versions(3))
        follower = self.follower(database)
        self.assertEqual((3, False, False), (
            follower.progress.lag.rows, follower.has_more, follower.is_ready))
        self.task.backoff.succeeded()
        follower.look(1, NOW + 1)
        self.assertEqual(3, len(self.taken(follower)))

    def test_nothing_is_taken_from_the_queue_while_the_peer_is_away(self):
        follower = self.follower(Database(versions(3)))
        self.assertTrue(follower.is_ready)
        self.task.backoff.failed(NOW)
        follower.look(1, NOW)
        self.assertFalse(follower.is_ready or follower.has_more)
        self.task.backoff.succeeded()
        follower.look(1, NOW + 1)
        self.assertEqual(3, len(self.taken(follower)))

    def test_it_is_idle_once_all_is_done_and_saved(self):
        follower = self.follower(Database(versions(1)))
        self.assertFalse(follower.is_idle)
        follower.take().done()
        self.assertFalse(follower.is_idle)
        follower.save()
        self.assertTrue(follower.is_idle)


class TestFair(FollowerCase):

    def works(self, room, *databases):
        works = fair(map(self.follower, databases), room, {})
        return Counter((work.database.account, work.database.container)
                       for work in works), works

    def test_a_container_with_much_leaves_room_for_others(self):
        counts, works = self.works(
            100, Database(versions(10000), container='hot'),
            Database(versions(3), container='cold'))
        self.assertEqual({('a', 'hot'): 97, ('a', 'cold'): 3}, counts)
        self.assertEqual(['hot', 'cold'] * 3, [
            work.database.container for work in works[:6]])

    def test_an_account_with_many_containers_leaves_room_for_others(self):
        counts, _ = self.works(100, *(
            Database(versions(10), 'many', 'c%d' % number)
            for number in range(50)), Database(versions(1000), 'one'))
        self.assertEqual(50, counts['one', 'c'])

    def test_replicas_of_a_container_share_its_turns(self):
        counts, _ = self.works(
            60, Database(versions(100)), Database(versions(100)),
            Database(versions(100), container='d'))
        self.assertEqual({('a', 'c'): 30, ('a', 'd'): 30}, counts)

    def test_whoever_had_no_turn_has_the_next_one(self):
        followers = [self.follower(Database(versions(1000), *place))
                     for place in [('big', 'c%d' % number)
                                   for number in range(20)]
                     + [('small', 'c'), ('late', 'c')]]
        turns, counts = {}, Counter()
        for _ in range(60):
            work, = fair(followers, 1, turns)
            counts[work.database.account, work.database.container] += 1
        self.assertEqual((20, 20), (counts['small', 'c'],
                                    counts['late', 'c']))
        self.assertEqual({('big', 'c%d' % number): 1 for number in range(20)},
                         {place: count for place, count in counts.items()
                          if place[0] == 'big'})

    def test_all_is_taken_if_there_is_room(self):
        counts, _ = self.works(1000, Database(versions(5)),
                               Database(versions(7), 'b'))
        self.assertEqual({('a', 'c'): 5, ('b', 'c'): 7}, counts)
        self.assertEqual([], fair([], 10, {}))
