# SPDX-License-Identifier: Apache-2.0
"""sync_queue: an order that changes while it is being worked off."""

import unittest

from hypothesis import given
from hypothesis import strategies as st

from swift_lightsync.sync.core.sync_queue import SyncQueue


def jobs(*names):
    return [{'partition': name} for name in names]


class TestSyncQueue(unittest.TestCase):

    def test_without_a_change_it_is_a_list(self):
        some = jobs(*'abc')
        queue = SyncQueue(some)
        self.assertEqual(3, len(queue))
        for _ in range(2):
            self.assertEqual(some, list(queue))

    def test_what_is_moved_comes_next_and_once(self):
        some = jobs(*'abcde')
        queue, seen = SyncQueue(some), []
        for job in queue:
            seen.append(job['partition'])
            if job is some[1]:
                queue.move_to_head([some[4], some[2]])
        self.assertEqual(list('abecd'), seen)

    def test_what_was_handed_out_or_was_not_in_it_comes_as_well(self):
        some, new = jobs(*'abc'), jobs('x')[0]
        queue, seen = SyncQueue(some), []
        for job in queue:
            seen.append(job['partition'])
            if seen == ['a', 'b']:
                queue.move_to_head([new, some[0]])
        self.assertEqual(list('abxac'), seen)

    def test_jobs_are_told_apart_by_identity(self):
        some = jobs('a', 'same', 'same')
        queue, seen = SyncQueue(some), []
        for job in queue:
            if not seen:
                queue.move_to_head([some[2]])
            seen.append(id(job))
        self.assertEqual([id(some[0]), id(some[2]), id(some[1])], seen)

    def test_what_is_moved_by_the_last_job_still_comes(self):
        some = jobs('a')
        queue, seen = SyncQueue(some), []
        for job in queue:
            seen.append(job)
            if len(seen) < 3:
                queue.move_to_head([some[0]])
        self.assertEqual(some * 3, seen)

    @given(st.data())
    def test_each_job_that_waits_comes_once_whatever_is_moved(self, data):
        some = jobs(*range(data.draw(st.integers(0, 12))))
        queue, seen = SyncQueue(some), []
        for job in queue:
            seen.append(job['partition'])
            waiting = [each for each in some
                       if each['partition'] not in seen]
            if waiting:
                queue.move_to_head(data.draw(st.lists(
                    st.sampled_from(waiting), unique_by=id)))
        self.assertEqual(list(range(len(some))), sorted(seen))
