# SPDX-License-Identifier: Apache-2.0

import os
import tempfile
import unittest

from tools.benchmarks.versioning.delay import Delay, filter_factory, set_delay
from tools.benchmarks.versioning.rounds import count, slope


class TestDelay(unittest.TestCase):

    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.path = os.path.join(root.name, 'delay')
        self.waits = []
        self.server = Delay(self.app, self.path, self.waits.append)

    def app(self, env, start_response):
        return env, start_response, list(self.waits)

    def test_a_request_waits_before_the_server_gets_it(self):
        set_delay(self.path, 0.25)
        self.assertEqual(('env', 'start', [0.25]),
                         self.server('env', 'start'))

    def test_the_delay_changes_while_the_server_runs(self):
        for seconds in (0.5, 0.125, 0):
            set_delay(self.path, seconds)
            self.server('env', 'start')
        self.assertEqual([0.5, 0.125], self.waits)

    def test_without_a_file_nothing_waits(self):
        self.server('env', 'start')
        self.assertEqual([], self.waits)

    def test_the_conf_names_the_file(self):
        found = filter_factory({}, delay_file=self.path)(self.app)
        self.assertEqual((self.app, self.path), (found.app, found.path))


class TestCount(unittest.TestCase):

    def setUp(self):
        self.delays = []

    def count(self, waits, cycles=1):
        """:param waits: a function of the delay"""
        return count(self.delays.append,
                     lambda: waits(self.delays[-1]), cycles,
                     (0.2, 0.4, 0.6))

    def test_it_is_how_often_a_request_waits_for_the_delay(self):
        for rounds in (0, 1, 2, 5):
            self.assertAlmostEqual(rounds, self.count(
                lambda delay: [0.07 + rounds * delay] * 3))

    def test_what_other_things_take_does_not_count(self):
        self.assertAlmostEqual(1, self.count(lambda delay: [9 + delay]))

    def test_requests_that_are_late_do_not_count_if_one_is_not(self):
        self.assertAlmostEqual(2, self.count(
            lambda delay: [5 + delay, 2 * delay, 3 - delay]))

    def test_what_the_machine_does_meanwhile_befalls_all_delays(self):
        def waits(delay):
            # Of nine, the last three are late.
            return [delay + (1 if len(self.delays) > 6 else 0)]

        self.assertAlmostEqual(1, self.count(waits, 3))
        self.assertEqual([0.2, 0.4, 0.6] * 3 + [0], self.delays)

    def test_when_it_ends_nothing_is_delayed(self):
        self.count(lambda delay: [delay])
        self.assertEqual([0.2, 0.4, 0.6, 0], self.delays)

    def test_nor_when_it_fails(self):
        with self.assertRaises(ZeroDivisionError):
            self.count(lambda delay: 1 / 0)
        self.assertEqual([0.2, 0], self.delays)

    def test_the_line_has_the_least_squares(self):
        self.assertAlmostEqual(1.5, slope([(0, 0), (1, 3), (2, 3)]))


if __name__ == '__main__':
    unittest.main()
