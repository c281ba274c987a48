# SPDX-License-Identifier: Apache-2.0
"""events: the clock and its processes."""

import unittest

from tools.simulation.events import Events, Together


class TestEvents(unittest.TestCase):

    def setUp(self):
        self.events = Events()
        self.seen = []

    def process(self, name, *delays):
        for delay in delays:
            yield delay
            self.seen.append((name, self.events.now))

    def test_time_passes_as_processes_wait(self):
        self.events.spawn(self.process('a', 2, 3))
        self.events.spawn(self.process('b', 1, 3))
        self.events.run()
        self.assertEqual([('b', 1), ('a', 2), ('b', 4), ('a', 5)], self.seen)

    def test_what_happens_at_one_time_keeps_its_order(self):
        for name in 'abc':
            self.events.at(1, self.seen.append, name)
        self.events.run()
        self.assertEqual(['a', 'b', 'c'], self.seen)

    def test_processes_run_together_within_the_limit(self):
        def parent():
            yield Together([self.process(name, 1) for name in 'abc'], 2)
            self.seen.append(('parent', self.events.now))

        self.events.spawn(parent())
        self.events.run()
        self.assertEqual([('a', 1), ('b', 1), ('c', 2), ('parent', 2)],
                         self.seen)

    def test_nothing_together_ends_at_once(self):
        def parent():
            yield Together([], 2)
            self.seen.append(self.events.now)

        self.events.spawn(parent())
        self.events.run()
        self.assertEqual([0], self.seen)

    def test_a_killed_process_does_no_more_nor_do_its_children(self):
        def parent():
            yield Together([self.process('a', 1, 1)], 1)
            self.seen.append('parent')

        task = self.events.spawn(parent())
        self.events.wait(1)
        task.kill()
        self.events.run()
        self.assertEqual([('a', 1)], self.seen)
        self.assertFalse(task.alive)

    def test_waiting_moves_the_clock_though_nothing_happens(self):
        self.events.wait(7)
        self.assertEqual(7, self.events.now)
