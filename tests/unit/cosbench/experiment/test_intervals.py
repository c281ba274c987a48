# SPDX-License-Identifier: Apache-2.0
"""Student's t as in printed tables, and intervals that hold what they say."""

import random
import unittest

from cosbench.experiment.core.intervals import (
    certain,
    of_one,
    of_two,
    quantile,
    tails,
)


class TestStudentsT(unittest.TestCase):

    def test_quantiles_are_those_of_the_printed_tables(self):
        for freedom, confidence, printed in (
                (1, .95, 12.706), (2, .95, 4.303), (4, .95, 2.776),
                (4, .99, 4.604), (9, .9, 1.833), (10, .99, 3.169),
                (30, .95, 2.042), (120, .95, 1.980), (10 ** 6, .95, 1.960)):
            self.assertAlmostEqual(printed, quantile(freedom, confidence), 3)

    def test_tails_and_quantiles_are_inverse(self):
        for freedom in (1, 2.5, 7, 300):
            for chance in (.5, .05, 1e-4, 1e-9):
                self.assertAlmostEqual(
                    1, tails(freedom, quantile(freedom, 1 - chance)) / chance,
                    4)
        self.assertEqual(1, tails(3, 0))


class TestMeans(unittest.TestCase):

    def test_one_run_has_no_interval(self):
        found = of_one([3.0])
        self.assertEqual((3, None, 1),
                         (found.value, found.interval(.95), found.chance))
        self.assertIsNone(of_two([1.0], [2.0, 3.0]).interval(.95))

    def test_runs_that_are_all_alike_are_known_exactly(self):
        self.assertEqual((2, 2), of_one([2.0, 2.0, 2.0]).interval(.95))
        self.assertEqual(0, of_one([2.0, 2.0]).chance)
        self.assertEqual(1, of_one([0.0, 0.0]).chance)
        self.assertEqual((1, 1), of_two([2.0, 2], [3.0, 3]).interval(.95))

    def test_a_worked_example(self):
        # 1 2 3 4 5: mean 3, standard error sqrt(2.5 / 5), t of 4.
        low, high = of_one([1.0, 2, 3, 4, 5]).interval(.95)
        self.assertAlmostEqual(3 - 2.776445 * .5 ** .5, low, 5)
        self.assertAlmostEqual(3 + 2.776445 * .5 ** .5, high, 5)
        # Welch's own: as many, as different, is as if pooled.
        found = of_two([1.0, 2, 3], [2.0, 3, 4])
        self.assertAlmostEqual(4, found.freedom)
        self.assertAlmostEqual((2 / 3) ** .5, found.error)

    def test_nineteen_of_twenty_intervals_have_the_mean_in_them(self):
        rng = random.Random(5)
        for draw in (
                lambda: of_one([rng.gauss(2, 3) for _ in range(5)]),
                lambda: of_two([rng.gauss(1, 1) for _ in range(4)],
                               [rng.gauss(3, 5) for _ in range(6)])):
            inside = 0
            for _ in range(2000):
                low, high = draw().interval(.95)
                inside += low <= 2 <= high
            # Four standard deviations of 2000 draws are 0.02.
            self.assertAlmostEqual(.95, inside / 2000, delta=.02)

    def test_of_many_verdicts_each_must_be_surer(self):
        self.assertEqual([False, True, False],
                         certain([.04, .001, .03], .95))
        self.assertEqual([True, True], certain([.04, .02], .95))
        self.assertEqual([], certain([], .95))
